//! The program as people start it: commands, files, signals, exit codes.

#[path = "program/live.rs"]
mod live;

use live::{Folder, Live, manifests, run, run_with_input};
use serde_json::Value;

const NODES: &str = "kind: Node\nmetadata: {name: node-a, labels: {topology.kubernetes.io/zone: zone-1}}\n---\n\
                     kind: Node\nmetadata: {name: node-b}\n";

fn service(name: &str, address: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{namespace: shop, name: {name}}}\nspec:\n  clusterIP: {address}\n  \
         ports:\n  - name: http\n    port: 80\n"
    )
}

fn slice(service: &str, endpoints: &[&str]) -> String {
    let mut text = format!(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  namespace: shop\n  name: {service}-1\n  \
         labels: {{kubernetes.io/service-name: {service}}}\naddressType: IPv4\nports: [{{name: http, port: 8080}}]\n\
         endpoints:\n"
    );
    for endpoint in endpoints {
        text += &format!("- {{addresses: [\"{endpoint}\"], nodeName: node-a}}\n");
    }
    text
}

/// A folder with a Service `web` of two endpoints.
fn web() -> Folder {
    let folder = Folder::new();
    folder.write("nodes.yaml", NODES);
    folder.write(
        "web.yaml",
        &format!("{}---\n{}", service("web", "10.96.0.1"), slice("web", &["192.0.2.1", "192.0.2.2"])),
    );
    folder
}

/// What it shows at first.
const WEB: [&str; 3] = [
    "+ shop/web:http vip 10.96.0.1:80/TCP ClusterIP, policy Cluster, serve",
    "+ shop/web:http backend 192.0.2.1:8080/TCP node-a, weight 100",
    "+ shop/web:http backend 192.0.2.2:8080/TCP node-a, weight 100",
];

#[test]
fn an_edit_prints_exactly_its_changes() {
    let folder = web();
    let mut live = Live::start(&["run", "--files", folder.path(), "--node", "node-a"]);
    live.expect(&WEB);
    let two = format!("{}---\n{}", service("web", "10.96.0.1"), slice("web", &["192.0.2.2", "192.0.2.3"]));
    folder.write("web.yaml", &two);
    live.expect(&[
        "+ shop/web:http backend 192.0.2.3:8080/TCP node-a, weight 100",
        "- shop/web:http backend 192.0.2.1:8080/TCP",
    ]);
    folder.write(
        "web.yaml",
        &two.replace("namespace: shop\n", "namespace: shop\n  annotations: {evenkeel.dev/weight: \"50\"}\n"),
    );
    live.expect(&[
        "~ shop/web:http backend 192.0.2.2:8080/TCP weight 100 -> 50",
        "~ shop/web:http backend 192.0.2.3:8080/TCP weight 100 -> 50",
    ]);
    folder.write("web.yaml", &service("web", "10.96.0.1"));
    live.expect(&[
        "~ shop/web:http vip 10.96.0.1:80/TCP state serve -> reject",
        "- shop/web:http backend 192.0.2.2:8080/TCP",
        "- shop/web:http backend 192.0.2.3:8080/TCP",
    ]);
    folder.remove("web.yaml");
    live.expect(&["- shop/web:http vip 10.96.0.1:80/TCP"]);
    assert_eq!(live.end("TERM"), (Some(0), Vec::new()));
}

