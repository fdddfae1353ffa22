//! Pods.

use evenkeel_core::address::Address;
use evenkeel_core::object::{self, Label};
use evenkeel_core::port::Protocol;
use evenkeel_core::time::Timestamp;
use serde::Deserialize;

use super::annotation::OfPod;
use super::metadata::Metadata;
use super::slice::usable;
use super::value::{Pairs, Port, WireProtocol};
use super::{Note, Object, Refusal};

/// A Pod, decoded: owns what [`object::Pod`] borrows.
#[derive(Clone, Debug, Default)]
pub struct Pod {
    pub(super) namespace: String,
    pub(super) name: String,
    uid: String,
    labels: Vec<(String, String)>,
    terminating: bool,
    terminal: bool,
    node: String,
    hostname: String,
    subdomain: String,
    ready: bool,
    ready_since: Timestamp,
    has_ip: bool,
    addresses: Vec<Address>,
    ports: Vec<OwnedPort>,
    weight: u16,
    maintenance: bool,
    pub(super) notes: Vec<Note>,
}

#[derive(Clone, Debug)]
struct OwnedPort {
    name: String,
    protocol: Protocol,
    port: u16,
}

impl Pod {
    /// The Pod as core takes it, for the duration of a call.
    pub fn lend<R>(&self, take: impl FnOnce(&object::Pod<'_>) -> R) -> R {
        let labels: Vec<_> = self.labels.iter().map(|(key, value)| Label { key, value }).collect();
        let ports: Vec<_> = self
            .ports
            .iter()
            .map(|port| object::ContainerPort { name: &port.name, protocol: port.protocol, port: port.port })
            .collect();
        take(&object::Pod {
            namespace: &self.namespace,
            name: &self.name,
            uid: &self.uid,
            labels: &labels,
            terminating: self.terminating,
            terminal: self.terminal,
            node: &self.node,
            hostname: &self.hostname,
            subdomain: &self.subdomain,
            ready: self.ready,
            ready_since: self.ready_since,
            has_ip: self.has_ip,
            addresses: &self.addresses,
            ports: &ports,
            weight: self.weight,
            maintenance: self.maintenance,
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Wire {
    metadata: Option<Metadata<OfPod, Pairs>>,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
    hostname: Option<String>,
    subdomain: Option<String>,
    containers: Option<Vec<Container>>,
    init_containers: Option<Vec<Container>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Container {
    ports: Option<Vec<WirePort>>,
    restart_policy: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePort {
    name: Option<String>,
    protocol: Option<WireProtocol>,
    container_port: Port,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    phase: Option<String>,
    conditions: Option<Vec<Condition>>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
    #[serde(rename = "podIPs")]
    pod_ips: Option<Vec<PodIp>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Condition {
    #[serde(rename = "type")]
    kind: Option<String>,
    status: Option<String>,
    last_transition_time: Option<String>,
}

impl Condition {
    /// The one of type Ready.
    pub(super) fn ready(conditions: &Option<Vec<Self>>) -> Option<&Self> {
        conditions.iter().flatten().find(|condition| condition.kind.as_deref() == Some("Ready"))
    }

    pub(super) fn is_true(&self) -> bool {
        self.status.as_deref() == Some("True")
    }

    fn since(&self) -> Timestamp {
        self.last_transition_time.as_deref().and_then(Timestamp::parse).unwrap_or(Timestamp::NONE)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PodIp {
    ip: Option<String>,
}

impl super::Wire for Wire {
    fn check(self) -> Result<Object, Refusal> {
        let mut metadata = self.metadata.unwrap_or_default();
        let spec = self.spec.unwrap_or_default();
        let status = self.status.unwrap_or_default();
        let mut notes = Vec::new();
        let annotations = metadata.annotations();
        let ready = Condition::ready(&status.conditions);
        let (is_ready, ready_since) =
            (ready.is_some_and(Condition::is_true), ready.map_or(Timestamp::NONE, Condition::since));
        let texts = addresses(status.pod_ips);
        let mut addresses = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            match usable(text, None) {
                Ok(address) => addresses.push(address),
                Err(why) => notes.push(Note::new(
                    format!("status.podIPs[{index}].ip"),
                    format!("address left out: {text:?} {why}"),
                )),
            }
        }
        let sidecars = spec
            .init_containers
            .into_iter()
            .flatten()
            .filter(|container| container.restart_policy.as_deref() == Some("Always"));
        Ok(Object::Pod(Pod {
            namespace: metadata.namespace()?,
            name: metadata.name()?,
            uid: metadata.uid.take().unwrap_or_default(),
            labels: metadata.labels.take().unwrap_or_default().0,
            terminating: metadata.deletion_timestamp.is_some(),
            terminal: matches!(status.phase.as_deref(), Some("Failed" | "Succeeded")),
            node: spec.node_name.unwrap_or_default(),
            hostname: spec.hostname.unwrap_or_default(),
            subdomain: spec.subdomain.unwrap_or_default(),
            ready: is_ready,
            ready_since,
            has_ip: !texts.is_empty() || status.pod_ip.is_some_and(|text| !text.is_empty()),
            addresses,
            ports: spec
                .containers
                .into_iter()
                .flatten()
                .chain(sidecars)
                .flat_map(|container| container.ports.unwrap_or_default())
                .filter_map(OwnedPort::from_wire)
                .collect(),
            weight: annotations.weight(&mut notes),
            maintenance: annotations.maintenance(&mut notes),
            notes,
        }))
    }
}

/// `podIPs`. `podIP` alone makes no endpoint: the API server always fills both, and the controllers read this one.
fn addresses(pod_ips: Option<Vec<PodIp>>) -> Vec<String> {
    pod_ips.into_iter().flatten().filter_map(|pod_ip| pod_ip.ip).filter(|text| !text.is_empty()).collect()
}

impl OwnedPort {
    /// A port without a name cannot be looked up.
    fn from_wire(wire: WirePort) -> Option<Self> {
        Some(Self {
            name: wire.name.filter(|name| !name.is_empty())?,
            protocol: wire.protocol.map_or(Protocol::Tcp, |protocol| protocol.0),
            port: wire.container_port.0,
        })
    }
}
