use super::*;
use evenkeel_core::address::{Address, Family};
use evenkeel_core::object::{ServiceType, TargetPort, TrafficPolicy};
use serde_json::json;

fn service(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": "web"}, "spec": spec})
}

fn slice(address: &str) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"namespace": "shop", "name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": [{"addresses": [address]}],
    })
}

fn refused(value: Value) -> String {
    Object::from_value(value).expect_err("refused").to_string()
}

fn accepted(value: Value) -> Object {
    Object::from_value(value).expect("accepted")
}

fn notes(value: Value) -> Vec<String> {
    accepted(value).notes().iter().map(ToString::to_string).collect()
}

fn as_service<R>(value: Value, look: impl FnOnce(&evenkeel_core::object::Service<'_>) -> R) -> R {
    let Object::Service(service) = accepted(value) else { panic!("a Service") };
    service.lend(look)
}

fn as_slice<R>(value: Value, look: impl FnOnce(&evenkeel_core::object::EndpointSlice<'_>) -> R) -> R {
    let Object::EndpointSlice(slice) = accepted(value) else { panic!("a slice") };
    slice.lend(look)
}

fn as_pod<R>(value: Value, look: impl FnOnce(&evenkeel_core::object::Pod<'_>) -> R) -> R {
    let Object::Pod(pod) = accepted(value) else { panic!("a Pod") };
    pod.lend(look)
}

fn address(text: &str) -> Address {
    Address::parse(text).expect("an address")
}

#[test]
fn a_refusal_names_the_object_the_field_and_what_was_expected() {
    assert_eq!(
        refused(service(json!({"ports": [{"port": 70000}]}))),
        "Service shop/web: spec.ports[0].port: expected a number from 1 to 65535, found 70000"
    );
    assert_eq!(
        refused(service(json!({"ports": [{"port": 80}, {"port": 0}]}))),
        "Service shop/web: spec.ports[1].port: expected a number from 1 to 65535, found 0"
    );
    assert_eq!(
        refused(service(json!({"ports": [{"name": "http"}]}))),
        "Service shop/web: spec.ports[0]: missing field `port`"
    );
    assert_eq!(
        refused(service(json!({"ports": {"port": 80}}))),
        "Service shop/web: spec.ports: expected a list, found a mapping"
    );
    assert_eq!(
        refused(service(json!({"ports": [{"port": 80, "protocol": "tcp"}]}))),
        "Service shop/web: spec.ports[0].protocol: expected TCP, UDP or SCTP, found \"tcp\""
    );
    assert_eq!(
        refused(service(json!({"clusterIP": "10.96.0.256"}))),
        "Service shop/web: spec.clusterIP: expected an IP address, or None, found \"10.96.0.256\""
    );
    assert_eq!(
        refused(service(json!({"loadBalancerSourceRanges": ["192.0.2.0/24", "192.0.2.0"]}))),
        "Service shop/web: spec.loadBalancerSourceRanges[1]: expected a prefix such as 192.0.2.0/24, found \"192.0.2.0\""
    );
    assert_eq!(
        refused(service(
            json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}})
        )),
        "Service shop/web: spec.sessionAffinityConfig.clientIP.timeoutSeconds: expected a number from 1 to 86400, \
         found 86401"
    );
}

#[test]
fn names_over_their_bounds_are_refused() {
    let named = |namespace: &str, name: &str| json!({"kind": "Service", "metadata": {"namespace": namespace, "name": name}});
    assert_eq!(refused(named("shop", "")), "Service shop/: metadata.name: expected a name, found none");
    assert!(
        refused(named("shop", &"n".repeat(254)))
            .ends_with("metadata.name: expected at most 253 bytes, found 254")
    );
    assert!(
        refused(named(&"n".repeat(64), "web"))
            .ends_with("metadata.namespace: expected at most 63 bytes, found 64")
    );
    assert!(
        refused(named("shop", "a/b")).ends_with(
            "metadata.name: expected a name without slashes and control characters, found \"a/b\""
        )
    );
    assert_eq!(refused(json!({"kind": "Pod"})), "Pod: metadata.name: expected a name, found none");
}

#[test]
fn other_kinds_are_told_apart_from_broken_objects() {
    let error = Object::from_value(json!({"apiVersion": "serving.knative.dev/v1", "kind": "Service"}));
    assert!(error.expect_err("another Service").is_other_kind());
    let error = Object::from_value(json!({"apiVersion": "v1", "kind": "Service"}));
    assert!(!error.expect_err("a Service without a name").is_other_kind());
}

