//! Suite bugs: what public bug reports taught, as far as the node view is concerned.

use evenkeel_core::Cluster;
use evenkeel_core::cluster::Sealed;
use evenkeel_core::endpoints::selects;
use evenkeel_core::time::Timestamp;
use evenkeel_tests::feed::{self, Refused};
use evenkeel_tests::mirror::{Mirror, pull};
use evenkeel_tests::setup::{Endpoints, Kind, Setup};
use serde_json::{Map, Value, json};

use crate::k8s::{compute, time_or_null, with_tracker};
use crate::steps;
use crate::view::{large, look, now, see, with_cluster};
use crate::{Case, Verdict};

pub(crate) fn run(case: &Case) -> Verdict {
    let (input, expect) = (&case.body["input"], &case.body["expect"]);
    match case.kind.as_str() {
        "merge-slices" => merge_slices(input, expect),
        "trigger" => trigger(input, expect),
        "latency" => latency(input, expect),
        "weights" => weights(input, expect),
        "permutations" => permutations(input, expect),
        "burst" => burst(input, expect),
        "compute" => computed(input, expect),
        "agent-steps" => steps::run(input, expect),
        "config" => Verdict::Skipped("operation config: nothing reads Ravel's ClusterConfig yet".to_owned()),
        "thresholds" => {
            Verdict::Skipped("operation thresholds: nothing sets limits of connections yet".to_owned())
        }
        "ffi" => Verdict::Skipped("operation ffi: there is no C interface yet".to_owned()),
        "dataplane-diff" => {
            Verdict::Skipped("operation dataplane-diff: no dataplane is driven yet".to_owned())
        }
        "relist-memory" => {
            Verdict::Skipped("operation relist-memory: nothing reads a list in pages yet".to_owned())
        }
        other => Verdict::Skipped(format!("operation {other}: nothing writes routes or catalogs yet")),
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A consumer outside of the cluster: no endpoint is local to it.
fn outside(endpoints: Endpoints) -> Setup {
    Setup { node: String::new(), endpoints, ..Setup::default() }
}

/// Every name of a node in these objects.
pub(crate) fn nodes(objects: &[Value]) -> Vec<String> {
    let mut nodes = Vec::new();
    for object in objects {
        if object["kind"] == "Node" {
            nodes.push(text(&object["metadata"]["name"]).to_owned());
        }
        nodes
            .extend(list(&object["endpoints"]).iter().map(|endpoint| text(&endpoint["nodeName"]).to_owned()));
        nodes.push(text(&object["spec"]["nodeName"]).to_owned());
    }
    nodes.sort();
    nodes.dedup();
    nodes.retain(|node| !node.is_empty());
    nodes
}

fn merge_slices(input: &Value, expect: &Value) -> Verdict {
    let (service, family, objects) =
        (text(&input["service"]), text(&input["family"]), list(&input["objects"]));
    let setup = outside(Endpoints::Slices);
    let answer = with_cluster(&setup, |cluster| {
        let ignored = feed::list(cluster, objects).map_err(|why| why.to_string())?;
        cluster.seal(now());
        let seen = look(cluster, ignored)?;
        let mut answer = json!({"backends": seen.backends(service, family)});
        if !expect["skippedSlices"].is_null() {
            answer["skippedSlices"] = seen.ignored.clone().into();
        }
        let mut weights = Map::new();
        for key in expect["weights"].as_object().into_iter().flat_map(Map::keys) {
            let of_port = seen.weights(cluster, service, key, &nodes(objects));
            weights.insert(key.clone(), of_port.unwrap_or(Value::Null));
        }
        answer["weights"] = weights.into();
        Ok::<_, String>(answer)
    });
    match answer {
        Ok(answer) => Verdict::compare(expect, &answer),
        Err(why) => Verdict::failed("a merged view", why),
    }
}

fn trigger(input: &Value, expect: &Value) -> Verdict {
    let times: Vec<Value> = with_tracker(|tracker| {
        list(&input["syncs"])
            .iter()
            .map(|sync| {
                let objects = list(&sync["objects"]);
                let Some(service) = objects.iter().find(|object| {
                    let name = &object["metadata"];
                    object["kind"] == "Service"
                        && format!("{}/{}", text(&name["namespace"]), text(&name["name"]))
                            == text(&sync["sync"])
                }) else {
                    let (namespace, name) = text(&sync["sync"]).split_once('/').unwrap_or(("", ""));
                    tracker.delete(namespace, name);
                    return Value::Null;
                };
                let pods =
                    objects.iter().filter(|object| object["kind"] == "Pod" && is_selected(service, object));
                time_or_null(compute(tracker, service, pods))
            })
            .collect()
    });
    Verdict::compare(expect, &json!({"triggerTimes": times}))
}

fn is_selected(service: &Value, pod: &Value) -> bool {
    feed::with_service(service, |service| {
        feed::with_pod(pod, |pod| service.namespace == pod.namespace && selects(service.selector, pod.labels))
    })
}

fn latency(input: &Value, expect: &Value) -> Verdict {
    let setup = Setup { started: Some(text(&input["startedAt"]).to_owned()), ..outside(Endpoints::Slices) };
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"clusterIP": "192.0.2.200", "ports": [{"name": "http", "port": 80}]},
    });
    let answer = with_cluster(&setup, |cluster| {
        let cursor = cluster.cursor_open().map_err(|why| why.to_string())?;
        feed::list(cluster, [&service]).map_err(|why| why.to_string())?;
        let mut mirror = Mirror::default();
        let (mut seconds, mut skewed) = (Vec::new(), 0);
        for (number, event) in list(&input["events"]).iter().enumerate() {
            // Another address each time: what brings nothing new is not measured in any case.
            let slice = json!({
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {
                    "namespace": "shop", "name": "web-1", "labels": {"kubernetes.io/service-name": "web"},
                    "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": event["annotation"]},
                },
                "addressType": "IPv4", "ports": [{"name": "http", "port": 8080}],
                "endpoints": [{"addresses": [format!("198.51.100.{}", number + 1)]}],
            });
            match text(&event["type"]) {
                "DELETED" => drop(feed::delete(cluster, &slice)),
                _ => drop(
                    feed::apply(cluster, &without_null_annotations(slice)).map_err(|why| why.to_string())?,
                ),
            }
            let applied = Timestamp::parse(text(&event["appliedAt"])).ok_or("no time")?;
            cluster.seal(applied);
            pull(cluster, cursor, &mut mirror).map_err(|why| format!("{why:?}"))?;
            let acknowledged = cluster.ack(cursor, cluster.generation(), applied, |sample| {
                seconds.push(Timestamp::from_nanos(sample.latency_ns).nanos() as f64 / 1e9);
                skewed += u64::from(sample.skewed);
            });
            acknowledged.map_err(|why| why.to_string())?;
        }
        Ok::<_, String>((seconds, skewed))
    });
    let (seconds, skewed) = match answer {
        Ok(answer) => answer,
        Err(why) => return Verdict::failed("samples", why),
    };
    let mut wanted = expect.clone();
    if let Some(any_of) = expect["samplesSecondsAnyOf"].as_array() {
        wanted = json!({"skewEvents": expect["skewEvents"]});
        if !any_of.iter().any(|one| *one == json!(seconds)) {
            return Verdict::failed(&expect.to_string(), json!(seconds));
        }
    }
    // Samples stand in the order of the events.
    if wanted["samplesSeconds"].is_array() && wanted["samplesSeconds"] != json!(seconds) {
        return Verdict::failed(&expect.to_string(), json!(seconds));
    }
    Verdict::compare(&wanted, &json!({"samplesSeconds": seconds, "skewEvents": skewed}))
}

