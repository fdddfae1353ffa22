//! The node view as a consumer keeps it: the rows that changes speak of, in order.
//!
//! A change says how a row is now; whoever wants to say what is different keeps what was. Small vectors in order
//! hold the rows of a Service, since most have a handful.

use evenkeel_core::address::{Address, Family, Prefix};
use evenkeel_core::change::{self, BackendState, Change, PortName, ServiceName, VipKind, VipState};
use evenkeel_core::object::TrafficPolicy;
use evenkeel_core::port::Protocol;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

/// Namespace and name of a Service.
pub type Name = (Rc<str>, Rc<str>);

/// A service port in one family.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "as in core's PortName")]
pub struct Port {
    pub name: Rc<str>,
    pub protocol: Protocol,
    pub family: Family,
}

/// A VIP, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in core's Vip")]
pub struct Vip {
    pub port: Port,
    pub address: Address,
    pub number: u16,
    pub kind: VipKind,
    pub policy: TrafficPolicy,
    pub state: VipState,
    pub affinity_seconds: u32,
    pub health_check_node_port: u16,
    pub masquerade: bool,
    pub short_circuit: bool,
    pub source_ranges: Vec<Prefix>,
}

/// A backend, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in core's Backend")]
pub struct Backend {
    pub port: Port,
    pub address: Address,
    pub number: u16,
    pub node: Rc<str>,
    pub zone: Rc<str>,
    pub pod: Rc<str>,
    pub cluster_weight: Option<u16>,
    pub local_weight: Option<u16>,
    pub state: BackendState,
    pub local: bool,
}

impl Vip {
    fn key(&self) -> (&Port, VipKind, Address, u16) {
        (&self.port, self.kind, self.address, self.number)
    }
}

impl Backend {
    fn key(&self) -> (&Port, Address, u16) {
        (&self.port, self.address, self.number)
    }

    /// Its share of new flows under that policy; `None` if it does not stand behind such a VIP. A backend that
    /// drains is in neither set and stays where it was, with nothing.
    #[must_use]
    pub fn weight(&self, policy: TrafficPolicy) -> Option<u16> {
        match (policy, self.state) {
            (TrafficPolicy::Cluster, BackendState::Draining) => Some(self.cluster_weight.unwrap_or(0)),
            (TrafficPolicy::Local, BackendState::Draining) if self.local => {
                Some(self.local_weight.unwrap_or(0))
            }
            (TrafficPolicy::Cluster, _) => self.cluster_weight,
            (TrafficPolicy::Local, _) => self.local_weight,
        }
    }
}

/// VIPs and backends of a Service, each in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// By port name, protocol, family, kind, address and number.
    pub vips: Vec<Vip>,
    /// By port name, protocol, family, address and number.
    pub backends: Vec<Backend>,
}

impl Served {
    /// The backends of a VIP under a policy, with their weights.
    pub fn behind(&self, port: &Port, policy: TrafficPolicy) -> impl Iterator<Item = (&Backend, u16)> {
        let from = self.backends.partition_point(|backend| backend.port < *port);
        self.backends
            .iter()
            .skip(from)
            .take_while(move |backend| backend.port == *port)
            .filter_map(move |backend| Some((backend, backend.weight(policy)?)))
    }
}

/// One row, before and after; at most one of them is missing.
#[derive(Debug)]
pub enum Difference {
    /// Of a VIP.
    Vip(Option<Vip>, Option<Vip>),
    /// Of a backend.
    Backend(Option<Backend>, Option<Backend>),
}

/// Every VIP and backend of every Service.
#[derive(Debug, Default)]
pub struct View {
    services: BTreeMap<Name, Served>,
    /// Each text once; nodes and zones are said of every backend.
    texts: HashSet<Rc<str>>,
}

impl View {
    /// Each Service with its rows, by namespace and name.
    pub fn services(&self) -> impl Iterator<Item = (&Name, &Served)> {
        self.services.iter()
    }

