//! JSON: the whole view, or one change a line. `docs/view.md` describes both.

use evenkeel_core::address::Address;
use evenkeel_core::change::{Change, PortName, ServiceName};
use evenkeel_core::object::TrafficPolicy;
use serde::Serialize;
use serde::ser::{SerializeSeq, SerializeStruct, Serializer};
use std::io::{self, Write};

use crate::view::{Backend, Name, Served, View, Vip};

/// Prints the view as one JSON value.
///
/// # Errors
/// It cannot be written.
pub fn view(out: &mut dyn Write, generation: u64, node: &str, view: &View) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Whole { generation, node, vips: Vips(view) })?;
    out.write_all(b"\n")
}

/// Prints a change on one line.
///
/// # Errors
/// It cannot be written.
pub fn change(out: &mut dyn Write, generation: u64, change: &Change<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Line { generation, change: &Row::from_change(change) })?;
    out.write_all(b"\n")
}

/// Prints the line after the last change of a generation.
///
/// # Errors
/// It cannot be written.
pub fn generation_end(out: &mut dyn Write, generation: u64) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Line { generation, change: &Row::GenerationEnd {} })?;
    out.write_all(b"\n")
}

/// Prints the line that says: drop what you have, everything follows.
///
/// # Errors
/// It cannot be written.
pub fn anew(out: &mut dyn Write, generation: u64) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Line { generation, change: &Row::Anew {} })?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct Whole<'a> {
    generation: u64,
    node: &'a str,
    vips: Vips<'a>,
}

/// Written one by one, so that the whole never stands in memory twice.
struct Vips<'a>(&'a View);

impl Serialize for Vips<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for (name, served) in self.0.services() {
            for vip in &served.vips {
                list.serialize_element(&OneVip { name, served, vip })?;
            }
        }
        list.end()
    }
}

struct OneVip<'a> {
    name: &'a Name,
    served: &'a Served,
    vip: &'a Vip,
}

impl Serialize for OneVip<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name: (namespace, name), served, vip } = self;
        let mut object = serializer.serialize_struct("Vip", 15)?;
        object.serialize_field("address", &text(vip.address))?;
        object.serialize_field("port", &vip.number)?;
        object.serialize_field("protocol", vip.port.protocol.text())?;
        object.serialize_field("kind", vip.kind.text())?;
        object.serialize_field("service", &format!("{namespace}/{name}"))?;
        object.serialize_field("portName", &*vip.port.name)?;
        object.serialize_field("policy", policy(vip.policy))?;
        object.serialize_field("state", vip.state.text())?;
        object.serialize_field("affinitySeconds", &vip.affinity_seconds)?;
        object.serialize_field("healthCheckNodePort", &vip.health_check_node_port)?;
        object.serialize_field("masquerade", &vip.masquerade)?;
        object.serialize_field("shortCircuit", &vip.short_circuit)?;
        let ranges: Vec<String> = vip.source_ranges.iter().map(ToString::to_string).collect();
        object.serialize_field("sourceRanges", &ranges)?;
        object.serialize_field("backends", &Backends { served, vip, policy: vip.policy })?;
        if vip.short_circuit {
            let policy = TrafficPolicy::Cluster;
            object.serialize_field("shortCircuitBackends", &Backends { served, vip, policy })?;
        }
        object.end()
    }
}

struct Backends<'a> {
    served: &'a Served,
    vip: &'a Vip,
    policy: TrafficPolicy,
}

impl Serialize for Backends<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.served.behind(&self.vip.port, self.policy).map(OneBackend))
    }
}

struct OneBackend<'a>((&'a Backend, u16));

impl Serialize for OneBackend<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (backend, weight) = self.0;
        let mut object = serializer.serialize_struct("Backend", 6)?;
        object.serialize_field("address", &text(backend.address))?;
        object.serialize_field("port", &backend.number)?;
        object.serialize_field("node", &*backend.node)?;
        object.serialize_field("zone", &*backend.zone)?;
        object.serialize_field("weight", &weight)?;
        object.serialize_field("state", backend.state.text())?;
        object.end()
    }
}

#[derive(Serialize)]
struct Line<'a> {
    generation: u64,
    #[serde(flatten)]
    change: &'a Row<'a>,
}

#[derive(Serialize)]
#[serde(tag = "change", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Row<'a> {
    Vip {
        #[serde(flatten)]
        of: Of<'a>,
        address: String,
        port: u16,
        kind: &'static str,
        policy: &'static str,
        state: &'static str,
        affinity_seconds: u32,
        health_check_node_port: u16,
        masquerade: bool,
        short_circuit: bool,
        source_ranges: Vec<String>,
    },
    Backend {
        #[serde(flatten)]
        of: Of<'a>,
        address: String,
        port: u16,
        node: &'a str,
        zone: &'a str,
        cluster_weight: Option<u16>,
        local_weight: Option<u16>,
        state: &'static str,
        local: bool,
    },
    BackendGone {
        #[serde(flatten)]
        of: Of<'a>,
        address: String,
        port: u16,
        flush: bool,
    },
    VipGone {
        #[serde(flatten)]
        of: Of<'a>,
        address: String,
        port: u16,
        kind: &'static str,
    },
    ServiceEnd {
        service: String,
    },
    GenerationEnd {},
    Anew {},
}

/// The service port that a row belongs to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Of<'a> {
    service: String,
    port_name: &'a str,
    protocol: &'static str,
    family: &'static str,
}

impl<'a> Of<'a> {
    fn from_port(port: PortName<'a>) -> Self {
        Self {
            service: service(port.service),
            port_name: port.name,
            protocol: port.protocol.text(),
            family: port.family.text(),
        }
    }
}

impl<'a> Row<'a> {
    fn from_change(change: &Change<'a>) -> Self {
        match change {
            Change::Vip(vip) => Self::Vip {
                of: Of::from_port(vip.port()),
                address: text(vip.address),
                port: vip.number,
                kind: vip.kind.text(),
                policy: policy(vip.policy),
                state: vip.state.text(),
                affinity_seconds: vip.affinity_seconds,
                health_check_node_port: vip.health_check_node_port,
                masquerade: vip.masquerade,
                short_circuit: vip.short_circuit,
                source_ranges: vip.source_ranges.iter().map(|range| range.to_string()).collect(),
            },
            Change::Backend(backend) => Self::Backend {
                of: Of::from_port(backend.port()),
                address: text(backend.address),
                port: backend.number,
                node: backend.node(),
                zone: backend.zone(),
                cluster_weight: backend.cluster_weight,
                local_weight: backend.local_weight,
                state: backend.state.text(),
                local: backend.local,
            },
            Change::BackendGone(gone) => Self::BackendGone {
                of: Of::from_port(gone.port()),
                address: text(gone.address),
                port: gone.number,
                flush: gone.flush,
            },
            Change::VipGone(gone) => Self::VipGone {
                of: Of::from_port(gone.port()),
                address: text(gone.address),
                port: gone.number,
                kind: gone.kind.text(),
            },
            Change::ServiceEnd(end) => Self::ServiceEnd { service: service(end.service()) },
        }
    }
}

fn text(address: Address) -> String {
    address.to_string()
}

fn service(name: ServiceName<'_>) -> String {
    format!("{}/{}", name.namespace, name.name)
}

/// As in the API.
pub(super) const fn policy(policy: TrafficPolicy) -> &'static str {
    match policy {
        TrafficPolicy::Cluster => "Cluster",
        TrafficPolicy::Local => "Local",
    }
}
