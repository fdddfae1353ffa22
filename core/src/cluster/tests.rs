use super::*;
use crate::change::{Change, VipState};
use crate::limits::Limits;
use crate::object::{
    Conditions, Endpoint, EndpointSlice, Pod, PodRef, Service, ServicePort, SlicePort, TrafficPolicy,
};
use crate::port::Protocol;
use crate::storage::HeapStorage;
use crate::time::Timestamp;
use std::collections::BTreeMap;

const T0: Timestamp = Timestamp::NONE;

const CLUSTER_IP: Address = Address::v4([10, 96, 0, 10]);
const HTTP: ServicePort<'_> = ServicePort {
    name: "http",
    protocol: Protocol::Tcp,
    port: 80,
    node_port: 0,
    target: crate::object::TargetPort::Number(8080),
    app_protocol: "",
};

fn web() -> Service<'static> {
    Service {
        namespace: "shop",
        name: "web",
        cluster_ips: &[CLUSTER_IP],
        ports: &[HTTP],
        ..Service::default()
    }
}

fn ready(last: u8) -> Endpoint<'static> {
    Endpoint {
        address: Address::v4([192, 0, 2, last]),
        node: "node-a",
        zone: "zone-1",
        ..Endpoint::default()
    }
}

const GONE: Conditions = Conditions { ready: false, serving: false, terminating: true };
const DRAINING: Conditions = Conditions { ready: false, serving: true, terminating: true };

fn slice<'a>(name: &'a str, endpoints: &'a [Endpoint<'a>]) -> EndpointSlice<'a> {
    EndpointSlice {
        namespace: "shop",
        name,
        service: "web",
        family: Some(Family::V4),
        weight: 100,
        ports: &[SlicePort { name: "http", protocol: Protocol::Tcp, port: 8080 }],
        endpoints,
        ..EndpointSlice::default()
    }
}

/// A consumer that knows only what changes told it.
#[derive(Default)]
struct Mirror {
    vips: BTreeMap<String, String>,
    backends: BTreeMap<String, String>,
}

impl Mirror {
    fn pull(&mut self, cluster: &mut Cluster<'_>, cursor: CursorId) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(change) = cluster.next(cursor).unwrap() {
            lines.push(match change {
                Change::Vip(vip) => {
                    let key = format!("{}:{}", vip.address, vip.number);
                    let value = format!("{} {}", vip.state.text(), vip.kind.text());
                    self.vips.insert(key.clone(), value.clone());
                    format!("+vip {key} {value}")
                }
                Change::Backend(backend) => {
                    let key = format!("{}:{}", backend.address, backend.number);
                    let value = format!(
                        "{} {:?} {:?} {}",
                        backend.state.text(),
                        backend.cluster_weight,
                        backend.local_weight,
                        backend.node()
                    );
                    self.backends.insert(key.clone(), value.clone());
                    format!("+{key} {value}")
                }
                Change::BackendGone(gone) => {
                    let key = format!("{}:{}", gone.address, gone.number);
                    self.backends.remove(&key);
                    format!("-{key}{}", if gone.flush { " flush" } else { "" })
                }
                Change::VipGone(gone) => {
                    let key = format!("{}:{}", gone.address, gone.number);
                    self.vips.remove(&key);
                    format!("-vip {key}")
                }
                Change::ServiceEnd(end) => {
                    let name = end.service();
                    format!("end {}/{}", name.namespace, name.name)
                }
            });
        }
        cluster.ack(cursor, cluster.generation(), T0, |_| {}).unwrap();
        lines
    }
}

fn with(config: &Config<'_>, test: impl FnOnce(&mut Cluster<'_>, CursorId)) {
    let limits = Limits::for_cluster(20, 100, 10).with_pods(20);
    let mut memory = HeapStorage::new(&limits);
    let mut cluster = Cluster::new(memory.lend(), 7, config).unwrap();
    for kind in Kind::ALL {
        cluster.relist_begin(kind);
        cluster.relist_end(kind);
    }
    let cursor = cluster.cursor_open().unwrap();
    test(&mut cluster, cursor);
}

