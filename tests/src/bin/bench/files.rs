//! Whether the files that the peer reads hold the same objects as the closed form.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use evenkeel_core::address::Family;
use evenkeel_core::object::{Endpoint, EndpointSlice, Label, Node, Pod, Service, TargetPort};
use serde_json::{Value, json};

use crate::input::Input;

/// Reads both files of the case and compares every object. Gives the number compared.
pub(crate) fn check(input: &Input, folder: &Path) -> Result<usize> {
    let nodes = input.nodes.iter().map(node);
    let services = input.by_number(&input.services).into_iter().flatten().map(service);
    let pods = input.by_number(&input.pods).into_iter().flatten().map(pod);
    let slices = input.by_number(&input.slices).into_iter().flatten().map(slice);
    let path = |part: &str| folder.join(format!("{}.{part}.ndjson", input.case.file()));
    let objects = compare(&path("objects"), nodes.chain(services).chain(pods))?;
    let slices = compare(&path("slices"), slices)?;
    Ok(objects + slices)
}

fn compare(path: &Path, expected: impl Iterator<Item = Value>) -> Result<usize> {
    let file = File::open(path).with_context(|| format!("{}", path.display()))?;
    let mut lines = BufReader::with_capacity(1 << 20, file).lines();
    let mut count = 0;
    for ours in expected {
        let line =
            lines.next().with_context(|| format!("{} ends after {count} objects", path.display()))??;
        count += 1;
        let theirs = read(&serde_json::from_str(&line)?);
        ensure!(
            ours == theirs,
            "{} line {count}:\n  closed form {ours}\n  file        {theirs}",
            path.display()
        );
    }
    ensure!(lines.next().is_none(), "{} has more than {count} objects", path.display());
    Ok(count)
}

/// The same parts of an object in a file, in the same shape.
fn read(object: &Value) -> Value {
    let meta = &object["metadata"];
    let (spec, status) = (&object["spec"], &object["status"]);
    let ready = || {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        conditions.filter(|c| c["type"] == "Ready").any(|c| c["status"] == "True")
    };
    match object["kind"].as_str() {
        Some("Node") => json!({
            "node": meta["name"], "zone": meta["labels"]["topology.kubernetes.io/zone"], "ready": ready(),
        }),
        Some("Service") => json!({
            "service": meta["name"], "namespace": meta["namespace"], "created": meta["creationTimestamp"],
            "clusterIPs": spec["clusterIPs"], "families": spec["ipFamilies"], "selector": spec["selector"],
            "ports": spec["ports"], "type": spec["type"], "internal": spec["internalTrafficPolicy"],
        }),
        Some("Pod") => json!({
            "pod": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"], "labels": meta["labels"],
            "node": spec["nodeName"], "ready": ready(), "podIPs": status["podIPs"],
            "since": status["conditions"][0]["lastTransitionTime"], "ports": spec["containers"][0]["ports"],
        }),
        _ => json!({
            "slice": meta["name"], "namespace": meta["namespace"], "addressType": object["addressType"],
            "service": meta["labels"]["kubernetes.io/service-name"], "ports": object["ports"],
            "trigger": meta["annotations"]["endpoints.kubernetes.io/last-change-trigger-time"],
            "endpoints": object["endpoints"].as_array().into_iter().flatten().map(|e| json!({
                "addresses": e["addresses"], "conditions": e["conditions"], "nodeName": e["nodeName"],
                "zone": e["zone"], "hints": e["hints"],
                "pod": e["targetRef"]["name"], "uid": e["targetRef"]["uid"],
            })).collect::<Vec<_>>(),
        }),
    }
}

fn labels(list: &[Label<'_>]) -> Value {
    list.iter()
        .map(|label| (label.key.to_owned(), json!(label.value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn texts<T: ToString>(list: &[T]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn family(family: Family) -> &'static str {
    family.text()
}

fn node(node: &Node<'_>) -> Value {
    json!({"node": node.name, "zone": node.zone, "ready": node.ready})
}

fn service(service: &Service<'_>) -> Value {
    let ports: Vec<_> = service
        .ports
        .iter()
        .map(|port| {
            let TargetPort::Number(target) = port.target else { return Value::Null };
            json!({"name": port.name, "port": port.port, "protocol": port.protocol.text(), "targetPort": target})
        })
        .collect();
    json!({
        "service": service.name, "namespace": service.namespace, "created": service.created.to_string(),
        "clusterIPs": texts(service.cluster_ips), "selector": labels(service.selector), "ports": ports,
        "families": service.families.iter().map(|f| family(*f)).collect::<Vec<_>>(),
        "type": "ClusterIP", "internal": "Cluster",
    })
}

fn pod(pod: &Pod<'_>) -> Value {
    let ports: Vec<_> = pod
        .ports
        .iter()
        .map(|port| json!({"name": port.name, "containerPort": port.port, "protocol": port.protocol.text()}))
        .collect();
    json!({
        "pod": pod.name, "namespace": pod.namespace, "uid": pod.uid, "labels": labels(pod.labels), "node": pod.node,
        "ready": pod.ready, "since": pod.ready_since.to_string(), "ports": ports,
        "podIPs": texts(pod.addresses).iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>(),
    })
}

fn slice(slice: &EndpointSlice<'_>) -> Value {
    let endpoint = |e: &Endpoint<'_>| {
        json!({
            "addresses": [e.address.to_string()], "nodeName": e.node, "zone": e.zone, "hints": null,
            "conditions": {
                "ready": e.conditions.ready, "serving": e.conditions.serving, "terminating": e.conditions.terminating,
            },
            "pod": e.pod.name, "uid": e.pod.uid,
        })
    };
    let ports: Vec<_> = slice
        .ports
        .iter()
        .map(|port| json!({"name": port.name, "port": port.port, "protocol": port.protocol.text()}))
        .collect();
    json!({
        "slice": slice.name, "namespace": slice.namespace, "service": slice.service, "ports": ports,
        "addressType": slice.family.map(family), "trigger": slice.trigger.to_string(),
        "endpoints": slice.endpoints.iter().map(endpoint).collect::<Vec<_>>(),
    })
}
