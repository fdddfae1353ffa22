//! The owner of the cluster: takes events, makes room, seals, and hands out what changed.

use evenkeel_core::change::Change;
use evenkeel_core::error::{Error, Limit};
use evenkeel_core::limits::{Config, Limits};
use evenkeel_core::storage::HeapStorage;
use evenkeel_core::time::Timestamp;
use evenkeel_core::{Applied, Cluster, CursorId, Kind, Sample, Sealed};
use self_cell::MutBorrow;
use std::collections::BTreeMap;
use tracing::{debug, warn};

use crate::decode::{self, Object};
use crate::source::{Event, Key};

self_cell::self_cell!(
    /// Memory and the cluster in it, as one value that can be replaced by a larger one.
    struct Held {
        owner: MutBorrow<HeapStorage>,
        #[not_covariant]
        dependent: Cluster,
    }
);

/// What was taken and what was not.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Objects applied, by kind.
    pub applied: BTreeMap<&'static str, u64>,
    /// Objects of kinds that are not needed, by kind.
    pub other: BTreeMap<String, u64>,
    /// Documents and objects that were refused.
    pub refused: u64,
    /// Fields that were left out or ignored, while their object counts.
    pub noted: u64,
}

impl Counts {
    /// Objects applied, of all kinds.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.applied.values().sum()
    }
}

/// Owns the cluster.
pub struct Engine {
    held: Held,
    limits: Limits,
    /// Limits that the operator chose: they do not grow.
    chosen: Vec<Limit>,
    cursor: CursorId,
    counts: Counts,
    /// Name of the node that the view is for, and whether its Node has been seen.
    node: String,
    node_seen: bool,
}

impl Engine {
    /// An empty cluster. Limits that are not `chosen` grow when they are reached.
    ///
    /// # Errors
    /// As [`Cluster::new`]; `Full` if there is no room for a cursor.
    pub fn new(limits: Limits, chosen: Vec<Limit>, config: &Config<'_>) -> Result<Self, Error> {
        let mut held = Held::try_new(MutBorrow::new(HeapStorage::new(&limits)), |memory| {
            Cluster::new(memory.borrow_mut().lend(), limits.hash_seed, config)
        })?;
        let cursor = held.with_dependent_mut(|_, cluster| cluster.cursor_open())?;
        let node = config.node.to_owned();
        Ok(Self { held, limits, chosen, cursor, counts: Counts::default(), node, node_seen: false })
    }

