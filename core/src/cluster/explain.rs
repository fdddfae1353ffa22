//! Why it is so: every Service, port, VIP and endpoint with its reason. This sees what is applied, sealed or not.

use super::Cluster;
use super::endpoint::Owner;
use super::rows::{EndpointId, PodId, PortRow, ServiceId, VipId, pod, port, service, vip};
use crate::address::Address;
use crate::change::{PortId, PortName, ServiceName, VipKind};
use crate::object::{Conditions, PodRef, TrafficPolicy};
use crate::plan;
use crate::reason::Reason;
use crate::topology;
use crate::usable::{Counts, Facts, From, Needs, Usable};
use crate::weight::Share;

/// A Service, and why it has VIPs or not.
#[derive(Clone, Copy, Debug)]
pub struct ServiceView<'c> {
    cluster: &'c Cluster<'c>,
    id: ServiceId,
    /// Its name.
    pub name: ServiceName<'c>,
    /// Served, or why not.
    pub reason: Reason,
    /// The last version of it or of one of its slices was refused; this is the last good one.
    pub stale: bool,
}

/// One of its ports in one family.
#[derive(Clone, Copy, Debug)]
pub struct PortView<'c> {
    cluster: &'c Cluster<'c>,
    /// Row number, as in changes.
    pub id: PortId,
    /// The port.
    pub port: PortName<'c>,
    /// The port that clients dial; 0 if only slices speak of it.
    pub number: u16,
    /// Served, or why there is nothing to be served, or why nothing is.
    pub reason: Reason,
    /// Which hints are used, or why none are.
    pub hints: Reason,
    /// For cluster IPs.
    pub internal_policy: TrafficPolicy,
    /// For external IPs, load balancers and node ports.
    pub external_policy: TrafficPolicy,
    /// It has a Cluster set.
    pub uses_cluster: bool,
    /// It has a Local set.
    pub uses_local: bool,
    /// There is an endpoint somewhere that could be used.
    pub has_any: bool,
    /// Endpoints, each address and port once.
    pub endpoints_total: u32,
    /// Of them, ready.
    pub endpoints_ready: u32,
    /// Of the ready, on this node.
    pub endpoints_local_ready: u32,
}

/// One of its VIPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VipView {
    /// What clients dial.
    pub address: Address,
    /// The port that clients dial.
    pub number: u16,
    /// Where the address comes from.
    pub kind: VipKind,
    /// Served, or why not.
    pub reason: Reason,
}

/// Who says that there is an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'c> {
    /// A slice of this name.
    Slice(&'c str),
    /// A Pod of this name.
    Pod(&'c str),
}

/// One of its endpoints, twins included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointView<'c> {
    /// Its address.
    pub address: Address,
    /// Its port.
    pub number: u16,
    /// Its node; empty if not stated.
    pub node: &'c str,
    /// Its zone; empty if not stated.
    pub zone: &'c str,
    /// Its Pod; empty if not stated or not kept.
    pub pod: PodRef<'c>,
    /// Where it is said.
    pub origin: Origin<'c>,
    /// What is said of it.
    pub conditions: Conditions,
    /// It is on this node.
    pub local: bool,
    /// It is in the Cluster set.
    pub in_cluster: bool,
    /// It is in the Local set.
    pub in_local: bool,
    /// Its weight before it is scaled.
    pub weight: u16,
    /// Why it is in or out.
    pub reason: Reason,
}

/// A node's part of a service port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeWeight {
    /// Usable endpoints on the node: its weight (Ravel 3.6).
    pub local: u32,
    /// Usable endpoints in all, those on no known node included. Nothing of nothing is 0 (Ravel 3.5).
    pub total: u32,
}

impl NodeWeight {
    /// The part as a fraction in lowest terms.
    #[must_use]
    pub fn share(self) -> Share {
        Share::new(self.local, self.total)
    }
}

