//! Suite k8s: the pure functions, and the node view of kube-proxy.

use std::collections::BTreeMap;

use evenkeel_core::address::Family;
use evenkeel_core::endpoints;
use evenkeel_core::object::{Pod, Service};
use evenkeel_core::table::Row;
use evenkeel_core::text::Texts;
use evenkeel_core::time::Timestamp;
use evenkeel_core::trigger::Tracker;
use evenkeel_tests::feed::{self, of_kind};
use evenkeel_tests::setup::Setup;
use serde_json::{Map, Value, json};

use crate::view::{Seen, see};
use crate::{Case, Verdict};

pub(crate) fn run(case: &Case) -> Verdict {
    let (input, expect) = (&case.body["input"], &case.body["expect"]);
    match case.kind.as_str() {
        "node-view" => node_view(input, expect),
        "pod-endpoint" => pod_endpoint(input, expect),
        "endpoint-ports" => endpoint_ports(input, expect),
        "find-port" => find_port(input, expect),
        "pod-inclusion" => {
            let terminating = input["includeTerminating"] == true;
            let included = feed::with_pod(&input["pod"], |pod| endpoints::included(pod, terminating));
            Verdict::compare(expect, &json!({"included": included}))
        }
        "hostname" => {
            let named = with_both(input, |pod, service| endpoints::hostname(pod, service).is_some());
            Verdict::compare(expect, &json!({"setHostname": named}))
        }
        "address-types" => {
            let mut types: Vec<_> = feed::with_service(&input["service"], |service| {
                endpoints::address_types(service).into_iter().flatten().map(Family::text).collect()
            });
            types.sort_unstable();
            Verdict::compare(expect, &json!({"addressTypes": types}))
        }
        "trigger-time" => trigger_time(input, expect),
        other => Verdict::Skipped(format!("kind {other}: nothing writes Endpoints or EndpointSlices yet")),
    }
}

fn with_both<T>(input: &Value, ask: impl FnOnce(&Pod<'_>, &Service<'_>) -> T) -> T {
    feed::with_pod(&input["pod"], |pod| feed::with_service(&input["service"], |service| ask(pod, service)))
}

fn find_port(input: &Value, expect: &Value) -> Verdict {
    let service =
        json!({"metadata": {"namespace": "prod", "name": "web"}, "spec": {"ports": [input["servicePort"]]}});
    let port = feed::with_pod(&input["pod"], |pod| {
        feed::with_service(&service, |service| endpoints::find_port(pod, &service.ports[0]))
    });
    Verdict::compare(expect, &json!({"port": port}))
}

fn endpoint_ports(input: &Value, expect: &Value) -> Verdict {
    let ports: Vec<Value> = with_both(input, |pod, service| {
        let found = service.ports.iter().filter_map(|port| Some((port, endpoints::find_port(pod, port)?)));
        found
            .map(|(port, number)| {
                let app_protocol = (!port.app_protocol.is_empty()).then_some(port.app_protocol);
                json!({"name": port.name, "port": number, "protocol": port.protocol.text(), "appProtocol": app_protocol})
            })
            .collect()
    });
    Verdict::compare(expect, &json!({"ports": ports}))
}

