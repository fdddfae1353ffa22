//! Upstream's answer, as facts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::facts::{EndpointFacts, EndpointLists, Health as HealthFacts, PortFacts, PortKey, View, VipFacts};

/// A cluster, as the generator writes it and the oracle takes it.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document {
    #[serde(default)]
    pub(crate) node_name: String,
    #[serde(default)]
    pub(crate) all_nodes: bool,
    #[serde(default)]
    pub(crate) max_endpoints_per_slice: u32,
    pub(crate) items: Vec<Value>,
}

/// The parts of an answer that are compared.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    /// The EndpointSlices that exist after upstream's controller ran; kube-proxy's views are made of these.
    #[serde(default)]
    pub(crate) raw_endpoint_slices: Vec<Value>,
    #[serde(default)]
    pub(crate) proxies: Vec<Proxy>,
    #[serde(default)]
    pub(crate) error: String,
}

/// kube-proxy's view on one node.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proxy {
    pub(crate) node_name: String,
    pub(crate) zone: String,
    #[serde(rename = "IPv4")]
    ipv4: Vec<PortView>,
    #[serde(rename = "IPv6")]
    ipv6: Vec<PortView>,
    health: Health,
}

#[derive(Debug, Deserialize)]
struct Health {
    #[serde(rename = "IPv4")]
    ipv4: Vec<HealthView>,
    #[serde(rename = "IPv6")]
    ipv6: Vec<HealthView>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HealthView {
    namespace: String,
    name: String,
    local_ready_endpoints: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PortView {
    namespace: String,
    name: String,
    port: String,
    protocol: String,
    #[serde(rename = "clusterIP")]
    cluster_ip: String,
    port_number: u16,
    node_port: u16,
    uses_cluster: bool,
    uses_local: bool,
    has_any_endpoints: bool,
    cluster: Option<BTreeSet<String>>,
    local: Option<BTreeSet<String>>,
    all_reachable: BTreeSet<String>,
    #[serde(rename = "externalIPs")]
    external_ips: Vec<String>,
    #[serde(rename = "loadBalancerVIPs")]
    load_balancer_vips: Vec<String>,
    load_balancer_source_ranges: BTreeSet<String>,
    health_check_node_port: u16,
    session_affinity: String,
    sticky_max_age_seconds: u32,
    internal_policy_local: bool,
    external_policy_local: bool,
}

impl PortView {
    fn key(&self, family: &'static str) -> PortKey {
        PortKey {
            namespace: self.namespace.clone(),
            service: self.name.clone(),
            port: self.port.clone(),
            protocol: self.protocol.clone(),
            family,
        }
    }

    fn facts(self, family: &'static str) -> PortFacts {
        let mut vips = BTreeSet::new();
        let mut vip = |kind: &'static str, address: &str, port: u16, local: bool| {
            let used = if local { &self.local } else { &self.cluster };
            let external = kind != "ClusterIP";
            vips.insert(VipFacts {
                kind,
                address: address.into(),
                port,
                policy: if local { "Local" } else { "Cluster" },
                state: state(self.has_any_endpoints, used.as_ref()),
                affinity_seconds: if self.session_affinity == "ClientIP" {
                    self.sticky_max_age_seconds
                } else {
                    0
                },
                masquerade: external && !local,
                short_circuit: external && local,
                source_ranges: match kind {
                    "LoadBalancer" => self.load_balancer_source_ranges.clone(),
                    _ => BTreeSet::new(),
                },
            });
        };
        vip("ClusterIP", &self.cluster_ip, self.port_number, self.internal_policy_local);
        for address in &self.external_ips {
            vip("ExternalIP", address, self.port_number, self.external_policy_local);
        }
        for address in &self.load_balancer_vips {
            vip("LoadBalancer", address, self.port_number, self.external_policy_local);
        }
        if self.node_port != 0 {
            let every = if family == "IPv4" { "0.0.0.0" } else { "::" };
            vip("NodePort", every, self.node_port, self.external_policy_local);
        }
        PortFacts {
            uses_cluster: self.uses_cluster,
            uses_local: self.uses_local,
            has_any_endpoints: self.has_any_endpoints,
            cluster: self.cluster,
            local: self.local,
            all_reachable: self.all_reachable,
            vips,
            health_check_node_port: self.health_check_node_port,
        }
    }
}

/// What kube-proxy programs for a destination: a port without any endpoint is refused; one whose policy leaves
/// nothing on this node is dropped.
pub(crate) fn state(has_any: bool, used: Option<&BTreeSet<String>>) -> &'static str {
    match used {
        _ if !has_any => "reject",
        Some(set) if !set.is_empty() => "serve",
        _ => "drop",
    }
}

