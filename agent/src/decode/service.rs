//! Services.

use evenkeel_core::address::{Address, Family, Prefix};
use evenkeel_core::bounds::AFFINITY_SECONDS_DEFAULT;
use evenkeel_core::object::{self, Label, ServicePort, ServiceType, TargetPort, TrafficPolicy};
use evenkeel_core::port::Protocol;
use evenkeel_core::time::Timestamp;
use serde::Deserialize;

use super::annotation::{Marks, OfService, PROXY_NAME};
use super::metadata::{Metadata, parsed};
use super::value::{
    AffinitySeconds, ByClientIp, ClusterIp, IpFamily, NumberOrName, Pairs, Port, PortOrNone, WirePolicy,
    WireProtocol, WireServiceType,
};
use super::{Note, Object, Refusal};

/// A Service, decoded: owns what [`object::Service`] borrows.
#[derive(Clone, Debug, Default)]
pub struct Service {
    pub(super) namespace: String,
    pub(super) name: String,
    created: Timestamp,
    kind: ServiceType,
    headless: bool,
    cluster_ips: Vec<Address>,
    families: Vec<Family>,
    external_ips: Vec<Address>,
    ingress_ips: Vec<Address>,
    source_ranges: Vec<Prefix>,
    ports: Vec<OwnedPort>,
    selector: Vec<(String, String)>,
    internal_policy: TrafficPolicy,
    external_policy: TrafficPolicy,
    affinity_seconds: u32,
    health_check_node_port: u16,
    publish_not_ready: bool,
    proxy_name: Option<String>,
    maintenance: bool,
    pub(super) notes: Vec<Note>,
}

#[derive(Clone, Debug)]
struct OwnedPort {
    name: String,
    protocol: Protocol,
    port: u16,
    node_port: u16,
    target: OwnedTarget,
    app_protocol: String,
}

#[derive(Clone, Debug)]
enum OwnedTarget {
    Number(u16),
    Name(String),
}