fn without_null_annotations(mut object: Value) -> Value {
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|_, value| !value.is_null());
    }
    object
}

fn weights(input: &Value, expect: &Value) -> Verdict {
    let (service, objects) = (text(&input["service"]), list(&input["objects"]));
    if !expect["eligibleNodes"].is_null() {
        return eligible(input, expect);
    }
    let answer = with_cluster(&outside(Endpoints::Slices), |cluster| {
        let ignored = feed::list(cluster, objects).map_err(|why| why.to_string())?;
        cluster.seal(now());
        let seen = look(cluster, ignored)?;
        let of = |cluster: &Cluster<'_>, key: &str| {
            let weights = seen.weights(cluster, service, key, &nodes(objects));
            weights.unwrap_or_else(|| json!({"counts": {}, "share": {}, "total": 0, "unassigned": 0}))
        };
        let ports = list(&input["ports"]).iter().map(|port| (text(port).to_owned(), of(cluster, text(port))));
        let ports: Map<String, Value> = ports.collect();
        if ports.is_empty() {
            Ok(of(cluster, text(&input["port"])))
        } else {
            Ok::<_, String>(json!({"perPort": ports}))
        }
    });
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(why) => return Verdict::failed("weights", why),
    };
    let counts = answer["counts"].clone();
    let zero: Vec<_> =
        list(&expect["zeroFor"]).iter().filter(|node| counts.get(text(node)).is_none()).collect();
    answer["zeroFor"] = json!(zero);
    // Counts are whole numbers, and a share of nothing is none: there is nothing that could be infinite.
    answer["finite"] = true.into();
    exactly(expect, &answer)
}