#[test]
fn null_is_as_good_as_absent() {
    let value = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv6",
        "metadata": {"name": "a", "namespace": null, "labels": null, "annotations": null},
        "endpoints": null, "ports": null,
    });
    as_slice(value, |slice| {
        assert_eq!((slice.namespace, slice.name, slice.service), ("default", "a", ""));
        assert_eq!((slice.family, slice.weight, slice.endpoints.len()), (Some(Family::V6), 100, 0));
    });
    as_service(service(Value::Null), |service| assert!(service.headless && service.ports.is_empty()));
}

#[test]
fn conditions_that_are_absent_are_read_as_kube_proxy_does() {
    let of = |conditions: Value| {
        let mut value = slice("192.0.2.1");
        value["endpoints"][0]["conditions"] = conditions;
        as_slice(value, |slice| {
            let conditions = slice.endpoints[0].conditions;
            (conditions.ready, conditions.serving, conditions.terminating)
        })
    };
    assert_eq!(of(Value::Null), (true, true, false));
    assert_eq!(of(json!({"ready": null, "serving": null, "terminating": null})), (true, true, false));
    assert_eq!(of(json!({"ready": false})), (false, true, false));
    assert_eq!(of(json!({"ready": false, "serving": false, "terminating": true})), (false, false, true));
}

#[test]
fn odd_endpoint_addresses_cost_one_endpoint_or_nothing() {
    as_slice(slice("192.0.02.010"), |slice| assert_eq!(slice.endpoints[0].address, address("192.0.2.10")));
    for (text, why) in [
        ("127.0.0.1", "is a loopback address"),
        ("169.254.1.1", "is a link-local address"),
        ("224.0.0.1", "is a multicast address"),
        ("0.0.0.0", "is the unspecified address"),
        ("fe80::1%eth0", "has a zone, which means nothing on another machine"),
        ("web.example", "is no IP address"),
        ("2001:db8::1", "is not of the slice's addressType"),
    ] {
        let mut value = slice(text);
        value["endpoints"]
            .as_array_mut()
            .expect("a list")
            .push(json!({"addresses": ["192.0.2.1", "192.0.2.2"]}));
        assert_eq!(
            notes(value.clone()),
            [format!("endpoints[0].addresses[0]: endpoint left out: {text:?} {why}")]
        );
        as_slice(value, |slice| {
            let addresses: Vec<_> = slice.endpoints.iter().map(|endpoint| endpoint.address).collect();
            assert_eq!(addresses, [address("192.0.2.1")]);
        });
    }
}

#[test]
fn slice_ports_without_name_or_number_are_left_for_core_to_skip() {
    let mut value = slice("192.0.2.1");
    value["ports"] =
        json!([{"name": "a"}, {"port": 80}, {"name": "", "port": 80}, {"name": "b", "port": null}]);
    as_slice(value, |slice| {
        let ports: Vec<_> = slice.ports.iter().map(|port| (port.name, port.port)).collect();
        assert_eq!(ports, [("a", 0), ("", 0), ("", 80), ("b", 0)]);
    });
    let mut value = slice("192.0.2.1");
    value["ports"] = json!([{"name": "a", "port": 65536}]);
    assert_eq!(
        refused(value),
        "EndpointSlice shop/web-1: ports[0].port: expected a number from 0 to 65535, found 65536"
    );
}

#[test]
fn hints_stay_with_their_endpoint() {
    let mut value = slice("192.0.2.1");
    value["endpoints"] = json!([
        {"addresses": ["192.0.2.1"], "hints": {"forZones": [{"name": "zone-1"}, {"name": "zone-2"}]}},
        {"addresses": ["192.0.2.2"], "hints": {"forNodes": [{"name": "node-a"}], "forZones": null}},
        {"addresses": ["192.0.2.3"], "hints": null},
    ]);
    as_slice(value, |slice| {
        let hints: Vec<_> =
            slice.endpoints.iter().map(|e| (e.zone_hints.to_vec(), e.node_hints.to_vec())).collect();
        assert_eq!(hints, [(vec!["zone-1", "zone-2"], vec![]), (vec![], vec!["node-a"]), (vec![], vec![])]);
    });
}

#[test]
fn a_service_from_before_dual_stack_has_the_family_of_its_address() {
    as_service(service(json!({"clusterIP": "2001:db8::1"})), |service| {
        assert_eq!(service.families, [Family::V6]);
        assert_eq!(service.cluster_ips, [address("2001:db8::1")]);
    });
}

