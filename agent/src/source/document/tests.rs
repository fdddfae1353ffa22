use super::*;

/// What was found, one line each.
fn found(format: Option<Format>, text: impl AsRef<[u8]>) -> Vec<String> {
    let mut lines = Vec::new();
    read(text.as_ref(), format, Wanted::ALL, &mut |found| {
        lines.push(match found {
            Found::Object(object, place) => format!("{} @ {place}", Key::of(&object)),
            Found::Other(kind) => format!("other {kind}"),
            Found::Broken { place, what, object } => {
                let whose = object.map(|key| format!(" [{key}]")).unwrap_or_default();
                format!("broken @ {place}: {what}{whose}")
            }
        });
    })
    .expect("readable");
    lines
}

fn yaml(text: impl AsRef<[u8]>) -> Vec<String> {
    found(Some(Format::Yaml), text)
}

fn json(text: impl AsRef<[u8]>) -> Vec<String> {
    found(Some(Format::Json), text)
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";

#[test]
fn documents_come_apart_and_empty_ones_do_not_count() {
    let text = format!("# comment\n---\n{SERVICE}---\n# nothing\n---\n{SERVICE}...\n---\nkind: ConfigMap\n");
    assert_eq!(
        yaml(text),
        [
            "Service default/web @ document 1, line 3",
            "Service default/web @ document 2, line 10",
            "other ConfigMap"
        ]
    );
    assert!(yaml("").is_empty());
    assert!(yaml("---\n---\n").is_empty());
}

#[test]
fn the_kind_may_be_written_in_any_way() {
    for text in [
        "{apiVersion: v1, kind: Service, metadata: {name: web}}",
        "--- {apiVersion: v1, kind: Service, metadata: {name: web}}",
        "metadata:\n  name: web\n  kind: Pod\nkind: \"Service\" # one\n",
        "metadata:\r\n  name: web\r\nkind: 'Service'\r\napiVersion: v1\r\n",
        "? kind\n: Service\nmetadata: {name: web}\n",
        "\u{feff}kind: Service\nmetadata: {name: web}\n",
        "%YAML 1.2\n---\nkind: Service\nmetadata: {name: web}\n",
        "  kind: Service\n  metadata: {name: web}\n",
    ] {
        let found = yaml(text);
        assert!(
            found.len() == 1 && found[0].starts_with("Service default/web @ document 1"),
            "{text:?}: {found:?}"
        );
    }
}

#[test]
fn a_broken_document_costs_no_other() {
    let text = format!("{SERVICE}---\nkind: Service\nmetadata: {{name: broken\nspec: [\n---\n{SERVICE}");
    let found = yaml(text);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], "Service default/web @ document 1, line 1");
    assert!(found[1].starts_with("broken @ document 2, line "), "{found:?}");
    assert_eq!(found[2], "Service default/web @ document 3, line 10");
}

#[test]
fn a_refused_object_is_named_with_its_line() {
    let text = format!("{SERVICE}---\n{SERVICE}spec:\n  ports:\n  - port: 70000\n");
    assert_eq!(
        yaml(text)[1],
        "broken @ document 2, line 12: Service default/web: spec.ports[0].port: expected a number from 1 to 65535, \
         found 70000 [Service default/web]"
    );
}

#[test]
fn text_that_is_not_utf_8_costs_its_document() {
    let mut text = format!("{SERVICE}---\n{SERVICE}  namespace: \"").into_bytes();
    text.extend(b"\xff\"\n---\n");
    text.extend(SERVICE.as_bytes());
    assert_eq!(
        yaml(text),
        [
            "Service default/web @ document 1, line 1",
            "broken @ document 2, line 10: expected UTF-8 text, found the byte 0xff",
            "Service default/web @ document 3, line 12",
        ]
    );
}

#[test]
fn a_document_without_a_kind_is_broken() {
    assert_eq!(yaml("replicas: 3\n"), [format!("broken @ document 1, line 1: {KIND_EXPECTED}")]);
    assert_eq!(json("{\"replicas\":3}"), [format!("broken @ document 1, line 1: {KIND_EXPECTED}")]);
}

