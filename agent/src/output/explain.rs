//! Why it is so: a Service with its ports, VIPs and endpoints, each with its reason.

use evenkeel_core::Cluster;
use evenkeel_core::cluster::{EndpointView, Origin, PortView, ServiceView};
use evenkeel_core::object::TrafficPolicy;
use evenkeel_core::reason::Reason;
use std::io::{self, Write};

use super::json::policy;
use super::table::{counted, socket};

/// What is asked for: `[NAMESPACE/]SERVICE[:PORT]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    namespace: Option<&'a str>,
    name: &'a str,
    port: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// Takes the text apart.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let (service, port) = match text.rsplit_once(':') {
            Some((service, port)) => (service, Some(port)),
            None => (text, None),
        };
        match service.split_once('/') {
            Some((namespace, name)) => Self { namespace: Some(namespace), name, port },
            None => Self { namespace: None, name: service, port },
        }
    }
}

/// Prints the answer. Whether there is a Service, and a port, of that name.
///
/// # Errors
/// It cannot be written.
pub fn explain(
    out: &mut dyn Write,
    complaints: &mut dyn Write,
    cluster: &Cluster<'_>,
    question: Question<'_>,
) -> io::Result<bool> {
    let mut found: Vec<ServiceView<'_>> = cluster
        .services()
        .filter(|service| service.name.name == question.name)
        .filter(|service| question.namespace.is_none_or(|namespace| namespace == service.name.namespace))
        .collect();
    found.sort_by_key(|service| service.name);
    let [service] = found.as_slice() else {
        if found.is_empty() {
            unknown(complaints, cluster, question)?;
        } else {
            writeln!(complaints, "several Services are named {}; name one of them:", question.name)?;
            for service in found {
                writeln!(complaints, "  {}/{}", service.name.namespace, service.name.name)?;
            }
        }
        return Ok(false);
    };
    let is_asked = |port: &PortView<'_>| {
        question.port.is_none_or(|asked| port.port.name == asked || port.number.to_string() == asked)
    };
    let ports: Vec<PortView<'_>> = service.ports().filter(is_asked).collect();
    if ports.is_empty()
        && let Some(asked) = question.port
    {
        let names: Vec<String> = service.ports().map(|port| port_text(&port)).collect();
        let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        writeln!(
            complaints,
            "{}/{} has no port {asked}; it has {has}",
            service.name.namespace, service.name.name
        )?;
        return Ok(false);
    }
    writeln!(out, "{}/{}: {}", service.name.namespace, service.name.name, service.reason.text())?;
    if service.stale {
        writeln!(out, "  {}: {}", Reason::Stale.code(), Reason::Stale.text())?;
    }
    for port in &ports {
        explain_port(out, port)?;
    }
    Ok(true)
}

fn port_text(port: &PortView<'_>) -> String {
    let name = if port.port.name.is_empty() { "(unnamed)" } else { port.port.name };
    let number = if port.number == 0 { String::new() } else { format!("{}/", port.number) };
    format!("{name} {number}{} {}", port.port.protocol.text(), port.port.family.text())
}

fn explain_port(out: &mut dyn Write, port: &PortView<'_>) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, "port {}: {}", port_text(port), port.reason.text())?;
    let policies = match (port.internal_policy, port.external_policy) {
        (one, other) if one == other => format!("{} inside and outside", policy(one)),
        (inside, outside) => format!("{} inside, {} outside", policy(inside), policy(outside)),
    };
    writeln!(out, "  policy     {policies}")?;
    if port.uses_cluster {
        writeln!(out, "  hints      {}", port.hints.text())?;
    }
    writeln!(
        out,
        "  endpoints  {}, {} ready, {} of them on this node",
        port.endpoints_total, port.endpoints_ready, port.endpoints_local_ready
    )?;
    let mut vips: Vec<_> = port.vips().collect();
    vips.sort_by_key(|vip| (vip.kind, vip.address, vip.number));
    for vip in vips {
        let address = socket(vip.address, vip.number);
        writeln!(out, "  vip        {address} {}: {}", vip.kind.text(), vip.reason.text())?;
    }
    let mut endpoints: Vec<EndpointView<'_>> = port.endpoints().collect();
    endpoints.sort_by_key(|endpoint| (endpoint.address, endpoint.number, origin(endpoint)));
    let mut rows: Vec<[String; 7]> = Vec::with_capacity(endpoints.len() + 1);
    if !endpoints.is_empty() {
        rows.push(["ENDPOINT", "NODE", "ZONE", "FROM", "CONDITIONS", "SETS", "REASON"].map(str::to_owned));
    }
    for endpoint in &endpoints {
        rows.push([
            socket(endpoint.address, endpoint.number),
            or_dash(endpoint.node),
            or_dash(endpoint.zone),
            origin(endpoint),
            conditions(endpoint),
            sets(endpoint),
            format!("{}: {}", endpoint.reason.code(), endpoint.reason.text()),
        ]);
    }
    let widths: [usize; 7] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    if !rows.is_empty() {
        writeln!(out)?;
    }
    for row in &rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(widths) {
            line += &format!(" {cell:width$} ");
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    let mut left_out: Vec<_> = port.left_out().collect();
    left_out.sort();
    for (pod, reason) in left_out {
        writeln!(out, "  pod {pod} is no endpoint: {}", reason.text())?;
    }
    Ok(())
}

/// Hints are worth a word where they decide something, or were meant to and cannot.
pub(super) const fn hints_worth_telling(hints: Reason) -> &'static str {
    match hints {
        Reason::HintsAbsent | Reason::HintsNoReady => "",
        other => other.text(),
    }
}