    /// Looks at the cluster.
    pub fn read<R>(&self, look: impl FnOnce(&Cluster<'_>) -> R) -> R {
        self.held.with_dependent(|_, cluster| look(cluster))
    }

    fn change<R>(&mut self, verb: impl FnOnce(&mut Cluster<'_>) -> R) -> R {
        self.held.with_dependent_mut(|_, cluster| verb(cluster))
    }

    /// What was taken so far and what was not.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether the Node that the view is for has been seen.
    #[must_use]
    pub const fn node_seen(&self) -> bool {
        self.node_seen
    }

    /// Takes what a source has found. Whether it asks for a seal, and at which time.
    pub fn take(&mut self, event: Event) -> Option<Option<Timestamp>> {
        match event {
            Event::RelistBegin(kind) => self.change(|cluster| cluster.relist_begin(kind)),
            Event::RelistEnd(kind) => {
                let gone = self.change(|cluster| cluster.relist_end(kind));
                debug!(kind = kind.text(), gone, "listed");
            }
            Event::Apply(object) => self.apply(&object),
            Event::Delete(key) => {
                self.change(|cluster| decode::delete(cluster, key.kind, &key.namespace, &key.name));
            }
            Event::Broken(broken) => {
                self.counts.refused += 1;
                warn!("{broken}");
                if let Some(key) = &broken.object {
                    self.mark_stale(key);
                }
            }
            Event::Other(kind) => *self.counts.other.entry(kind).or_default() += 1,
            Event::Warning(text) => warn!("{text}"),
            Event::Seal(time) => return Some(time),
        }
        None
    }

    fn apply(&mut self, object: &Object) {
        for note in object.notes() {
            self.counts.noted += 1;
            warn!("{}: {note}", Key::of(object));
        }
        match self.apply_with_room(object) {
            Ok(applied) => {
                if let Applied::Ignored(reason) = applied {
                    debug!("{}: {}", Key::of(object), reason.text());
                }
                self.node_seen |= object.kind() == Kind::Node && object.name() == self.node;
                *self.counts.applied.entry(object.kind().text()).or_default() += 1;
            }
            Err(error) => {
                self.counts.refused += 1;
                let advice = match error {
                    Error::Full { limit, needed } => format!(": raise {} to {needed} or more", flag(limit)),
                    _ => String::new(),
                };
                warn!("{}: refused: {error}{advice}", Key::of(object));
            }
        }
    }

    fn apply_with_room(&mut self, object: &Object) -> Result<Applied, Error> {
        loop {
            match self.change(|cluster| object.apply(cluster)) {
                Err(Error::Full { limit, needed }) if !self.chosen.contains(&limit) => {
                    self.grow(limit, needed)?
                }
                other => return other,
            }
        }
    }

    /// The last good version stays, also through a relist.
    fn mark_stale(&mut self, key: &Key) {
        self.change(|cluster| cluster.mark_stale(key.kind, &key.namespace, &key.name));
    }

    /// Moves the cluster to larger memory. Both are held for a moment.
    fn grow(&mut self, limit: Limit, needed: u32) -> Result<(), Error> {
        let before = self.limits.get(limit);
        // By half, so that a table that grows step by step is copied a few times only.
        let after = before.saturating_add(before / 2).max(needed);
        if after == before {
            return Err(Error::Full { limit, needed });
        }
        let mut limits = self.limits;
        limits.set(limit, after);
        let larger = Held::try_new(MutBorrow::new(HeapStorage::new(&limits)), |memory| {
            self.held.with_dependent(|_, cluster| cluster.move_to(memory.borrow_mut().lend()))
        })?;
        self.held = larger;
        self.limits = limits;
        debug!(limit = limit.name(), before, after, bytes = limits.bytes(), "grown");
        Ok(())
    }

    /// Turns what was applied into a generation.
    pub fn seal(&mut self, now: Timestamp) -> Sealed {
        self.change(|cluster| cluster.seal(now))
    }

    /// Hands out every change that has not been acknowledged, and acknowledges it.
    ///
    /// # Errors
    /// What the consumer failed with; then nothing is acknowledged.
    pub fn deliver<E>(
        &mut self,
        now: Timestamp,
        mut consume: impl FnMut(Delivery<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let cursor = self.cursor;
        let generation = self.change(|cluster| {
            loop {
                match cluster.next(cursor) {
                    Ok(Some(change)) => consume(Delivery::Change(change))?,
                    Ok(None) => return Ok(cluster.generation()),
                    Err(error) => {
                        warn!("{error}");
                        if let Err(error) = cluster.cursor_resync(cursor) {
                            // A cursor that is not open would be asked for ever.
                            warn!("{error}");
                            return Ok(cluster.generation());
                        }
                        consume(Delivery::Anew)?;
                    }
                }
            }
        })?;
        let acknowledged = self.change(|cluster| {
            cluster.ack(cursor, generation, now, |Sample { service, latency_ns, skewed }| {
                let latency_ms = latency_ns / 1_000_000;
                debug!(service = %format_args!("{}/{}", service.namespace, service.name), latency_ms, skewed, "latency");
            })
        });
        if let Err(error) = acknowledged {
            warn!("generation {generation}: {error}");
        }
        Ok(generation)
    }
}

/// What a consumer is handed.
#[derive(Debug)]
pub enum Delivery<'c> {
    /// Drop what you have: everything follows.
    Anew,
    /// One difference.
    Change(Change<'c>),
}

/// The option that sets a limit.
#[must_use]
pub fn flag(limit: Limit) -> String {
    format!("--{}", limit.name().replace('_', "-"))
}
