//! Suite ravel: local shares and node weights. Its cases are written on Endpoints; the view reads slices.

use evenkeel_tests::feed::{self, of_kind};
use evenkeel_tests::setup::{Endpoints, Kind, Setup};
use serde_json::{Map, Value, json};

use crate::bugs::{list, text};
use crate::view::{look, now, see, with_cluster};
use crate::{Case, Verdict};

/// A share of nothing is 0.
const NOTHING: &str = "D-W1";
/// An address and port that stands in two subsets is one endpoint.
const TWICE: &str = "D-W2";
/// Names are compared as the API does, byte for byte.
const CASE: &str = "D-W3";
/// A node is known by its name, not by the first of its addresses.
const BY_NAME: &str = "D-W4";
/// A cordoned node is no backend; Ravel ignores that unless it is told not to.
const CORDON: &str = "D-W5";
/// A node without usable endpoints has no entry.
const NO_ENTRY: &str = "D-W6";

pub(crate) fn run(case: &Case) -> Verdict {
    let (input, body) = (&case.body["input"], &case.body);
    match case.kind.as_str() {
        "GetLocalServiceWeight" => local_weight(input, body),
        "weights_all_nodes" => {
            let mut shares = Map::new();
            let mut sum = 0.0;
            for node in list(&input["nodes"]).iter().map(text) {
                let share = local_share(input, node, text(&input["port_name"]));
                sum += share;
                shares.insert(node.to_owned(), share.into());
            }
            shares.insert("sum".to_owned(), sum.into());
            close(&body["expected"], &shares.into())
        }
        "weights_per_port" => {
            let ports = list(&input["port_names"]).iter().map(text);
            let shares =
                ports.map(|port| (port.to_owned(), local_share(input, text(&input["node"]), port).into()));
            close(&body["expected"], &Value::Object(shares.collect()))
        }
        "node_weights_and_limits" => node_weights(input, body),
        "is_eligible_backend" => is_eligible(input, &body["expected"]),
        other => Verdict::Skipped(format!("operation {other}: nothing reads Ravel's ClusterConfig yet")),
    }
}

/// Endpoints of before 2021 as slices: one for each subset, not-ready addresses in it as not ready.
fn slices(endpoints: &Value) -> Vec<Value> {
    let mut slices = Vec::new();
    for object in list(endpoints) {
        let (namespace, name) = (text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]));
        for (number, subset) in list(&object["subsets"]).iter().enumerate() {
            let addresses = |key: &str, ready: bool| -> Vec<Value> {
                let of = |address: &Value| {
                    json!({
                        "addresses": [address["ip"]], "nodeName": address["nodeName"],
                        "conditions": {"ready": ready, "serving": ready, "terminating": false},
                    })
                };
                list(&subset[key]).iter().map(of).collect()
            };
            let all = [addresses("addresses", true), addresses("notReadyAddresses", false)].concat();
            for (suffix, family, is_v6) in [("4", "IPv4", false), ("6", "IPv6", true)] {
                let of_family = |one: &&Value| text(&one["addresses"][0]).contains(':') == is_v6;
                let own: Vec<Value> = all.iter().filter(of_family).cloned().collect();
                slices.push(json!({
                    "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family,
                    "metadata": {
                        "namespace": namespace, "name": format!("{name}-{number}-{suffix}"),
                        "labels": {"kubernetes.io/service-name": name},
                    },
                    "ports": subset["ports"], "endpoints": own,
                }));
            }
        }
    }
    slices
}

/// A Service for each name that Endpoints have, with every port that they name: what Ravel does not ask for.
fn services(endpoints: &Value) -> Vec<Value> {
    let mut services = Vec::new();
    for (number, object) in list(endpoints).iter().enumerate() {
        let mut ports: Vec<Value> = Vec::new();
        for port in list(&object["subsets"]).iter().flat_map(|subset| list(&subset["ports"])) {
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            if !ports.iter().any(|known| known["name"] == port["name"] && known["protocol"] == protocol) {
                ports.push(json!({"name": port["name"], "protocol": protocol, "port": 80 + ports.len()}));
            }
        }
        if ports.is_empty() {
            continue;
        }
        services.push(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": object["metadata"],
            "spec": {"clusterIP": format!("10.96.0.{}", number + 1), "ports": ports},
        }));
    }
    services
}

