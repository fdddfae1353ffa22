//! Stories from random numbers: few names, so that everything meets everything else.

use evenkeel_core::Kind;
use evenkeel_tests::random::Random;
use evenkeel_tests::setup::{Endpoints, Kind as Backends, Setup};
use serde_json::{Map, Value, json};

use crate::story::{CONSUMERS, Op};

const NAMESPACES: [&str; 2] = ["shop", "billing"];
const SERVICES: [&str; 3] = ["web", "api", "db"];
const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];
const ZONES: [&str; 2] = ["zone-1", "zone-2"];
const PORTS: [&str; 3] = ["", "http", "dns"];
const PROTOCOLS: [&str; 2] = ["TCP", "UDP"];
const TIMES: [&str; 3] = ["2024-03-01T10:00:00Z", "2024-03-01T10:01:00Z", "2024-03-01T10:02:00Z"];
const PROXY: &str = "service.kubernetes.io/service-proxy-name";

/// What is wanted of a cluster, at random.
pub(crate) fn setup(random: &mut Random) -> Setup {
    let mut setup = Setup {
        node: random.pick(&["node-a", "node-a", "node-b", "", "node-x"]).to_string(),
        endpoints: *random.pick(&[Endpoints::Slices, Endpoints::Slices, Endpoints::Pods, Endpoints::Overlay]),
        keep_pods: random.percent(20),
        ..Setup::default()
    };
    if random.percent(25) && std::env::var("KNOWN").is_err()
    /* TEMPORARY */
    {
        setup.backends = Backends::Nodes;
    }
    if random.percent(30) {
        setup.weight_range = *random.pick(&[1, 2, 7, 100, 256, 65_535]);
    }
    if random.percent(10) {
        setup.service_proxy_name = "other".to_owned();
    }
    if random.percent(15) {
        setup.node_port_addresses =
            vec!["192.0.2.250".to_owned(), "192.0.2.251".to_owned(), "2001:db8::fa".to_owned()];
    }
    if random.percent(15) {
        setup.families = vec![random.pick(&["IPv4", "IPv6"]).to_string()];
    }
    setup
}

/// So many operations, at random.
pub(crate) fn operations(random: &mut Random, setup: &Setup, count: usize) -> Vec<Op> {
    (0..count)
        .map(|_| match random.below(100) {
            0..52 => Op::Apply(object(random, setup)),
            52..62 => Op::Delete(object(random, setup)),
            62..66 => {
                let kind = *random.pick(&Kind::ALL);
                let mut objects: Vec<Value> = Vec::new();
                for _ in 0..random.below(6) {
                    let object = of_kind(random, setup, kind);
                    // A list names everything once.
                    objects.retain(|one| {
                        one["metadata"]["name"] != object["metadata"]["name"]
                            || one["metadata"]["namespace"] != object["metadata"]["namespace"]
                    });
                    objects.push(object);
                }
                Op::Relist(kind, objects)
            }
            66..82 => Op::Seal,
            82..88 => Op::Pull(random.below(CONSUMERS), None),
            88..92 => Op::Pull(random.below(CONSUMERS), Some(1 + random.below(5))),
            92..97 => Op::Ack(random.below(CONSUMERS)),
            97 => Op::Reopen(random.below(CONSUMERS)),
            _ => Op::Move,
        })
        .collect()
}

/// Objects for a cluster that is filled once.
pub(crate) fn objects(random: &mut Random, setup: &Setup, count: usize) -> Vec<Value> {
    (0..count).map(|_| object(random, setup)).collect()
}

fn object(random: &mut Random, setup: &Setup) -> Value {
    let kind = match (setup.endpoints, random.below(10)) {
        (_, 0..3) => Kind::Service,
        (_, 3) => Kind::Node,
        (Endpoints::Slices, 4) | (Endpoints::Pods, _) => Kind::Pod,
        (Endpoints::Overlay, 4..7) => Kind::Pod,
        _ => Kind::Slice,
    };
    of_kind(random, setup, kind)
}

fn of_kind(random: &mut Random, setup: &Setup, kind: Kind) -> Value {
    match kind {
        Kind::Service => service(random),
        Kind::Slice => slice(random),
        Kind::Pod => pod(random, setup),
        Kind::Node => node(random),
    }
}

fn namespace(random: &mut Random) -> &'static str {
    if random.percent(85) { NAMESPACES[0] } else { NAMESPACES[1] }
}

/// A value in so many of a hundred cases, else null.
fn maybe(random: &mut Random, of_hundred: usize, value: impl FnOnce(&mut Random) -> Value) -> Value {
    if random.percent(of_hundred) { value(random) } else { Value::Null }
}

/// Without what is null: the decoder must not mind, but a reader does.
fn compact(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, field)| !field.is_null());
            Value::Object(fields.map(|(key, field)| (key, compact(field))).collect())
        }
        Value::Array(list) => list.into_iter().map(compact).collect(),
        other => other,
    }
}