impl Proxy {
    pub(crate) fn view(self) -> View {
        let of = |family: &'static str, ports: Vec<PortView>| {
            ports.into_iter().map(move |port| (port.key(family), port.facts(family)))
        };
        of("IPv4", self.ipv4).chain(of("IPv6", self.ipv6)).collect()
    }

    /// Ready addresses on this node of each Service with a health-check node port, by family.
    pub(crate) fn health(&self) -> HealthFacts {
        let of = |family: &'static str, list: &[HealthView]| -> Vec<_> {
            list.iter()
                .map(|h| ((family, h.namespace.clone(), h.name.clone()), h.local_ready_endpoints))
                .collect()
        };
        of("IPv4", &self.health.ipv4).into_iter().chain(of("IPv6", &self.health.ipv6)).collect()
    }
}

/// An EndpointSlice, read here once more and independently of the decoder under test.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Slice {
    metadata: Metadata,
    address_type: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub(crate) ports: Vec<SlicePort>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub(crate) endpoints: Vec<Endpoint>,
}

fn null_is_empty<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[derive(Clone, Debug, Deserialize)]
struct Metadata {
    namespace: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SlicePort {
    name: Option<String>,
    port: Option<u16>,
    protocol: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Endpoint {
    #[serde(default)]
    addresses: Vec<String>,
    #[serde(default)]
    conditions: Conditions,
    #[serde(default)]
    node_name: String,
    #[serde(default)]
    zone: String,
    target_ref: Option<TargetRef>,
    #[serde(default)]
    hints: Hints,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Conditions {
    ready: Option<bool>,
    serving: Option<bool>,
    terminating: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
struct TargetRef {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    #[serde(default)]
    for_zones: Vec<Named>,
    #[serde(default)]
    for_nodes: Vec<Named>,
}

#[derive(Clone, Debug, Deserialize)]
struct Named {
    name: String,
}

/// One endpoint of a service port as kube-proxy sees it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) key: String,
    /// Which slice says so.
    pub(crate) slice: usize,
    pub(crate) ready: bool,
    pub(crate) serving: bool,
    pub(crate) terminating: bool,
    pub(crate) node: String,
    pub(crate) zone_hints: Vec<String>,
    pub(crate) node_hints: Vec<String>,
}

impl Seen {
    /// Everything that kube-proxy's answer depends on.
    pub(crate) fn says(&self) -> impl PartialEq {
        let conditions = (self.ready, self.serving, self.terminating);
        (conditions, self.node.clone(), self.zone_hints.clone(), self.node_hints.clone())
    }
}

/// An address as Go prints it after its tolerant parse: that is `Ipv6Addr`'s form but for an IPv4 address in
/// IPv6, which Go prints as IPv4.
pub(crate) fn canonical(address: &str) -> String {
    evenkeel_core::address::Address::parse(address).map_or_else(|| address.into(), |a| a.to_string())
}

/// `address:port`, with brackets where they are needed.
pub(crate) fn endpoint_text(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

impl Slice {
    pub(crate) fn service(&self) -> (&str, &str) {
        let name = self.metadata.labels.get("kubernetes.io/service-name").map_or("", String::as_str);
        (&self.metadata.namespace, name)
    }

    /// Upstream's controller made it, of Pods.
    pub(crate) fn is_of_controller(&self) -> bool {
        self.metadata
            .labels
            .get("endpointslice.kubernetes.io/managed-by")
            .is_some_and(|by| by == "endpointslice-controller.k8s.io")
    }

    /// kube-proxy does not watch it.
    fn is_hidden(&self) -> bool {
        ["service.kubernetes.io/headless", "service.kubernetes.io/service-proxy-name"]
            .iter()
            .any(|label| self.metadata.labels.contains_key(*label))
    }

    pub(crate) fn has_hints(&self) -> bool {
        self.endpoints.iter().any(|e| !e.hints.for_zones.is_empty() || !e.hints.for_nodes.is_empty())
    }

    fn family(&self) -> Option<&'static str> {
        ["IPv4", "IPv6"].into_iter().find(|family| *family == self.address_type)
    }

    /// The service ports that it speaks of, with their numbers.
    fn port_keys(&self) -> impl Iterator<Item = (PortKey, u16)> {
        let (namespace, service) = self.service();
        self.family().into_iter().flat_map(move |family| {
            self.ports.iter().filter_map(move |port| {
                let number = port.port.filter(|number| *number != 0)?;
                let key = PortKey {
                    namespace: namespace.into(),
                    service: service.into(),
                    port: port.name.clone()?,
                    protocol: port.protocol.clone().unwrap_or_else(|| "TCP".into()),
                    family,
                };
                Some((key, number))
            })
        })
    }
}

impl Endpoint {
    fn ready(&self) -> bool {
        self.conditions.ready.unwrap_or(true)
    }

