//! EndpointSlices.

use evenkeel_core::address::{Address, Family};
use evenkeel_core::object::{self, Conditions, PodRef, SlicePort};
use evenkeel_core::port::Protocol;
use evenkeel_core::time::Timestamp;
use serde::Deserialize;

use super::annotation::{HEADLESS, Marks, OfSlice, PROXY_NAME, SERVICE_NAME};
use super::metadata::Metadata;
use super::value::{AddressType, First, PortOrNone, WireProtocol};
use super::{Note, Object, Refusal};

/// An EndpointSlice, decoded: owns what [`object::EndpointSlice`] borrows.
#[derive(Clone, Debug, Default)]
pub struct EndpointSlice {
    pub(super) namespace: String,
    pub(super) name: String,
    service: String,
    family: Option<Family>,
    headless: bool,
    proxy_name: Option<String>,
    trigger: Timestamp,
    weight: u16,
    ports: Vec<OwnedPort>,
    endpoints: Vec<OwnedEndpoint>,
    pub(super) notes: Vec<Note>,
}

#[derive(Clone, Debug)]
struct OwnedPort {
    name: String,
    protocol: Protocol,
    port: u16,
}

#[derive(Clone, Debug)]
struct OwnedEndpoint {
    address: Address,
    node: String,
    zone: String,
    conditions: Conditions,
    pod_name: String,
    pod_uid: String,
    zone_hints: Vec<String>,
    node_hints: Vec<String>,
}