fn annotations(random: &mut Random) -> Map<String, Value> {
    let mut annotations = Map::new();
    if random.percent(15) {
        annotations.insert(
            "evenkeel.dev/weight".to_owned(),
            (*random.pick(&["0", "1", "50", "300", "65535", "much"])).into(),
        );
    }
    if random.percent(8) {
        annotations.insert("evenkeel.dev/maintenance".to_owned(), (*random.pick(&["true", "false"])).into());
    }
    annotations
}

fn v4(random: &mut Random) -> String {
    format!("198.51.100.{}", 1 + random.below(5))
}

fn v6(random: &mut Random) -> String {
    format!("2001:db8::{}", 1 + random.below(3))
}

fn service(random: &mut Random) -> Value {
    let both = random.percent(25);
    let v6_only = !both && random.percent(15);
    let (ip4, ip6) =
        (format!("192.0.2.{}", 200 + random.below(4)), format!("2001:db8::c{}", random.below(3)));
    let ips = match (both, v6_only) {
        (true, _) => vec![ip4, ip6],
        (false, true) => vec![ip6],
        (false, false) => vec![ip4],
    };
    let families: Vec<&str> = ips.iter().map(|ip| if ip.contains(':') { "IPv6" } else { "IPv4" }).collect();
    let families = maybe(random, 85, |_| json!(families));
    let no_ip = random.percent(8);
    let (cluster_ip, ips) =
        if no_ip { ("None".to_owned(), vec!["None".to_owned()]) } else { (ips[0].clone(), ips) };
    let mut ports: Vec<Value> = Vec::new();
    for _ in 0..=random.below(2) {
        let (name, protocol) = (*random.pick(&PORTS), *random.pick(&PROTOCOLS));
        let number = 80 + random.below(2);
        let is_known =
            |one: &Value| (one["name"] == name) || (one["port"] == number && one["protocol"] == protocol);
        if !ports.iter().any(is_known) {
            ports.push(json!({
                "name": name, "protocol": protocol, "port": number,
                "nodePort": maybe(random, 25, |random| (30_080 + random.below(2)).into()),
                "targetPort": match random.below(3) { 0 => Value::Null, 1 => 8080.into(), _ => "main".into() },
            }));
        }
    }
    let mut labels = Map::new();
    if random.percent(8) {
        labels.insert(PROXY.to_owned(), "other".into());
    }
    let ingress = |random: &mut Random| {
        let ip = if random.percent(70) {
            format!("203.0.113.{}", 1 + random.below(2))
        } else {
            "2001:db8::b1".to_owned()
        };
        json!({"loadBalancer": {"ingress": [{"ip": ip, "ipMode": maybe(random, 30, |random| (*random.pick(&["VIP", "Proxy"])).into())}]}})
    };
    let kind = if random.percent(4) {
        "ExternalName"
    } else {
        *random.pick(&["ClusterIP", "NodePort", "LoadBalancer"])
    };
    let policy = |random: &mut Random| Value::from(*random.pick(&["Cluster", "Local"]));
    compact(json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "namespace": namespace(random), "name": random.pick(&SERVICES), "labels": labels, "annotations": annotations(random),
            "creationTimestamp": maybe(random, 70, |random| (*random.pick(&TIMES)).into()),
        },
        "spec": {
            "type": kind, "clusterIP": cluster_ip, "clusterIPs": ips, "ipFamilies": families, "ports": ports,
            "selector": maybe(random, 85, |random| json!({"app": random.pick(&SERVICES)})),
            "externalIPs": maybe(random, 20, |random| json!([format!("203.0.113.{}", 1 + random.below(2))])),
            "internalTrafficPolicy": maybe(random, 40, policy),
            "externalTrafficPolicy": maybe(random, 50, policy),
            "sessionAffinity": maybe(random, 15, |_| "ClientIP".into()),
            "healthCheckNodePort": maybe(random, 20, |_| 32_000.into()),
            "publishNotReadyAddresses": maybe(random, 15, |_| true.into()),
            "loadBalancerSourceRanges": maybe(random, 15, |_| json!(["192.0.2.0/24", "2001:db8::/32"])),
        },
        "status": maybe(random, 30, ingress),
    }))
}

fn hints(random: &mut Random) -> Value {
    let mut names = |of: &[&str]| -> Value {
        let count = 1 + random.below(2);
        (0..count).map(|_| json!({"name": random.pick(of)})).collect()
    };
    let (zones, nodes) = (names(&ZONES), names(&NODES));
    match random.below(3) {
        0 => json!({"forZones": zones, "forNodes": nodes}),
        _ => json!({"forZones": zones}),
    }
}

