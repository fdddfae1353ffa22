//! Cursors: each consumer pulls what it has not acknowledged, at its own pace.
//!
//! There is no queue that could overflow. Rows carry the generation of their last change, and what went stays as a
//! tombstone until every cursor has acknowledged that. Asking again, or beginning anew since something newer was
//! sealed, gives full rows again and harms nobody.

use super::rows::{CursorRow, CursorState, EndpointId, PlaceId, ServiceId, VipId, shows, vip};
use super::seal::is_after;
use super::{Cluster, count};
use crate::change::{
    Backend, BackendGone, Change, Names, PortId, PortName, Ranges, ServiceEnd, ServiceName, Vip, VipGone,
    VipState,
};
use crate::error::{Error, Limit};
use crate::object::{PodRef, TrafficPolicy};
use crate::plan;
use crate::port::Protocol;
use crate::text::TextId;
use crate::time::Timestamp;

/// A consumer's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CursorId(u32);

impl CursorId {
    /// The number, for callers that keep it elsewhere.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The cursor of this number; one that was never opened is not found.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// How long a change took from its source to the dataplane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'c> {
    /// Whose change.
    pub service: ServiceName<'c>,
    /// Nanoseconds from the trigger time to the acknowledgement.
    pub latency_ns: u64,
    /// The acknowledgement came before the trigger, by two clocks that disagree: the latency is given as 0.
    pub skewed: bool,
}

/// What is given of a Service, in this order.
const VIPS: u8 = 0;
const BACKENDS: u8 = 1;
const BACKENDS_GONE: u8 = 2;
const VIPS_GONE: u8 = 3;
const END: u8 = 4;

/// A row to be given.
enum Item {
    Vip(VipId),
    Backend(EndpointId),
    BackendGone(EndpointId),
    VipGone(VipId),
    End(ServiceId),
}