/// As [`Verdict::compare`], and no node may be counted that is not named.
fn exactly(expect: &Value, answer: &Value) -> Verdict {
    fn unnamed(expect: &Value, answer: &Value) -> bool {
        ["counts", "share", "perPort"].into_iter().any(|key| {
            let (Some(expect), Some(answer)) = (expect[key].as_object(), answer[key].as_object()) else {
                return false;
            };
            answer.iter().any(|(node, value)| expect.get(node).is_none_or(|expect| unnamed(expect, value)))
        })
    }
    if unnamed(expect, answer) {
        return Verdict::failed(&expect.to_string(), answer);
    }
    Verdict::compare(expect, answer)
}

/// Which nodes become backends at all. Choosing them by label is for the configuration that names the label.
fn eligible(input: &Value, expect: &Value) -> Verdict {
    let selector = input["nodeSelector"].as_object().cloned().unwrap_or_default();
    let setup = Setup { backends: Kind::Nodes, ..outside(Endpoints::Slices) };
    let seen = match see(&setup, list(&input["objects"])) {
        Ok(seen) => seen,
        Err(why) => return Verdict::failed("nodes as backends", why),
    };
    let mut entries: Map<String, Value> = Map::new();
    for row in seen.mirror.backends().filter(|row| row.port.owner() == text(&input["service"])) {
        entries.insert(row.node.clone(), row.cluster_weight.unwrap_or(0).into());
    }
    let unlabelled = |node: &str| {
        list(&input["objects"]).iter().any(|object| {
            let name = &object["metadata"];
            object["kind"] == "Node"
                && name["name"] == node
                && selector.iter().any(|(key, value)| name["labels"][key] != *value)
        })
    };
    let expected = expect["entries"].as_object().cloned().unwrap_or_default();
    let chosen: Map<String, Value> =
        entries.iter().filter(|(node, _)| !unlabelled(node)).map(|(n, w)| (n.clone(), w.clone())).collect();
    if chosen != expected {
        return Verdict::failed(&json!(expected).to_string(), json!(entries));
    }
    if entries == expected {
        return Verdict::Ok;
    }
    Verdict::Skipped(
        "nodes cannot be chosen by label yet (ClusterConfig's `labels`); the others are right".to_owned(),
    )
}

fn permutations(input: &Value, expect: &Value) -> Verdict {
    let objects = list(&input["objects"]);
    let slices = objects.iter().any(|object| object["kind"] == "EndpointSlice");
    let setup = outside(if slices { Endpoints::Slices } else { Endpoints::Pods });
    let (mut outputs, mut publishes) = (Vec::new(), 0);
    for order in list(&input["orders"]) {
        let order =
            list(order).iter().filter_map(|index| objects.get(usize::try_from(index.as_u64()?).ok()?));
        let order: Vec<&Value> = order.collect();
        let answer = with_cluster(&setup, |cluster| {
            feed::list(cluster, order.iter().copied())?;
            cluster.seal(now());
            let (mut mirror, cursor) =
                (Mirror::default(), cluster.cursor_open().map_err(Refused::ByCluster)?);
            let lines = pull(cluster, cursor, &mut mirror);
            feed::list(cluster, order.iter().copied())?;
            let again = matches!(cluster.seal(now()), Sealed::Generation(_));
            Ok::<_, Refused>((lines, again))
        });
        match answer {
            Ok((Ok(lines), again)) => {
                outputs.push(lines.join("\n"));
                publishes += u64::from(again);
            }
            Ok((Err(why), _)) => return Verdict::failed("changes", format!("{why:?}")),
            Err(why) => return Verdict::failed("a view", why),
        }
    }
    let identical = outputs.iter().all(|output| Some(output) == outputs.first() && !output.is_empty());
    Verdict::compare(expect, &json!({"identicalBytes": identical, "publishesAfterRelist": publishes}))
}

