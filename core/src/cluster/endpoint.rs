//! Endpoints: what sources say of them, and the lists they stand in.
//!
//! Each address and port of a service port has one row in the index, the first of its twins. Sources that name the
//! same address and port again get rows behind it; which of them speaks is decided at the seal.

use super::Cluster;
use super::rows::{EndpointId, EndpointRow, NodeId, PlaceId, PodId, SliceId, port, shows};
use crate::address::Address;
use crate::change::PortId;
use crate::table::Entry as _;
use crate::text::TextId;
use crate::usable::Facts;

/// The low half of a generation: what rows keep.
#[allow(clippy::cast_possible_truncation, reason = "the low half is what is kept")]
const fn low(generation: u64) -> u32 {
    generation as u32
}

/// What a source says of one endpoint of a service port. It holds the place and the texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    pub(super) port: PortId,
    pub(super) address: Address,
    pub(super) number: u16,
    /// Factor of its slice's weights, in hundredths.
    pub(super) factor: u16,
    pub(super) place: PlaceId,
    pub(super) pod: TextId,
    pub(super) hints: TextId,
    pub(super) facts: Facts,
}

/// Who says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Slice(SliceId),
    Pod(PodId),
}

impl Owner {
    const fn number(self) -> u32 {
        match self {
            Self::Slice(id) => id.0,
            Self::Pod(id) => id.0,
        }
    }

    const fn flag(self) -> u16 {
        match self {
            Self::Slice(_) => 0,
            Self::Pod(_) => shows::OF_POD,
        }
    }
}

impl EndpointRow {
    /// This owner says it.
    pub(super) const fn is_of(&self, owner: Owner) -> bool {
        self.owner == owner.number()
            && self.shows & (shows::OF_POD | shows::OF_NODE) == owner.flag()
            && self.says.has(Facts::PRESENT)
    }

    /// Who says it, if anyone.
    pub(super) const fn owner(&self) -> Option<Owner> {
        if !self.says.has(Facts::PRESENT) || self.shows(shows::OF_NODE) {
            None
        } else if self.shows(shows::OF_POD) {
            Some(Owner::Pod(PodId(self.owner)))
        } else {
            Some(Owner::Slice(SliceId(self.owner)))
        }
    }
}

/// A list of an owner's endpoints while it is made anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remake {
    owner: Owner,
    /// Where the old list is read in step, since most objects change little.
    expected: EndpointId,
    fresh_first: EndpointId,
    fresh_last: EndpointId,
    pub(super) changed: bool,
}