fn origin(endpoint: &EndpointView<'_>) -> String {
    let name = |name: &str| name.rsplit_once('/').map_or(name, |(_, name)| name).to_owned();
    match endpoint.origin {
        Origin::Slice(slice) if endpoint.pod.name.is_empty() => format!("slice {}", name(slice)),
        Origin::Slice(slice) => format!("slice {} (pod {})", name(slice), endpoint.pod.name),
        Origin::Pod(pod) => format!("pod {}", name(pod)),
    }
}

fn conditions(endpoint: &EndpointView<'_>) -> String {
    let conditions = endpoint.conditions;
    let ready = if conditions.ready { "ready" } else { "not ready" };
    let serving = if conditions.serving == conditions.ready {
        ""
    } else if conditions.serving {
        ", serving"
    } else {
        ", not serving"
    };
    let terminating = if conditions.terminating { ", terminating" } else { "" };
    format!("{ready}{serving}{terminating}")
}

fn sets(endpoint: &EndpointView<'_>) -> String {
    let weight = endpoint.weight;
    let (cluster, local) = (policy(TrafficPolicy::Cluster), policy(TrafficPolicy::Local));
    match (endpoint.in_cluster, endpoint.in_local) {
        (true, true) => format!("{cluster}, {local}, weight {weight}"),
        (true, false) => format!("{cluster}, weight {weight}"),
        (false, true) => format!("{local}, weight {weight}"),
        (false, false) => "-".to_owned(),
    }
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-" } else { text }.to_owned()
}

/// Names that are nearly the one that was asked for, else how many there are.
fn unknown(out: &mut dyn Write, cluster: &Cluster<'_>, question: Question<'_>) -> io::Result<()> {
    let asked = match question.namespace {
        Some(namespace) => format!("{namespace}/{}", question.name),
        None => question.name.to_owned(),
    };
    writeln!(out, "no Service is named {asked}")?;
    let mut near: Vec<(usize, String)> = Vec::new();
    let mut total = 0;
    for service in cluster.services() {
        total += 1;
        let name = service.name.name;
        let steps = distance(question.name, name);
        // A third of the letters may be wrong; a part of the name is always near.
        if steps <= (question.name.len() / 3).max(1)
            || name.contains(question.name)
            || question.name.contains(name)
        {
            near.push((steps, format!("{}/{name}", service.name.namespace)));
        }
    }
    near.sort();
    near.truncate(5);
    if near.is_empty() {
        return writeln!(out, "{} known; view shows them", counted(total, "Service"));
    }
    writeln!(out, "similar names:")?;
    for (_, name) in near {
        writeln!(out, "  {name}")?;
    }
    Ok(())
}

/// How many letters must be added, taken or replaced.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_comes_apart() {
        let of = |namespace, name, port| Question { namespace, name, port };
        assert_eq!(Question::parse("web"), of(None, "web", None));
        assert_eq!(Question::parse("shop/web:http"), of(Some("shop"), "web", Some("http")));
        assert_eq!(Question::parse("web:80"), of(None, "web", Some("80")));
    }

    #[test]
    fn distance_counts_letters() {
        assert_eq!(distance("web", "web"), 0);
        assert_eq!(distance("wbe", "web"), 2);
        assert_eq!(distance("", "web"), 3);
        assert_eq!(distance("api", "apis"), 1);
    }
}
