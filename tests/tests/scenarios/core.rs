//! The first door: core's own verbs.

use std::collections::BTreeMap;

use evenkeel_agent::decode;
use evenkeel_core::change::PortId;
use evenkeel_core::cluster::{CursorId, Sealed};
use evenkeel_core::error::Error;
use evenkeel_core::limits::Limits;
use evenkeel_core::storage::HeapStorage;
use evenkeel_core::time::Timestamp;
use evenkeel_core::{Applied, Cluster, Kind};
use evenkeel_tests::explain;
use evenkeel_tests::feed::{self, KINDS};
use evenkeel_tests::mirror::{Mirror, pull};
use evenkeel_tests::row::Port;
use evenkeel_tests::scenario::{Cursor, Scenario, Step};
use evenkeel_tests::setup::changed;

use crate::Told;

/// The time of what a step does, if it does not say.
const NOW: &str = "2024-03-01T12:00:00Z";

/// Tells a scenario to a cluster; what was told back, or the first step that is not as it says.
pub(crate) fn tell(scenario: &Scenario) -> Result<Told, String> {
    let limits = scenario.config.limits();
    scenario.config.with_config(|config| {
        let cluster = Cluster::new(memory(&limits).lend(), limits.hash_seed, config);
        let cluster = cluster.map_err(|why| format!("no cluster: {why}"))?;
        let mut teller = Teller::new(cluster, limits);
        if scenario.steps.first().is_some_and(|step| step.begin.is_empty()) {
            teller.begin_lists();
        }
        for (index, step) in scenario.steps.iter().enumerate() {
            teller.step(step).map_err(|why| format!("step {}: {why}", index + 1))?;
        }
        Ok(teller.told)
    })
}

/// Memory for the rest of the test's life: a story may move from one to another, and there are not many.
fn memory(limits: &Limits) -> &'static mut HeapStorage {
    Box::leak(Box::new(HeapStorage::new(limits)))
}

struct Teller {
    cluster: Cluster<'static>,
    limits: Limits,
    /// The first lists are still open: nobody said where they end.
    listing: bool,
    cursors: BTreeMap<String, (CursorId, Mirror)>,
    primary: (CursorId, Mirror),
    /// What was pulled last was not acknowledged, and is given again.
    owed: bool,
    told: Told,
}

/// What came of a step, for its checks.
#[derive(Default)]
struct Outcome {
    changes: Vec<String>,
    samples: Vec<f64>,
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn kind(name: &str) -> Result<Kind, String> {
    KINDS.into_iter().find(|kind| kind.text() == name).ok_or_else(|| format!("no kind {name}"))
}

/// `Service shop/web` in three parts; a Node has no namespace.
fn named(object: &str) -> Result<(Kind, &str, &str), String> {
    let (of, name) = object.split_once(' ').ok_or("a kind and a name")?;
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    Ok((kind(of)?, namespace, name))
}

impl Teller {
    fn new(mut cluster: Cluster<'static>, limits: Limits) -> Self {
        let primary = cluster.cursor_open().expect("room for the primary cursor");
        Self {
            cluster,
            limits,
            listing: false,
            cursors: BTreeMap::new(),
            primary: (primary, Mirror::default()),
            owed: false,
            told: Vec::new(),
        }
    }

    fn begin_lists(&mut self) {
        self.listing = true;
        for kind in KINDS {
            self.cluster.relist_begin(kind);
        }
    }