fn objects(input: &Value) -> Vec<Value> {
    let nodes: Vec<Value> = list(&input["nodes"])
        .iter()
        .filter(|node| node.is_object())
        .map(|node| of_kind("Node", node))
        .collect();
    [services(&input["endpoints"]), slices(&input["endpoints"]), nodes].concat()
}

/// The share of a node in a Service's port: core's exact fraction, as the number that the vectors have.
fn local_share(input: &Value, node: &str, port: &str) -> f64 {
    let service = format!("{}/{}", text(&input["namespace"]), text(&input["service"]));
    let setup = Setup { node: node.to_owned(), endpoints: Endpoints::Slices, ..Setup::default() };
    with_cluster(&setup, |cluster| {
        let ignored = feed::list(cluster, &objects(input)).expect("objects that can be read");
        cluster.seal(now());
        let seen = look(cluster, ignored).expect("a view");
        let (mut local, mut total) = (0, 0);
        for (_, facts) in
            seen.ports.iter().filter(|(named, _)| named.owner() == service && named.name == port)
        {
            let weight = cluster.node_weight(facts.id, node);
            local += weight.local;
            total += weight.total;
        }
        // Nothing of nothing is nothing.
        if total == 0 { 0.0 } else { f64::from(local) / f64::from(total) }
    })
}

fn local_weight(input: &Value, body: &Value) -> Verdict {
    let share = local_share(input, text(&input["node"]), text(&input["port_name"]));
    let answer = json!(share);
    if same(&body["expected"], &answer) {
        // The expected value is the right one; where upstream says something else, that is the difference.
        return if body["upstream"].is_null() { Verdict::Ok } else { Verdict::Differs(NOTHING) };
    }
    if same(&body["better"], &answer) {
        return Verdict::Differs(TWICE);
    }
    let folded = |key: &str| text(&input[key]).to_lowercase().into();
    let mut lower = input.clone();
    (lower["namespace"], lower["service"]) = (folded("namespace"), folded("service"));
    let as_upstream = local_share(&lower, text(&input["node"]), text(&input["port_name"]));
    if share == 0.0 && same(&body["expected"], &json!(as_upstream)) {
        return Verdict::Differs(CASE);
    }
    Verdict::failed(&body["expected"].to_string(), answer)
}

/// Equal, numbers within 1e-12.
fn same(expected: &Value, actual: &Value) -> bool {
    match (expected.as_f64(), actual.as_f64()) {
        (Some(expected), Some(actual)) => (expected - actual).abs() <= 1e-12,
        _ => expected == actual,
    }
}

fn close(expected: &Value, actual: &Value) -> Verdict {
    let (Some(wanted), Some(found)) = (expected.as_object(), actual.as_object()) else {
        return Verdict::failed(&expected.to_string(), actual);
    };
    let all = wanted.len() == found.len() && wanted.iter().all(|(key, value)| same(value, &actual[key]));
    if all { Verdict::Ok } else { Verdict::failed(&expected.to_string(), actual) }
}