impl Cluster<'_> {
    /// Begins to say anew what an owner has: everything in `first` is old until it is said again.
    pub(super) fn remake(&mut self, owner: Owner, first: EndpointId) -> Remake {
        let mut at = first;
        while at.is_some() {
            let row = self.endpoints.at_mut(at);
            row.shows |= shows::OLD;
            at = row.next_in_owner;
        }
        let none = EndpointId::NONE;
        Remake { owner, expected: first, fresh_first: none, fresh_last: none, changed: false }
    }

    /// Says one endpoint. The row for it; `None` only if the table is full, which callers rule out before.
    pub(super) fn say(&mut self, remake: &mut Remake, said: &Said) -> Option<EndpointId> {
        let owner = remake.owner;
        let expected = self.endpoints.at(remake.expected);
        let is = |row: &EndpointRow| {
            row.port == said.port && row.number == said.number && row.address == said.address
        };
        if is(expected) && expected.shows(shows::OLD) && expected.is_of(owner) {
            let id = remake.expected;
            remake.expected = expected.next_in_owner;
            self.say_again(id, said, remake);
            return Some(id);
        }
        let key = self.endpoint_key(said.port, said.address, said.number);
        let first = self.endpoints.find(key, |row| is(row) && !row.shows(shows::SHADOW));
        let Some(first) = first else {
            return self.say_new(remake, said, key);
        };
        let mut at = first;
        while at.is_some() {
            let row = self.endpoints.at(at);
            if row.is_of(owner) {
                if row.shows(shows::OLD) {
                    remake.expected = row.next_in_owner;
                    self.say_again(at, said, remake);
                } else {
                    self.say_twice(at, said, remake);
                }
                return Some(at);
            }
            at = row.next_twin;
        }
        let row = self.endpoints.at_mut(first);
        if row.says.has(Facts::PRESENT) || row.shows(shows::OF_NODE) {
            let behind = row.next_twin;
            let mut shadow = self.new_row(said, owner);
            shadow.shows |= shows::SHADOW;
            shadow.next_twin = behind;
            let id = self.endpoints.insert(key, shadow)?;
            self.endpoints.at_mut(first).next_twin = id;
            self.counters.duplicates = self.counters.duplicates.saturating_add(1);
            self.append(remake, id);
            self.touch(first);
            return Some(id);
        }
        // Nobody says it any more, but it is still published: it comes back under its old number.
        row.owner = owner.number();
        row.shows = row.shows & !shows::OF_POD | owner.flag();
        row.place = said.place;
        row.pod = said.pod;
        row.hints = said.hints;
        row.factor = said.factor;
        row.says = said.facts;
        self.append(remake, first);
        self.touch(first);
        Some(first)
    }

    /// Says one endpoint that nobody has said before.
    pub(super) fn say_first(&mut self, remake: &mut Remake, said: &Said) -> Option<EndpointId> {
        self.say_new(remake, said, self.endpoint_key(said.port, said.address, said.number))
    }

    /// In one go, since whole clusters are read this way: in its port's lists, touched, in its owner's list.
    fn say_new(&mut self, remake: &mut Remake, said: &Said, key: u32) -> Option<EndpointId> {
        let mut row = self.new_row(said, remake.owner);
        let port = self.ports.at_mut(said.port);
        row.next_in_port = port.first_endpoint;
        row.next_touched = port.touched;
        row.shows |= shows::TOUCHED | shows::DIRTY;
        row.generation = low(self.acknowledged);
        let id = self.endpoints.insert(key, row)?;
        let before = port.first_endpoint;
        port.first_endpoint = id;
        port.touched = id;
        port.flags |= port::DIRTY;
        let service = port.service;
        if before.is_some() {
            self.endpoints.at_mut(before).previous_in_port = id;
        }
        remake.changed = true;
        if remake.fresh_last.is_some() {
            self.endpoints.at_mut(remake.fresh_last).next_in_owner = id;
        } else {
            remake.fresh_first = id;
        }
        remake.fresh_last = id;
        self.mark_dirty(service);
        Some(id)
    }

    fn new_row(&self, said: &Said, owner: Owner) -> EndpointRow {
        EndpointRow {
            address: said.address,
            port: said.port,
            owner: owner.number(),
            place: said.place,
            pod: said.pod,
            hints: said.hints,
            number: said.number,
            factor: said.factor,
            says: said.facts,
            shows: owner.flag(),
            ..EndpointRow::EMPTY
        }
    }

    fn append(&mut self, remake: &mut Remake, id: EndpointId) {
        remake.changed = true;
        self.endpoints.at_mut(id).next_in_owner = EndpointId::NONE;
        if remake.fresh_last.is_some() {
            self.endpoints.at_mut(remake.fresh_last).next_in_owner = id;
        } else {
            remake.fresh_first = id;
        }
        remake.fresh_last = id;
    }

    /// One slice has the same address and port twice: the later one counts, unless it terminates (`kube-proxy`,
    /// endpointslicecache).
    fn say_twice(&mut self, id: EndpointId, said: &Said, remake: &mut Remake) {
        self.counters.duplicates = self.counters.duplicates.saturating_add(1);
        if said.facts.has(Facts::TERMINATING) {
            self.drop_place(said.place);
            self.texts.release(said.pod);
            self.texts.release(said.hints);
        } else {
            self.say_again(id, said, remake);
        }
    }

    /// The same owner says the same address and port again.
    fn say_again(&mut self, id: EndpointId, said: &Said, remake: &mut Remake) {
        let row = self.endpoints.at(id);
        if row.says.has(Facts::REPLACED) && (row.pod != said.pod || !said.facts.has(Facts::LOCAL)) {
            self.unlink_from_pod(id); // Another Pod speaks for it now, or none.
        }
        let row = self.endpoints.at_mut(id);
        row.shows &= !shows::OLD;
        let (place, pod, hints) = (row.place, row.pod, row.hints);
        let replaced = Facts(row.says.0 & Facts::REPLACED.0);
        let facts = said.facts.with(replaced);
        if (place, pod, hints, row.says, row.factor) != (said.place, said.pod, said.hints, facts, said.factor)
        {
            row.factor = said.factor;
            row.place = said.place;
            row.pod = said.pod;
            row.hints = said.hints;
            row.says = facts;
            remake.changed = true;
            self.touch_twins(id);
        }
        self.drop_place(place);
        self.texts.release(pod);
        self.texts.release(hints);
    }

    /// Ends it: what was not said again is gone. Answers the new list.
    pub(super) fn end_remake(&mut self, remake: &mut Remake, first: EndpointId) -> EndpointId {
        let (mut kept_first, mut kept_last) = (EndpointId::NONE, EndpointId::NONE);
        let mut at = first;
        while at.is_some() {
            let row = self.endpoints.at(at);
            let next = row.next_in_owner;
            if row.shows(shows::OLD) {
                remake.changed = true;
                self.unsay(at);
            } else {
                if kept_last.is_some() {
                    self.endpoints.at_mut(kept_last).next_in_owner = at;
                } else {
                    kept_first = at;
                }
                kept_last = at;
            }
            at = next;
        }
        if kept_last.is_some() {
            self.endpoints.at_mut(kept_last).next_in_owner = remake.fresh_first;
            kept_first
        } else {
            remake.fresh_first
        }
    }

    /// No source has it any more. The caller takes it out of its owner's list.
    pub(super) fn unsay(&mut self, id: EndpointId) {
        if self.endpoints.at(id).says.has(Facts::REPLACED) {
            self.unlink_from_pod(id);
        }
        let row = self.endpoints.at_mut(id);
        let (place, pod, hints) = (row.place, row.pod, row.hints);
        row.place = PlaceId::NONE;
        row.pod = TextId::NONE;
        row.hints = TextId::NONE;
        row.says = Facts::NONE;
        row.shows &= !shows::OLD;
        row.next_in_owner = EndpointId::NONE;
        self.drop_place(place);
        self.texts.release(pod);
        self.texts.release(hints);
        let first = self.first_twin(id);
        self.touch(first);
        if first == id {
            return; // It stays until the seal: it may be published.
        }
        let mut before = first;
        while before.is_some() {
            let next = self.endpoints.at(before).next_twin;
            if next == id {
                self.endpoints.at_mut(before).next_twin = self.endpoints.at(id).next_twin;
                break;
            }
            before = next;
        }
        self.remove_endpoint_row(id);
    }

    /// The row in the index with the same port, address and number.
    pub(super) fn first_twin(&self, id: EndpointId) -> EndpointId {
        let row = self.endpoints.at(id);
        if !row.shows(shows::SHADOW) {
            return id;
        }
        let key = self.endpoint_key(row.port, row.address, row.number);
        let is = |other: &EndpointRow| {
            other.port == row.port
                && other.number == row.number
                && other.address == row.address
                && !other.shows(shows::SHADOW)
        };
        self.endpoints.find(key, is).unwrap_or(id)
    }

    /// Something about this endpoint changed, or about a twin of the one that stands for it.
    pub(super) fn touch_twins(&mut self, id: EndpointId) {
        let first = self.first_twin(id);
        self.touch(first);
    }

    /// The next seal must look at this endpoint.
    pub(super) fn touch(&mut self, id: EndpointId) {
        let row = self.endpoints.at_mut(id);
        if row.shows(shows::DIRTY) {
            return;
        }
        row.shows |= shows::DIRTY;
        let port = row.port;
        self.list_touched(id);
        let row = self.ports.at_mut(port);
        row.flags |= port::DIRTY;
        let service = row.service;
        self.mark_dirty(service);
    }

    /// Puts it into its port's list of touched endpoints, if it is not there.
    pub(super) fn list_touched(&mut self, id: EndpointId) {
        let acknowledged = low(self.acknowledged);
        let row = self.endpoints.at_mut(id);
        if row.shows(shows::TOUCHED) {
            return;
        }
        row.shows |= shows::TOUCHED;
        // Not news to any cursor, however long ago it was: generations are only compared within a window.
        row.generation = acknowledged;
        let port = self.ports.at_mut(row.port);
        row.next_touched = port.touched;
        port.touched = id;
    }

    pub(super) fn link_in_port(&mut self, id: EndpointId, port: PortId) {
        let first = self.ports.at(port).first_endpoint;
        let row = self.endpoints.at_mut(id);
        row.next_in_port = first;
        row.previous_in_port = EndpointId::NONE;
        if first.is_some() {
            self.endpoints.at_mut(first).previous_in_port = id;
        }
        self.ports.at_mut(port).first_endpoint = id;
    }

    /// Takes the row of an endpoint that nobody says and nobody sees out of everything.
    pub(super) fn remove_endpoint(&mut self, id: EndpointId) {
        let row = *self.endpoints.at(id);
        if self.is_walked(row.port) {
            self.pass_over(id);
        }
        if row.previous_in_port.is_some() {
            self.endpoints.at_mut(row.previous_in_port).next_in_port = row.next_in_port;
        } else {
            self.ports.at_mut(row.port).first_endpoint = row.next_in_port;
        }
        if row.next_in_port.is_some() {
            self.endpoints.at_mut(row.next_in_port).previous_in_port = row.previous_in_port;
        }
        self.drop_place(row.place);
        self.drop_place(row.shown_place);
        self.texts.release(row.shown_pod);
        self.remove_endpoint_row(id);
    }

    /// Of the twins, the one that speaks: not terminating, then ready, serving, on this node, of the newest slice;
    /// the rest only to be the same whatever came first. kube-proxy takes any of those that do not terminate.
    pub(super) fn speaker(&self, first: EndpointId) -> Option<EndpointId> {
        let mut best = None;
        let mut at = first;
        while at.is_some() {
            let row = self.endpoints.at(at);
            if row.says.counts() && best.is_none_or(|best| self.speaks_before(at, best)) {
                best = Some(at);
            }
            at = row.next_twin;
        }
        best
    }

    fn speaks_before(&self, a: EndpointId, b: EndpointId) -> bool {
        let (a, b) = (self.endpoints.at(a), self.endpoints.at(b));
        let rank = |row: &EndpointRow| {
            (
                !row.says.has(Facts::TERMINATING),
                row.says.has(Facts::READY),
                row.says.has(Facts::SERVING),
                row.says.has(Facts::LOCAL),
                match row.owner() {
                    Some(Owner::Slice(id)) => self.slices.at(id).trigger,
                    _ => u64::MAX,
                },
            )
        };
        let (rank_a, rank_b) = (rank(a), rank(b));
        if rank_a != rank_b {
            return rank_a > rank_b;
        }
        let name = |row: &EndpointRow| match row.owner() {
            Some(Owner::Slice(id)) => self.slices.at(id).name,
            Some(Owner::Pod(id)) => self.pods.at(id).name,
            None => TextId::NONE,
        };
        let texts = |row: &EndpointRow| [name(row), self.places.at(row.place).name, row.pod, row.hints];
        for (a, b) in texts(a).into_iter().zip(texts(b)) {
            let (a, b) = (self.texts.get(a), self.texts.get(b));
            if a != b {
                return a < b;
            }
        }
        false
    }

    /// The facts that depend on this node: whether it is here, and whether its hints mean us.
    pub(super) fn placed(&self, facts: Facts, place: PlaceId, hints: TextId) -> Facts {
        let mine = self.settings.node;
        let facts = facts
            .without(Facts(
                Facts::LOCAL.0
                    | Facts::NODE_HINTED.0
                    | Facts::NAMES_NODE.0
                    | Facts::ZONE_HINTED.0
                    | Facts::NAMES_ZONE.0,
            ))
            .with_if(mine.is_some() && self.places.at(place).node == mine, Facts::LOCAL);
        if hints.is_none() {
            return facts;
        }
        let (node, zone) = self.here();
        let mut facts = facts;
        for hint in self.texts.get(hints).split(|byte| *byte == 0) {
            match hint {
                [b'n', name @ ..] => {
                    facts = facts.with(Facts::NODE_HINTED).with_if(name == node, Facts::NAMES_NODE);
                }
                [b'z', name @ ..] => {
                    facts = facts.with(Facts::ZONE_HINTED).with_if(name == zone, Facts::NAMES_ZONE);
                }
                _ => {}
            }
        }
        facts
    }

    /// Name and zone of this node.
    pub(super) fn here(&self) -> (&[u8], &[u8]) {
        let row = self.nodes.at(self.settings.node);
        (self.texts.get(row.name), self.texts.get(row.zone))
    }

    /// Factor of the weights of endpoints on a node; 0 under maintenance.
    pub(super) fn node_factor(&self, node: NodeId) -> u16 {
        let row = self.nodes.at(node);
        if row.is(super::rows::node::MAINTENANCE) { 0 } else { row.weight }
    }

    /// The weight of an endpoint before it is scaled: 100 without annotations.
    pub(super) fn plain_weight(&self, row: &EndpointRow) -> u16 {
        let node = self.node_factor(self.places.at(row.place).node);
        let pod = match row.owner() {
            Some(Owner::Pod(id)) => self.pod_factor(id),
            _ => 100,
        };
        crate::weight::endpoint(node, row.factor, pod)
    }
}
