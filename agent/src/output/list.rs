//! Differences as a list for people: `+` came, `-` went, `~` changed.

use std::io::{self, Write};

use evenkeel_core::change::{BackendState, VipState};
use evenkeel_core::object::TrafficPolicy;

use super::json::policy;
use super::table::socket;
use crate::view::{Backend, Difference, Name, Port, Vip};

/// Prints one difference on one line.
///
/// # Errors
/// It cannot be written.
pub fn difference(out: &mut dyn Write, name: &Name, difference: &Difference) -> io::Result<()> {
    let (namespace, name) = name;
    match difference {
        Difference::Vip(before, after) => {
            let Some(vip) = after.as_ref().or(before.as_ref()) else { return Ok(()) };
            let what = match (before, after) {
                (Some(before), Some(after)) => vip_changed(before, after),
                (None, Some(vip)) => vip_new(vip),
                _ => String::new(),
            };
            let sign = sign(before.is_some(), after.is_some());
            let place = place(&vip.port);
            let address = format!("{}/{}", socket(vip.address, vip.number), vip.port.protocol.text());
            writeln!(out, "{}", format!("{sign} {namespace}/{name}{place} vip {address} {what}").trim_end())
        }
        Difference::Backend(before, after) => {
            let Some(backend) = after.as_ref().or(before.as_ref()) else { return Ok(()) };
            let what = match (before, after) {
                (Some(before), Some(after)) => backend_changed(before, after),
                (None, Some(backend)) => backend_new(backend),
                _ => String::new(),
            };
            let sign = sign(before.is_some(), after.is_some());
            let place = place(&backend.port);
            let address =
                format!("{}/{}", socket(backend.address, backend.number), backend.port.protocol.text());
            writeln!(
                out,
                "{}",
                format!("{sign} {namespace}/{name}{place} backend {address} {what}").trim_end()
            )
        }
    }
}

const fn sign(before: bool, after: bool) -> char {
    match (before, after) {
        (false, _) => '+',
        (true, true) => '~',
        (true, false) => '-',
    }
}

fn place(port: &Port) -> String {
    if port.name.is_empty() { String::new() } else { format!(":{}", port.name) }
}

fn vip_new(vip: &Vip) -> String {
    let mut what = format!("{}, policy {}, {}", vip.kind.text(), policy(vip.policy), vip.state.text());
    if vip.affinity_seconds > 0 {
        what += &format!(", affinity {} s", vip.affinity_seconds);
    }
    if vip.health_check_node_port > 0 {
        what += &format!(", health check on {}", vip.health_check_node_port);
    }
    if !vip.source_ranges.is_empty() {
        what += &format!(", from {}", ranges(vip));
    }
    what
}

fn vip_changed(before: &Vip, after: &Vip) -> String {
    let mut what = Vec::new();
    let mut tell = |name: &str, old: String, new: String| {
        if old != new {
            what.push(format!("{name} {old} -> {new}"));
        }
    };
    let policy_of = |vip: &Vip| policy(vip.policy).to_owned();
    let state = |state: VipState| state.text().to_owned();
    tell("policy", policy_of(before), policy_of(after));
    tell("state", state(before.state), state(after.state));
    tell("affinity", before.affinity_seconds.to_string(), after.affinity_seconds.to_string());
    let port = |vip: &Vip| vip.health_check_node_port.to_string();
    tell("health check on", port(before), port(after));
    tell("masquerade", before.masquerade.to_string(), after.masquerade.to_string());
    tell("short circuit", before.short_circuit.to_string(), after.short_circuit.to_string());
    tell("from", ranges(before), ranges(after));
    what.join(", ")
}

fn ranges(vip: &Vip) -> String {
    if vip.source_ranges.is_empty() {
        return "everywhere".to_owned();
    }
    vip.source_ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn backend_new(backend: &Backend) -> String {
    let mut what = Vec::new();
    if !backend.node.is_empty() {
        what.push(backend.node.to_string());
    }
    what.push(format!("weight {}", weights(backend)));
    if backend.state != BackendState::Ready {
        what.push(backend.state.text().to_owned());
    }
    what.join(", ")
}

fn backend_changed(before: &Backend, after: &Backend) -> String {
    let mut what = Vec::new();
    let mut tell = |name: &str, old: &str, new: &str| {
        if old != new {
            what.push(format!("{name} {} -> {}", or_none(old), or_none(new)));
        }
    };
    tell("weight", &weights(before), &weights(after));
    tell("state", before.state.text(), after.state.text());
    tell("node", &before.node, &after.node);
    tell("zone", &before.zone, &after.zone);
    tell("pod", &before.pod, &after.pod);
    what.join(", ")
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// The weight, and the one under the Local policy where it is another.
fn weights(backend: &Backend) -> String {
    let (cluster, local) = (backend.weight(TrafficPolicy::Cluster), backend.weight(TrafficPolicy::Local));
    match (cluster, local) {
        (Some(cluster), Some(local)) if cluster == local => cluster.to_string(),
        (Some(cluster), Some(local)) => format!("{cluster} (Local {local})"),
        (Some(cluster), None) => cluster.to_string(),
        (None, Some(local)) => format!("{local} (Local only)"),
        (None, None) => "none".to_owned(),
    }
}
