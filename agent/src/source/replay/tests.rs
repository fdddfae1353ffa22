use super::*;

/// Plays a recording, one line a step: the pause in milliseconds, and what happened.
fn play(text: &str) -> Vec<String> {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("evenkeel-replay-{}-{number}", std::process::id()));
    std::fs::write(&path, text).expect("written");
    let opened = Recording::open(&path, Wanted::ALL);
    std::fs::remove_file(&path).expect("removed");
    let mut recording = match opened {
        Ok(recording) => recording,
        Err(error) => return vec![format!("error {error}")],
    };
    let mut steps = Vec::new();
    while let Some(step) = recording.step().expect("readable") {
        let events: Vec<String> = step
            .events
            .iter()
            .map(|event| match event {
                Event::Apply(object) => format!("apply {}", Key::of(object)),
                Event::Delete(key) => format!("delete {key}"),
                Event::RelistBegin(kind) => format!("begin {}", kind.text()),
                Event::RelistEnd(kind) => format!("end {}", kind.text()),
                Event::Seal(time) => {
                    format!("seal {}", time.map(|time| time.to_string()).unwrap_or_default())
                }
                Event::Broken(broken) => format!("broken line {}", broken.place.line),
                other => format!("{other:?}"),
            })
            .collect();
        steps.push(format!("{} {}", step.pause_ns / 1_000_000, events.join(", ")));
    }
    steps
}

const NODE: &str = r#""object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}}"#;
const BEGIN: &str = "begin Service, begin EndpointSlice, begin Pod, begin Node";
const END: &str = "end Service, end EndpointSlice, end Pod, end Node";

#[test]
fn a_pause_seals_and_so_does_the_end() {
    let text = format!(
        "{{\"evenkeel\":\"recording\",\"version\":1}}\n\
         {{\"time\":\"2026-11-02T10:00:00Z\",\"type\":\"ADDED\",{NODE}}}\n\n\
         {{\"time\":\"2026-11-02T10:00:00.1Z\",\"type\":\"MODIFIED\",{NODE}}}\n\
         {{\"time\":\"2026-11-02T10:00:00.3Z\",\"type\":\"DELETED\",{NODE}}}\n\
         {{\"time\":\"2026-11-02T10:00:00.3Z\",\"type\":\"BOOKMARK\"}}\n"
    );
    assert_eq!(
        play(&text),
        [
            format!("0 {BEGIN}, apply Node node-a"),
            "100 apply Node node-a".to_owned(),
            format!("200 {END}, seal 2026-11-02T10:00:00.1Z, delete Node node-a"),
            "0 ".to_owned(),
            "0 seal 2026-11-02T10:00:00.3Z".to_owned(),
        ]
    );
}

#[test]
fn relists_and_seals_may_be_written_by_hand() {
    let text = r#"{"type":"RELIST","kind":"Node","items":[{"metadata":{"name":"node-a"}},{"metadata":{"name":"node-b"}}]}
{"type":"SEAL"}
{"type":"RELIST","kind":"Node","items":[]}
"#;
    assert_eq!(
        play(text),
        [
            format!("0 {BEGIN}, begin Node, apply Node node-a, apply Node node-b, end Node"),
            "0 end Service, end EndpointSlice, end Pod, seal ".to_owned(),
            "0 begin Node, end Node".to_owned(),
            "0 seal ".to_owned(),
        ]
    );
}

#[test]
fn a_broken_line_costs_no_other() {
    let text = format!(
        "nonsense\n{{\"type\":\"GONE\"}}\n{{\"type\":\"ADDED\"}}\n{{\"time\":\"noon\",\"type\":\"SEAL\"}}\n\
         {{\"type\":\"DELETED\",\"object\":{{\"kind\":\"Service\",\"metadata\":{{\"name\":\"web\"}},\"spec\":1}}}}\n\
         {{\"type\":\"ADDED\",{NODE}}}\n"
    );
    assert_eq!(
        play(&text),
        [
            format!("0 {BEGIN}, broken line 1"),
            "0 broken line 2".to_owned(),
            "0 broken line 3".to_owned(),
            "0 broken line 4".to_owned(),
            "0 delete Service default/web".to_owned(),
            "0 apply Node node-a".to_owned(),
            format!("0 {END}, seal "),
        ]
    );
}

#[test]
fn another_version_is_refused() {
    assert_eq!(
        play("{\"evenkeel\":\"recording\",\"version\":2}\n"),
        ["error expected version 1 of the format, found 2"]
    );
}
