//! What is compared: everything a node knows of a service port, in a form in which equal means equal text.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// A service port in one family.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PortKey {
    pub(crate) namespace: String,
    pub(crate) service: String,
    pub(crate) port: String,
    pub(crate) protocol: String,
    pub(crate) family: &'static str,
}

impl std::fmt::Display for PortKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}:{}/{} {}", self.namespace, self.service, self.port, self.protocol, self.family)
    }
}

/// `address:port` texts; `None` where the policy is never used.
pub(crate) type Set = Option<BTreeSet<String>>;

/// What traffic policies and hints leave of a port's endpoints, and what is programmed for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PortFacts {
    pub(crate) uses_cluster: bool,
    pub(crate) uses_local: bool,
    pub(crate) has_any_endpoints: bool,
    pub(crate) cluster: Set,
    pub(crate) local: Set,
    pub(crate) all_reachable: BTreeSet<String>,
    pub(crate) vips: BTreeSet<VipFacts>,
    /// Where the health of this node is asked; 0 for nowhere.
    pub(crate) health_check_node_port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VipFacts {
    pub(crate) kind: &'static str,
    pub(crate) address: String,
    pub(crate) port: u16,
    pub(crate) policy: &'static str,
    pub(crate) state: &'static str,
    pub(crate) affinity_seconds: u32,
    pub(crate) masquerade: bool,
    pub(crate) short_circuit: bool,
    pub(crate) source_ranges: BTreeSet<String>,
}

/// The view of one node.
pub(crate) type View = BTreeMap<PortKey, PortFacts>;

/// An endpoint of a service port, whatever became of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndpointFacts {
    pub(crate) address: String,
    pub(crate) port: u16,
    pub(crate) node: String,
    pub(crate) zone: String,
    pub(crate) ready: bool,
    pub(crate) serving: bool,
    pub(crate) terminating: bool,
    pub(crate) pod: String,
    pub(crate) uid: String,
}

/// The endpoints of each service port, sorted.
pub(crate) type EndpointLists = BTreeMap<PortKey, Vec<EndpointFacts>>;

/// How many ready addresses this node has of each Service with a health-check node port: by family, namespace
/// and name.
pub(crate) type Health = BTreeMap<(&'static str, String, String), usize>;

/// Two sides that do not say the same.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// Which comparison.
    pub(crate) comparison: Comparison,
    /// On which node.
    pub(crate) node: String,
    pub(crate) key: PortKey,
    /// Which of the facts; the first that differs in the order in which one would look at them.
    pub(crate) fact: &'static str,
    pub(crate) ours: serde_json::Value,
    pub(crate) upstream: serde_json::Value,
}

/// What is held against what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Comparison {
    /// The node view made of upstream's slices, against kube-proxy's made of the same.
    Slices,
    /// The endpoints that we make of Pods, against those in upstream's slices of the same Pods.
    PodEndpoints,
    /// The node view that we make of Pods, against kube-proxy's made of upstream's slices of the same Pods.
    PodView,
}

impl Comparison {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Slices => "slices",
            Self::PodEndpoints => "pod endpoints",
            Self::PodView => "pod view",
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}: {} on {}: {}", self.comparison.text(), self.key, self.node, self.fact)?;
        writeln!(f, "    ours      {}", self.ours)?;
        write!(f, "    upstream  {}", self.upstream)
    }
}

fn json<T: Serialize>(value: &T) -> serde_json::Value {
    serde_json::to_value(value).expect("plain facts are JSON")
}

/// Where two views of a node differ, at most one difference a service port.
pub(crate) fn compare_views(
    comparison: Comparison,
    node: &str,
    ours: &View,
    upstream: &View,
) -> Vec<Difference> {
    let difference = |key: &PortKey, fact, ours, upstream| Difference {
        comparison,
        node: node.into(),
        key: key.clone(),
        fact,
        ours,
        upstream,
    };
    let mut found = Vec::new();
    for key in ours.keys().chain(upstream.keys().filter(|key| !ours.contains_key(key))) {
        match (ours.get(key), upstream.get(key)) {
            (Some(a), Some(b)) if a != b => {
                let (fact, a, b) = first_difference(a, b);
                found.push(difference(key, fact, a, b));
            }
            (Some(_), Some(_)) => {}
            (a, b) => found.push(difference(key, "presence", json(&a), json(&b))),
        }
    }
    found
}

fn first_difference(a: &PortFacts, b: &PortFacts) -> (&'static str, serde_json::Value, serde_json::Value) {
    macro_rules! look {
        ($($fact:ident),*) => {
            $(if a.$fact != b.$fact {
                return (stringify!($fact), json(&a.$fact), json(&b.$fact));
            })*
        };
    }
    look!(uses_cluster, uses_local, has_any_endpoints, cluster, local, all_reachable, health_check_node_port);
    let only =
        |x: &PortFacts, y: &PortFacts| -> Vec<VipFacts> { x.vips.difference(&y.vips).cloned().collect() };
    ("vips", json(&only(a, b)), json(&only(b, a)))
}

/// Where the answers to health checks differ.
pub(crate) fn compare_health(
    comparison: Comparison,
    node: &str,
    ours: &Health,
    upstream: &Health,
) -> Vec<Difference> {
    let services: BTreeSet<_> = ours.keys().chain(upstream.keys()).collect();
    services
        .into_iter()
        .filter(|service| ours.get(service) != upstream.get(service))
        .map(|service| Difference {
            comparison,
            node: node.into(),
            key: PortKey {
                namespace: service.1.clone(),
                service: service.2.clone(),
                port: String::new(),
                protocol: "health".into(),
                family: service.0,
            },
            fact: "health",
            ours: json(&ours.get(service)),
            upstream: json(&upstream.get(service)),
        })
        .collect()
}

/// Where the endpoints of service ports differ: what only one side has.
pub(crate) fn compare_endpoints(
    node: &str,
    ours: &EndpointLists,
    upstream: &EndpointLists,
) -> Vec<Difference> {
    let none = Vec::new();
    let mut found = Vec::new();
    for key in ours.keys().chain(upstream.keys().filter(|key| !ours.contains_key(key))) {
        let (a, b) = (ours.get(key).unwrap_or(&none), upstream.get(key).unwrap_or(&none));
        if a != b {
            let without = |x: &[EndpointFacts], y: &[EndpointFacts]| -> Vec<EndpointFacts> {
                let mut rest = y.to_vec();
                x.iter()
                    .filter(|e| rest.iter().position(|r| r == *e).map(|at| rest.remove(at)).is_none())
                    .cloned()
                    .collect()
            };
            found.push(Difference {
                comparison: Comparison::PodEndpoints,
                node: node.into(),
                key: key.clone(),
                fact: "endpoints",
                ours: json(&without(a, b)),
                upstream: json(&without(b, a)),
            });
        }
    }
    found
}