    fn serving(&self) -> bool {
        self.conditions.serving.unwrap_or(true)
    }

    fn terminating(&self) -> bool {
        self.conditions.terminating.unwrap_or(false)
    }

    fn facts(&self, port: u16) -> Option<EndpointFacts> {
        let pod = self.target_ref.as_ref().filter(|target| target.kind == "Pod");
        Some(EndpointFacts {
            address: canonical(self.addresses.first()?),
            port,
            node: self.node_name.clone(),
            zone: self.zone.clone(),
            ready: self.ready(),
            serving: self.serving(),
            terminating: self.terminating(),
            pod: pod.map(|p| p.name.clone()).unwrap_or_default(),
            uid: pod.map(|p| p.uid.clone()).unwrap_or_default(),
        })
    }
}

/// What kube-proxy's trackers are given for one service port: duplicates included.
pub(crate) fn seen(slices: &[Slice], key: &PortKey) -> Vec<Seen> {
    let mut all = Vec::new();
    for (at, slice) in slices.iter().enumerate().filter(|(_, slice)| !slice.is_hidden()) {
        for (_, number) in slice.port_keys().filter(|(of, _)| of == key) {
            for endpoint in &slice.endpoints {
                let Some(address) = endpoint.addresses.first() else { continue };
                let names = |list: &[Named]| {
                    let mut names: Vec<_> = list.iter().map(|n| n.name.clone()).collect();
                    names.sort();
                    names
                };
                all.push(Seen {
                    key: endpoint_text(&canonical(address), number),
                    slice: at,
                    ready: endpoint.ready(),
                    serving: endpoint.serving(),
                    terminating: endpoint.terminating(),
                    node: endpoint.node_name.clone(),
                    zone_hints: names(&endpoint.hints.for_zones),
                    node_hints: names(&endpoint.hints.for_nodes),
                });
            }
        }
    }
    all
}

/// The endpoints that upstream's controller made of Pods.
pub(crate) fn pod_endpoints(slices: &[Slice]) -> EndpointLists {
    let mut lists = EndpointLists::new();
    for slice in slices.iter().filter(|slice| slice.is_of_controller()) {
        for (key, number) in slice.port_keys() {
            let list = lists.entry(key).or_default();
            list.extend(slice.endpoints.iter().filter_map(|endpoint| endpoint.facts(number)));
        }
    }
    for list in lists.values_mut() {
        list.sort();
    }
    lists.retain(|_, list| !list.is_empty());
    lists
}

/// The Services any of whose slices carry hints.
pub(crate) fn services_with_hints(slices: &[Slice]) -> BTreeSet<(String, String)> {
    let hinted = slices.iter().filter(|slice| slice.has_hints());
    hinted.map(|slice| slice.service()).map(|(namespace, name)| (namespace.into(), name.into())).collect()
}
