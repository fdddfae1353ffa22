//! Everything that `explain` says of a cluster, as lines.
//!
//! ```text
//! service  shop/web served
//! port     shop/web:http/TCP IPv4 served hints-absent uses=cluster ready=2 local-ready=1
//! vip      shop/web:http/TCP 192.0.2.200:80 ClusterIP served
//! endpoint shop/web:http/TCP 198.51.100.1:8080 ready node=node-a weight=100 in=shop/web-1
//! left-out shop/web:http/TCP shop/web-x pod-terminal
//! ```

use evenkeel_core::Cluster;
use evenkeel_core::cluster::{EndpointView, Origin, PortView, ServiceView, VipView};

use crate::row::{Port, Socket};

/// All lines, in an order that depends on what is held alone.
#[must_use]
pub fn lines(cluster: &Cluster<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for service in cluster.services() {
        lines.push(of_service(&service));
        for port in service.ports() {
            lines.push(of_port(&port));
            lines.extend(port.vips().map(|vip| of_vip(&port, &vip)));
            lines.extend(port.endpoints().map(|endpoint| of_endpoint(&port, &endpoint)));
            let left_out = port.left_out();
            lines.extend(
                left_out.map(|(pod, why)| {
                    format!("left-out {} {pod} {}", Port::from_core(&port.port), why.code())
                }),
            );
        }
    }
    lines.sort();
    lines
}

/// The same, and how much of each limit is in use: what must not change when a verb fails.
#[must_use]
pub fn dump(cluster: &Cluster<'_>) -> Vec<String> {
    let usage = cluster.usage().map(|(limit, used, _)| format!("usage {} {used}", limit.name()));
    let generation = format!("generation {}", cluster.generation());
    lines(cluster).into_iter().chain(usage).chain([generation]).collect()
}

fn of_service(service: &ServiceView<'_>) -> String {
    let stale = if service.stale { " stale" } else { "" };
    format!("service {}/{} {}{stale}", service.name.namespace, service.name.name, service.reason.code())
}

fn of_port(port: &PortView<'_>) -> String {
    let mut uses = Vec::new();
    if port.uses_cluster {
        uses.push("cluster");
    }
    if port.uses_local {
        uses.push("local");
    }
    let uses = uses.join("+");
    format!(
        "port {} {} {} {} uses={uses} ready={} local-ready={}",
        Port::from_core(&port.port),
        port.port.family.text(),
        port.reason.code(),
        port.hints.code(),
        port.endpoints_ready,
        port.endpoints_local_ready,
    )
}

fn of_vip(port: &PortView<'_>, vip: &VipView) -> String {
    let at = Socket::from_core(vip.address, vip.number);
    format!("vip {} {at} {} {}", Port::from_core(&port.port), vip.kind.text(), vip.reason.code())
}

fn of_endpoint(port: &PortView<'_>, endpoint: &EndpointView<'_>) -> String {
    let at = Socket::from_core(endpoint.address, endpoint.number);
    let mut line = format!("endpoint {} {at} {}", Port::from_core(&port.port), endpoint.reason.code());
    for (name, value) in [("node", endpoint.node), ("zone", endpoint.zone), ("pod", endpoint.pod.name)] {
        if !value.is_empty() {
            line = format!("{line} {name}={value}");
        }
    }
    let (Origin::Slice(origin) | Origin::Pod(origin)) = endpoint.origin;
    format!("{line} weight={} in={origin}", endpoint.weight)
}