impl<'m> Cluster<'m> {
    /// The Service of this name, if anything is known of it.
    #[must_use]
    pub fn service(&self, namespace: &str, name: &str) -> Option<ServiceView<'_>> {
        self.find_service(namespace, name).map(|id| self.service_view(id))
    }

    /// All Services of which anything is known, in no order that means anything.
    pub fn services(&self) -> impl Iterator<Item = ServiceView<'_>> {
        self.services.iter().map(|(id, _)| self.service_view(id))
    }

    fn service_view(&self, id: ServiceId) -> ServiceView<'_> {
        ServiceView {
            cluster: self,
            id,
            name: self.service_name(id),
            reason: self.served(id),
            stale: self.services.at(id).is(service::STALE) || self.services.at(id).stale_slices > 0,
        }
    }

    /// A port by its number in changes.
    #[must_use]
    pub fn port(&self, id: PortId) -> Option<PortView<'_>> {
        self.ports.contains(id).then(|| self.port_view(id))
    }

    fn port_view(&self, id: PortId) -> PortView<'_> {
        let row = self.ports.at(id);
        let policies = self.policies(row);
        let needs = policies.needs();
        let counts = self.count(id);
        let usable = Usable::decide(&counts, needs);
        PortView {
            cluster: self,
            id,
            port: self.port_name(id),
            number: row.number,
            reason: self.port_reason(row, needs, usable),
            hints: topology::reason(&counts),
            internal_policy: policies.internal,
            external_policy: policies.external,
            uses_cluster: needs.cluster,
            uses_local: needs.local,
            has_any: usable.any,
            endpoints_total: counts.total,
            endpoints_ready: counts.ready,
            endpoints_local_ready: counts.local_ready,
        }
    }

    fn port_reason(&self, row: &PortRow, needs: Needs, usable: Usable) -> Reason {
        let service = self.served(row.service);
        if service != Reason::Served {
            service
        } else if !row.is(port::DEFINED) {
            Reason::PortUnknown
        } else if super::family_bit(row.family) & self.settings.families == 0 {
            Reason::FamilyNotWanted
        } else if !row.is(port::SERVED) {
            Reason::NoAddressOfFamily
        } else if !usable.any {
            Reason::NoEndpoints
        } else if needs.local && usable.local == From::Nothing {
            Reason::NoLocalEndpoints
        } else {
            Reason::Served
        }
    }

    /// Counts a port's endpoints as they are applied.
    fn count(&self, id: PortId) -> Counts {
        let mut counts = Counts::NONE;
        let mut at = self.ports.at(id).first_endpoint;
        while at.is_some() {
            if let Some(speaker) = self.speaker(at) {
                counts.add(self.endpoints.at(speaker).says);
            }
            at = self.endpoints.at(at).next_in_port;
        }
        counts
    }

    /// How many usable endpoints of a port a node has, and how many there are: ready ones, else those still serving
    /// while they terminate. Hints are not asked. Costs a look at each endpoint of the port.
    #[must_use]
    pub fn node_weight(&self, port: PortId, node: &str) -> NodeWeight {
        let counts = self.count(port);
        let node = self.find_node(node);
        let mut weight = NodeWeight::default();
        let mut at = self.ports.at(port).first_endpoint;
        while at.is_some() {
            if let Some(speaker) = self.speaker(at) {
                let row = self.endpoints.at(speaker);
                let usable =
                    if counts.ready > 0 { row.says.has(Facts::READY) } else { row.says.is_draining() };
                if usable {
                    weight.total = weight.total.saturating_add(1);
                    let here = node.is_some_and(|node| self.places.at(row.place).node == node);
                    weight.local = weight.local.saturating_add(u32::from(here));
                }
            }
            at = self.endpoints.at(at).next_in_port;
        }
        weight
    }

    fn vip_view(&self, id: VipId) -> VipView {
        let row = self.vips.at(id);
        let reason = if self.is_taken(id) {
            Reason::VipTaken
        } else {
            let port = self.ports.at(row.port);
            let policies = self.policies(port);
            let usable = Usable::decide(&self.count(row.port), policies.needs());
            match plan::vip_state(usable, policies.of(row.kind)) {
                crate::change::VipState::Serve => Reason::Served,
                crate::change::VipState::Reject => Reason::NoEndpoints,
                crate::change::VipState::Drop => Reason::NoLocalEndpoints,
            }
        };
        VipView { address: row.address, number: row.number, kind: row.kind, reason }
    }

    fn endpoint_view(&self, id: EndpointId, usable: Usable, needs: Needs) -> Option<EndpointView<'_>> {
        let row = self.endpoints.at(id);
        let owner = row.owner()?;
        let speaks = self.speaker(self.first_twin(id)) == Some(id);
        let (node, zone) = self.texts.pair(self.places.at(row.place).name);
        let (uid, name) = self.texts.pair(row.pod);
        let weight = self.plain_weight(row);
        let maintenance = self.services.at(self.ports.at(row.port).service).is(service::MAINTENANCE);
        let (in_cluster, in_local) =
            (speaks && usable.in_cluster(row.says), speaks && usable.in_local(row.says));
        let reason = if row.says.has(Facts::REPLACED) {
            if self.pod_still_is(id) { Reason::ReplacedByPod } else { Reason::PodGone }
        } else if !speaks {
            Reason::Duplicate
        } else if (in_cluster || in_local) && (weight == 0 || maintenance) {
            Reason::Drained
        } else {
            usable.reason(row.says, needs)
        };
        Some(EndpointView {
            address: row.address,
            number: row.number,
            node,
            zone,
            pod: PodRef { name, uid },
            origin: match owner {
                Owner::Slice(id) => Origin::Slice(self.texts.str(self.slices.at(id).name)),
                Owner::Pod(id) => Origin::Pod(self.texts.str(self.pods.at(id).name)),
            },
            conditions: Conditions {
                ready: row.says.has(Facts::READY),
                serving: row.says.has(Facts::SERVING),
                terminating: row.says.has(Facts::TERMINATING),
            },
            local: row.says.has(Facts::LOCAL),
            in_cluster,
            in_local,
            weight: if maintenance { 0 } else { weight },
            reason,
        })
    }

    /// The Pod that speaks for a slice's endpoint is the very one that the slice means.
    fn pod_still_is(&self, id: EndpointId) -> bool {
        let row = self.endpoints.at(id);
        let (namespace, _) = self.service_names(self.ports.at(row.port).service);
        let (_, name) = self.texts.pair(row.pod);
        let found = self.find_pod(namespace, name);
        found.is_some_and(|pod_id| {
            let pod_row = self.pods.at(pod_id);
            pod_row.is(pod::KNOWN) && pod_row.target == row.pod
        })
    }

    fn service_names(&self, id: ServiceId) -> (&str, &str) {
        self.texts.pair(self.services.at(id).name)
    }

    /// Pods that a Service selects and that are no endpoints of this port, with the reason.
    fn left_out(&self, port: PortId) -> impl Iterator<Item = (&str, Reason)> {
        let service = self.ports.at(port).service;
        let indexed = self.services.at(service).indexed;
        let mut at = if indexed.is_some() {
            self.selectors.at(indexed).first_label
        } else {
            super::rows::LabelId::NONE
        };
        core::iter::from_fn(move || {
            while at.is_some() {
                let row = self.labels.at(at);
                at = row.next_in_selector;
                let pod: PodId = row.pod;
                if self.selects(service, pod)
                    && let Err(reason) = self.pod_stands_behind(pod, service, port)
                {
                    return Some((self.texts.str(self.pods.at(pod).name), reason));
                }
            }
            None
        })
    }
}