fn slice(random: &mut Random) -> Value {
    let is_v6 = random.percent(20);
    let hinted = random.percent(40);
    let endpoints: Vec<Value> = (0..random.below(5))
        .map(|_| {
            let condition = |random: &mut Random| maybe(random, 70, |random| random.percent(60).into());
            json!({
                "addresses": [if is_v6 { v6(random) } else { v4(random) }],
                "nodeName": maybe(random, 85, |random| (*random.pick(&NODES)).into()),
                "zone": maybe(random, 50, |random| (*random.pick(&ZONES)).into()),
                "conditions": {"ready": condition(random), "serving": condition(random), "terminating": maybe(random, 40, |random| random.percent(50).into())},
                "targetRef": maybe(random, 60, |random| {
                    let pod = random.below(4);
                    json!({"kind": "Pod", "name": format!("pod-{pod}"), "uid": format!("uid-{}", pod + 4 * random.below(2))})
                }),
                "hints": if hinted && random.percent(90) { hints(random) } else { Value::Null },
            })
        })
        .collect();
    let mut ports: Vec<Value> = Vec::new();
    for _ in 0..=random.below(2) {
        let (name, protocol) = (*random.pick(&PORTS), *random.pick(&PROTOCOLS));
        if !ports.iter().any(|one| one["name"] == name && one["protocol"] == protocol) {
            ports.push(json!({"name": name, "protocol": protocol, "port": maybe(random, 92, |random| (8080 + random.below(2)).into())}));
        }
    }
    let mut labels = Map::new();
    if random.percent(95) {
        labels.insert("kubernetes.io/service-name".to_owned(), (*random.pick(&SERVICES)).into());
    }
    if random.percent(4) {
        labels.insert("service.kubernetes.io/headless".to_owned(), "".into());
    }
    if random.percent(6) {
        labels.insert(PROXY.to_owned(), "other".into());
    }
    let mut annotations = annotations(random);
    if random.percent(40) {
        annotations.insert(
            "endpoints.kubernetes.io/last-change-trigger-time".to_owned(),
            (*random.pick(&TIMES)).into(),
        );
    }
    compact(json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": if is_v6 { "IPv6" } else { "IPv4" },
        "metadata": {"namespace": namespace(random), "name": format!("slice-{}", random.below(4)), "labels": labels, "annotations": annotations},
        "ports": ports, "endpoints": endpoints,
    }))
}

fn pod(random: &mut Random, setup: &Setup) -> Value {
    let number = random.below(4);
    let ips = match random.below(10) {
        0 => vec![],
        1..7 => vec![v4(random)],
        7 => vec![v6(random)],
        8 => vec![v4(random), v6(random)],
        _ => vec![v6(random), v4(random)],
    };
    let ports = |random: &mut Random| -> Value {
        let count = random.below(3);
        (0..count)
            .map(|_| json!({"name": random.pick(&["main", "side"]), "protocol": random.pick(&PROTOCOLS), "containerPort": 8080 + random.below(2)}))
            .collect()
    };
    let ready = |random: &mut Random| json!([{"type": "Ready", "status": if random.percent(75) { "True" } else { "False" }, "lastTransitionTime": random.pick(&TIMES)}]);
    // With the overlay what matters are Pods of this node.
    let here = setup.endpoints == Endpoints::Overlay && !setup.node.is_empty() && random.percent(70);
    compact(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": namespace(random), "name": format!("pod-{number}"), "uid": format!("uid-{}", number + 4 * random.below(2)),
            "labels": {"app": random.pick(&SERVICES), "tier": random.pick(&["front", "back"])},
            "annotations": annotations(random),
            "deletionTimestamp": maybe(random, 15, |_| TIMES[0].into()),
        },
        "spec": {
            "nodeName": if here { setup.node.as_str().into() } else { maybe(random, 92, |random| (*random.pick(&NODES)).into()) },
            "containers": [{"ports": ports(random)}],
            "initContainers": maybe(random, 20, |random| json!([{"restartPolicy": maybe(random, 70, |_| "Always".into()), "ports": ports(random)}])),
        },
        "status": {
            "phase": if random.percent(8) { *random.pick(&["Failed", "Succeeded"]) } else { "Running" },
            "podIPs": ips.iter().map(|ip| json!({"ip": ip})).collect::<Value>(),
            "podIP": ips.first(),
            "conditions": maybe(random, 92, ready),
        },
    }))
}

fn node(random: &mut Random) -> Value {
    let name = *random.pick(&NODES);
    let number = NODES.iter().position(|one| *one == name).unwrap_or(0);
    let mut labels = Map::new();
    if random.percent(85) {
        labels.insert("topology.kubernetes.io/zone".to_owned(), (*random.pick(&ZONES)).into());
    }
    let mut addresses = vec![
        json!({"type": "InternalIP", "address": format!("203.0.113.{}", 101 + number + 3 * random.below(2))}),
    ];
    if random.percent(30) {
        addresses.push(json!({"type": "InternalIP", "address": format!("2001:db8::a{number}")}));
    }
    compact(json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations(random)},
        "spec": {"unschedulable": maybe(random, 10, |_| true.into())},
        "status": {
            "addresses": addresses,
            "conditions": [{"type": "Ready", "status": if random.percent(85) { "True" } else { "False" }}],
        },
    }))
}