/// One of many Services in a namespace becomes ready, Pod by Pod, in one burst.
fn burst(input: &Value, expect: &Value) -> Verdict {
    let count = |key: &str| input[key].as_u64().unwrap_or(0);
    let services: Vec<Value> = (0..count("services"))
        .map(|i| {
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": format!("web-{i}")},
                "spec": {
                    "clusterIP": format!("10.96.{}.{}", i / 250, i % 250 + 1), "selector": {"app": format!("web-{i}")},
                    "ports": [{"name": "http", "port": 80, "targetPort": 8080}],
                },
            })
        })
        .collect();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}});
    let pod = |i: u64, ready: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "shop", "name": format!("web-7-{i}"), "uid": format!("uid-{i}"), "labels": {"app": "web-7"}},
            "spec": {"nodeName": "node-a", "containers": [{"name": "main"}]},
            "status": {
                "phase": "Running", "podIPs": [{"ip": format!("10.1.{}.{}", i / 250, i % 250 + 1)}],
                "conditions": [{"type": "Ready", "status": ready}],
            },
        })
    };
    let pods = count("podsOfOneService");
    let setup = Setup { limits: large(), ..outside(Endpoints::Pods) };
    let answer = with_cluster(&setup, |cluster| {
        let before: Vec<Value> = (0..pods).map(|i| pod(i, "False")).chain([node]).chain(services).collect();
        feed::list(cluster, &before).map_err(|why| why.to_string())?;
        cluster.seal(now());
        let (mut mirror, cursor) = (Mirror::default(), cluster.cursor_open().map_err(|why| why.to_string())?);
        pull(cluster, cursor, &mut mirror).map_err(|why| format!("{why:?}"))?;
        cluster.ack(cursor, cluster.generation(), now(), |_| ()).map_err(|why| why.to_string())?;
        for i in 0..pods {
            feed::apply(cluster, &pod(i, "True")).map_err(|why| why.to_string())?;
        }
        // The burst is over before anybody seals, as it is in the agent, which seals when its queue is empty.
        let sealed = u64::from(matches!(cluster.seal(now()), Sealed::Generation(_)));
        let lines = pull(cluster, cursor, &mut mirror).map_err(|why| format!("{why:?}"))?;
        let (own, others): (Vec<_>, Vec<_>) = lines.iter().partition(|line| {
            line.split(' ').any(|word| word == "shop/web-7" || word.starts_with("shop/web-7:"))
        });
        let ready = mirror.backends().filter(|row| row.cluster_weight.is_some()).count() as u64;
        if ready != pods || own.is_empty() {
            return Err(format!("{ready} backends, {} changes", own.len()));
        }
        Ok((sealed, others.len()))
    });
    let (sealed, others) = match answer {
        Ok(answer) => answer,
        Err(why) => return Verdict::failed(&format!("{pods} backends"), why),
    };
    let most = expect["maxWritesForThatService"].as_u64().unwrap_or(u64::MAX);
    if sealed > most {
        return Verdict::failed(&expect.to_string(), sealed);
    }
    Verdict::compare(&json!({"others": expect["syncsOfOtherServices"]}), &json!({"others": others}))
}

/// Endpoints from Pods. What a controller would write is compared when something writes it; its endpoints are
/// those of the view, and those must agree now.
fn computed(input: &Value, expect: &Value) -> Verdict {
    let service = text(&input["service"]);
    let mut runs: Vec<(&Value, &Value)> = Vec::new();
    if !input["objects"].is_null() {
        runs.push((&input["objects"], expect));
    }
    runs.extend(list(&input["variants"]).iter().map(|objects| (objects, expect)));
    let phases = list(&input["phases"]).iter().zip(list(&expect["phases"]));
    runs.extend(phases.map(|(phase, expect)| (&phase["objects"], expect)));
    let mut all_asked = true;
    for (objects, expect) in runs {
        let setup = Setup { limits: large(), keep_pods: true, ..outside(Endpoints::Pods) };
        let verdict = match see(&setup, list(objects)) {
            Ok(seen) => steps::check(&seen, service, expect),
            Err(why) => Verdict::failed("a view", why),
        };
        match verdict {
            Verdict::Ok => {}
            Verdict::Skipped(_) => all_asked = false,
            other => return other,
        }
    }
    if all_asked {
        return Verdict::Ok;
    }
    Verdict::Skipped(
        "asks for objects that a controller writes, and nothing writes yet; the view agrees".to_owned(),
    )
}
