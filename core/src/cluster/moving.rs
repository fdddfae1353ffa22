//! Growth: everything moves to larger memory, and keeps its number.

use super::Cluster;
use super::rows::CursorRow;
use crate::error::{Error, Limit};
use crate::storage::Memory;
use crate::table::{Entry, Pool, Row, Table};
use crate::text::Texts;

impl Cluster<'_> {
    /// The same cluster in larger memory: rows keep their numbers, cursors their places, generations and trigger
    /// times stay. Both exist until the old one is let go.
    ///
    /// # Errors
    /// `Full`: a table of the new memory is smaller than what the old one holds.
    pub fn move_to<'n>(&self, memory: Memory<'n>) -> Result<Cluster<'n>, Error> {
        let seed = self.settings.seed;
        let mut texts = Texts::new(memory.texts, memory.texts_index, memory.text_bytes, seed);
        let (rows, bytes) = self.texts.usage();
        let (rows_max, bytes_max) = texts.capacity();
        room(Limit::Texts, rows.max(self.texts.rows_ever_used()), rows_max)?;
        room(Limit::TextBytes, bytes, bytes_max)?;
        room(Limit::Cursors, super::count(self.cursors.len()), super::count(memory.cursors.len()))?;
        memory.cursors.fill(CursorRow::EMPTY);
        for (to, from) in memory.cursors.iter_mut().zip(self.cursors.iter()) {
            *to = *from;
        }
        self.texts.copy_to(&mut texts);
        Ok(Cluster {
            services: moved(Limit::Services, &self.services, memory.services)?,
            ports: moved(Limit::Ports, &self.ports, memory.ports)?,
            slices: moved(Limit::Slices, &self.slices, memory.slices)?,
            endpoints: moved_table(
                Limit::Endpoints,
                &self.endpoints,
                memory.endpoints,
                memory.endpoints_index,
                |row| self.endpoint_key(row.port, row.address, row.number),
            )?,
            vips: moved_table(Limit::Vips, &self.vips, memory.vips, memory.vips_index, |row| {
                self.vip_key(row.address, row.number, row.protocol)
            })?,
            pods: moved(Limit::Pods, &self.pods, memory.pods)?,
            pod_ports: moved(Limit::PodPorts, &self.pod_ports, memory.pod_ports)?,
            labels: moved(Limit::Labels, &self.labels, memory.labels)?,
            selectors: moved(Limit::Selectors, &self.selectors, memory.selectors)?,
            nodes: moved(Limit::Nodes, &self.nodes, memory.nodes)?,
            places: moved(Limit::Places, &self.places, memory.places)?,
            triggers: moved(Limit::Triggers, &self.triggers, memory.triggers)?,
            texts,
            cursors: memory.cursors,
            settings: self.settings,
            counters: self.counters,
            generation: self.generation,
            acknowledged: self.acknowledged,
            dirty: self.dirty,
            oldest: self.oldest,
            newest: self.newest,
            unpruned: self.unpruned,
            sealed_triggers: self.sealed_triggers,
            node_rows: self.node_rows,
            relists: self.relists,
            listed: self.listed,
            listing: self.listing,
        })
    }
}

fn room(limit: Limit, needed: u32, capacity: u32) -> Result<(), Error> {
    if needed > capacity { Err(Error::Full { limit, needed }) } else { Ok(()) }
}

fn moved<'n, V: Entry>(
    limit: Limit,
    from: &Pool<'_, V>,
    rows: &'n mut [Row<V>],
) -> Result<Pool<'n, V>, Error> {
    let mut to = Pool::new(rows);
    room(limit, from.ever_used(), to.capacity())?;
    from.copy_to(&mut to);
    Ok(to)
}

fn moved_table<'n, V: Entry>(
    limit: Limit,
    from: &Table<'_, V>,
    rows: &'n mut [Row<V>],
    index: &'n mut [u32],
    hash: impl Fn(&V) -> u32,
) -> Result<Table<'n, V>, Error> {
    let mut to = Table::new(rows, index);
    room(limit, from.ever_used(), to.capacity())?;
    from.copy_to(&mut to, hash);
    Ok(to)
}