    fn end_lists(&mut self) {
        if std::mem::take(&mut self.listing) {
            for kind in KINDS {
                self.cluster.relist_end(kind);
            }
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.act(step)?;
        let mut outcome = Outcome::default();
        if step.seal.is_some() {
            self.seal(step, &mut outcome)?;
        }
        if let Some(cursor) = &step.cursor {
            self.move_cursor(cursor, &mut outcome)?;
        }
        self.check(step, &outcome)
    }

    fn act(&mut self, step: &Step) -> Result<(), String> {
        for name in &step.begin {
            self.cluster.relist_begin(kind(name)?);
        }
        for object in &step.apply {
            let before = explain::dump(&self.cluster);
            match (feed::apply(&mut self.cluster, object), &step.refused) {
                (Err(why), Some(expected)) if why.to_string() == *expected => {
                    // A Service that was refused says so, and is as it was.
                    let marked: Vec<String> = explain::dump(&self.cluster);
                    let after: Vec<String> = marked.iter().map(|line| line.replace(" stale", "")).collect();
                    let before: Vec<String> = before.iter().map(|line| line.replace(" stale", "")).collect();
                    same("a refused object changed something", &before, &after)?;
                }
                (Err(why), _) => return Err(format!("refused: {why}")),
                (Ok(_), Some(expected)) => return Err(format!("not refused: {expected}")),
                (Ok(applied), None) => {
                    let gives = match applied {
                        Applied::Changed => "changed",
                        Applied::Unchanged => "unchanged",
                        Applied::Ignored(reason) => reason.code(),
                    };
                    if step.gives.as_ref().is_some_and(|expected| expected != gives) {
                        return Err(format!("apply gives {gives}"));
                    }
                }
            }
        }
        for object in &step.delete {
            let (kind, namespace, name) = named(object)?;
            if !decode::delete(&mut self.cluster, kind, namespace, name) {
                return Err(format!("{object} was not there"));
            }
        }
        for object in &step.stale {
            let (kind, namespace, name) = named(object)?;
            self.cluster.mark_stale(kind, namespace, name);
        }
        for (name, objects) in &step.relist {
            self.end_lists();
            self.cluster.relist_begin(kind(name)?);
            for object in objects {
                feed::apply(&mut self.cluster, &feed::of_kind(name, object)).map_err(text)?;
            }
            self.cluster.relist_end(kind(name)?);
        }
        for name in &step.end {
            self.cluster.relist_end(kind(name)?);
        }
        if let Some(limits) = &step.move_to {
            self.limits = changed(self.limits, limits);
            let before = explain::lines(&self.cluster);
            self.cluster = self.cluster.move_to(memory(&self.limits).lend()).map_err(text)?;
            same("something changed with the memory", &before, &explain::lines(&self.cluster))?;
        }
        Ok(())
    }

    fn seal(&mut self, step: &Step, outcome: &mut Outcome) -> Result<(), String> {
        self.end_lists();
        let now = Timestamp::parse(step.at.as_deref().unwrap_or(NOW)).ok_or("a time")?;
        let sealed = match self.cluster.seal(now) {
            Sealed::Waiting => "waiting".to_owned(),
            Sealed::Unchanged(_) => "unchanged".to_owned(),
            Sealed::Generation(generation) => generation.to_string(),
        };
        let expected = step.seal.as_ref().map(ToString::to_string).unwrap_or_default();
        let (cursor, mirror) = &mut self.primary;
        let changes = pull(&mut self.cluster, *cursor, mirror).map_err(|why| format!("{why:?}"))?;
        if sealed != expected {
            return Err(format!("the seal gives {sealed}, not {expected}: {changes:#?}"));
        }
        if let Ok(generation) = sealed.parse() {
            self.told.push((generation, changes.clone()));
        } else if !changes.is_empty() && !self.owed {
            return Err(format!("{sealed}, and yet {changes:#?}"));
        }
        self.owed = step.unacknowledged;
        outcome.changes = changes;
        if !step.unacknowledged {
            let generation = self.cluster.generation();
            let sample = |sample: evenkeel_core::cluster::Sample<'_>| {
                outcome.samples.push(std::time::Duration::from_nanos(sample.latency_ns).as_secs_f64());
            };
            self.cluster.ack(self.primary.0, generation, now, sample).map_err(text)?;
        }
        Ok(())
    }

