//! What a cluster shows after it was given some objects.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::Cluster;
use evenkeel_core::change::PortId;
use evenkeel_core::cluster::Sealed;
use evenkeel_core::reason::Reason;
use evenkeel_core::storage::HeapStorage;
use evenkeel_core::time::Timestamp;
use evenkeel_tests::feed;
use evenkeel_tests::mirror::{Mirror, pull};
use evenkeel_tests::row::Port;
use evenkeel_tests::setup::{Setup, room};
use serde_json::{Map, Value, json};

/// The time of every seal that no vector dates.
pub(crate) const NOW: &str = "2024-03-01T12:00:00Z";

/// A service port as `explain` has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) id: PortId,
    pub(crate) uses_cluster: bool,
    pub(crate) uses_local: bool,
    pub(crate) has_any: bool,
}

/// What a dataplane holds, and what was decided about each port that is served.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) mirror: Mirror,
    pub(crate) ports: BTreeMap<Port, Facts>,
    /// Services without a cluster IP: they have endpoints and no VIP.
    pub(crate) headless: BTreeSet<String>,
    /// Names of objects that the cluster does not look at.
    pub(crate) ignored: Vec<String>,
}

/// Runs `test` on an empty cluster.
pub(crate) fn with_cluster<T>(setup: &Setup, test: impl FnOnce(&mut Cluster<'_>) -> T) -> T {
    let limits = setup.limits();
    let mut memory = HeapStorage::new(&limits);
    setup.with_config(|config| {
        let mut cluster =
            Cluster::new(memory.lend(), limits.hash_seed, config).expect("a good configuration");
        test(&mut cluster)
    })
}

/// Gives the objects as the first list of every kind, seals, and looks.
pub(crate) fn see(setup: &Setup, objects: &[Value]) -> Result<Seen, String> {
    with_cluster(setup, |cluster| {
        let ignored = feed::list(cluster, objects).map_err(|why| why.to_string())?;
        match cluster.seal(now()) {
            Sealed::Waiting => Err("still waiting, although every kind is listed".to_owned()),
            Sealed::Unchanged(_) | Sealed::Generation(_) => look(cluster, ignored),
        }
    })
}

/// What a consumer that begins now would hold.
pub(crate) fn look(cluster: &mut Cluster<'_>, ignored: Vec<String>) -> Result<Seen, String> {
    let mut mirror = Mirror::default();
    let cursor = cluster.cursor_open().map_err(|why| why.to_string())?;
    pull(cluster, cursor, &mut mirror).map_err(|why| format!("{why:?}"))?;
    cluster.cursor_close(cursor);
    let ports = ports(cluster, &mirror);
    let headless = cluster.services().filter(|service| service.reason == Reason::Headless);
    let headless =
        headless.map(|service| format!("{}/{}", service.name.namespace, service.name.name)).collect();
    Ok(Seen { mirror, ports, headless, ignored })
}

/// Ports with a VIP. Those are served; others are only known.
fn ports(cluster: &Cluster<'_>, mirror: &Mirror) -> BTreeMap<Port, Facts> {
    let mut known = BTreeMap::new();
    for service in cluster.services() {
        for port in service.ports() {
            let facts = Facts {
                id: port.id,
                uses_cluster: port.uses_cluster,
                uses_local: port.uses_local,
                has_any: port.has_any,
            };
            known.insert(Port::from_core(&port.port), facts);
        }
    }
    known.retain(|port, _| mirror.vips().any(|vip| vip.port == *port));
    known
}

impl Seen {
    /// The backends of a Service that take new flows, by port, as vectors have them.
    pub(crate) fn backends(&self, service: &str, family: &str) -> Value {
        let mut ports: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for port in self.ports.keys().filter(|port| port.owner() == service && port.family == family) {
            ports.entry(port.key()).or_default();
        }
        for row in self.mirror.backends() {
            let of_it = row.port.owner() == service && row.port.family == family;
            if of_it && row.is_member() && row.state != "draining" {
                let node = (!row.node.is_empty()).then_some(&row.node);
                ports.entry(row.port.key()).or_default().push(json!({
                    "ip": row.at.address.to_string(),
                    "port": row.at.number,
                    "nodeName": node,
                }));
            }
        }
        json!(ports)
    }

    /// Counts and shares of nodes at a port, as vectors have them.
    pub(crate) fn weights(
        &self,
        cluster: &Cluster<'_>,
        service: &str,
        key: &str,
        nodes: &[String],
    ) -> Option<Value> {
        let (_, facts) = self.ports.iter().find(|(port, _)| port.owner() == service && port.key() == key)?;
        let (mut counts, mut share, mut assigned, mut total) = (Map::new(), Map::new(), 0, 0);
        for node in nodes {
            let weight = cluster.node_weight(facts.id, node);
            total = weight.total;
            if weight.local > 0 {
                assigned += weight.local;
                counts.insert(node.clone(), weight.local.into());
                let lowest = evenkeel_core::weight::Share::new(weight.local, weight.total);
                share.insert(node.clone(), json!([lowest.local, lowest.total]));
            }
        }
        Some(json!({"counts": counts, "share": share, "total": total, "unassigned": total - assigned}))
    }
}

/// The time of every seal that no vector dates.
pub(crate) fn now() -> Timestamp {
    Timestamp::parse(NOW).expect("a time")
}

/// Limits for vectors that hold thousands of objects.
pub(crate) fn large() -> BTreeMap<String, u32> {
    let mut large = BTreeMap::new();
    for name in ["services_max", "ports_max", "vips_max", "selectors_max", "texts_max"] {
        large.insert(name.to_owned(), 20_000);
    }
    for name in ["pods_max", "pod_ports_max", "labels_max"] {
        large.insert(name.to_owned(), 12_000);
    }
    large.insert("text_bytes_max".to_owned(), 4 << 20);
    large.insert("endpoints_max".to_owned(), 20_000);
    debug_assert!(room().services_max < 20_000);
    large
}