#[test]
fn a_list_as_kubectl_prints_it_comes_item_by_item() {
    let text = "\
apiVersion: v1
items:
- apiVersion: v1
  kind: Service
  metadata:
    annotations:
      note: |
        - kind: Pod
        items:
    name: web
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
- apiVersion: v1
  kind: Service
  metadata:
    name: [broken
-
  kind: Node
  metadata:
    name: node-a
kind: List
metadata:
  resourceVersion: \"\"
---
kind: Node
metadata: {name: node-b}
";
    let found = yaml(text);
    assert_eq!(found.len(), 5, "{found:?}");
    assert_eq!(found[0], "Service default/web @ document 1, item 1, line 3");
    assert_eq!(found[1], "other Deployment");
    assert!(found[2].starts_with("broken @ document 1, item 3, line 1"), "{found:?}");
    assert_eq!(found[3], "Node node-a @ document 1, item 4, line 20");
    assert_eq!(found[4], "Node node-b @ document 2, line 27");
}

#[test]
fn items_of_a_typed_list_take_its_kind_wherever_it_stands() {
    let item = "  - metadata: {name: web}\n  - metadata: {name: api}\n";
    for text in [
        format!("kind: ServiceList\napiVersion: v1\nitems:\n{item}"),
        format!("apiVersion: v1\nitems: # all\n{item}kind: ServiceList\n"),
        "apiVersion: v1\nkind: ServiceList\nitems: [{metadata: {name: web}}, {metadata: {name: api}}]\n"
            .to_owned(),
    ] {
        let names: Vec<_> =
            yaml(&text).iter().map(|line| line.split(" @").next().unwrap_or("").to_owned()).collect();
        assert_eq!(names, ["Service default/web", "Service default/api"], "{text}");
    }
    let json_text = r#"{"items":[{"metadata":{"name":"web"}}],"kind":"ServiceList","apiVersion":"v1"}"#;
    assert_eq!(json(json_text), ["Service default/web @ document 1, item 1, line 1"]);
    let json_text =
        r#"{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":{},"items":null}"#;
    assert!(json(json_text).is_empty());
}

#[test]
fn a_list_that_says_nothing_of_itself_is_broken_and_so_are_items_without_kind() {
    assert_eq!(
        yaml("items:\n- metadata: {name: web}\n- kind: Node\n  metadata: {name: node-a}\n"),
        [
            "Node node-a @ document 1, item 2, line 3".to_owned(),
            "broken @ document 1: kind: expected List, found none".to_owned(),
            format!("broken @ document 1, item 1, line 2: {KIND_EXPECTED}"),
        ]
    );
}

#[test]
fn another_kind_with_items_is_another_kind() {
    let text = "apiVersion: example.dev/v1\nkind: Basket\nitems:\n- kind: Service\n  metadata: {name: web}\n";
    assert_eq!(yaml(text), ["other Basket"]);
    let text = r#"{"apiVersion":"example.dev/v1","kind":"Basket","items":[{"kind":"Service","metadata":{"name":"web"}}]}"#;
    assert_eq!(json(text), ["other Basket"]);
}

#[test]
fn json_lists_and_lines_and_values_in_a_row() {
    let pretty = r#"
{
    "apiVersion": "v1",
    "items": [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"}
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "api"
            },
            "spec": {
                "ports": [
                    {"port": 70000}
                ]
            }
        }
    ],
    "kind": "List"
}
"#;
    assert_eq!(
        found(None, pretty),
        [
            "Service default/web @ document 1, item 1, line 5",
            "broken @ document 1, item 2, line 18: Service default/api: spec.ports[0].port: expected a number from 1 \
             to 65535, found 70000 [Service default/api]",
        ]
    );
    let one = r#"{"kind":"Node","metadata":{"name":"node-a"}}"#;
    assert_eq!(
        json(format!("{one}\n{one} {one}\n")),
        [
            "Node node-a @ document 1, line 1",
            "Node node-a @ document 2, line 2",
            "Node node-a @ document 3, line 2"
        ]
    );
    assert_eq!(json(format!("[{one},{one}]")).len(), 2);
}

#[test]
fn json_under_another_name_is_json() {
    let one = r#"{"kind":"Node","metadata":{"name":"node-a"}}"#;
    let list = format!("[{}]", vec![one; 20_000].join(","));
    assert_eq!(yaml(list).len(), 20_000);
    assert_eq!(yaml(format!("{one}\n---\n{one}\n")).len(), 2);
}

#[test]
fn a_refused_object_in_json_is_named_with_its_line() {
    let text = "{\n \"kind\": \"Service\",\n \"metadata\": {\n  \"name\": \"web\"\n },\n \"spec\": {\"ports\": [\n  {\"port\": 0}\n ]}\n}";
    let found = json(text);
    assert!(
        found[0].starts_with("broken @ document 1, line 7: Service default/web: spec.ports[0].port"),
        "{found:?}"
    );
}

#[test]
fn a_broken_line_of_json_costs_no_other() {
    let one = r#"{"kind":"Node","metadata":{"name":"node-a"}}"#;
    let found =
        json(format!("{one}\n{{\"kind\":\"Node\",\n{one}\n{{\"kind\" \"Node\"}}\n{one}\nnonsense\n{one}\n"));
    assert_eq!(found[0], "Node node-a @ document 1, line 1");
    assert!(found.iter().filter(|line| line.starts_with("Node node-a")).count() >= 3, "{found:?}");
    assert!(found.iter().filter(|line| line.starts_with("broken @")).count() >= 2, "{found:?}");
    assert!(found.last().expect("some").starts_with("Node node-a"), "{found:?}");
}

#[test]
fn what_is_not_wanted_is_not_even_parsed() {
    let mut count = 0;
    let wanted = Wanted { pods: false, ..Wanted::ALL };
    let text = "kind: Pod\nmetadata: [broken\n---\nkind: Secret\ndata: [broken\n";
    read(text.as_bytes(), None, wanted, &mut |found| {
        assert!(matches!(found, Found::Other(_)), "{found:?}");
        count += 1;
    })
    .expect("readable");
    assert_eq!(count, 2);
}

#[test]
fn a_document_without_end_is_cut() {
    let mut text = format!("{SERVICE}spec: \"").into_bytes();
    text.resize(PIECE_BYTES_MAX + (1 << 20), b'x');
    text.extend(format!("\n---\n{SERVICE}").as_bytes());
    let found = yaml(text);
    assert_eq!(found[0], "broken @ document 1, line 1: expected at most 16 MiB, found more");
    assert!(found[1].starts_with("Service default/web @ document 2"), "{found:?}");
}
