//! A story of operations, told to a cluster and to the simple program at once.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::cluster::{CursorId, Sealed};
use evenkeel_core::error::{Error, Limit};
use evenkeel_core::limits::Limits;
use evenkeel_core::storage::HeapStorage;
use evenkeel_core::time::Timestamp;
use evenkeel_core::{Cluster, Kind};
use evenkeel_tests::explain;
use evenkeel_tests::feed::{self, KINDS, Refused};
use evenkeel_tests::mirror::{Mirror, Pull, pull, pull_some};
use evenkeel_tests::row::{Port, Socket};
use evenkeel_tests::setup::{Kind as Backends, Setup};
use serde_json::Value;

use crate::naive::{self, Held};

/// One thing that happens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    Apply(Value),
    Delete(Value),
    Relist(Kind, Vec<Value>),
    Seal,
    /// A cursor pulls so many changes, or all.
    Pull(usize, Option<usize>),
    /// It acknowledges the newest generation that it has pulled to the end.
    Ack(usize),
    /// It is closed and opened again.
    Reopen(usize),
    /// The cluster moves to memory of the same size, or with one limit raised to what was needed last.
    Move,
}

/// A story and what it is told to.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) setup: Setup,
    pub(crate) limits: Limits,
    /// Some limit is small: objects may be refused, and a refusal must change nothing.
    pub(crate) tight: bool,
    pub(crate) ops: Vec<Op>,
}

/// A cursor with its mirror.
struct Consumer {
    cursor: CursorId,
    mirror: Mirror,
    /// The newest generation that was pulled to the end, and the newest that was acknowledged.
    pulled: u64,
    acknowledged: u64,
    /// Something was pulled since, but not to the end.
    partly: bool,
}

struct Teller<'s> {
    story: &'s Story,
    held: Held,
    /// What a dataplane must hold since the last seal.
    sealed: Vec<String>,
    /// UDP endpoints that serve, at the last seal; and those that did at the one before and do no longer.
    serving: BTreeMap<Port, BTreeSet<Socket>>,
    ended: BTreeSet<(Port, Socket)>,
    generation: u64,
    consumers: Vec<Consumer>,
    /// The limit that was too small last, and what was needed.
    wanted: Option<(Limit, u32)>,
    limits: Limits,
}

const NOW: &str = "2024-03-01T12:00:00Z";

fn now() -> Timestamp {
    Timestamp::parse(NOW).expect("a time")
}

/// How many consumers a story has.
pub(crate) const CONSUMERS: usize = 2;

/// Tells it; the first thing that is not as it must be.
pub(crate) fn tell(story: &Story) -> Result<(), String> {
    let mut memory = HeapStorage::new(&story.limits);
    story.setup.with_config(|config| {
        let cluster = Cluster::new(memory.lend(), story.limits.hash_seed, config);
        let Ok(mut cluster) = cluster else { return Ok(()) };
        let Some(mut teller) = Teller::new(story, &mut cluster) else { return Ok(()) };
        teller.go_on(&mut cluster, 0)
    })
}

impl<'s> Teller<'s> {
    /// `None` if there is not even room for the cursors.
    fn new(story: &'s Story, cluster: &mut Cluster<'_>) -> Option<Self> {
        let mut consumers = Vec::new();
        for _ in 0..CONSUMERS {
            let cursor = cluster.cursor_open().ok()?;
            consumers.push(Consumer {
                cursor,
                mirror: Mirror::default(),
                pulled: 0,
                acknowledged: 0,
                partly: false,
            });
        }
        for kind in KINDS {
            cluster.relist_begin(kind);
            cluster.relist_end(kind);
        }
        let (held, limits, serving, ended) = (Held::new(), story.limits, BTreeMap::new(), BTreeSet::new());
        Some(Self {
            story,
            held,
            sealed: Vec::new(),
            serving,
            ended,
            generation: 0,
            consumers,
            wanted: None,
            limits,
        })
    }