#[test]
fn cluster_ips_go_with_the_families_at_the_same_place() {
    let both = json!({
        "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1", "2001:db8::1"], "ipFamilies": ["IPv4", "IPv6"],
    });
    as_service(service(both), |service| {
        assert_eq!(service.cluster_ips, [address("10.96.0.1"), address("2001:db8::1")]);
        assert_eq!(service.families, [Family::V4, Family::V6]);
    });
    let crossed = json!({"clusterIPs": ["10.96.0.1", "2001:db8::1"], "ipFamilies": ["IPv6", "IPv4"]});
    assert_eq!(notes(service(crossed)).len(), 2);
    let one = json!({"clusterIPs": ["10.96.0.1", "2001:db8::1"], "ipFamilies": ["IPv4"]});
    as_service(service(one.clone()), |service| assert_eq!(service.cluster_ips, [address("10.96.0.1")]));
    assert_eq!(notes(service(one)).len(), 1);
}

#[test]
fn a_cluster_ip_that_is_empty_or_none_leaves_no_vip() {
    for spec in
        [json!({}), json!({"clusterIP": ""}), json!({"clusterIP": "None"}), json!({"clusterIPs": ["None"]})]
    {
        as_service(service(spec), |service| {
            assert!(service.headless);
            assert!(service.cluster_ips.is_empty());
        });
    }
}

#[test]
fn a_service_keeps_what_a_node_needs() {
    let mut value = service(json!({
        "type": "LoadBalancer", "clusterIP": "10.96.0.1",
        "ports": [
            {"name": "http", "port": 80, "targetPort": "web", "nodePort": 30080, "appProtocol": "h2c"},
            {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 5353},
            {"name": "same", "port": 9090},
        ],
        "externalIPs": ["198.51.100.1", "nonsense", "fe80::1%eth0"],
        "loadBalancerSourceRanges": [" 192.0.2.0/24 "],
        "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000,
        "sessionAffinity": "ClientIP", "publishNotReadyAddresses": true,
        "selector": {"app": "web", "tier": null},
    }));
    value["metadata"]["creationTimestamp"] = json!("2026-11-02T10:00:00Z");
    value["metadata"]["labels"] = json!({"service.kubernetes.io/service-proxy-name": "other", "app": "web"});
    value["metadata"]["annotations"] = json!({"evenkeel.dev/maintenance": "true"});
    value["status"] = json!({"loadBalancer": {"ingress": [
        {"ip": "203.0.113.1"}, {"ip": "203.0.113.2", "ipMode": "Proxy"}, {"ip": "203.0.113.3", "ipMode": "VIP"},
        {"hostname": "lb.example"},
    ]}});
    assert_eq!(notes(value.clone()).len(), 2);
    as_service(value, |service| {
        assert_eq!(service.kind, ServiceType::LoadBalancer);
        assert_eq!(service.created.to_string(), "2026-11-02T10:00:00Z");
        assert_eq!(service.external_ips, [address("198.51.100.1")]);
        assert_eq!(service.ingress_ips, [address("203.0.113.1"), address("203.0.113.3")]);
        assert_eq!(service.source_ranges.len(), 1);
        assert_eq!(service.external_policy, TrafficPolicy::Local);
        assert_eq!((service.affinity_seconds, service.health_check_node_port), (10_800, 31_000));
        assert!(service.publish_not_ready && service.maintenance && !service.headless);
        assert_eq!(service.proxy_name, Some("other"));
        let ports: Vec<_> =
            service.ports.iter().map(|port| (port.name, port.node_port, port.target)).collect();
        let expected = [
            ("http", 30_080, TargetPort::Name("web")),
            ("dns", 0, TargetPort::Number(5353)),
            ("same", 0, TargetPort::Number(9090)),
        ];
        assert_eq!(ports, expected);
        let selector: Vec<_> = service.selector.iter().map(|label| (label.key, label.value)).collect();
        assert_eq!(selector, [("app", "web"), ("tier", "")]);
    });
}

