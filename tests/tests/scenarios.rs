//! Every scenario of `tests/scenarios`, through every door that there is.

#[path = "scenarios/agent.rs"]
mod through_agent;
#[path = "scenarios/core.rs"]
mod through_core;

use evenkeel_tests::scenario::{self, Scenario};

/// What a door gave: at each seal that made a generation, its number and what was told then, line by line.
type Told = Vec<(u64, Vec<String>)>;

fn failures(of: impl Fn(&str, &Scenario) -> Result<(), String>) -> Vec<String> {
    let mut failures = Vec::new();
    for (name, scenario) in scenario::all() {
        if let Err(why) = of(&name, &scenario) {
            failures.push(format!("{name}: {}\n{why}", scenario.rule));
        }
    }
    failures
}

#[test]
fn every_scenario_holds_in_core() {
    let failures = failures(|_, scenario| through_core::tell(scenario).map(drop));
    assert!(failures.is_empty(), "{} scenarios fail\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_scenario_is_told_alike_by_core_and_agent() {
    let failures = failures(|name, scenario| {
        if !scenario.core_only.is_empty() {
            return Ok(());
        }
        // The agent's lines do not name Pods.
        let plain = |line: &String| {
            line.split(' ').filter(|word| !word.starts_with("pod=")).collect::<Vec<_>>().join(" ")
        };
        let mut core = through_core::tell(scenario)?;
        core.iter_mut().for_each(|(_, lines)| *lines = lines.iter().map(plain).collect());
        let agent = through_agent::tell(name, scenario)?;
        if core == agent { Ok(()) } else { Err(format!("core  {core:#?}\nagent {agent:#?}")) }
    });
    assert!(failures.is_empty(), "{} scenarios differ\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_scenario_states_a_rule_and_asks_something() {
    let all = scenario::all();
    assert!(all.len() >= 35, "{} scenarios", all.len());
    for (name, scenario) in all {
        assert!(scenario.rule.ends_with('.') && scenario.rule.len() > 20, "{name}: the rule is a sentence");
        let asks = scenario.steps.iter().any(|step| {
            step.changes.is_some()
                || step.view.is_some()
                || step.vips.is_some()
                || step.backends.is_some()
                || step.samples.is_some()
                || !step.explain.is_empty()
                || !step.shares.is_empty()
                || step.gives.is_some()
        });
        assert!(asks, "{name} asks nothing");
    }
}