impl<'c> ServiceView<'c> {
    /// Its ports, by name, protocol and family.
    pub fn ports(&self) -> impl Iterator<Item = PortView<'c>> + use<'c> {
        let cluster = self.cluster;
        let mut at = cluster.services.at(self.id).first_port;
        core::iter::from_fn(move || {
            while at.is_some() {
                let id = at;
                at = cluster.ports.at(id).next_in_service;
                if cluster.ports.at(id).is(port::DEFINED) || cluster.ports.at(id).first_endpoint.is_some() {
                    return Some(cluster.port_view(id));
                }
            }
            None
        })
    }
}

impl<'c> PortView<'c> {
    /// Its VIPs, by kind and address.
    pub fn vips(&self) -> impl Iterator<Item = VipView> + use<'c> {
        let cluster = self.cluster;
        let mut at = cluster.ports.at(self.id).first_vip;
        core::iter::from_fn(move || {
            while at.is_some() {
                let id = at;
                at = cluster.vips.at(id).next_in_port;
                if cluster.vips.at(id).is(vip::WANTED) {
                    return Some(cluster.vip_view(id));
                }
            }
            None
        })
    }

    /// Every endpoint that anyone says it has, in no order that means anything.
    pub fn endpoints(&self) -> impl Iterator<Item = EndpointView<'c>> + use<'c> {
        let cluster = self.cluster;
        let needs = cluster.policies(cluster.ports.at(self.id)).needs();
        let usable = Usable::decide(&cluster.count(self.id), needs);
        let mut first = cluster.ports.at(self.id).first_endpoint;
        let mut at = first;
        core::iter::from_fn(move || {
            while first.is_some() {
                while at.is_some() {
                    let id = at;
                    at = cluster.endpoints.at(id).next_twin;
                    if let Some(view) = cluster.endpoint_view(id, usable, needs) {
                        return Some(view);
                    }
                }
                first = cluster.endpoints.at(first).next_in_port;
                at = first;
            }
            None
        })
    }

    /// Pods that are selected and are no endpoints, as "namespace/name", with the reason. Only with endpoints from
    /// Pods.
    pub fn left_out(&self) -> impl Iterator<Item = (&'c str, Reason)> + use<'c> {
        self.cluster.left_out(self.id)
    }
}