impl Cluster<'_> {
    /// A new consumer, which will be given everything. The one with the lowest number is the primary: its
    /// acknowledgements release trigger times.
    ///
    /// # Errors
    /// `Full`: all cursors are in use.
    pub fn cursor_open(&mut self) -> Result<CursorId, Error> {
        let generation = self.generation;
        let needed = count(self.cursors.len()).saturating_add(1);
        for (row, number) in self.cursors.iter_mut().zip(0..needed) {
            if row.state == CursorState::Closed {
                *row = fresh(generation);
                return Ok(CursorId(number));
            }
        }
        Err(Error::Full { limit: Limit::Cursors, needed })
    }

    /// Begins anew: the consumer has dropped all it had and will be given everything.
    ///
    /// # Errors
    /// `NotFound`: no such cursor is open.
    pub fn cursor_resync(&mut self, cursor: CursorId) -> Result<(), Error> {
        let generation = self.generation;
        let row = self.cursor_mut(cursor)?;
        *row = fresh(generation);
        self.advance();
        Ok(())
    }

    /// The consumer is no more; nothing is kept for its sake.
    pub fn cursor_close(&mut self, cursor: CursorId) {
        if let Ok(row) = self.cursor_mut(cursor) {
            *row = CursorRow::EMPTY;
            self.advance();
        }
    }

    /// The newest generation that this consumer has acknowledged.
    ///
    /// # Errors
    /// `NotFound`: no such cursor is open.
    pub fn acknowledged(&self, cursor: CursorId) -> Result<u64, Error> {
        match self.cursors.get(cursor.0 as usize) {
            Some(row) if row.state != CursorState::Closed => Ok(if row.whole { 0 } else { row.acknowledged }),
            _ => Err(Error::NotFound),
        }
    }

    fn cursor_mut(&mut self, cursor: CursorId) -> Result<&mut CursorRow, Error> {
        match self.cursors.get_mut(cursor.0 as usize) {
            Some(row) if row.state != CursorState::Closed => Ok(row),
            _ => Err(Error::NotFound),
        }
    }

    pub(super) fn has_primary(&self) -> bool {
        self.cursors.iter().any(|row| row.state != CursorState::Closed)
    }

    fn is_primary(&self, cursor: CursorId) -> bool {
        let open = |row: &CursorRow| row.state != CursorState::Closed;
        let mut before = self.cursors.iter().take(cursor.0 as usize);
        !before.any(open)
    }

    /// The next difference between what this consumer has acknowledged and what is sealed; `None` when there is no
    /// more: then everything up to [`Cluster::generation`] has been given, and is to be acknowledged.
    ///
    /// Asked again without an acknowledgement, or if something is sealed in between, it begins anew. Costs the same however large the cluster is.
    ///
    /// # Errors
    /// `NotFound`: no such cursor is open. `Stale`: it was left behind; drop everything and call
    /// [`Cluster::cursor_resync`].
    pub fn next(&mut self, cursor: CursorId) -> Result<Option<Change<'_>>, Error> {
        let generation = self.generation;
        let mut row = *self.cursor_mut(cursor)?;
        if row.state == CursorState::Stale {
            return Err(Error::Stale);
        }
        if row.giving != generation {
            if row.whole && row.giving == u64::MAX {
                // From here on it must be told what goes.
                row.acknowledged = generation;
                row.giving = generation;
                *self.cursor_mut(cursor)? = row;
                self.advance();
            }
            self.start(&mut row);
        } else if row.done {
            self.start(&mut row);
        }
        let item = self.step(&mut row);
        row.done = item.is_none();
        *self.cursor_mut(cursor)? = row;
        Ok(item.map(|item| self.change(&item)))
    }

    /// To the first Service with something new.
    fn start(&mut self, row: &mut CursorRow) {
        row.giving = self.generation;
        row.done = false;
        row.stage = VIPS;
        row.given = false;
        if row.whole {
            row.service = self.oldest;
        } else {
            let mut at = self.newest;
            row.service = ServiceId::NONE;
            while at.is_some() && self.services.at(at).generation > row.acknowledged {
                row.service = at;
                at = self.services.at(at).older;
            }
        }
        self.enter(row);
    }

    /// To the first port of the stage.
    fn enter(&mut self, row: &mut CursorRow) {
        row.port = self.services.at(row.service).first_port;
        self.enter_port(row);
    }

    fn enter_port(&mut self, row: &mut CursorRow) {
        if row.whole && row.stage == BACKENDS {
            self.sort_port(row.port);
        }
        let port = self.ports.at(row.port);
        row.vip = port.first_vip;
        row.endpoint = if row.whole && row.stage == BACKENDS { port.first_endpoint } else { port.touched };
    }

    /// The next row to be given, and the cursor past it.
    fn step(&mut self, row: &mut CursorRow) -> Option<Item> {
        while row.service.is_some() {
            if row.stage == END {
                let service = row.service;
                let given = row.given;
                row.service = self.services.at(service).newer;
                row.stage = VIPS;
                row.given = false;
                self.enter(row);
                if given {
                    return Some(Item::End(service));
                }
                continue;
            }
            if row.port.is_none() {
                row.stage = row.stage.wrapping_add(1);
                self.enter(row);
                continue;
            }
            if let Some(item) = self.step_in_port(row) {
                row.given = true;
                return Some(item);
            }
            row.port = self.ports.at(row.port).next_in_service;
            self.enter_port(row);
        }
        None
    }

    fn step_in_port(&self, row: &mut CursorRow) -> Option<Item> {
        if row.stage == VIPS || row.stage == VIPS_GONE {
            while row.vip.is_some() {
                let at = row.vip;
                let vip = self.vips.at(at);
                row.vip = vip.next_in_port;
                let new = is_after(vip.generation, row.acknowledged);
                let published = vip.is(vip::PUBLISHED);
                if row.stage == VIPS && published && (new || row.whole) {
                    return Some(Item::Vip(at));
                }
                if row.stage == VIPS_GONE && !published && new && vip.generation != 0 && !self.is_served(at) {
                    return Some(Item::VipGone(at));
                }
            }
            return None;
        }
        while row.endpoint.is_some() {
            let at = row.endpoint;
            let endpoint = self.endpoints.at(at);
            let visible = endpoint.shows(shows::VISIBLE);
            if row.stage == BACKENDS && row.whole {
                row.endpoint = endpoint.next_in_port;
                if visible {
                    return Some(Item::Backend(at));
                }
                continue;
            }
            row.endpoint = endpoint.next_touched;
            if !is_after(endpoint.generation, row.acknowledged) {
                continue;
            }
            if row.stage == BACKENDS && visible {
                return Some(Item::Backend(at));
            }
            if row.stage == BACKENDS_GONE && !visible {
                return Some(Item::BackendGone(at));
            }
        }
        None
    }

    fn change(&self, item: &Item) -> Change<'_> {
        match *item {
            Item::Vip(id) => Change::Vip(self.vip(id)),
            Item::Backend(id) => Change::Backend(self.backend(id)),
            Item::BackendGone(id) => {
                let row = self.endpoints.at(id);
                Change::BackendGone(BackendGone {
                    names: Names(self),
                    id: row.port,
                    address: row.address,
                    number: row.number,
                    flush: self.ports.at(row.port).protocol == Protocol::Udp && !row.shows(shows::SERVING),
                })
            }
            Item::VipGone(id) => {
                let row = self.vips.at(id);
                Change::VipGone(VipGone {
                    names: Names(self),
                    id: row.port,
                    address: row.address,
                    number: row.number,
                    kind: row.kind,
                })
            }
            Item::End(id) => Change::ServiceEnd(ServiceEnd { names: Names(self), id }),
        }
    }

    pub(crate) fn service_name(&self, id: ServiceId) -> ServiceName<'_> {
        let (namespace, name) = self.texts.pair(self.services.at(id).name);
        ServiceName { namespace, name }
    }

    pub(crate) fn port_name(&self, id: PortId) -> PortName<'_> {
        let row = self.ports.at(id);
        PortName {
            service: self.service_name(row.service),
            name: self.texts.str(row.name),
            protocol: row.protocol,
            family: row.family,
        }
    }

    /// Node and zone of a place.
    pub(crate) fn place_name(&self, id: PlaceId) -> (&str, &str) {
        self.texts.pair(self.places.at(id).name)
    }

    /// What "uid/name" says.
    pub(crate) fn pod_ref(&self, target: TextId) -> PodRef<'_> {
        let (uid, name) = self.texts.pair(target);
        PodRef { name, uid }
    }

    pub(super) fn vip(&self, id: VipId) -> Vip<'_> {
        let row = self.vips.at(id);
        let (ranges, _) = self.texts.get(row.ranges).as_chunks::<17>();
        Vip {
            names: Names(self),
            id: row.port,
            address: row.address,
            number: row.number,
            kind: row.kind,
            policy: if row.is(vip::LOCAL) { TrafficPolicy::Local } else { TrafficPolicy::Cluster },
            state: if row.is(vip::REJECT) {
                VipState::Reject
            } else if row.is(vip::DROP) {
                VipState::Drop
            } else {
                VipState::Serve
            },
            affinity_seconds: row.affinity_seconds,
            health_check_node_port: row.health_check_node_port,
            masquerade: row.is(vip::MASQUERADE),
            short_circuit: row.is(vip::SHORT_CIRCUIT),
            source_ranges: Ranges(ranges),
        }
    }

    pub(super) fn backend(&self, id: EndpointId) -> Backend<'_> {
        let row = self.endpoints.at(id);
        let in_cluster = row.shows(shows::IN_CLUSTER);
        let in_local = row.shows(shows::IN_LOCAL);
        let weight = if in_cluster { row.cluster_weight } else { row.local_weight };
        let node = self.places.at(row.shown_place).node;
        Backend {
            names: Names(self),
            place: row.shown_place,
            target: row.shown_pod,
            id: row.port,
            address: row.address,
            number: row.number,
            cluster_weight: in_cluster.then_some(row.cluster_weight),
            local_weight: in_local.then_some(row.local_weight),
            state: plan::backend_state(row.shows(shows::TERMINATING), row.shows(shows::LINGERS), weight),
            local: node.is_some() && node == self.settings.node,
        }
    }

    /// The consumer has everything up to this generation. `each` is given one sample for each cause that this
    /// answers, if the cursor is the primary. Acknowledging again, or an older generation, does nothing.
    ///
    /// # Errors
    /// `NotFound`: no such cursor is open, or no such generation is sealed. `Stale`: it was left behind.
    pub fn ack(
        &mut self,
        cursor: CursorId,
        generation: u64,
        now: Timestamp,
        each: impl FnMut(Sample<'_>),
    ) -> Result<(), Error> {
        let sealed = self.generation;
        let row = self.cursor_mut(cursor)?;
        if row.state == CursorState::Stale {
            return Err(Error::Stale);
        }
        if generation > sealed {
            return Err(Error::NotFound);
        }
        let begun = !row.whole || row.giving != u64::MAX;
        if generation < row.acknowledged || !begun {
            return Ok(()); // Of one that has been given nothing, there is nothing to acknowledge.
        }
        row.acknowledged = generation;
        row.whole = false;
        if generation < row.giving {
            row.giving = u64::MAX; // What it is being given begins after this.
        }
        if self.is_primary(cursor) {
            self.release_triggers(generation, now, each);
        }
        self.advance();
        Ok(())
    }

    /// Some consumer must be told of what changes. One that has not begun to pull need not: it will be given
    /// everything there is then.
    pub(super) fn has_listeners(&self) -> bool {
        self.cursors.iter().any(CursorRow::listens)
    }

    /// Works out what everybody has acknowledged, and lets go of what was only kept until then.
    pub(super) fn advance(&mut self) {
        let mut least = self.generation;
        for row in self.cursors.iter_mut() {
            if !row.listens() {
                continue;
            }
            if self.generation.saturating_sub(row.acknowledged) > 1 << 30 {
                row.state = CursorState::Stale; // Past this, low halves of generations could not be told apart.
                self.counters.cursors_stale = self.counters.cursors_stale.saturating_add(1);
                continue;
            }
            least = least.min(row.acknowledged);
        }
        self.acknowledged = least;
        while self.unpruned.is_some() {
            let id = self.unpruned;
            let row = self.services.at(id);
            if row.generation > least {
                break;
            }
            self.unpruned = row.newer;
            self.prune(id);
        }
    }

    /// Lets go of what of this Service was only kept for cursors.
    fn prune(&mut self, id: ServiceId) {
        let mut at = self.services.at(id).first_port;
        while at.is_some() {
            let next = self.ports.at(at).next_in_service;
            self.tidy_touched(at);
            let mut vip_id = self.ports.at(at).first_vip;
            while vip_id.is_some() {
                let row = *self.vips.at(vip_id);
                if row.flags & (vip::WANTED | vip::PUBLISHED) == 0 && !self.is_news(row.generation) {
                    self.remove_vip(vip_id);
                }
                vip_id = row.next_in_port;
            }
            self.drop_port_if_unused(at);
            at = next;
        }
        // Whoever stands in this Service may stand on a row that is no more: he is given it again.
        self.leave_service(id, id);
        self.drop_service_if_unused(id);
    }

    /// A cursor that stands in one Service begins with another, or with the same again.
    fn reseat(&mut self, number: usize, from: ServiceId, to: ServiceId) {
        let Some(mut row) = self.cursors.get(number).copied().filter(|row| row.service == from) else {
            return;
        };
        row.service = to;
        row.stage = VIPS;
        self.enter(&mut row);
        if let Some(place) = self.cursors.get_mut(number) {
            *place = row;
        }
    }

    /// Some cursor stands in this port.
    pub(super) fn is_walked(&self, id: PortId) -> bool {
        self.cursors.iter().any(|row| row.port == id && row.state == CursorState::Open)
    }

    /// An endpoint leaves its lists: whoever would be given it next goes on with the one after it.
    pub(super) fn pass_over(&mut self, id: EndpointId) {
        let row = *self.endpoints.at(id);
        for cursor in self.cursors.iter_mut().filter(|cursor| cursor.endpoint == id) {
            let by_port = cursor.whole && cursor.stage == BACKENDS;
            cursor.endpoint = if by_port { row.next_in_port } else { row.next_touched };
        }
    }

    /// A port is about to be forgotten: whoever stands in it goes on with the next of its Service.
    pub(super) fn leave_port(&mut self, id: PortId, next: PortId) {
        for number in 0..count(self.cursors.len()) {
            let place = number as usize;
            let Some(mut row) = self.cursors.get(place).copied().filter(|row| row.port == id) else {
                continue;
            };
            row.port = next;
            self.enter_port(&mut row);
            if let Some(cursor) = self.cursors.get_mut(place) {
                *cursor = row;
            }
        }
    }

    /// Whoever stands in one Service begins with the next; or with the same again, where rows of it may be gone.
    pub(super) fn leave_service(&mut self, id: ServiceId, next: ServiceId) {
        for number in 0..count(self.cursors.len()) {
            self.reseat(number as usize, id, next);
        }
    }

    /// A table is full: cursors that have not acknowledged the newest generation are left behind, so that what was
    /// kept for their sake can be used.
    pub(super) fn leave_slow_cursors_behind(&mut self) {
        let generation = self.generation;
        let mut left = 0u64;
        for row in self.cursors.iter_mut() {
            if row.listens() && row.acknowledged < generation {
                row.state = CursorState::Stale;
                left = left.saturating_add(1);
            }
        }
        if left > 0 {
            self.counters.cursors_stale = self.counters.cursors_stale.saturating_add(left);
            self.advance();
        }
    }
}

impl CursorRow {
    /// It has begun to pull.
    fn listens(&self) -> bool {
        self.state == CursorState::Open && !(self.whole && self.giving == u64::MAX)
    }
}

/// A cursor that has nothing, opened at this generation.
const fn fresh(generation: u64) -> CursorRow {
    CursorRow {
        state: CursorState::Open,
        acknowledged: generation,
        giving: u64::MAX,
        whole: true,
        ..CursorRow::EMPTY
    }
}