    /// How many Services, VIPs and distinct backends there are.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        let rows = |count: fn(&Served) -> usize| self.services.values().map(count).sum();
        (self.services.len(), rows(|served| served.vips.len()), rows(|served| served.backends.len()))
    }

    /// Takes a change. What it made different, if it made anything different.
    pub fn take(&mut self, change: &Change<'_>) -> Option<(Name, Difference)> {
        let name = match change {
            Change::Vip(vip) => self.name(vip.port().service),
            Change::Backend(backend) => self.name(backend.port().service),
            Change::VipGone(gone) => self.name(gone.port().service),
            Change::BackendGone(gone) => self.name(gone.port().service),
            Change::ServiceEnd(end) => {
                let name = self.name(end.service());
                if self.services.get(&name).is_some_and(|served| *served == Served::default()) {
                    self.services.remove(&name);
                }
                return None;
            }
        };
        let difference = match change {
            Change::Vip(vip) => {
                let vip = self.vip(vip);
                let rows = &mut self.services.entry(name.clone()).or_default().vips;
                match rows.binary_search_by(|row| row.key().cmp(&vip.key())) {
                    Ok(at) if rows[at] == vip => return None,
                    Ok(at) => Difference::Vip(Some(std::mem::replace(&mut rows[at], vip.clone())), Some(vip)),
                    Err(at) => {
                        rows.insert(at, vip.clone());
                        Difference::Vip(None, Some(vip))
                    }
                }
            }
            Change::Backend(backend) => {
                let backend = self.backend(backend);
                let rows = &mut self.services.entry(name.clone()).or_default().backends;
                match rows.binary_search_by(|row| row.key().cmp(&backend.key())) {
                    Ok(at) if rows[at] == backend => return None,
                    Ok(at) => Difference::Backend(
                        Some(std::mem::replace(&mut rows[at], backend.clone())),
                        Some(backend),
                    ),
                    Err(at) => {
                        rows.insert(at, backend.clone());
                        Difference::Backend(None, Some(backend))
                    }
                }
            }
            Change::VipGone(gone) => {
                let port = self.port(gone.port());
                let key = (&port, gone.kind, gone.address, gone.number);
                let rows = &mut self.services.get_mut(&name)?.vips;
                let at = rows.binary_search_by(|row| row.key().cmp(&key)).ok()?;
                Difference::Vip(Some(rows.remove(at)), None)
            }
            Change::BackendGone(gone) => {
                let port = self.port(gone.port());
                let key = (&port, gone.address, gone.number);
                let rows = &mut self.services.get_mut(&name)?.backends;
                let at = rows.binary_search_by(|row| row.key().cmp(&key)).ok()?;
                Difference::Backend(Some(rows.remove(at)), None)
            }
            Change::ServiceEnd(_) => return None,
        };
        Some((name, difference))
    }

    /// What is different in `after`, which was built anew.
    #[must_use]
    pub fn differences_to(&self, after: &Self) -> Vec<(Name, Difference)> {
        let none = Served::default();
        let names: std::collections::BTreeSet<&Name> =
            self.services.keys().chain(after.services.keys()).collect();
        let mut differences = Vec::new();
        for name in names {
            let old = self.services.get(name).unwrap_or(&none);
            let new = after.services.get(name).unwrap_or(&none);
            let mut tell = |difference| differences.push((name.clone(), difference));
            for (before, after) in pairs(&old.vips, &new.vips, Vip::key) {
                tell(Difference::Vip(before, after));
            }
            for (before, after) in pairs(&old.backends, &new.backends, Backend::key) {
                tell(Difference::Backend(before, after));
            }
        }
        differences
    }

    fn text(&mut self, text: &str) -> Rc<str> {
        if let Some(known) = self.texts.get(text) {
            return Rc::clone(known);
        }
        let new: Rc<str> = text.into();
        self.texts.insert(Rc::clone(&new));
        new
    }

    fn name(&mut self, service: ServiceName<'_>) -> Name {
        (self.text(service.namespace), self.text(service.name))
    }

    fn port(&mut self, port: PortName<'_>) -> Port {
        Port { name: self.text(port.name), protocol: port.protocol, family: port.family }
    }

    fn vip(&mut self, vip: &change::Vip<'_>) -> Vip {
        Vip {
            port: self.port(vip.port()),
            address: vip.address,
            number: vip.number,
            kind: vip.kind,
            policy: vip.policy,
            state: vip.state,
            affinity_seconds: vip.affinity_seconds,
            health_check_node_port: vip.health_check_node_port,
            masquerade: vip.masquerade,
            short_circuit: vip.short_circuit,
            source_ranges: vip.source_ranges.iter().collect(),
        }
    }

    fn backend(&mut self, backend: &change::Backend<'_>) -> Backend {
        Backend {
            port: self.port(backend.port()),
            address: backend.address,
            number: backend.number,
            node: self.text(backend.node()),
            zone: self.text(backend.zone()),
            // Names of Pods are not shared.
            pod: if backend.pod().name.is_empty() { self.text("") } else { backend.pod().name.into() },
            cluster_weight: backend.cluster_weight,
            local_weight: backend.local_weight,
            state: backend.state,
            local: backend.local,
        }
    }
}

/// Rows that are not the same in two ordered lists.
fn pairs<'r, R: Clone + PartialEq, K: Ord>(
    before: &'r [R],
    after: &'r [R],
    key: impl Fn(&'r R) -> K,
) -> Vec<(Option<R>, Option<R>)> {
    let mut rows: BTreeMap<K, (Option<&R>, Option<&R>)> = BTreeMap::new();
    for row in before {
        rows.entry(key(row)).or_default().0 = Some(row);
    }
    for row in after {
        rows.entry(key(row)).or_default().1 = Some(row);
    }
    rows.into_values()
        .filter(|(before, after)| before != after)
        .map(|(before, after)| (before.cloned(), after.cloned()))
        .collect()
}
