//! The second door: the agent. The story is written as a recording, played into its engine, and what it tells is
//! read back from its lines for programs.

use std::io::Write;
use std::path::{Path, PathBuf};

use evenkeel_agent::engine::{Delivery, Engine};
use evenkeel_agent::output::json;
use evenkeel_agent::source::Wanted;
use evenkeel_agent::source::replay::Recording;
use evenkeel_core::Sealed;
use evenkeel_core::time::Timestamp;
use evenkeel_tests::feed::of_kind;
use evenkeel_tests::row::{BackendRow, Port, Socket, VipRow};
use evenkeel_tests::scenario::{Scenario, Step};
use serde_json::{Value, json};

use crate::Told;

/// Tells a scenario to the agent; what it told at each seal that made a generation.
pub(crate) fn tell(name: &str, scenario: &Scenario) -> Result<Told, String> {
    let path = recording(name, scenario).map_err(|why| format!("the recording: {why}"))?;
    let told = play(&path, scenario);
    let _ = std::fs::remove_file(&path);
    told
}

fn recording(name: &str, scenario: &Scenario) -> std::io::Result<PathBuf> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.ndjson", std::process::id()));
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
    writeln!(file, "{}", json!({"evenkeel": "recording", "version": 1}))?;
    for line in scenario.steps.iter().flat_map(lines) {
        writeln!(file, "{line}")?;
    }
    file.flush()?;
    Ok(path)
}

/// The events of a step, as a watch would bring them.
fn lines(step: &Step) -> Vec<Value> {
    let mut lines = Vec::new();
    for object in &step.apply {
        lines.push(json!({"type": "MODIFIED", "object": object}));
    }
    for object in &step.delete {
        let (kind, name) = object.split_once(' ').unwrap_or(("", object));
        let meta = match name.split_once('/') {
            Some((namespace, name)) => json!({"namespace": namespace, "name": name}),
            None => json!({"name": name}),
        };
        let object = of_kind(kind, &json!({"metadata": meta}));
        lines.push(json!({"type": "DELETED", "object": object}));
    }
    for (kind, objects) in &step.relist {
        lines.push(json!({"type": "RELIST", "kind": kind, "items": objects}));
    }
    if step.seal.is_some() {
        lines.push(json!({"type": "SEAL"}));
    }
    lines
}

fn play(path: &Path, scenario: &Scenario) -> Result<Told, String> {
    let mut recording = Recording::open(path, Wanted::ALL).map_err(|why| why.to_string())?;
    let engine =
        scenario.config.with_config(|config| Engine::new(scenario.config.limits(), Vec::new(), config));
    let mut engine = engine.map_err(|why| why.to_string())?;
    let mut told = Vec::new();
    while let Some(step) = recording.step().map_err(|why| why.to_string())? {
        for event in step.events {
            if engine.take(event).is_none() {
                continue;
            }
            let Sealed::Generation(generation) = engine.seal(Timestamp::NONE) else { continue };
            let mut printed = Vec::new();
            let delivered = engine.deliver(Timestamp::NONE, |delivery| match delivery {
                Delivery::Anew => json::anew(&mut printed, generation),
                Delivery::Change(change) => json::change(&mut printed, generation, &change),
            });
            delivered.map_err(|why| why.to_string())?;
            let printed = String::from_utf8(printed).map_err(|why| why.to_string())?;
            let lines: Result<Vec<_>, String> = printed.lines().map(|text| line(text, generation)).collect();
            told.push((generation, lines?));
        }
    }
    Ok(told)
}

/// A line for programs as a line of scenarios.
fn line(text: &str, generation: u64) -> Result<String, String> {
    let row: Value = serde_json::from_str(text).map_err(|why| format!("{why}: {text}"))?;
    if row["generation"] != generation {
        return Err(format!("not of generation {generation}: {text}"));
    }
    let word = |key: &str| row[key].as_str().unwrap_or("").to_owned();
    let number = |key: &str| row[key].as_u64().and_then(|number| u16::try_from(number).ok());
    let is = |key: &str| row[key] == true;
    let service = word("service");
    let (namespace, name) = service.split_once('/').ok_or_else(|| format!("no service: {text}"))?;
    let port = Port {
        namespace: namespace.to_owned(),
        service: name.to_owned(),
        name: word("portName"),
        protocol: word("protocol"),
        family: word("family"),
    };
    if row["change"] == "serviceEnd" {
        return Ok(format!("end {service}"));
    }
    let address = word("address").parse().map_err(|why| format!("{why}: {text}"))?;
    let at = Socket { address, number: number("port").ok_or_else(|| format!("no port: {text}"))? };
    Ok(match row["change"].as_str().unwrap_or("") {
        "vip" => VipRow {
            port,
            at,
            kind: word("kind"),
            policy: word("policy"),
            state: word("state"),
            affinity_seconds: row["affinitySeconds"]
                .as_u64()
                .and_then(|seconds| u32::try_from(seconds).ok())
                .unwrap_or(0),
            health_check_node_port: number("healthCheckNodePort").unwrap_or(0),
            masquerade: is("masquerade"),
            short_circuit: is("shortCircuit"),
            source_ranges: row["sourceRanges"]
                .as_array()
                .map(|ranges| ranges.iter().filter_map(|range| Some(range.as_str()?.to_owned())).collect())
                .unwrap_or_default(),
        }
        .to_string(),
        "backend" => BackendRow {
            port,
            at,
            node: word("node"),
            zone: word("zone"),
            pod: String::new(),
            pod_uid: String::new(),
            cluster_weight: number("clusterWeight"),
            local_weight: number("localWeight"),
            state: word("state"),
            local: is("local"),
        }
        .to_string(),
        "backendGone" => format!("gone backend {port} {at}{}", if is("flush") { " flush" } else { "" }),
        "vipGone" => format!("gone vip {port} {at} {}", word("kind")),
        _ => return Err(format!("a line that is not known: {text}")),
    })
}