fn pod_endpoint(input: &Value, expect: &Value) -> Verdict {
    let family = input["addressType"].as_str().and_then(Family::parse).expect("addressType");
    let zone = match &input["node"] {
        Value::Null => String::new(),
        node => feed::with_node(node, |node| node.zone.to_owned()),
    };
    let endpoint = with_both(input, |pod, service| {
        let conditions = endpoints::conditions(pod, service.publish_not_ready);
        json!({
            "addresses": endpoints::addresses(pod, family).map(|address| address.to_string()).collect::<Vec<_>>(),
            "conditions": {"ready": conditions.ready, "serving": conditions.serving, "terminating": conditions.terminating},
            "hostname": endpoints::hostname(pod, service),
            "nodeName": some(pod.node),
            "zone": some(&zone),
            "targetRef": {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        })
    });
    // Every field is compared here, those that must be absent too.
    let mut wanted = expect.clone();
    for key in ["hostname", "nodeName", "zone"] {
        wanted["endpoint"].as_object_mut().expect("an endpoint").entry(key).or_insert(Value::Null);
    }
    Verdict::compare(&wanted, &json!({"endpoint": endpoint}))
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn node_view(input: &Value, expect: &Value) -> Verdict {
    let list = |key: &str, kind: &str| -> Vec<Value> {
        input[key].as_array().into_iter().flatten().map(|object| of_kind(kind, object)).collect()
    };
    let objects =
        [list("services", "Service"), list("slices", "EndpointSlice"), list("nodes", "Node")].concat();
    let setup = Setup { node: input["nodeName"].as_str().unwrap_or("").to_owned(), ..Setup::default() };
    let seen = match see(&setup, &objects) {
        Ok(seen) => seen,
        Err(why) => return Verdict::failed("the view", why),
    };
    let mut families = Map::new();
    for family in ["IPv4", "IPv6"] {
        families.insert(family.to_owned(), view_of(&seen, family));
    }
    // A list that is absent was never asked for, which is not the same as one that is empty.
    let mut wanted = expect.clone();
    for port in wanted.as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
        for port in port.as_array_mut().into_iter().flatten() {
            for key in ["cluster", "local"] {
                port.as_object_mut().expect("a port").entry(key).or_insert("never used".into());
            }
        }
    }
    Verdict::compare(&wanted, &Value::Object(families))
}

/// Each service port of a family as upstream's answer has it.
fn view_of(seen: &Seen, family: &str) -> Value {
    let served = seen.ports.iter().filter(|(port, _)| port.family == family);
    served
        .map(|(port, facts)| {
            let mut sets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for row in seen.mirror.backends().filter(|row| row.port == *port && row.is_member()) {
                for (set, weight) in [("cluster", row.cluster_weight), ("local", row.local_weight)] {
                    sets.entry(set).or_default().extend(weight.map(|_| row.at.to_string()));
                }
                sets.entry("reachable").or_default().push(row.at.to_string());
            }
            let set = |name: &str, used: bool| match used {
                true => json!(sets.get(name).cloned().unwrap_or_default()),
                false => json!("never used"),
            };
            json!({
                "service": port.owner(),
                "port": port.name,
                "protocol": port.protocol,
                "usesCluster": facts.uses_cluster,
                "usesLocal": facts.uses_local,
                "cluster": set("cluster", facts.uses_cluster),
                "local": set("local", facts.uses_local),
                "reachable": set("reachable", true),
                "hasAnyEndpoints": facts.has_any,
            })
        })
        .collect()
}

fn trigger_time(input: &Value, expect: &Value) -> Verdict {
    let steps = input["steps"].as_array().map_or(&[][..], Vec::as_slice);
    let results: Vec<Value> = with_tracker(|tracker| {
        steps
            .iter()
            .map(|step| {
                if step["op"] == "delete" {
                    let text = |key: &str| step[key].as_str().unwrap_or("");
                    tracker.delete(text("namespace"), text("name"));
                    return Value::Null;
                }
                time_or_null(compute(
                    tracker,
                    &step["service"],
                    step["pods"].as_array().into_iter().flatten(),
                ))
            })
            .collect()
    });
    Verdict::compare(expect, &json!({"results": results}))
}

/// A tracker with room for whatever a vector holds.
pub(crate) fn with_tracker<T>(ask: impl FnOnce(&mut Tracker<'_>) -> T) -> T {
    let (mut services, mut pods, mut rows) =
        (vec![Row::EMPTY; 64], vec![Row::EMPTY; 4_096], vec![Row::EMPTY; 4_200]);
    let (mut of_services, mut of_pods, mut of_rows) = (vec![0; 64], vec![0; 4_096], vec![0; 4_200]);
    let mut bytes = vec![0; 256 * 1_024];
    let texts = Texts::new(&mut rows, &mut of_rows, &mut bytes, 1);
    ask(&mut Tracker::new((&mut services, &mut of_services), (&mut pods, &mut of_pods), texts, 1))
}

/// The trigger time of this Service with these Pods.
pub(crate) fn compute<'p>(
    tracker: &mut Tracker<'_>,
    service: &Value,
    pods: impl IntoIterator<Item = &'p Value>,
) -> Timestamp {
    let times: Vec<(String, Timestamp)> = pods
        .into_iter()
        .map(|pod| feed::with_pod(pod, |pod| (pod.name.to_owned(), pod.ready_since)))
        .collect();
    let pods = times.iter().map(|(name, time)| (name.as_str(), *time));
    feed::with_service(service, |service| {
        tracker.compute(service.namespace, service.name, service.created, pods).expect("room")
    })
}

/// A time as vectors have it.
pub(crate) fn time_or_null(time: Timestamp) -> Value {
    if time.is_none() { Value::Null } else { time.to_string().into() }
}