#[test]
fn programs_are_told_one_change_a_line() {
    let folder = web();
    let mut live = Live::start(&["run", "--files", folder.path(), "--node", "node-a", "--output", "ndjson"]);
    let first = live.lines_until(|line| line.contains("generationEnd"));
    let kinds: Vec<Value> = first.iter().map(|line| parse(line)["change"].clone()).collect();
    assert_eq!(kinds, ["vip", "backend", "backend", "serviceEnd", "generationEnd"]);
    folder
        .write("web.yaml", &format!("{}---\n{}", service("web", "10.96.0.1"), slice("web", &["192.0.2.1"])));
    assert_eq!(
        live.lines_until(|line| line.contains("generationEnd")),
        [
            "{\"generation\":2,\"change\":\"backendGone\",\"service\":\"shop/web\",\"portName\":\"http\",\
             \"protocol\":\"TCP\",\"family\":\"IPv4\",\"address\":\"192.0.2.2\",\"port\":8080,\"flush\":false}",
            "{\"generation\":2,\"change\":\"serviceEnd\",\"service\":\"shop/web\"}",
            "{\"generation\":2,\"change\":\"generationEnd\"}",
        ]
    );
    assert_eq!(live.end("INT"), (Some(0), Vec::new()));
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn a_broken_document_is_told_and_the_others_count() {
    let folder = web();
    folder.write(
        "bad.yaml",
        &format!("{}---\n{}", service("ok", "10.96.0.2"), service("bad", "10.96.0.3").replace("80", "80000")),
    );
    let shown = run(&["view", "--files", folder.path(), "--node", "node-a"]);
    assert_eq!(shown.code, Some(0));
    assert_eq!(
        shown.err.trim_end(),
        format!(
            " WARN {}/bad.yaml: document 2, line 17: Service shop/bad: spec.ports[0].port: expected a number from 1 to \
             65535, found 80000",
            folder.path()
        )
    );
    assert!(shown.out.contains("shop/ok") && !shown.out.contains("shop/bad"), "{}", shown.out);
    assert_eq!(run(&["view", "--strict", "--files", folder.path(), "--node", "node-a"]).code, Some(1));
}

#[test]
fn nothing_readable_is_a_failure_and_nothing_there_is_none() {
    let folder = Folder::new();
    assert_eq!(run(&["view", "--files", folder.path(), "--node", "node-a"]).code, Some(0));
    let missing = run(&["view", "--files", &folder.join("missing"), "--node", "node-a"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("missing: No such file"), "{}", missing.err);
    folder.write("bad.yaml", "kind: Service\n");
    assert_eq!(run(&["view", "--files", folder.path(), "--node", "node-a"]).code, Some(1));
}

#[test]
fn a_folder_that_vanishes_withdraws_nothing() {
    let outer = Folder::new();
    outer.write(
        "m/web.yaml",
        &format!("{}---\n{}", service("web", "10.96.0.1"), slice("web", &["192.0.2.1"])),
    );
    let folder = outer.join("m");
    let mut live = Live::start(&["run", "--files", &folder, "--node", "node-a"]);
    live.expect(&[
        "+ shop/web:http vip 10.96.0.1:80/TCP ClusterIP, policy Cluster, serve",
        "+ shop/web:http backend 192.0.2.1:8080/TCP node-a, weight 100",
    ]);
    std::fs::rename(&folder, outer.join("away")).expect("renamed");
    live.complaint("nothing is withdrawn until it can be read");
    std::fs::rename(outer.join("away"), &folder).expect("renamed");
    live.complaint("can be read again");
    outer.write(
        "m/web.yaml",
        &format!("{}---\n{}", service("web", "10.96.0.1"), slice("web", &["192.0.2.2"])),
    );
    live.expect(&[
        "+ shop/web:http backend 192.0.2.2:8080/TCP node-a, weight 100",
        "- shop/web:http backend 192.0.2.1:8080/TCP",
    ]);
    assert_eq!(live.end("TERM"), (Some(0), Vec::new()));
}

#[test]
fn an_invalid_service_keeps_its_last_good_state() {
    let folder = web();
    let mut live = Live::start(&["run", "--files", folder.path(), "--node", "node-a"]);
    live.expect(&WEB);
    let broken = service("web", "10.96.0.1").replace("port: 80", "port: 0");
    folder.write("web.yaml", &format!("{broken}---\n{}", slice("web", &["192.0.2.1"])));
    live.complaint("spec.ports[0].port: expected a number from 1 to 65535, found 0");
    live.expect(&["- shop/web:http backend 192.0.2.2:8080/TCP"]);
    assert_eq!(live.end("TERM"), (Some(0), Vec::new()));
}

#[test]
fn a_closed_output_ends_the_program_quietly() {
    let folder = web();
    let ended = live::close_after(&["run", "--files", folder.path(), "--node", "node-a"], 4, || {
        folder.write("web.yaml", &service("web", "10.96.0.1"));
    });
    assert_eq!(ended.code, Some(0));
    assert!(!ended.err.contains("ERROR") && !ended.err.contains("evenkeel:"), "{}", ended.err);
}

#[test]
fn standard_input_is_read_like_a_file() {
    let text = format!("{NODES}---\n{}---\n{}", service("web", "10.96.0.1"), slice("web", &["192.0.2.1"]));
    let shown = run_with_input(&["view", "--files", "-", "--node", "node-a", "--output", "json"], &text);
    let view = parse(&shown.out);
    assert_eq!(view["vips"][0]["backends"][0]["weight"], 100);
    let json = r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"web"},"spec":{"clusterIP":"10.96.0.1","ports":[{"port":80}]}}]}"#;
    let followed = run_with_input(&["run", "--files", "-", "--node", "node-a"], json);
    assert_eq!(followed.code, Some(0));
    assert!(
        followed.out.ends_with("+ shop/web vip 10.96.0.1:80/TCP ClusterIP, policy Cluster, reject\n"),
        "{}",
        followed.out
    );
}