    /// Tells the operations from this one on. A move goes on in the new memory.
    fn go_on(&mut self, cluster: &mut Cluster<'_>, from: usize) -> Result<(), String> {
        for (index, op) in self.story.ops.iter().enumerate().skip(from) {
            let at = |why: String| format!("operation {index}: {why}");
            if *op == Op::Move {
                if let Some((limit, needed)) = self.wanted.take() {
                    self.limits.set(limit, needed.max(self.limits.get(limit)));
                }
                let mut memory = HeapStorage::new(&self.limits);
                let before = explain::lines(cluster);
                let moved = cluster.move_to(memory.lend()).map_err(|why| at(format!("move: {why}")))?;
                let mut moved = moved;
                compare("what is explained after a move", &before, &explain::lines(&moved)).map_err(at)?;
                return self.go_on(&mut moved, index + 1);
            }
            self.one(cluster, op).map_err(at)?;
        }
        self.end(cluster).map_err(|why| format!("at the end: {why}"))
    }

    fn one(&mut self, cluster: &mut Cluster<'_>, op: &Op) -> Result<(), String> {
        // Whatever lets go of rows may make a consumer begin the Service again in which it stands.
        for (number, consumer) in self.consumers.iter_mut().enumerate() {
            if !matches!(op, Op::Pull(pulling, _) if *pulling == number) {
                consumer.mirror.interrupt();
            }
        }
        match op {
            Op::Apply(object) => self.apply(cluster, object).map(drop),
            Op::Delete(object) => {
                let was_there = feed::delete(cluster, object).map_err(|why| format!("undecodable: {why}"))?;
                let was_held = self.held.remove(&key(object)).is_some();
                if was_there != was_held && looked_at(object) {
                    return Err(format!("delete says {was_there} for what was {was_held}: {object}"));
                }
                Ok(())
            }
            Op::Relist(kind, objects) => {
                cluster.relist_begin(*kind);
                let mut listed = BTreeSet::new();
                for object in objects {
                    // What was refused keeps its last good state: it was listed.
                    self.apply(cluster, object)?;
                    listed.insert(key(object));
                }
                cluster.relist_end(*kind);
                self.held.retain(|key, _| key.0 != kind.text() || listed.contains(key));
                Ok(())
            }
            Op::Seal => self.seal(cluster),
            Op::Pull(consumer, count) => self.pull(cluster, *consumer, *count),
            Op::Ack(consumer) => {
                let consumer = &mut self.consumers[*consumer];
                consumer.acknowledged = consumer.pulled;
                match cluster.ack(consumer.cursor, consumer.pulled, now(), |_| ()) {
                    Ok(()) | Err(Error::Stale) => Ok(()),
                    Err(why) => Err(format!("ack: {why}")),
                }
            }
            Op::Reopen(consumer) => {
                let consumer = &mut self.consumers[*consumer];
                cluster.cursor_close(consumer.cursor);
                let cursor = cluster.cursor_open().map_err(|why| format!("open: {why}"))?;
                *consumer =
                    Consumer { cursor, mirror: Mirror::default(), pulled: 0, acknowledged: 0, partly: false };
                Ok(())
            }
            Op::Move => Ok(()),
        }
    }