fn on_node_a(test: impl FnOnce(&mut Cluster<'_>, CursorId)) {
    with(&Config { node: "node-a", ..Config::default() }, test);
}

#[test]
fn a_service_and_its_slice_become_a_vip_and_backends() {
    on_node_a(|cluster, cursor| {
        cluster.apply_slice(&slice("web-1", &[ready(2), ready(1)])).unwrap();
        cluster.apply_service(&web()).unwrap();
        assert_eq!(cluster.seal(T0), Sealed::Generation(1));
        let lines = Mirror::default().pull(cluster, cursor);
        assert_eq!(
            lines,
            [
                "+vip 10.96.0.10:80 serve ClusterIP",
                "+192.0.2.1:8080 ready Some(100) None node-a",
                "+192.0.2.2:8080 ready Some(100) None node-a",
                "end shop/web",
            ]
        );
        assert_eq!(cluster.seal(T0), Sealed::Unchanged(1));
        assert_eq!(cluster.next(cursor), Ok(None));
    });
}

#[test]
fn one_endpoint_that_goes_is_one_change() {
    on_node_a(|cluster, cursor| {
        let mut mirror = Mirror::default();
        cluster.apply_service(&web()).unwrap();
        cluster.apply_slice(&slice("web-1", &[ready(1), ready(2)])).unwrap();
        cluster.seal(T0);
        mirror.pull(cluster, cursor);
        assert_eq!(cluster.apply_slice(&slice("web-1", &[ready(2)])), Ok(Applied::Changed));
        assert_eq!(cluster.seal(T0), Sealed::Generation(2));
        assert_eq!(mirror.pull(cluster, cursor), ["-192.0.2.1:8080", "end shop/web"]);
        assert_eq!(cluster.apply_slice(&slice("web-1", &[ready(2)])), Ok(Applied::Unchanged));
        assert_eq!(cluster.seal(T0), Sealed::Unchanged(2));
        assert_eq!(cluster.usage().find(|(limit, ..)| *limit == Limit::Endpoints).unwrap().1, 1);
    });
}

#[test]
fn what_is_applied_after_the_seal_is_not_seen_before_the_next() {
    on_node_a(|cluster, cursor| {
        cluster.apply_service(&web()).unwrap();
        cluster.apply_slice(&slice("web-1", &[ready(1)])).unwrap();
        cluster.seal(T0);
        cluster.delete_slice("shop", "web-1");
        cluster.delete_service("shop", "web");
        let lines = Mirror::default().pull(cluster, cursor);
        assert_eq!(lines[1], "+192.0.2.1:8080 ready Some(100) None node-a");
        assert_eq!(cluster.seal(T0), Sealed::Generation(2));
        let lines = Mirror::default().pull(cluster, cursor);
        assert_eq!(lines, ["-192.0.2.1:8080", "-vip 10.96.0.10:80", "end shop/web"]);
        for (limit, used, _) in cluster.usage() {
            let kept = match limit {
                Limit::Nodes | Limit::Texts | Limit::Cursors => 1,
                Limit::TextBytes => 16,
                _ => 0,
            };
            assert_eq!((limit, used), (limit, kept));
        }
    });
}

#[test]
fn a_terminating_twin_does_not_hide_the_live_one() {
    on_node_a(|cluster, cursor| {
        cluster.apply_service(&web()).unwrap();
        let old = Endpoint { conditions: GONE, node: "node-b", ..ready(7) };
        cluster.apply_slice(&slice("web-old", &[old])).unwrap();
        cluster.apply_slice(&slice("web-new", &[ready(7)])).unwrap();
        cluster.seal(T0);
        let mut mirror = Mirror::default();
        assert_eq!(mirror.pull(cluster, cursor)[1], "+192.0.2.7:8080 ready Some(100) None node-a");
        cluster.delete_slice("shop", "web-old");
        assert_eq!(cluster.seal(T0), Sealed::Unchanged(1));
        cluster.apply_slice(&slice("web-old", &[old])).unwrap();
        cluster.delete_slice("shop", "web-new");
        cluster.seal(T0);
        assert_eq!(
            mirror.pull(cluster, cursor),
            ["+vip 10.96.0.10:80 reject ClusterIP", "-192.0.2.7:8080", "end shop/web"]
        );
    });
}

#[test]
fn a_draining_endpoint_lingers_while_others_are_ready_and_serves_when_none_is() {
    on_node_a(|cluster, cursor| {
        let mut mirror = Mirror::default();
        cluster.apply_service(&web()).unwrap();
        let old = Endpoint { conditions: DRAINING, ..ready(1) };
        cluster.apply_slice(&slice("web-1", &[old, ready(2)])).unwrap();
        cluster.seal(T0);
        assert_eq!(mirror.pull(cluster, cursor)[1], "+192.0.2.1:8080 draining None None node-a");
        cluster.apply_slice(&slice("web-1", &[old])).unwrap();
        cluster.seal(T0);
        let lines = mirror.pull(cluster, cursor);
        assert_eq!(lines[0], "+192.0.2.1:8080 terminating Some(100) None node-a");
    });
}

#[test]
fn a_slow_cursor_still_gets_every_change_and_a_new_one_gets_everything() {
    on_node_a(|cluster, slow| {
        let fast = cluster.cursor_open().unwrap();
        let (mut mirror, mut other) = (Mirror::default(), Mirror::default());
        cluster.apply_service(&web()).unwrap();
        cluster.apply_slice(&slice("web-1", &[ready(1), ready(2)])).unwrap();
        cluster.seal(T0);
        mirror.pull(cluster, slow);
        other.pull(cluster, fast);
        for last in 2..9 {
            cluster.apply_slice(&slice("web-1", &[ready(last), ready(last + 1)])).unwrap();
            cluster.seal(T0);
            other.pull(cluster, fast);
        }
        assert_eq!(mirror.backends.keys().collect::<Vec<_>>(), ["192.0.2.1:8080", "192.0.2.2:8080"]);
        mirror.pull(cluster, slow);
        let late = cluster.cursor_open().unwrap();
        let mut new = Mirror::default();
        new.pull(cluster, late);
        assert_eq!(mirror.backends, other.backends);
        assert_eq!(new.backends, other.backends);
        assert_eq!(new.vips, other.vips);
    });
}

#[test]
fn scaled_weights_have_an_exact_sum() {
    with(&Config { weight_range: 1000, ..Config::default() }, |cluster, cursor| {
        cluster.apply_service(&web()).unwrap();
        cluster.apply_slice(&slice("web-1", &[ready(1), ready(2), ready(3)])).unwrap();
        cluster.seal(T0);
        let mut mirror = Mirror::default();
        mirror.pull(cluster, cursor);
        let weights: Vec<&str> =
            mirror.backends.values().map(|value| value.split(' ').nth(1).unwrap()).collect();
        assert_eq!(weights, ["Some(334)", "Some(333)", "Some(333)"]);
    });
}

#[test]
fn an_external_address_under_the_local_policy_drops_where_nothing_is_local() {
    on_node_a(|cluster, cursor| {
        let far = Endpoint { node: "node-b", ..ready(1) };
        cluster.apply_slice(&slice("web-1", &[far])).unwrap();
        let service = Service {
            ingress_ips: &[Address::v4([203, 0, 113, 1])],
            kind: crate::object::ServiceType::LoadBalancer,
            external_policy: TrafficPolicy::Local,
            health_check_node_port: 30_000,
            ..web()
        };
        cluster.apply_service(&service).unwrap();
        cluster.seal(T0);
        let mut states = Vec::new();
        while let Some(change) = cluster.next(cursor).unwrap() {
            if let Change::Vip(vip) = change {
                states.push((vip.kind.text(), vip.state, vip.health_check_node_port, vip.short_circuit));
            }
        }
        assert_eq!(
            states,
            [("ClusterIP", VipState::Serve, 30_000, false), ("LoadBalancer", VipState::Drop, 30_000, true)]
        );
    });
}

#[test]
fn a_full_table_names_its_limit_and_changes_nothing() {
    let mut limits = Limits::for_cluster(2, 4, 2);
    limits.endpoints_max = 3;
    let mut memory = HeapStorage::new(&limits);
    let mut cluster = Cluster::new(memory.lend(), 7, &Config::default()).unwrap();
    cluster.apply_slice(&slice("web-1", &[ready(1), ready(2)])).unwrap();
    let before: Vec<_> = cluster.usage().collect();
    let full = Error::Full { limit: Limit::Endpoints, needed: 4 };
    assert_eq!(cluster.apply_slice(&slice("web-2", &[ready(3), ready(4)])), Err(full));
    assert_eq!(cluster.usage().collect::<Vec<_>>(), before);
    let larger = Limits { endpoints_max: 8, ..limits };
    let mut memory = HeapStorage::new(&larger);
    let mut moved = cluster.move_to(memory.lend()).unwrap();
    assert_eq!(moved.apply_slice(&slice("web-2", &[ready(3), ready(4)])), Ok(Applied::Changed));
}

#[test]
fn nothing_is_published_before_every_source_is_listed() {
    let limits = Limits::default();
    let mut memory = HeapStorage::new(&limits);
    let mut cluster = Cluster::new(memory.lend(), 7, &Config::default()).unwrap();
    cluster.apply_service(&web()).unwrap();
    assert_eq!(cluster.seal(T0), Sealed::Waiting);
    for kind in [Kind::Service, Kind::Slice] {
        cluster.relist_begin(kind);
        if kind == Kind::Service {
            cluster.apply_service(&web()).unwrap();
        }
        cluster.relist_end(kind);
    }
    assert_eq!(cluster.seal(T0), Sealed::Generation(1));
}

#[test]
fn pods_stand_behind_the_services_that_select_them() {
    use crate::object::{Label, Node};
    with(&Config { source: Source::Pods, node: "node-a", ..Config::default() }, |cluster, cursor| {
        let pod = Pod {
            namespace: "shop",
            name: "web-1",
            uid: "u1",
            labels: &[Label { key: "app", value: "web" }, Label { key: "tier", value: "x" }],
            node: "node-a",
            ready: true,
            has_ip: true,
            addresses: &[Address::v4([192, 0, 2, 1])],
            weight: 100,
            ..Pod::default()
        };
        let mut mirror = Mirror::default();
        cluster.apply_pod(&pod).unwrap();
        cluster.apply_service(&Service { selector: &[Label { key: "app", value: "web" }], ..web() }).unwrap();
        cluster.seal(T0);
        assert_eq!(mirror.pull(cluster, cursor), ["+vip 10.96.0.10:80 reject ClusterIP", "end shop/web"]);
        cluster
            .apply_node(&Node { name: "node-a", zone: "zone-1", ready: true, weight: 100, ..Node::default() })
            .unwrap();
        cluster.seal(T0);
        assert_eq!(mirror.pull(cluster, cursor)[1], "+192.0.2.1:8080 ready Some(100) None node-a");
        cluster.apply_pod(&Pod { labels: &[Label { key: "app", value: "api" }], ..pod }).unwrap();
        cluster.seal(T0);
        assert_eq!(mirror.pull(cluster, cursor)[1], "-192.0.2.1:8080");
        cluster.apply_service(&Service { selector: &[Label { key: "app", value: "api" }], ..web() }).unwrap();
        cluster.seal(T0);
        assert_eq!(mirror.pull(cluster, cursor)[1], "+192.0.2.1:8080 ready Some(100) None node-a");
        cluster.delete_pod("shop", "web-1");
        cluster.delete_service("shop", "web");
        cluster.delete_node("node-a");
        cluster.seal(T0);
        mirror.pull(cluster, cursor);
        assert!(mirror.backends.is_empty() && mirror.vips.is_empty());
        for (limit, used, _) in cluster.usage() {
            assert!(used <= 1 || limit == Limit::TextBytes, "{limit:?} {used}");
        }
    });
}

#[test]
fn the_local_pod_corrects_what_a_cached_slice_says() {
    let config = Config { source: Source::Overlay, node: "node-a", ..Config::default() };
    with(&config, |cluster, cursor| {
        let mut mirror = Mirror::default();
        cluster.apply_service(&web()).unwrap();
        let pod = PodRef { name: "web-1", uid: "u1" };
        let far = Endpoint { node: "node-b", pod: PodRef { name: "web-2", uid: "u2" }, ..ready(2) };
        cluster.apply_slice(&slice("web-1", &[Endpoint { pod, ..ready(1) }, far])).unwrap();
        cluster.seal(T0);
        let lines = mirror.pull(cluster, cursor);
        assert_eq!(lines[1..lines.len() - 1], ["+192.0.2.2:8080 ready Some(100) None node-b"]);
        let restarted = Pod {
            namespace: "shop",
            name: "web-1",
            uid: "u1",
            node: "node-a",
            ready: true,
            has_ip: true,
            addresses: &[Address::v4([192, 0, 2, 9])],
            weight: 100,
            ..Pod::default()
        };
        cluster.apply_pod(&restarted).unwrap();
        cluster.seal(T0);
        assert_eq!(mirror.pull(cluster, cursor)[0], "+192.0.2.9:8080 ready Some(100) None node-a");
        cluster.apply_pod(&Pod { ready: false, ..restarted }).unwrap();
        cluster.seal(T0);
        assert_eq!(mirror.pull(cluster, cursor)[0], "-192.0.2.9:8080");
        cluster.apply_pod(&Pod { uid: "u3", ..restarted }).unwrap();
        assert_eq!(cluster.seal(T0), Sealed::Unchanged(3));
        cluster.delete_slice("shop", "web-1");
        cluster.delete_pod("shop", "web-1");
        cluster.delete_service("shop", "web");
        cluster.seal(T0);
        mirror.pull(cluster, cursor);
        for (limit, used, _) in cluster.usage() {
            assert!(used <= 1 || limit == Limit::TextBytes, "{limit:?} {used}");
        }
    });
}

#[test]
fn nodes_as_backends_weigh_the_count_of_their_endpoints() {
    use crate::object::Node;
    with(&Config { backends: Backends::Nodes, ..Config::default() }, |cluster, cursor| {
        for (name, last) in [("node-a", 1), ("node-b", 2), ("node-c", 3)] {
            let addresses = [Address::v4([198, 51, 100, last])];
            cluster
                .apply_node(&Node {
                    name,
                    ready: true,
                    weight: 100,
                    addresses: &addresses,
                    ..Node::default()
                })
                .unwrap();
        }
        cluster.apply_service(&web()).unwrap();
        let far = Endpoint { node: "node-b", ..ready(3) };
        cluster.apply_slice(&slice("web-1", &[ready(1), ready(2), far])).unwrap();
        cluster.seal(T0);
        let mut mirror = Mirror::default();
        let lines = mirror.pull(cluster, cursor);
        assert_eq!(
            lines[1..3],
            ["+198.51.100.1:80 ready Some(2) None node-a", "+198.51.100.2:80 ready Some(1) None node-b"]
        );
        cluster.apply_slice(&slice("web-1", &[ready(1), ready(2)])).unwrap();
        cluster.seal(T0);
        assert_eq!(mirror.pull(cluster, cursor)[0], "-198.51.100.2:80");
    });
}

#[test]
fn udp_flows_to_what_no_longer_serves_are_to_be_flushed() {
    on_node_a(|cluster, cursor| {
        let mut mirror = Mirror::default();
        let ports =
            [ServicePort { name: "dns", protocol: Protocol::Udp, port: 53, ..ServicePort::default() }];
        cluster.apply_service(&Service { ports: &ports, ..web() }).unwrap();
        let ports = [SlicePort { name: "dns", protocol: Protocol::Udp, port: 53 }];
        let both = [ready(1), ready(2)];
        cluster.apply_slice(&EndpointSlice { ports: &ports, ..slice("web-1", &both) }).unwrap();
        cluster.seal(T0);
        mirror.pull(cluster, cursor);
        cluster.delete_slice("shop", "web-1");
        cluster.seal(T0);
        assert_eq!(
            mirror.pull(cluster, cursor),
            [
                "+vip 10.96.0.10:53 reject ClusterIP",
                "-192.0.2.1:53 flush",
                "-192.0.2.2:53 flush",
                "end shop/web"
            ]
        );
    });
}

#[test]
fn one_sample_for_each_cause_after_the_acknowledgement() {
    let started = Timestamp::from_nanos(1_000);
    with(&Config { started, ..Config::default() }, |cluster, cursor| {
        cluster.apply_service(&web()).unwrap();
        let apply = |cluster: &mut Cluster<'_>, nanos, last| {
            let trigger = Timestamp::from_nanos(nanos);
            cluster.apply_slice(&EndpointSlice { trigger, ..slice("web-1", &[ready(last)]) }).unwrap();
        };
        apply(cluster, 900, 1);
        cluster.seal(T0);
        let mut samples = Vec::new();
        while cluster.next(cursor).unwrap().is_some() {}
        cluster
            .ack(cursor, 1, Timestamp::from_nanos(5_000), |sample| samples.push(sample.latency_ns))
            .unwrap();
        apply(cluster, 2_000, 2);
        apply(cluster, 2_000, 3);
        cluster.seal(T0);
        apply(cluster, 2_500, 4);
        cluster.seal(T0);
        cluster
            .ack(cursor, 2, Timestamp::from_nanos(5_000), |sample| samples.push(sample.latency_ns))
            .unwrap();
        assert_eq!(samples, [3_000]);
        cluster
            .ack(cursor, 3, Timestamp::from_nanos(6_000), |sample| samples.push(sample.latency_ns))
            .unwrap();
        assert_eq!(samples, [3_000, 3_500]);
    });
}

