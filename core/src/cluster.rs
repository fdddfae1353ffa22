//! The tables, and the only verbs that change them.
//!
//! Objects are applied and deleted in any order; `seal` turns what was applied into a numbered generation; each
//! consumer pulls what it has not acknowledged with `next` and answers with `ack`. Between two seals nothing that
//! was applied can be seen. A verb that fails has changed nothing.

mod cursor;
mod endpoint;
mod explain;
mod hold;
mod image;
mod moving;
mod node;
mod pod;
mod relist;
pub mod rows;
mod seal;
mod service;
mod slice;
mod sort;
mod trigger_time;
mod vip;

pub use cursor::{CursorId, Sample};
pub use explain::{EndpointView, NodeWeight, Origin, PortView, ServiceView, VipView};
pub use relist::Kind;
pub use seal::Sealed;

use crate::address::{Address, Family};
use crate::error::{Error, Field, Limit};
use crate::limits::{Backends, Config, Source};
use crate::reason::Reason;
use crate::storage::Memory;
use crate::table::{Entry, Pool, Table};
use crate::text::{TextId, Texts};
use rows::{
    CursorRow, CursorState, EndpointRow, LabelRow, NodeId, NodeRow, PlaceRow, PodPortRow, PodRow, PortRow,
    SelectorRow, ServiceId, ServiceRow, SliceRow, TriggerId, TriggerRow, VipRow,
};

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Something that matters here is different now.
    Changed,
    /// It says what was known already.
    Unchanged,
    /// It does not concern this node; what was known under its name is gone.
    Ignored(Reason),
}

/// What was asked for, kept for the life of a cluster.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// This node; [`NodeId::NONE`] for a place outside the cluster.
    node: NodeId,
    source: Source,
    backends: Backends,
    weight_range: u16,
    proxy_name: TextId,
    node_port_addresses: [Address; 16],
    node_port_addresses_count: usize,
    /// Bit 0 for IPv4, bit 1 for IPv6.
    families: u8,
    started: u64,
    keep_pods: bool,
    seed: u64,
}

/// What happened so far, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Objects applied that changed something.
    pub applied: u64,
    /// Objects applied that said what was known.
    pub unchanged: u64,
    /// Objects deleted, by name or by a relist.
    pub deleted: u64,
    /// Objects that do not concern this node.
    pub ignored: u64,
    /// Objects refused as invalid.
    pub invalid: u64,
    /// Objects refused since a table was full.
    pub full: u64,
    /// Ports of slices without a number.
    pub ports_skipped: u64,
    /// Endpoints that stand in a second slice, or twice in one.
    pub duplicates: u64,
    /// Seals that made a generation.
    pub generations: u64,
    /// Seals of changes that changed nothing to be seen.
    pub ineffective: u64,
    /// Trigger times dropped since their table was full.
    pub triggers_dropped: u64,
    /// Times a cursor was left behind.
    pub cursors_stale: u64,
}

impl Counters {
    /// Each with its name.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("applied", self.applied),
            ("unchanged", self.unchanged),
            ("deleted", self.deleted),
            ("ignored", self.ignored),
            ("invalid", self.invalid),
            ("full", self.full),
            ("ports_skipped", self.ports_skipped),
            ("duplicates", self.duplicates),
            ("generations", self.generations),
            ("ineffective", self.ineffective),
            ("triggers_dropped", self.triggers_dropped),
            ("cursors_stale", self.cursors_stale),
        ]
        .into_iter()
    }
}

/// What a node must serve: objects in, changes out.
#[derive(Debug)]
pub struct Cluster<'m> {
    services: Pool<'m, ServiceRow>,
    ports: Pool<'m, PortRow>,
    slices: Pool<'m, SliceRow>,
    endpoints: Table<'m, EndpointRow>,
    vips: Table<'m, VipRow>,
    pods: Pool<'m, PodRow>,
    pod_ports: Pool<'m, PodPortRow>,
    labels: Pool<'m, LabelRow>,
    selectors: Pool<'m, SelectorRow>,
    nodes: Pool<'m, NodeRow>,
    places: Pool<'m, PlaceRow>,
    triggers: Pool<'m, TriggerRow>,
    texts: Texts<'m>,
    cursors: &'m mut [CursorRow],
    settings: Settings,
    counters: Counters,
    /// The newest sealed generation.
    generation: u64,
    /// What every open cursor has acknowledged; the newest generation if none is open.
    acknowledged: u64,
    /// Services that the next seal must look at.
    dirty: ServiceId,
    /// Published Services in the order of their last change.
    oldest: ServiceId,
    newest: ServiceId,
    /// The first of them that may still hold what every cursor has acknowledged.
    unpruned: ServiceId,
    /// Trigger times that wait for the primary cursor.
    sealed_triggers: TriggerId,
    /// Rows of nodes as backends: at most one for each endpoint, and room is kept for that.
    node_rows: u32,
    /// By kind: number of the relist in progress or last ended.
    relists: [u32; 4],
    /// By kind: listed at least once.
    listed: [bool; 4],
    /// By kind: a relist is in progress.
    listing: [bool; 4],
}