#[test]
fn a_pod_keeps_what_endpoints_depend_on() {
    let value = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": "shop", "name": "web-1", "uid": "u-1", "labels": {"app": "web"},
            "deletionTimestamp": "2026-11-02T10:00:00Z", "annotations": {"evenkeel.dev/weight": "250"},
        },
        "spec": {
            "nodeName": "node-a",
            "containers": [{"ports": [{"name": "web", "containerPort": 8080}, {"containerPort": 9090}]}],
            "initContainers": [
                {"restartPolicy": "Always", "ports": [{"name": "side", "containerPort": 15000, "protocol": "UDP"}]},
                {"ports": [{"name": "once", "containerPort": 1}]},
            ],
        },
        "status": {
            "phase": "Running", "podIP": "192.0.2.1",
            "podIPs": [{"ip": "192.0.2.1"}, {"ip": "2001:db8::1"}, {"ip": "127.0.0.1"}],
            "conditions": [
                {"type": "Initialized", "status": "True"},
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-02T09:00:00Z"},
            ],
        },
    });
    assert_eq!(
        notes(value.clone()),
        ["status.podIPs[2].ip: address left out: \"127.0.0.1\" is a loopback address"]
    );
    as_pod(value, |pod| {
        assert_eq!((pod.uid, pod.node, pod.weight), ("u-1", "node-a", 250));
        assert!(pod.terminating && !pod.terminal && pod.ready && pod.has_ip);
        assert_eq!(pod.ready_since.to_string(), "2026-11-02T09:00:00Z");
        assert_eq!(pod.addresses, [address("192.0.2.1"), address("2001:db8::1")]);
        let ports: Vec<_> = pod.ports.iter().map(|port| (port.name, port.port)).collect();
        assert_eq!(ports, [("web", 8080), ("side", 15000)]);
    });
}

#[test]
fn a_node_is_known_by_its_internal_addresses() {
    let node = |addresses: Value| {
        let value = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "node-a", "labels": {"topology.kubernetes.io/zone": "zone-1"}},
            "spec": {"taints": [{"key": "node.kubernetes.io/unschedulable"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}], "addresses": addresses},
        });
        let Object::Node(node) = accepted(value) else { panic!("a Node") };
        node
    };
    let both = node(json!([
        {"type": "Hostname", "address": "node-a"},
        {"type": "ExternalIP", "address": "203.0.113.1"},
        {"type": "InternalIP", "address": "192.0.2.1"},
    ]));
    assert_eq!(both.addresses(), [address("192.0.2.1"), address("203.0.113.1")]);
    both.lend(|node| {
        assert_eq!((node.name, node.zone, node.ready, node.unschedulable), ("node-a", "zone-1", true, true));
        assert_eq!(node.addresses, [address("192.0.2.1")]);
    });
    let outside = node(json!([{"type": "ExternalIP", "address": "203.0.113.1"}]));
    outside.lend(|node| assert_eq!(node.addresses, [address("203.0.113.1")]));
}

#[test]
fn readers_speak_in_plain_words() {
    let of = |text: &str| Object::from_yaml(Kind::Service, text).expect_err("refused").to_string();
    let spec = |spec: &str| of(&format!("metadata: {{name: web}}\nspec: {spec}\n"));
    assert_eq!(spec("{ports: 80}"), "Service default/web: spec.ports: expected a list");
    assert_eq!(spec("[]"), "Service default/web: spec: expected a mapping");
    assert_eq!(
        spec("{publishNotReadyAddresses: maybe}"),
        "Service default/web: spec.publishNotReadyAddresses: expected true or false"
    );
    assert_eq!(
        spec("{ports: [{port: 80, port: 81}]}"),
        "Service: spec.ports[0]: expected each key once, found port twice"
    );
    assert_eq!(refused(service(json!(7))), "Service shop/web: spec: expected a mapping, found integer `7`");
    let bomb: String = ('b'..='h')
        .map(|c| format!("{c}: &{c} [{}]\n", vec![format!("*{}", char::from(c as u8 - 1)); 9].join(",")))
        .collect();
    let bomb = of(&format!("a: &a [x]\n{bomb}metadata: *h\n"));
    assert!(
        bomb.ends_with("expected a document that can be meant: with its aliases it is too large"),
        "{bomb}"
    );
}

#[test]
fn text_is_refused_on_its_line() {
    let yaml = "kind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n  - port: http\n";
    let error = Object::from_yaml(Kind::Service, yaml).expect_err("no number");
    assert_eq!(error.line(), Some(7));
    assert!(error.to_string().starts_with("Service default/web: spec.ports[1].port: expected"), "{error}");
    let json = "{\"metadata\":{\"name\":\"web\"},\n\"spec\":{\"ports\":[\n{\"port\":70000}]}}";
    let error = Object::from_json(Kind::Service, json).expect_err("out of range");
    assert_eq!(error.line(), Some(3));
    assert_eq!(
        error.to_string(),
        "Service default/web: spec.ports[0].port: expected a number from 1 to 65535, found 70000"
    );
}