#[test]
fn what_a_relist_lists_and_cannot_be_used_stays_as_it_was() {
    on_node_a(|cluster, cursor| {
        cluster.apply_service(&web()).unwrap();
        cluster.apply_slice(&slice("web-1", &[ready(1)])).unwrap();
        cluster.seal(T0);
        Mirror::default().pull(cluster, cursor);
        cluster.relist_begin(Kind::Service);
        let refused = Service { ports: &[ServicePort { port: 0, ..HTTP }], ..web() };
        assert_eq!(cluster.apply_service(&refused), Err(Error::Invalid(Field::Port)));
        assert_eq!(cluster.relist_end(Kind::Service), 0);
        cluster.relist_begin(Kind::Slice);
        assert!(cluster.mark_stale(Kind::Slice, "shop", "web-1"));
        assert_eq!(cluster.relist_end(Kind::Slice), 0);
        assert_eq!(cluster.seal(T0), Sealed::Unchanged(1));
        assert!(cluster.service("shop", "web").unwrap().stale);
        cluster.apply_service(&web()).unwrap();
        assert!(cluster.service("shop", "web").unwrap().stale);
        cluster.apply_slice(&slice("web-1", &[ready(1)])).unwrap();
        assert!(!cluster.service("shop", "web").unwrap().stale);
    });
}