impl<'m> Cluster<'m> {
    /// An empty cluster in lent memory.
    ///
    /// # Errors
    /// `Invalid` if the node's name is over its bound or more than 16 node-port addresses are given; `Full` if
    /// there is no room for the node's own row.
    pub fn new(memory: Memory<'m>, seed: u64, config: &Config<'_>) -> Result<Self, Error> {
        if config.node.len() > crate::bounds::NAME_BYTES_MAX {
            return Err(Error::Invalid(Field::Node));
        }
        let mut node_port_addresses = [Address::EMPTY; 16];
        if config.node_port_addresses.len() > node_port_addresses.len() {
            return Err(Error::Invalid(Field::Count));
        }
        for (to, from) in node_port_addresses.iter_mut().zip(config.node_port_addresses) {
            *to = *from;
        }
        let families = config.families.iter().fold(0, |bits, family| bits | family_bit(*family));
        let mut cluster = Self {
            services: Pool::new(memory.services),
            ports: Pool::new(memory.ports),
            slices: Pool::new(memory.slices),
            endpoints: Table::new(memory.endpoints, memory.endpoints_index),
            vips: Table::new(memory.vips, memory.vips_index),
            pods: Pool::new(memory.pods),
            pod_ports: Pool::new(memory.pod_ports),
            labels: Pool::new(memory.labels),
            selectors: Pool::new(memory.selectors),
            nodes: Pool::new(memory.nodes),
            places: Pool::new(memory.places),
            triggers: Pool::new(memory.triggers),
            texts: Texts::new(memory.texts, memory.texts_index, memory.text_bytes, seed),
            cursors: memory.cursors,
            settings: Settings {
                node: NodeId::NONE,
                source: config.source,
                backends: config.backends,
                weight_range: config.weight_range,
                proxy_name: TextId::NONE,
                node_port_addresses,
                node_port_addresses_count: config.node_port_addresses.len(),
                families: if families == 0 { 3 } else { families },
                started: config.started.nanos(),
                keep_pods: config.keep_pods || config.source == Source::Overlay,
                seed,
            },
            counters: Counters::default(),
            generation: 0,
            acknowledged: 0,
            dirty: ServiceId::NONE,
            oldest: ServiceId::NONE,
            newest: ServiceId::NONE,
            unpruned: ServiceId::NONE,
            sealed_triggers: TriggerId::NONE,
            node_rows: 0,
            relists: [0; 4],
            listed: [false; 4],
            listing: [false; 4],
        };
        cluster.cursors.fill(CursorRow::EMPTY);
        if !config.node.is_empty() {
            cluster.settings.node =
                cluster.hold_node(config.node).ok_or(Error::Full { limit: Limit::Nodes, needed: 1 })?;
        }
        let name = cluster.texts.intern(config.service_proxy_name.as_bytes());
        cluster.settings.proxy_name = name.ok_or(Error::Full { limit: Limit::Texts, needed: 2 })?;
        Ok(cluster)
    }

    /// The newest sealed generation; 0 before the first.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Each limit with what is in use of it and what there is.
    pub fn usage(&self) -> impl Iterator<Item = (Limit, u32, u32)> {
        fn of<V: Entry>(limit: Limit, table: &Pool<'_, V>) -> (Limit, u32, u32) {
            (limit, table.len(), table.capacity())
        }
        let (texts, bytes) = self.texts.usage();
        let (texts_max, bytes_max) = self.texts.capacity();
        // Not `count`: where overflow is checked it could panic.
        let open = self
            .cursors
            .iter()
            .fold(0u32, |sum, cursor| sum.saturating_add(u32::from(cursor.state != CursorState::Closed)));
        [
            of(Limit::Services, &self.services),
            of(Limit::Ports, &self.ports),
            of(Limit::Slices, &self.slices),
            of(Limit::Endpoints, &self.endpoints),
            of(Limit::Vips, &self.vips),
            of(Limit::Pods, &self.pods),
            of(Limit::PodPorts, &self.pod_ports),
            of(Limit::Labels, &self.labels),
            of(Limit::Selectors, &self.selectors),
            of(Limit::Nodes, &self.nodes),
            of(Limit::Places, &self.places),
            of(Limit::Triggers, &self.triggers),
            (Limit::Texts, texts, texts_max),
            (Limit::TextBytes, bytes, bytes_max),
            (Limit::Cursors, open, count(self.cursors.len())),
        ]
        .into_iter()
    }

    /// Endpoints are read from EndpointSlices.
    const fn reads_slices(&self) -> bool {
        matches!(self.settings.source, Source::Slices | Source::Overlay)
    }

    /// Endpoints depend on Pods.
    const fn reads_pods(&self) -> bool {
        matches!(self.settings.source, Source::Pods | Source::Overlay)
    }

    /// Counts a refused object.
    fn refuse<T>(&mut self, error: Error) -> Result<T, Error> {
        let counter = match error {
            Error::Full { .. } => &mut self.counters.full,
            _ => &mut self.counters.invalid,
        };
        *counter = counter.saturating_add(1);
        Err(error)
    }

    /// Puts the Service on the list for the next seal.
    fn mark_dirty(&mut self, id: ServiceId) {
        let first = self.dirty;
        let row = self.services.at_mut(id);
        if row.flags & rows::service::DIRTY == 0 {
            row.flags |= rows::service::DIRTY;
            row.next_dirty = first;
            self.dirty = id;
        }
    }
}

/// Bit 0 for IPv4, bit 1 for IPv6.
const fn family_bit(family: Family) -> u8 {
    match family {
        Family::V4 => 1,
        Family::V6 => 2,
    }
}

/// Position in a pair that is kept by family.
const fn by_family<T>(pair: &[T; 2], family: Family) -> &T {
    let [v4, v6] = pair;
    match family {
        Family::V4 => v4,
        Family::V6 => v6,
    }
}

/// A count of something that is bounded by a limit.
fn count(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