    fn apply(&mut self, cluster: &mut Cluster<'_>, object: &Value) -> Result<(), String> {
        let before = if self.story.tight { explain::dump(cluster) } else { Vec::new() };
        let left_behind = cluster.counters().cursors_stale;
        match feed::apply(cluster, object) {
            Ok(_) => {
                self.held.insert(key(object), object.clone());
                Ok(())
            }
            Err(Refused::Undecodable(why)) => Err(format!("undecodable: {why}")),
            Err(Refused::ByCluster(error)) if !self.story.tight => Err(format!("refused: {error}")),
            Err(Refused::ByCluster(error)) => {
                if cluster.counters().cursors_stale != left_behind {
                    return Err("a refused object left a consumer behind".to_owned());
                }
                // A Service that was refused says so, and is as it was.
                let unmarked = |lines: Vec<String>| -> Vec<String> {
                    lines.into_iter().map(|line| line.trim_end_matches(" stale").to_owned()).collect()
                };
                compare(
                    "what is explained after a refusal",
                    &unmarked(before),
                    &unmarked(explain::dump(cluster)),
                )?;
                let Error::Full { limit, needed } = error else { return Err(format!("refused: {error}")) };
                if needed <= self.limits.get(limit) {
                    return Err(format!(
                        "{} has {} and needs {needed}",
                        limit.name(),
                        self.limits.get(limit)
                    ));
                }
                if self.wanted.is_some_and(|(before, was)| {
                    before == limit && was >= needed && self.limits.get(limit) >= was
                }) {
                    return Err(format!(
                        "{} was raised to the {needed} needed, and is too small",
                        limit.name()
                    ));
                }
                self.wanted = Some((limit, needed));
                Ok(())
            }
        }
    }

    fn seal(&mut self, cluster: &mut Cluster<'_>) -> Result<(), String> {
        let view = naive::view(&self.held, &self.story.setup);
        let serving = match self.story.setup.backends {
            Backends::Endpoints => naive::serving(&self.held, &self.story.setup),
            Backends::Nodes => BTreeMap::new(),
        };
        let mut ended = BTreeSet::new();
        for (port, now) in &serving {
            let before = self.serving.get(port).into_iter().flatten();
            ended.extend(before.filter(|at| !now.contains(at)).map(|at| (port.clone(), *at)));
        }
        // Flows to what nobody sees any more may still have to be flushed: a generation without another view.
        let changed = view != self.sealed || !ended.is_empty();
        match cluster.seal(now()) {
            Sealed::Unchanged(generation) if generation == self.generation && !changed => {
                self.serving = serving;
                Ok(())
            }
            Sealed::Generation(generation) if generation == self.generation + 1 && changed => {
                self.generation = generation;
                (self.sealed, self.serving, self.ended) = (view, serving, ended);
                self.consumers.iter_mut().for_each(|consumer| consumer.mirror.interrupt());
                Ok(())
            }
            other => {
                compare("the view", &self.sealed, &view)?;
                Err(format!("the seal gives {other:?} after {}, and the view is the same", self.generation))
            }
        }
    }

    fn pull(
        &mut self,
        cluster: &mut Cluster<'_>,
        consumer: usize,
        count: Option<usize>,
    ) -> Result<(), String> {
        let generation = self.generation;
        let consumer = &mut self.consumers[consumer];
        let held = consumer.mirror.clone();
        let pulled = match count {
            Some(count) => pull_some(cluster, consumer.cursor, &mut consumer.mirror, count),
            None => pull(cluster, consumer.cursor, &mut consumer.mirror).map(|lines| (lines, true)),
        };
        match pulled {
            Err(Pull::Refused(Error::Stale)) => {
                cluster.cursor_resync(consumer.cursor).map_err(|why| format!("resync: {why}"))?;
                consumer.mirror.clear();
                (consumer.pulled, consumer.acknowledged, consumer.partly) = (0, 0, false);
                Ok(())
            }
            Err(why) => Err(format!("{why:?}")),
            Ok((_, false)) => {
                consumer.partly = true;
                Ok(())
            }
            Ok((lines, true)) => {
                compare("what a consumer holds", &self.sealed, &consumer.mirror.lines())?;
                let was_told = consumer.acknowledged + 1 == generation
                    && consumer.pulled < generation
                    && !consumer.partly;
                check_flushes(&lines, &self.serving, was_told.then_some(&self.ended), &consumer.mirror)?;
                // Nothing is told twice to who has acknowledged the generation before this one.
                if !consumer.partly
                    && consumer.acknowledged == consumer.pulled
                    && consumer.pulled + 1 >= generation
                {
                    let known: BTreeSet<String> = held.lines().into_iter().collect();
                    if let Some(line) = lines.iter().find(|line| known.contains(*line)) {
                        return Err(format!("told again, though nothing changed: {line}"));
                    }
                }
                (consumer.pulled, consumer.partly) = (generation, false);
                Ok(())
            }
        }
    }