    fn move_cursor(&mut self, cursor: &Cursor, outcome: &mut Outcome) -> Result<(), String> {
        if let Cursor::Open(name) = cursor {
            let id = self.cluster.cursor_open().map_err(text)?;
            self.cursors.insert(name.clone(), (id, Mirror::default()));
            return Ok(());
        }
        let (Cursor::Open(name)
        | Cursor::Pull(name)
        | Cursor::Ack(name)
        | Cursor::Stale(name)
        | Cursor::Resync(name)
        | Cursor::Close(name)) = cursor;
        let (id, mirror) = self.cursors.get_mut(name).ok_or_else(|| format!("no cursor {name}"))?;
        let now = Timestamp::parse(NOW).ok_or("a time")?;
        match cursor {
            Cursor::Open(_) => {}
            Cursor::Pull(_) => {
                outcome.changes = pull(&mut self.cluster, *id, mirror).map_err(|why| format!("{why:?}"))?;
            }
            Cursor::Ack(_) => {
                let generation = self.cluster.generation();
                self.cluster.ack(*id, generation, now, |_| ()).map_err(text)?;
            }
            Cursor::Stale(_) => match self.cluster.next(*id) {
                Err(Error::Stale) => {}
                other => return Err(format!("not stale: {other:?}")),
            },
            Cursor::Resync(_) => {
                mirror.clear();
                self.cluster.cursor_resync(*id).map_err(text)?;
            }
            Cursor::Close(_) => {
                self.cluster.cursor_close(*id);
                self.cursors.remove(name);
            }
        }
        Ok(())
    }

    fn check(&self, step: &Step, outcome: &Outcome) -> Result<(), String> {
        if let Some(expected) = &step.changes {
            same("changes", expected, &outcome.changes)?;
        }
        if let Some(expected) = step.samples.as_ref().filter(|expected| **expected != outcome.samples) {
            return Err(format!("samples {:?}, not {expected:?}", outcome.samples));
        }
        let mirror = match &step.cursor {
            Some(Cursor::Pull(name)) => &self.cursors[name].1,
            _ => &self.primary.1,
        };
        let (view, of) = (mirror.lines(), |word: &str| -> Vec<String> {
            mirror.lines().into_iter().filter(|line| line.starts_with(word)).collect()
        });
        for (what, expected, found) in [
            ("view", &step.view, view),
            ("vips", &step.vips, of("vip ")),
            ("backends", &step.backends, of("backend ")),
        ] {
            if let Some(expected) = expected {
                same(what, expected, &found)?;
            }
        }
        let lines = explain::lines(&self.cluster);
        for expected in &step.explain {
            let is = |line: &String| line == expected || line.starts_with(&format!("{expected} "));
            if !lines.iter().any(is) {
                return Err(format!("explain does not say {expected:?}:\n{}", lines.join("\n")));
            }
        }
        for (at, expected) in &step.shares {
            let (port, node) = at.split_once(' ').ok_or("a port and a node")?;
            let id = self.port(port).ok_or_else(|| format!("no port {port}"))?;
            let weight = self.cluster.node_weight(id, node);
            let found = format!("{}/{}", weight.local, weight.total);
            if found != *expected {
                return Err(format!("share of {at} is {found}, not {expected}"));
            }
        }
        let counters: BTreeMap<_, _> = self.cluster.counters().each().collect();
        for (name, expected) in &step.counters {
            let found = counters.get(name.as_str()).ok_or_else(|| format!("no counter {name}"))?;
            if found != expected {
                return Err(format!("{name} is {found}, not {expected}"));
            }
        }
        Ok(())
    }

    fn port(&self, name: &str) -> Option<PortId> {
        let ports = self.cluster.services().flat_map(|service| {
            service.ports().map(|port| (Port::from_core(&port.port).to_string(), port.id)).collect::<Vec<_>>()
        });
        ports.into_iter().find(|(port, _)| port == name).map(|(_, id)| id)
    }
}

/// Two lists of lines; where they part, if they do.
fn same(what: &str, expected: &[String], found: &[String]) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let mut message = format!("{what}:\n");
    let only = |mark: char, lines: &[String], others: &[String]| -> String {
        let only =
            lines.iter().map(|line| format!("  {} {line}\n", if others.contains(line) { ' ' } else { mark }));
        only.collect()
    };
    message += &format!(" expected\n{} found\n{}", only('-', expected, found), only('+', found, expected));
    Err(message)
}