impl EndpointSlice {
    /// The slice as core takes it, for the duration of a call.
    pub fn lend<R>(&self, take: impl FnOnce(&object::EndpointSlice<'_>) -> R) -> R {
        let ports: Vec<_> = self
            .ports
            .iter()
            .map(|port| SlicePort { name: &port.name, protocol: port.protocol, port: port.port })
            .collect();
        // The hints of all endpoints in one list, of which each endpoint borrows its part.
        let hints: Vec<&str> = self
            .endpoints
            .iter()
            .flat_map(|endpoint| endpoint.zone_hints.iter().chain(&endpoint.node_hints))
            .map(String::as_str)
            .collect();
        let mut rest = hints.as_slice();
        let mut endpoints = Vec::with_capacity(self.endpoints.len());
        for endpoint in &self.endpoints {
            let (zone_hints, after) = rest.split_at(endpoint.zone_hints.len());
            let (node_hints, after) = after.split_at(endpoint.node_hints.len());
            rest = after;
            endpoints.push(object::Endpoint {
                address: endpoint.address,
                node: &endpoint.node,
                zone: &endpoint.zone,
                conditions: endpoint.conditions,
                pod: PodRef { name: &endpoint.pod_name, uid: &endpoint.pod_uid },
                zone_hints,
                node_hints,
            });
        }
        take(&object::EndpointSlice {
            namespace: &self.namespace,
            name: &self.name,
            service: &self.service,
            family: self.family,
            headless: self.headless,
            proxy_name: self.proxy_name.as_deref(),
            trigger: self.trigger,
            weight: self.weight,
            ports: &ports,
            endpoints: &endpoints,
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Wire {
    metadata: Option<Metadata<OfSlice, Marks<OfSlice>>>,
    address_type: Option<AddressType>,
    ports: Option<Vec<WirePort>>,
    endpoints: Option<Vec<WireEndpoint>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WirePort {
    name: Option<String>,
    protocol: Option<WireProtocol>,
    port: Option<PortOrNone>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WireEndpoint {
    addresses: Option<First>,
    conditions: Option<WireConditions>,
    node_name: Option<String>,
    zone: Option<String>,
    target_ref: Option<TargetRef>,
    hints: Option<Hints>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireConditions {
    ready: Option<bool>,
    serving: Option<bool>,
    terminating: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TargetRef {
    kind: Option<String>,
    name: Option<String>,
    uid: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Hints {
    for_zones: Option<Vec<Hint>>,
    for_nodes: Option<Vec<Hint>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Hint {
    name: Option<String>,
}

impl super::Wire for Wire {
    fn check(self) -> Result<Object, Refusal> {
        let mut metadata = self.metadata.unwrap_or_default();
        let annotations = metadata.annotations();
        let mut labels = metadata.labels.take().unwrap_or_default();
        let mut notes = Vec::new();
        let Some(AddressType(family)) = self.address_type else {
            return Err(Refusal::new("addressType", "expected IPv4, IPv6 or FQDN, found none"));
        };
        let mut endpoints = Vec::new();
        if let Some(family) = family {
            let wire = self.endpoints.unwrap_or_default();
            endpoints.reserve_exact(wire.len());
            for (index, endpoint) in wire.into_iter().enumerate() {
                endpoints.extend(OwnedEndpoint::from_wire(endpoint, index, family, &mut notes));
            }
        }
        let mut ports = Vec::new();
        for (index, port) in self.ports.unwrap_or_default().into_iter().enumerate() {
            if port.name.is_none() && port.port.is_some() {
                notes.push(Note::new(
                    format!("ports[{index}].name"),
                    "port left out, as kube-proxy does: it has no name; a port that is meant to be unnamed has \"\"",
                ));
            }
            ports.push(OwnedPort::from_wire(port));
        }
        Ok(Object::EndpointSlice(EndpointSlice {
            namespace: metadata.namespace()?,
            name: metadata.name()?,
            service: labels.take(SERVICE_NAME).unwrap_or_default(),
            family,
            headless: labels.take(HEADLESS).is_some(),
            proxy_name: labels.take(PROXY_NAME),
            trigger: annotations.trigger(&mut notes),
            weight: annotations.weight(&mut notes),
            ports,
            endpoints,
            notes,
        }))
    }
}

impl OwnedPort {
    /// A name that is absent counts as none, like a number that is absent: kube-proxy skips both.
    fn from_wire(wire: WirePort) -> Self {
        let port = if wire.name.is_some() { wire.port.unwrap_or_default().0 } else { 0 };
        Self {
            name: wire.name.unwrap_or_default(),
            protocol: wire.protocol.map_or(Protocol::Tcp, |protocol| protocol.0),
            port,
        }
    }
}

impl OwnedEndpoint {
    /// `None` without an address that an endpoint can have.
    fn from_wire(wire: WireEndpoint, index: usize, family: Family, notes: &mut Vec<Note>) -> Option<Self> {
        let text = wire.addresses?.0?;
        let address = match usable(&text, Some(family)) {
            Ok(address) => address,
            Err(why) => {
                let path = format!("endpoints[{index}].addresses[0]");
                notes.push(Note::new(path, format!("endpoint left out: {text:?} {why}")));
                return None;
            }
        };
        let conditions = wire.conditions.unwrap_or_default();
        let pod = wire.target_ref.filter(|target| target.kind.as_deref() == Some("Pod")).unwrap_or_default();
        let hints = wire.hints.unwrap_or_default();
        let names = |hints: Option<Vec<Hint>>| {
            hints.unwrap_or_default().into_iter().map(|hint| hint.name.unwrap_or_default()).collect()
        };
        Some(Self {
            address,
            node: wire.node_name.unwrap_or_default(),
            zone: wire.zone.unwrap_or_default(),
            conditions: Conditions {
                ready: conditions.ready.unwrap_or(true), // "A nil value should be interpreted as true."
                serving: conditions.serving.unwrap_or(true), // kube-proxy's reading; the API says: as ready
                terminating: conditions.terminating.unwrap_or(false),
            },
            pod_name: pod.name.unwrap_or_default(),
            pod_uid: pod.uid.unwrap_or_default(),
            zone_hints: names(hints.for_zones),
            node_hints: names(hints.for_nodes),
        })
    }
}

/// Reads the address of an endpoint; else says why no flow should go there.
pub(super) fn usable(text: &str, family: Option<Family>) -> Result<Address, &'static str> {
    match Address::parse(text) {
        None if text.contains('%') => Err("has a zone, which means nothing on another machine"),
        None => Err("is no IP address"),
        Some(address) if address.is_unspecified() => Err("is the unspecified address"),
        Some(address) if address.is_loopback() => Err("is a loopback address"),
        Some(address) if address.is_link_local() => Err("is a link-local address"),
        Some(address) if address.is_multicast() => Err("is a multicast address"),
        Some(address) if family.is_some_and(|family| family != address.family()) => {
            Err("is not of the slice's addressType")
        }
        Some(address) => Ok(address),
    }
}