    /// Both consumers pull to the end, and one that begins now holds the same.
    fn end(&mut self, cluster: &mut Cluster<'_>) -> Result<(), String> {
        self.seal(cluster)?;
        for consumer in 0..CONSUMERS {
            self.pull(cluster, consumer, None)?;
            // The first pull may have found the cursor left behind.
            self.pull(cluster, consumer, None)?;
            self.one(cluster, &Op::Ack(consumer))?;
            let rest = pull(cluster, self.consumers[consumer].cursor, &mut self.consumers[consumer].mirror);
            if rest != Ok(Vec::new()) {
                return Err(format!("everything is acknowledged, and yet {rest:?}"));
            }
        }
        self.one(cluster, &Op::Reopen(0))?;
        self.pull(cluster, 0, None)
    }
}

/// Flows to a UDP endpoint are to be deleted when it no longer serves, and only then. Of a port that is not served
/// any more nothing is asked: no new flow comes, and the old ones end as they may.
fn check_flushes(
    lines: &[String],
    serving: &BTreeMap<Port, BTreeSet<Socket>>,
    ended: Option<&BTreeSet<(Port, Socket)>>,
    mirror: &Mirror,
) -> Result<(), String> {
    let told = |port: &Port, at: &Socket| lines.contains(&format!("gone backend {port} {at} flush"));
    let is_held = |port: &Port, at: &Socket| mirror.backends().any(|row| row.port == *port && row.at == *at);
    for (port, at) in ended.into_iter().flatten() {
        if !told(port, at) && !is_held(port, at) {
            return Err(format!("no flush for {port} {at}"));
        }
    }
    for (port, serve) in serving {
        if let Some(at) = serve.iter().find(|at| told(port, at)) {
            return Err(format!("flushed, though it serves: {port} {at}"));
        }
        let quiet = lines.iter().filter_map(|line| line.strip_prefix(&format!("gone backend {port} ")));
        for at in quiet.filter(|at| !at.ends_with(" flush")) {
            if !serve.iter().any(|one| one.to_string() == at) {
                return Err(format!("not flushed, though it does not serve: {port} {at}"));
            }
        }
    }
    match lines.iter().find(|line| line.ends_with(" flush") && !line.contains("/UDP ")) {
        Some(line) => Err(format!("only UDP is flushed: {line}")),
        None => Ok(()),
    }
}

/// Kind, namespace and name.
pub(crate) fn key(object: &Value) -> (String, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let name = &object["metadata"];
    (text(&object["kind"]), text(&name["namespace"]), text(&name["name"]))
}

/// The cluster may know nothing of what it does not look at.
fn looked_at(object: &Value) -> bool {
    object["kind"] == "Service"
}

/// Two lists of lines; what only one of them has.
pub(crate) fn compare(what: &str, expected: &[String], found: &[String]) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let count = |lines: &[String]| -> BTreeMap<String, i32> {
        let mut counts = BTreeMap::new();
        lines.iter().for_each(|line| *counts.entry(line.clone()).or_default() += 1);
        counts
    };
    let (expected, found) = (count(expected), count(found));
    let mut message = format!("{what} is not as it must be");
    for (line, _) in expected.iter().filter(|(line, count)| found.get(*line) != Some(*count)) {
        message += &format!("\n  - {line}");
    }
    for (line, _) in found.iter().filter(|(line, count)| expected.get(*line) != Some(*count)) {
        message += &format!("\n  + {line}");
    }
    if expected == found {
        message += " (the order)";
    }
    Err(message)
}