#[test]
fn the_example_shows_weighted_backends() {
    let shown = run(&["view", "--files", &manifests(), "--node", "node-a", "--output", "json"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
    let view = parse(&shown.out);
    assert_eq!(view["node"], "node-a");
    let vips = view["vips"].as_array().expect("vips");
    let of = |service: &str, kind: &str| {
        vips.iter().find(|vip| vip["service"] == service && vip["kind"] == kind).cloned().expect("a vip")
    };
    let backends = |vip: &Value| -> Vec<(String, u64, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let backends = vip["backends"].as_array().expect("backends").iter();
        backends
            .map(|b| (text(&b["address"]), b["weight"].as_u64().expect("a weight"), text(&b["state"])))
            .collect()
    };
    let expect = |list: &[(&str, u64, &str)]| -> Vec<(String, u64, String)> {
        list.iter()
            .map(|(address, weight, state)| ((*address).to_owned(), *weight, (*state).to_owned()))
            .collect()
    };
    assert_eq!(
        backends(&of("shop/web", "ClusterIP")),
        expect(&[
            ("198.51.100.11", 100, "ready"),
            ("198.51.100.21", 100, "ready"),
            ("198.51.100.31", 50, "ready")
        ])
    );
    assert_eq!(
        backends(&of("shop/checkout", "ClusterIP")),
        expect(&[("198.51.100.15", 0, "draining"), ("198.51.100.24", 100, "ready")])
    );
    let balancer = of("shop/api", "LoadBalancer");
    assert_eq!(
        backends(&balancer),
        expect(&[("198.51.100.12", 100, "ready"), ("198.51.100.13", 100, "ready")])
    );
    assert_eq!(balancer["shortCircuitBackends"].as_array().map(Vec::len), Some(3));
    assert_eq!(balancer["sourceRanges"], serde_json::json!(["192.0.2.0/24", "198.51.100.128/25"]));
    assert_eq!(
        (&balancer["healthCheckNodePort"], &balancer["affinitySeconds"]),
        (&32100.into(), &600.into())
    );
    assert_eq!(of("shop/reports", "ClusterIP")["state"], "reject");
    assert_eq!(of("infra/metrics", "NodePort")["address"], "0.0.0.0");
}

#[test]
fn the_readme_shows_what_its_first_command_prints() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).expect("readable");
    let command = "\ncargo run --release --bin evenkeel -- view --files examples/manifests --node node-a\n";
    let shown = run(&["view", "--files", &manifests(), "--node", "node-a"]).out;
    assert!(readme.contains(command) && readme.contains(&shown), "README.md should show:\n{shown}");
}

#[test]
fn the_examples_pods_give_the_same_view_but_for_hints() {
    let view = |endpoints: &str| {
        run(&[
            "view",
            "--files",
            &manifests(),
            "--node",
            "node-a",
            "--output",
            "ndjson",
            "--endpoints",
            endpoints,
        ])
        .out
    };
    let (slices, pods) = (view("slices"), view("pods"));
    let only_in_pods: Vec<&str> = pods.lines().filter(|line| !slices.contains(line)).collect();
    assert_eq!(only_in_pods.len(), 1, "{only_in_pods:?}");
    assert!(only_in_pods[0].contains("198.51.100.34"), "{only_in_pods:?}");
    assert!(slices.lines().all(|line| pods.contains(line)));
    assert_eq!(view("overlay"), slices);
}