#[test]
fn of_an_address_that_stands_twice_in_one_slice_the_later_counts_unless_it_terminates() {
    on_node_a(|cluster, cursor| {
        cluster.apply_service(&web()).unwrap();
        let unready =
            Endpoint { conditions: Conditions { ready: false, ..Conditions::default() }, ..ready(1) };
        cluster.apply_slice(&slice("web-1", &[unready, ready(1)])).unwrap();
        cluster.seal(T0);
        let mut mirror = Mirror::default();
        assert_eq!(mirror.pull(cluster, cursor)[0], "+vip 10.96.0.10:80 serve ClusterIP");
        let gone = Endpoint { conditions: GONE, ..ready(1) };
        cluster.apply_slice(&slice("web-1", &[ready(1), gone])).unwrap();
        assert_eq!(cluster.seal(T0), Sealed::Unchanged(1));
        cluster.apply_slice(&slice("web-1", &[ready(1), unready])).unwrap();
        cluster.seal(T0);
        assert_eq!(mirror.pull(cluster, cursor)[0], "+vip 10.96.0.10:80 reject ClusterIP");
    });
}

#[test]
fn asked_again_without_an_acknowledgement_it_begins_anew() {
    on_node_a(|cluster, cursor| {
        cluster.apply_service(&web()).unwrap();
        cluster.seal(T0);
        let count = |cluster: &mut Cluster<'_>| {
            let mut count = 0;
            while cluster.next(cursor).unwrap().is_some() {
                count += 1;
            }
            count
        };
        assert_eq!((count(cluster), count(cluster)), (2, 2));
        cluster.ack(cursor, 1, T0, |_| {}).unwrap();
        assert_eq!(count(cluster), 0);
    });
}