impl Service {
    /// The Service as core takes it, for the duration of a call.
    pub fn lend<R>(&self, take: impl FnOnce(&object::Service<'_>) -> R) -> R {
        let ports: Vec<_> = self
            .ports
            .iter()
            .map(|port| ServicePort {
                name: &port.name,
                protocol: port.protocol,
                port: port.port,
                node_port: port.node_port,
                target: match &port.target {
                    OwnedTarget::Number(number) => TargetPort::Number(*number),
                    OwnedTarget::Name(name) => TargetPort::Name(name),
                },
                app_protocol: &port.app_protocol,
            })
            .collect();
        let selector: Vec<_> = self.selector.iter().map(|(key, value)| Label { key, value }).collect();
        take(&object::Service {
            namespace: &self.namespace,
            name: &self.name,
            created: self.created,
            kind: self.kind,
            headless: self.headless,
            cluster_ips: &self.cluster_ips,
            families: &self.families,
            external_ips: &self.external_ips,
            ingress_ips: &self.ingress_ips,
            source_ranges: &self.source_ranges,
            ports: &ports,
            selector: &selector,
            internal_policy: self.internal_policy,
            external_policy: self.external_policy,
            affinity_seconds: self.affinity_seconds,
            health_check_node_port: self.health_check_node_port,
            publish_not_ready: self.publish_not_ready,
            proxy_name: self.proxy_name.as_deref(),
            maintenance: self.maintenance,
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Wire {
    metadata: Option<Metadata<OfService, Marks<OfService>>>,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[serde(rename = "type")]
    kind: Option<WireServiceType>,
    #[serde(rename = "clusterIP")]
    cluster_ip: Option<ClusterIp>,
    #[serde(rename = "clusterIPs")]
    cluster_ips: Option<Vec<ClusterIp>>,
    ip_families: Option<Vec<IpFamily>>,
    #[serde(rename = "externalIPs")]
    external_ips: Option<Vec<String>>,
    load_balancer_source_ranges: Option<Vec<String>>,
    ports: Option<Vec<WirePort>>,
    selector: Option<Pairs>,
    internal_traffic_policy: Option<WirePolicy>,
    external_traffic_policy: Option<WirePolicy>,
    session_affinity: Option<ByClientIp>,
    session_affinity_config: Option<AffinityConfig>,
    health_check_node_port: Option<PortOrNone>,
    publish_not_ready_addresses: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePort {
    name: Option<String>,
    protocol: Option<WireProtocol>,
    port: Port,
    node_port: Option<PortOrNone>,
    target_port: Option<NumberOrName>,
    app_protocol: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct AffinityConfig {
    #[serde(rename = "clientIP")]
    client_ip: Option<ClientIp>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ClientIp {
    timeout_seconds: Option<AffinitySeconds>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    load_balancer: Option<LoadBalancer>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct LoadBalancer {
    ingress: Option<Vec<Ingress>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Ingress {
    ip: Option<String>,
    ip_mode: Option<String>,
}

impl super::Wire for Wire {
    fn check(self) -> Result<Object, Refusal> {
        let mut metadata = self.metadata.unwrap_or_default();
        let mut spec = self.spec.unwrap_or_default();
        let mut notes = Vec::new();
        let (headless, cluster_ips, families) = addresses(&spec, &mut notes);
        let source_ranges = source_ranges(spec.load_balancer_source_ranges.take().unwrap_or_default())?;
        Ok(Object::Service(Service {
            namespace: metadata.namespace()?,
            name: metadata.name()?,
            created: metadata.created(),
            kind: spec.kind.map_or(ServiceType::ClusterIp, |kind| kind.0),
            headless,
            cluster_ips,
            families,
            external_ips: parsed(
                spec.external_ips.take().unwrap_or_default(),
                |index| format!("spec.externalIPs[{index}]"),
                "an IP address",
                &mut notes,
                Address::parse,
            ),
            ingress_ips: ingress_ips(self.status, &mut notes),
            source_ranges,
            ports: spec.ports.take().unwrap_or_default().into_iter().map(OwnedPort::from_wire).collect(),
            selector: spec.selector.take().unwrap_or_default().0,
            internal_policy: spec.internal_traffic_policy.map_or(TrafficPolicy::Cluster, |policy| policy.0),
            external_policy: spec.external_traffic_policy.map_or(TrafficPolicy::Cluster, |policy| policy.0),
            affinity_seconds: affinity_seconds(&spec),
            health_check_node_port: spec.health_check_node_port.unwrap_or_default().0,
            publish_not_ready: spec.publish_not_ready_addresses.unwrap_or_default(),
            proxy_name: metadata.labels.as_mut().and_then(|labels| labels.take(PROXY_NAME)),
            maintenance: metadata.annotations().maintenance(&mut notes),
            notes,
        }))
    }
}

/// Whether the Service is headless, its cluster IPs, and its families.
///
/// `ipFamilies[i]` goes with `clusterIPs[i]`. API servers before dual stack know neither: then there is one
/// address, `clusterIP`, and its family is the Service's, as kube-proxy reads it.
fn addresses(spec: &Spec, notes: &mut Vec<Note>) -> (bool, Vec<Address>, Vec<Family>) {
    let stated: Vec<Family> = spec.ip_families.iter().flatten().map(|family| family.0).collect();
    let listed = spec.cluster_ips.as_deref().unwrap_or_default();
    let first = match (spec.cluster_ip, listed.first()) {
        (None | Some(ClusterIp::Missing), Some(first)) => *first,
        (Some(cluster_ip), _) => cluster_ip,
        (None, None) => ClusterIp::Missing,
    };
    let ClusterIp::Given(first) = first else { return (true, Vec::new(), stated) };
    if stated.is_empty() {
        if listed.len() > 1 {
            notes.push(Note::new("spec.clusterIPs", "only the first counts, since ipFamilies is absent"));
        }
        return (false, vec![first], vec![first.family()]);
    }
    let listed = if listed.is_empty() { &[ClusterIp::Given(first)] } else { listed };
    let mut cluster_ips: Vec<Address> = Vec::with_capacity(listed.len());
    for (index, cluster_ip) in listed.iter().enumerate() {
        match (cluster_ip, stated.get(index)) {
            (ClusterIp::Given(address), Some(family)) if address.family() == *family => {
                if cluster_ips.iter().all(|other| other.family() != *family) {
                    cluster_ips.push(*address);
                }
            }
            _ => notes.push(Note::new(
                format!("spec.clusterIPs[{index}]"),
                "ignored: no address of the family in ipFamilies at the same place",
            )),
        }
    }
    (false, cluster_ips, stated)
}

/// All or none: a range left out could open the VIP to everybody.
fn source_ranges(texts: Vec<String>) -> Result<Vec<Prefix>, Refusal> {
    let mut ranges = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        ranges.push(Prefix::parse(text.trim()).ok_or_else(|| {
            Refusal::new(
                format!("spec.loadBalancerSourceRanges[{index}]"),
                format!("expected a prefix such as 192.0.2.0/24, found {text:?}"),
            )
        })?);
    }
    Ok(ranges)
}

/// A host name, and an address of mode Proxy, are the load balancer's own business.
fn ingress_ips(status: Option<Status>, notes: &mut Vec<Note>) -> Vec<Address> {
    let ingress = status.and_then(|status| status.load_balancer).and_then(|balancer| balancer.ingress);
    let texts = ingress
        .unwrap_or_default()
        .into_iter()
        .filter(|ingress| matches!(ingress.ip_mode.as_deref(), None | Some("" | "VIP")))
        .filter_map(|ingress| ingress.ip.filter(|ip| !ip.is_empty()))
        .collect();
    let path = |index| format!("status.loadBalancer.ingress[{index}].ip");
    parsed(texts, path, "an IP address", notes, Address::parse)
}

fn affinity_seconds(spec: &Spec) -> u32 {
    if !spec.session_affinity.is_some_and(|affinity| affinity.0) {
        return 0;
    }
    let config = spec.session_affinity_config.as_ref();
    let seconds = config.and_then(|config| config.client_ip.as_ref()?.timeout_seconds);
    seconds.map_or(AFFINITY_SECONDS_DEFAULT, |seconds| seconds.0)
}

impl OwnedPort {
    fn from_wire(wire: WirePort) -> Self {
        let port = wire.port.0;
        Self {
            name: wire.name.unwrap_or_default(),
            protocol: wire.protocol.map_or(Protocol::Tcp, |protocol| protocol.0),
            port,
            node_port: wire.node_port.unwrap_or_default().0,
            target: match wire.target_port {
                Some(NumberOrName::Name(name)) if !name.is_empty() => OwnedTarget::Name(name),
                Some(NumberOrName::Number(number)) if number != 0 => OwnedTarget::Number(number),
                _ => OwnedTarget::Number(port), // "defaults to the value of 'port'"
            },
            app_protocol: wire.app_protocol.unwrap_or_default(),
        }
    }
}