#[test]
fn explain_names_reasons_and_similar_names() {
    let ask = |service: &str| run(&["explain", service, "--files", &manifests(), "--node", "node-a"]);
    let cache = ask("shop/cache:cache");
    assert_eq!(cache.code, Some(0));
    assert!(
        cache.out.contains("zone hints are used") && cache.out.contains("other-topology:"),
        "{}",
        cache.out
    );
    assert_eq!(ask("cache:6379").out, cache.out);
    let unknown = ask("shop/weeb");
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(1), ""));
    assert_eq!(unknown.err, "no Service is named shop/weeb\nsimilar names:\n  shop/web\n");
    let port = ask("web:https");
    assert_eq!(
        (port.code, port.err.as_str()),
        (Some(1), "shop/web has no port https; it has http 80/TCP IPv4\n")
    );
}

#[test]
fn diff_says_what_a_dataplane_would_have_to_do() {
    let folder = web();
    let (from, to) = (folder.join("web.yaml"), folder.join("to.yml"));
    folder.write(
        "to.yml",
        &format!("{}---\n{}", service("web", "10.96.0.9"), slice("web", &["192.0.2.1", "192.0.2.2"])),
    );
    let differs = run(&["diff", "--from", &from, "--to", &to, "--node", "node-a"]);
    assert_eq!(differs.code, Some(1), "{}", differs.err);
    assert_eq!(
        differs.out,
        "+ shop/web:http vip 10.96.0.9:80/TCP ClusterIP, policy Cluster, serve\n- shop/web:http vip 10.96.0.1:80/TCP\n"
    );
    let same = run(&["diff", "--from", &from, "--to", &from, "--node", "node-a"]);
    assert_eq!((same.code, same.out.as_str()), (Some(0), ""));
    let trouble = run(&["diff", "--from", &from, "--to", &folder.join("missing"), "--node", "node-a"]);
    assert_eq!(trouble.code, Some(2));
}

const RECORDING: &str = r#"{"evenkeel":"recording","version":1}
{"time":"2026-11-02T10:00:00Z","type":"ADDED","object":{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"web"},"spec":{"clusterIP":"10.96.0.1","ports":[{"port":80}]}}}
{"time":"2026-11-02T10:00:01Z","type":"ADDED","object":{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"namespace":"shop","name":"web-1","labels":{"kubernetes.io/service-name":"web"}},"addressType":"IPv4","ports":[{"name":"","port":8080}],"endpoints":[{"addresses":["192.0.2.1"]}]}}
{"time":"2026-11-02T10:00:02Z","type":"DELETED","object":{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"web"}}}
"#;

#[test]
fn a_recording_is_played_with_its_own_times() {
    let folder = Folder::new();
    folder.write("r.ndjson", RECORDING);
    let expected = "\
2026-11-02T10:00:00Z generation 1
+ shop/web vip 10.96.0.1:80/TCP ClusterIP, policy Cluster, reject
2026-11-02T10:00:01Z generation 2
~ shop/web vip 10.96.0.1:80/TCP state reject -> serve
+ shop/web backend 192.0.2.1:8080/TCP weight 100
2026-11-02T10:00:02Z generation 3
- shop/web backend 192.0.2.1:8080/TCP
- shop/web vip 10.96.0.1:80/TCP
";
    for speed in ["max", "100"] {
        let played =
            run(&["run", "--replay", &folder.join("r.ndjson"), "--node", "node-a", "--speed", speed]);
        assert_eq!((played.code, played.out.as_str()), (Some(0), expected), "{}", played.err);
    }
    let shown = run(&["view", "--replay", &folder.join("r.ndjson"), "--node", "node-a"]);
    assert_eq!(shown.out, "node node-a, generation 3: 0 VIPs of 0 Services, 0 backends\n");
}

