//! Our answer, as facts: what a dataplane holds after it pulled every change, and what `explain` says.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow, bail};
use evenkeel_agent::decode::Object;
use evenkeel_core::Cluster;
use evenkeel_core::change::PortName;
use evenkeel_core::cluster::{CursorId, EndpointView, Sealed};
use evenkeel_core::limits::{Config, Limits, Source};
use evenkeel_core::reason::Reason;
use evenkeel_core::storage::HeapStorage;
use evenkeel_core::time::Timestamp;
use evenkeel_tests::feed::KINDS;
use evenkeel_tests::mirror::Mirror;
use evenkeel_tests::row::Port;

use crate::facts::{EndpointFacts, EndpointLists, Health, PortKey, View, VipFacts};

const NOW: Timestamp = Timestamp::from_nanos(1_714_600_000_000_000_000);

/// What we say of a cluster on one node.
pub(crate) struct Ours {
    pub(crate) view: View,
    pub(crate) health: Health,
    /// The endpoints of every service port, whatever became of them.
    pub(crate) endpoints: EndpointLists,
}

fn key(port: &Port) -> PortKey {
    PortKey {
        namespace: port.namespace.clone(),
        service: port.service.clone(),
        port: port.name.clone(),
        protocol: port.protocol.clone(),
        family: family(&port.family),
    }
}

fn family(text: &str) -> &'static str {
    if text == "IPv4" { "IPv4" } else { "IPv6" }
}

/// The words that both sides use; anything else is a difference to be seen.
fn word(text: &str) -> &'static str {
    const WORDS: [&str; 9] = [
        "Cluster",
        "ClusterIP",
        "ExternalIP",
        "LoadBalancer",
        "Local",
        "NodePort",
        "drop",
        "reject",
        "serve",
    ];
    WORDS.into_iter().find(|word| *word == text).unwrap_or("?")
}

/// How the objects arrive: the answer must not depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrival {
    /// One list, one generation.
    Listed,
    /// The same, last things first.
    Backwards,
    /// Half of them listed and pulled, then the other half one by one and pulled.
    InTwo,
}

impl Arrival {
    /// Each in turn.
    pub(crate) const fn nth(number: usize) -> Self {
        match number % 3 {
            0 => Self::Listed,
            1 => Self::Backwards,
            _ => Self::InTwo,
        }
    }
}

/// What we say of the objects on that node.
///
/// # Errors
/// An object is refused, or the changes break what `change` promises.
pub(crate) fn answer(
    objects: &[Object],
    limits: &Limits,
    node: &str,
    source: Source,
    arrival: Arrival,
) -> Result<Ours> {
    let mut memory = HeapStorage::new(limits);
    let config = Config { node, source, keep_pods: true, ..Config::default() };
    let mut cluster = Cluster::new(memory.lend(), limits.hash_seed, &config)?;
    let cursor = cluster.cursor_open()?;
    let mut mirror = Mirror::default();
    let apply = |cluster: &mut Cluster<'_>, object: &Object| -> Result<()> {
        object.apply(cluster).with_context(|| format!("{}/{}", object.namespace(), object.name()))?;
        Ok(())
    };
    for kind in KINDS {
        cluster.relist_begin(kind);
    }
    let (listed, later) = match arrival {
        Arrival::Listed | Arrival::Backwards => (objects, [].as_slice()),
        Arrival::InTwo => objects.split_at(objects.len() / 2),
    };
    match arrival {
        Arrival::Backwards => listed.iter().rev().try_for_each(|object| apply(&mut cluster, object))?,
        Arrival::Listed | Arrival::InTwo => {
            listed.iter().try_for_each(|object| apply(&mut cluster, object))?
        }
    }
    for kind in KINDS {
        cluster.relist_end(kind);
    }
    publish(&mut cluster, cursor, &mut mirror)?;
    if !later.is_empty() {
        later.iter().try_for_each(|object| apply(&mut cluster, object))?;
        publish(&mut cluster, cursor, &mut mirror)?;
    }
    Ok(Ours { view: view(&cluster, &mirror)?, health: health(&mirror), endpoints: endpoints(&cluster) })
}

/// Seals, pulls into the mirror, acknowledges.
fn publish(cluster: &mut Cluster<'_>, cursor: CursorId, mirror: &mut Mirror) -> Result<()> {
    let generation = match cluster.seal(NOW) {
        Sealed::Waiting => bail!("sealed nothing although everything was listed"),
        Sealed::Unchanged(_) => return Ok(()),
        Sealed::Generation(generation) => generation,
    };
    while let Some(change) = cluster.next(cursor)? {
        mirror.apply(&change).map_err(|broken| anyhow!(broken))?;
    }
    cluster.ack(cursor, generation, NOW, |_| {})?;
    Ok(())
}

