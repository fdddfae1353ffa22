//! The whole view as a table: one row a backend, the VIP said once.

use evenkeel_core::Cluster;
use evenkeel_core::address::{Address, Family};
use evenkeel_core::change::{BackendState, VipState};
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::json::policy;
use crate::view::{Backend, Name, View, Vip};

/// Address and port, as one writes them.
pub(super) fn socket(address: Address, number: u16) -> String {
    match address.family() {
        Family::V4 => format!("{address}:{number}"),
        Family::V6 => format!("[{address}]:{number}"),
    }
}

/// "1 VIP", "2 VIPs".
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Prints the view as a table.
///
/// # Errors
/// It cannot be written.
pub fn view(
    out: &mut dyn Write,
    generation: u64,
    node: &str,
    view: &View,
    wide: Option<&Cluster<'_>>,
) -> io::Result<()> {
    let (services, vips, backends) = view.counts();
    let place = if node.is_empty() { String::new() } else { format!("node {node}, ") };
    writeln!(
        out,
        "{place}generation {generation}: {} of {}, {}",
        counted(vips, "VIP"),
        counted(services, "Service"),
        counted(backends, "backend"),
    )?;
    if vips == 0 {
        return Ok(());
    }
    writeln!(out)?;
    let reasons = wide.map(|cluster| (reasons(cluster, view), true));
    let is_wide = reasons.is_some();
    let mut widths = Widths::default();
    let reasons = reasons.map(|(reasons, _)| reasons).unwrap_or_default();
    // Twice: once to measure, once to print, so that no table is held.
    for print in [false, true] {
        let mut take = |cells: &[&str]| if print { widths.print(out, cells) } else { widths.measure(cells) };
        take(if is_wide { &HEAD_WIDE } else { &HEAD })?;
        for (name, served) in view.services() {
            for vip in &served.vips {
                let service = format!("{}/{}", name.0, name.1);
                let address = format!("{}/{}", socket(vip.address, vip.number), vip.port.protocol.text());
                let port: &str = &vip.port.name;
                let reason = reasons.get(&key_of_port(name, vip)).map_or("", String::as_str);
                let mut first =
                    Some([&*service, port, &*address, vip.kind.text(), policy(vip.policy), vip.state.text()]);
                for (backend, weight) in served.behind(&vip.port, vip.policy) {
                    let left = first.take().unwrap_or_default();
                    let backend_address = socket(backend.address, backend.number);
                    let weight = weight.to_string();
                    let state = if backend.state == BackendState::Ready { "" } else { backend.state.text() };
                    let mut cells = left.to_vec();
                    cells.extend([&*backend_address, &*backend.node, &*weight]);
                    let why;
                    if is_wide {
                        why = if left[0].is_empty() { String::new() } else { vip_notes(vip, reason) };
                        cells.extend([&*backend.zone, pod(backend), backend.state.text(), &*why]);
                    } else {
                        cells.push(state);
                    }
                    take(&cells)?;
                }
                if let Some(left) = first {
                    let mut cells = left.to_vec();
                    let why;
                    let none = if vip.state == VipState::Serve { "-" } else { "none" };
                    cells.extend([none, "", ""]);
                    if is_wide {
                        why = vip_notes(vip, reason);
                        cells.extend(["", "", "", &*why]);
                    }
                    take(&cells)?;
                }
            }
        }
    }
    Ok(())
}

const HEAD: [&str; 10] =
    ["SERVICE", "PORT", "VIP", "KIND", "POLICY", "STATE", "BACKEND", "NODE", "WEIGHT", ""];
const HEAD_WIDE: [&str; 13] = [
    "SERVICE",
    "PORT",
    "VIP",
    "KIND",
    "POLICY",
    "STATE",
    "BACKEND",
    "NODE",
    "WEIGHT",
    "ZONE",
    "POD",
    "BACKEND STATE",
    "NOTES",
];
/// The one column of numbers.
const WEIGHT: usize = 8;

fn pod(backend: &Backend) -> &str {
    &backend.pod
}

/// What else a dataplane does for this VIP.
fn vip_notes(vip: &Vip, reason: &str) -> String {
    let mut notes = Vec::new();
    if !reason.is_empty() {
        notes.push(reason.to_owned());
    }
    if vip.masquerade {
        notes.push("masquerade".to_owned());
    }
    if vip.short_circuit {
        notes.push("short circuit".to_owned());
    }
    if vip.affinity_seconds > 0 {
        notes.push(format!("affinity {} s", vip.affinity_seconds));
    }
    if vip.health_check_node_port > 0 {
        notes.push(format!("health check on {}", vip.health_check_node_port));
    }
    if !vip.source_ranges.is_empty() {
        let ranges: Vec<String> = vip.source_ranges.iter().map(ToString::to_string).collect();
        notes.push(format!("from {}", ranges.join(" ")));
    }
    notes.join(", ")
}

type PortKey = (Name, crate::view::Port);

fn key_of_port(name: &Name, vip: &Vip) -> PortKey {
    (name.clone(), vip.port.clone())
}

/// Why each port is as it is, in the words of `explain`.
fn reasons(cluster: &Cluster<'_>, view: &View) -> BTreeMap<PortKey, String> {
    let mut reasons = BTreeMap::new();
    for (name, served) in view.services() {
        let Some(service) = cluster.service(&name.0, &name.1) else { continue };
        for vip in &served.vips {
            let found = service.ports().find(|port| {
                port.port.name == &*vip.port.name
                    && port.port.protocol == vip.port.protocol
                    && port.port.family == vip.port.family
            });
            if let Some(port) = found {
                let hints = super::explain::hints_worth_telling(port.hints);
                let served = if vip.state == VipState::Serve { "" } else { port.reason.text() };
                let text = [served, hints].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
                reasons.insert(key_of_port(name, vip), text.join(", "));
            }
        }
    }
    reasons
}

/// Widths of the columns.
#[derive(Default)]
struct Widths([usize; 16]);

impl Widths {
    fn measure(&mut self, cells: &[&str]) -> io::Result<()> {
        for (width, cell) in self.0.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
        Ok(())
    }

    fn print(&self, out: &mut dyn Write, cells: &[&str]) -> io::Result<()> {
        let mut line = String::new();
        for (column, (width, cell)) in self.0.iter().zip(cells).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let blanks = width.saturating_sub(cell.chars().count());
            if column == WEIGHT {
                line.extend(std::iter::repeat_n(' ', blanks));
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', blanks));
            }
        }
        writeln!(out, "{}", line.trim_end())
    }
}