#[test]
fn limits_grow_unless_they_are_given() {
    let folder = Folder::new();
    for part in 0..4 {
        let text: String = (0..100)
            .map(|index| {
                let name = format!("web-{part}-{index}");
                let endpoints = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
                format!(
                    "{}---\n{}---\n",
                    service(&name, &format!("10.96.{part}.{index}")),
                    slice(&name, &endpoints)
                )
            })
            .collect();
        folder.write(&format!("{part}.yaml"), &text);
    }
    let shown = run(&["view", "--files", folder.path(), "--node", "node-a", "--strict"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
    assert!(shown.out.starts_with("node node-a, generation 1: 400 VIPs of 400 Services, 1200 backends\n"));
    let full = run(&["view", "--files", folder.path(), "--node", "node-a", "--services-max", "300"]);
    assert_eq!(full.code, Some(0));
    assert!(
        full.err
            .contains("refused: services_max is too small: 301 needed: raise --services-max to 301 or more"),
        "{}",
        full.err
    );
    assert!(full.out.contains("300 VIPs of 300 Services"), "{}", &full.out[..200]);
}

#[test]
fn a_flag_goes_before_the_environment_and_that_before_the_file() {
    let folder = web();
    folder.write("settings.conf", "node: from-file\noutput: json\nweight-range: 10\n");
    let show = |flags: &[&str], environment: &[(&str, &str)]| {
        let config = folder.join("settings.conf");
        let mut arguments =
            vec!["view", "--files", folder.path(), "--config", &config, "--log-level", "error"];
        arguments.extend(flags);
        let view = parse(&live::run_in(&arguments, environment).out);
        (view["node"].as_str().map(str::to_owned), view["vips"][0]["backends"][0]["weight"].as_u64())
    };
    assert_eq!(show(&[], &[]), (Some("from-file".to_owned()), Some(5)));
    assert_eq!(
        show(&[], &[("EVENKEEL_NODE", "from-env"), ("EVENKEEL_WEIGHT_RANGE", "20")]),
        (Some("from-env".to_owned()), Some(10))
    );
    assert_eq!(
        show(&["--node", "flag"], &[("EVENKEEL_NODE", "from-env")]),
        (Some("flag".to_owned()), Some(5))
    );
    folder.write("settings.conf", "nodes: typo\n");
    let refused = run(&["view", "--files", folder.path(), "--config", &folder.join("settings.conf")]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("settings.conf") && refused.err.contains("nodes"), "{}", refused.err);
}

#[test]
fn the_node_is_named_by_the_environment_if_nobody_else_does() {
    let folder = web();
    let arguments = ["view", "--files", folder.path(), "--log-level", "info"];
    let shown = live::run_in(&arguments, &[("NODE_NAME", "node-b")]);
    assert!(shown.out.starts_with("node node-b, "), "{}", shown.out);
    assert!(shown.err.contains("node node-b, from NODE_NAME"), "{}", shown.err);
    let unknown = run(&["view", "--files", folder.path(), "--node", "node-x"]);
    assert!(unknown.err.contains("\"node-x\" is not among the 2 Nodes that were read"), "{}", unknown.err);
}

#[test]
fn node_ports_are_served_on_the_addresses_asked_for() {
    let addresses = |setting: &str| {
        let shown = run(&[
            "view",
            "--files",
            &manifests(),
            "--node",
            "node-a",
            "--output",
            "json",
            "--nodeport-addresses",
            setting,
        ]);
        if shown.code != Some(0) {
            return Err(shown.err);
        }
        let view = parse(&shown.out);
        let vips = view["vips"].as_array().expect("vips").clone();
        let of = |vip: &Value| vip["service"] == "infra/metrics" && vip["kind"] == "NodePort";
        Ok(vips
            .iter()
            .filter(|vip| of(vip))
            .map(|vip| vip["address"].as_str().unwrap_or("").to_owned())
            .collect::<Vec<_>>())
    };
    assert_eq!(addresses("primary"), Ok(vec!["192.0.2.11".to_owned()]));
    assert_eq!(
        addresses("192.0.2.0/24,203.0.113.9/32"),
        Ok(vec!["192.0.2.11".to_owned(), "203.0.113.9".to_owned()])
    );
    assert!(addresses("203.0.113.0/24").expect_err("none").contains("no address of node node-a matches"));
    assert!(addresses("eth0").expect_err("no prefix").contains("expected primary or a prefix"));
}