fn view(cluster: &Cluster<'_>, mirror: &Mirror) -> Result<View> {
    let mut view = View::new();
    for vip in mirror.vips() {
        let facts = view.entry(key(&vip.port)).or_default();
        facts.health_check_node_port = facts.health_check_node_port.max(vip.health_check_node_port);
        facts.vips.insert(VipFacts {
            kind: word(&vip.kind),
            address: vip.at.address.to_string(),
            port: vip.at.number,
            policy: word(&vip.policy),
            state: word(&vip.state),
            affinity_seconds: vip.affinity_seconds,
            masquerade: vip.masquerade,
            short_circuit: vip.short_circuit,
            source_ranges: vip.source_ranges.iter().cloned().collect(),
        });
    }
    let mut members: BTreeMap<PortKey, [BTreeSet<String>; 2]> = BTreeMap::new();
    for backend in mirror.backends() {
        let [cluster, local] = members.entry(key(&backend.port)).or_default();
        for (set, weight) in [(cluster, backend.cluster_weight), (local, backend.local_weight)] {
            if weight.is_some_and(|weight| weight > 0) {
                set.insert(backend.at.to_string());
            }
        }
    }
    for service in cluster.services() {
        for port in service.ports() {
            let key = name(&port.port);
            let Some(facts) = view.get_mut(&key) else { continue };
            let [cluster, local] = members.remove(&key).unwrap_or_default();
            facts.uses_cluster = port.uses_cluster;
            facts.uses_local = port.uses_local;
            facts.has_any_endpoints = port.has_any;
            facts.all_reachable = cluster.union(&local).cloned().collect();
            // A set that is not used must be empty; if it is not, it is shown.
            facts.cluster = (port.uses_cluster || !cluster.is_empty()).then_some(cluster);
            facts.local = (port.uses_local || !local.is_empty()).then_some(local);
        }
    }
    match members.into_iter().find(|(_, sets)| sets.iter().any(|set| !set.is_empty())) {
        Some((key, _)) => Err(anyhow!("backends without a VIP behind {key}")),
        None => Ok(view),
    }
}

fn name(port: &PortName<'_>) -> PortKey {
    key(&Port::from_core(port))
}

/// Distinct ready addresses on this node of each Service that is asked for its health: what a dataplane would
/// count from what it holds.
fn health(mirror: &Mirror) -> Health {
    let mut addresses: BTreeMap<(&'static str, String, String), BTreeSet<String>> = BTreeMap::new();
    for vip in mirror.vips().filter(|vip| vip.health_check_node_port != 0) {
        addresses
            .entry((family(&vip.port.family), vip.port.namespace.clone(), vip.port.service.clone()))
            .or_default();
    }
    for backend in mirror.backends().filter(|b| b.local && b.local_weight.is_some() && b.state == "ready") {
        let port = &backend.port;
        if let Some(set) =
            addresses.get_mut(&(family(&port.family), port.namespace.clone(), port.service.clone()))
        {
            set.insert(backend.at.address.to_string());
        }
    }
    addresses.into_iter().map(|(of, set)| (of, set.len())).collect()
}

fn endpoints(cluster: &Cluster<'_>) -> EndpointLists {
    let mut lists = EndpointLists::new();
    for service in cluster.services() {
        for port in service.ports() {
            let mut list: Vec<_> = port.endpoints().filter(is_published).map(|e| endpoint(&e)).collect();
            if !list.is_empty() {
                list.sort();
                lists.insert(name(&port.port), list);
            }
        }
    }
    lists
}

/// An endpoint that would stand in a slice; the others are Pods that are none, with the reason.
fn is_published(endpoint: &EndpointView<'_>) -> bool {
    !matches!(
        endpoint.reason,
        Reason::NodeUnknown | Reason::PodTerminal | Reason::PodNoAddress | Reason::PodNoPort
    )
}

fn endpoint(endpoint: &EndpointView<'_>) -> EndpointFacts {
    EndpointFacts {
        address: endpoint.address.to_string(),
        port: endpoint.number,
        node: endpoint.node.into(),
        zone: endpoint.zone.into(),
        ready: endpoint.conditions.ready,
        serving: endpoint.conditions.serving,
        terminating: endpoint.conditions.terminating,
        pod: endpoint.pod.name.into(),
        uid: endpoint.pod.uid.into(),
    }
}