/// The weights of nodes as backends. Methods and thresholds are set when IPVS is driven.
fn node_weights(input: &Value, body: &Value) -> Verdict {
    let expected = &body["expected"];
    let service = &input["service"];
    if input["weight_override"] == true {
        return Verdict::Skipped(
            "weight override: an option of Ravel's IPVS director, which is not there yet".to_owned(),
        );
    }
    let name = format!("{}/{}", text(&service["namespace"]), text(&service["service"]));
    let setup = Setup {
        node: String::new(),
        endpoints: Endpoints::Slices,
        backends: Kind::Nodes,
        ..Setup::default()
    };
    let mut wanted = Map::new();
    for (node, settings) in expected.as_object().into_iter().flatten() {
        wanted.insert(node.clone(), settings["weight"].clone());
    }
    let weights = |objects: &[Value]| {
        let mut found = Map::new();
        for row in see(&setup, objects)?.mirror.backends() {
            if row.port.owner() == name && row.port.name == text(&service["portName"]) {
                found.insert(row.node.clone(), row.cluster_weight.unwrap_or(0).into());
            }
        }
        Ok::<_, String>(found)
    };
    let mut entries = wanted.clone();
    entries.retain(|_, weight| *weight != 0);
    match weights(&objects(input)) {
        Ok(found) if found == wanted => {}
        Ok(found) if found == entries => return Verdict::Differs(NO_ENTRY),
        Ok(found) if weights(&with_labels(input)).is_ok_and(|found| found == wanted) => {
            let found = Value::Object(found);
            return Verdict::Skipped(format!(
                "nodes cannot be chosen by label yet (ClusterConfig's `labels`): {found}"
            ));
        }
        Ok(found) => return Verdict::failed(&Value::Object(wanted).to_string(), Value::Object(found)),
        Err(why) => return Verdict::failed("nodes as backends", why),
    }
    let options = &service["ipvsOptions"];
    let limited = ["uThreshold", "lThreshold"].iter().any(|key| options[key].as_u64().unwrap_or(0) != 0);
    if limited || !text(&options["forwardingMethod"]).is_empty() {
        return Verdict::Skipped(
            "thresholds and methods are set when IPVS is driven; the weights agree".to_owned(),
        );
    }
    if body["upstream"].is_null() { Verdict::Ok } else { Verdict::Differs(BY_NAME) }
}

/// The objects without nodes that lack a label which the configuration asks for.
fn with_labels(input: &Value) -> Vec<Value> {
    let labels = input["labels"].as_object().cloned().unwrap_or_default();
    let mut objects = objects(input);
    objects.retain(|object| {
        object["kind"] != "Node"
            || labels.iter().all(|(key, value)| object["metadata"]["labels"][key] == *value)
    });
    objects
}

fn is_eligible(input: &Value, expected: &Value) -> Verdict {
    if input["skip_master"] == true {
        return Verdict::Skipped(
            "skip-master: an option of Ravel's IPVS director, which is not there yet".to_owned(),
        );
    }
    let node = of_kind("Node", &input["node"]);
    let name = text(&node["metadata"]["name"]);
    let labelled = input["labels"]
        .as_object()
        .into_iter()
        .flatten()
        .all(|(key, value)| node["metadata"]["labels"][key] == *value);
    if !labelled {
        return Verdict::Skipped("nodes cannot be chosen by label yet (ClusterConfig's `labels`)".to_owned());
    }
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"clusterIP": "10.96.0.1", "ports": [{"name": "http", "port": 80}]},
    });
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"namespace": "shop", "name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
        "ports": [{"name": "http", "port": 8080}], "endpoints": [{"addresses": ["10.244.1.10"], "nodeName": name}],
    });
    let setup = Setup { node: String::new(), backends: Kind::Nodes, ..Setup::default() };
    match see(&setup, &[service, slice, node.clone()]) {
        Ok(seen) => {
            let eligible = seen.mirror.backends().any(|row| row.node == name);
            let cordoned = list(&node["spec"]["taints"])
                .iter()
                .any(|taint| taint["key"] == "node.kubernetes.io/unschedulable");
            match (json!(eligible) == *expected, cordoned && input["ignore_cordon"] == true) {
                (true, _) => Verdict::Ok,
                (false, true) if !eligible => Verdict::Differs(CORDON),
                _ => Verdict::failed(&expected.to_string(), eligible),
            }
        }
        Err(why) => Verdict::failed(&expected.to_string(), why),
    }
}
