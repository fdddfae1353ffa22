//! The seal: what was applied becomes a generation, if there is anything to be seen of it.

use super::Cluster;
use super::relist::Kind;
use super::rows::{EndpointId, EndpointRow, PlaceId, PortRow, ServiceId, node, port, service, shows};
use crate::address::Address;
use crate::change::PortId;
use crate::limits::Backends;
use crate::object::TrafficPolicy;
use crate::plan::{Place, Policies};
use crate::port::Protocol;
use crate::table::Entry as _;
use crate::text::TextId;
use crate::time::Timestamp;
use crate::usable::{Facts, Needs, Usable};
use crate::weight::{self, Scale};

/// What became of a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealed {
    /// Some source has not been listed yet: nothing is published.
    Waiting,
    /// There is nothing to be seen of what was applied. The newest generation, as before.
    Unchanged(u64),
    /// A new generation.
    Generation(u64),
}

impl Cluster<'_> {
    /// Turns what was applied into a generation.
    ///
    /// Costs grow with what was applied, not with what there is; a port whose endpoints are chosen differently now,
    /// or whose weights are scaled, costs a look at each of its endpoints. `now` is the time of the seal; nothing
    /// depends on it yet but what ramps and drains.
    pub fn seal(&mut self, now: Timestamp) -> Sealed {
        let _ = now;
        if Kind::ALL.into_iter().any(|kind| self.awaits(kind)) {
            return Sealed::Waiting;
        }
        if self.dirty.is_none() {
            return Sealed::Unchanged(self.generation);
        }
        let generation = self.generation.saturating_add(1);
        if !self.has_listeners() {
            self.acknowledged = generation; // Nothing is news to anybody.
        }
        let mut at = self.dirty;
        self.dirty = ServiceId::NONE;
        let mut changed = ServiceId::NONE;
        while at.is_some() {
            let next = self.services.at(at).next_dirty;
            let differs = self.settle_service(at, generation);
            self.seal_triggers(at, differs.then_some(generation));
            let row = self.services.at_mut(at);
            row.flags &= !(service::DIRTY | service::ALL);
            row.next_dirty = ServiceId::NONE;
            if differs {
                row.next_dirty = changed;
                changed = at;
            } else {
                self.drop_service_if_unused(at);
            }
            at = next;
        }
        if changed.is_none() {
            self.acknowledged = self.acknowledged.min(self.generation);
            self.counters.ineffective = self.counters.ineffective.saturating_add(1);
            return Sealed::Unchanged(self.generation);
        }
        let mut at = self.sort_services(changed);
        while at.is_some() {
            let row = self.services.at_mut(at);
            let next = row.next_dirty;
            row.next_dirty = ServiceId::NONE;
            row.generation = generation;
            self.unlist(at);
            self.list(at);
            at = next;
        }
        self.generation = generation;
        self.counters.generations = self.counters.generations.saturating_add(1);
        self.advance();
        Sealed::Generation(generation)
    }

    /// Appends a Service to the list of published ones.
    fn list(&mut self, id: ServiceId) {
        let newest = self.newest;
        let row = self.services.at_mut(id);
        row.flags |= service::LISTED;
        row.older = newest;
        row.newer = ServiceId::NONE;
        if newest.is_some() {
            self.services.at_mut(newest).newer = id;
        } else {
            self.oldest = id;
        }
        self.newest = id;
        if self.unpruned.is_none() {
            self.unpruned = id;
        }
    }

    /// Takes a Service out of the list of published ones.
    pub(super) fn unlist(&mut self, id: ServiceId) {
        let row = *self.services.at(id);
        if !row.is(service::LISTED) {
            return;
        }
        if row.older.is_some() {
            self.services.at_mut(row.older).newer = row.newer;
        } else {
            self.oldest = row.newer;
        }
        if row.newer.is_some() {
            self.services.at_mut(row.newer).older = row.older;
        } else {
            self.newest = row.older;
        }
        if self.unpruned == id {
            self.unpruned = row.newer;
        }
        self.leave_service(id, row.newer);
        let row = self.services.at_mut(id);
        row.flags &= !service::LISTED;
        row.older = ServiceId::NONE;
        row.newer = ServiceId::NONE;
    }

    /// Brings all ports of a Service up to date. Whether there is anything to be seen of it.
    fn settle_service(&mut self, id: ServiceId, generation: u64) -> bool {
        let mut differs = false;
        let mut at = self.services.at(id).first_port;
        while at.is_some() {
            let next = self.ports.at(at).next_in_service;
            differs |= self.settle_port(at, generation);
            at = next;
        }
        differs
    }

    /// What the Service says of one of its ports.
    pub(super) fn policies(&self, row: &PortRow) -> Policies {
        let service = self.services.at(row.service);
        let policy = |flag| {
            if service.is(flag) { TrafficPolicy::Local } else { TrafficPolicy::Cluster }
        };
        Policies {
            served: row.is(port::SERVED),
            internal: policy(service::INTERNAL_LOCAL),
            external: policy(service::EXTERNAL_LOCAL),
            reachable: row.is(port::EXTERNAL),
            maintenance: service.is(service::MAINTENANCE),
        }
    }

    fn settle_port(&mut self, id: PortId, generation: u64) -> bool {
        let dirty = self.ports.at(id).is(port::DIRTY);
        if dirty {
            self.recount(id);
        }
        let row = *self.ports.at(id);
        let policies = self.policies(&row);
        let needs = policies.needs();
        let usable = Usable::decide(&row.counts, needs);
        let decision = usable.bits() | policies.bits();
        let all =
            row.is(port::ALL) || decision != row.decision || self.services.at(row.service).is(service::ALL);
        #[allow(clippy::cast_possible_truncation, reason = "the low half is what rows keep")]
        let low = generation as u32;
        let mut differs = false;
        if dirty || all {
            let port = self.ports.at_mut(id);
            port.decision = decision;
            port.flags &= !(port::ALL | port::DIRTY);
            let show = Show {
                usable,
                needs,
                maintenance: policies.maintenance,
                udp: row.protocol == Protocol::Udp,
                low,
            };
            differs |= if self.settings.backends == Backends::Nodes {
                self.show_nodes(id, &show)
            } else if self.settings.weight_range > 0 {
                self.show_scaled(id, &show)
            } else if all {
                self.show_all(id, &show)
            } else {
                self.show_touched(id, &show)
            };
            self.tidy_touched(id);
        }
        differs |= self.settle_vips(id, &policies, usable, low);
        self.drop_port_if_unused(id);
        differs
    }

    /// Counts the endpoints that something changed about.
    fn recount(&mut self, id: PortId) {
        let mut counts = self.ports.at(id).counts;
        let mut at = self.ports.at(id).touched;
        while at.is_some() {
            let row = *self.endpoints.at(at);
            if row.shows(shows::DIRTY) && !row.shows(shows::OF_NODE) {
                let facts = self.facts(at);
                counts.subtract(row.counted);
                counts.add(facts);
                self.endpoints.at_mut(at).counted = facts;
            }
            at = row.next_touched;
        }
        self.ports.at_mut(id).counts = counts;
    }

    /// The facts of the twin that speaks.
    fn facts(&self, first: EndpointId) -> Facts {
        let row = self.endpoints.at(first);
        if row.next_twin.is_none() {
            return if row.says.counts() { row.says } else { Facts::NONE };
        }
        self.speaker(first).map_or(Facts::NONE, |id| self.endpoints.at(id).says)
    }

    fn show_touched(&mut self, id: PortId, show: &Show) -> bool {
        let mut differs = false;
        let mut at = self.ports.at(id).touched;
        while at.is_some() {
            let row = self.endpoints.at(at);
            let next = row.next_touched;
            if row.shows(shows::DIRTY) {
                differs |= self.show(at, show, None);
            }
            at = next;
        }
        differs
    }

    fn show_all(&mut self, id: PortId, show: &Show) -> bool {
        let mut differs = false;
        let mut at = self.ports.at(id).first_endpoint;
        while at.is_some() {
            let next = self.endpoints.at(at).next_in_port;
            differs |= self.show(at, show, None);
            at = next;
        }
        differs
    }

    /// The same, with weights that have an exact sum in each set.
    fn show_scaled(&mut self, id: PortId, show: &Show) -> bool {
        self.sort_port(id);
        let mut at = self.ports.at(id).first_endpoint;
        while at.is_some() {
            let weight = self.weigh(at, show.maintenance);
            let row = self.endpoints.at_mut(at);
            row.weight = weight;
            at = row.next_in_port;
        }
        let range = self.settings.weight_range;
        let first = self.ports.at(id).first_endpoint;
        let mut cluster = Scale::new(self.weights(first, |facts| show.usable.in_cluster(facts)), range);
        let mut local = Scale::new(self.weights(first, |facts| show.usable.in_local(facts)), range);
        let mut differs = false;
        let mut at = first;
        while at.is_some() {
            let row = *self.endpoints.at(at);
            let cluster_weight =
                if show.usable.in_cluster(row.counted) { cluster.give(row.weight) } else { 0 };
            let local_weight = if show.usable.in_local(row.counted) { local.give(row.weight) } else { 0 };
            differs |= self.show(at, show, Some((cluster_weight, local_weight)));
            at = row.next_in_port;
        }
        differs
    }

    /// The weights of a set, in order of address.
    fn weights(
        &self,
        first: EndpointId,
        is_in: impl Fn(Facts) -> bool + Clone,
    ) -> impl Iterator<Item = u16> + Clone {
        let mut at = first;
        core::iter::from_fn(move || {
            while at.is_some() {
                let row = self.endpoints.at(at);
                at = row.next_in_port;
                if is_in(row.counted) {
                    return Some(row.weight);
                }
            }
            None
        })
    }

    /// The weight of an endpoint before it is scaled.
    fn weigh(&self, first: EndpointId, maintenance: bool) -> u16 {
        let row = self.endpoints.at(first);
        let speaker = if row.next_twin.is_none() { Some(first) } else { self.speaker(first) };
        match speaker {
            Some(id) if !maintenance => self.plain_weight(self.endpoints.at(id)),
            _ => 0,
        }
    }

    /// Brings one endpoint up to date. Whether there is anything to be seen of it.
    fn show(&mut self, at: EndpointId, show: &Show, scaled: Option<(u16, u16)>) -> bool {
        let row = self.endpoints.at(at);
        let facts = row.counted;
        let place = Place::of(show.usable, show.needs, facts);
        let mut wanted = Shown::default();
        if place.in_cluster || place.in_local || place.lingers {
            let speaker = if row.next_twin.is_none() { at } else { self.speaker(at).unwrap_or(at) };
            let said = self.endpoints.at(speaker);
            wanted.place = said.place;
            wanted.pod = said.pod;
            let weight = if show.maintenance { 0 } else { self.plain_weight(said) };
            let (cluster, local) = scaled.unwrap_or((weight, weight));
            if place.in_cluster {
                wanted.bits |= shows::IN_CLUSTER;
                wanted.cluster_weight = cluster;
            }
            if place.in_local {
                wanted.bits |= shows::IN_LOCAL;
                wanted.local_weight = local;
            }
            if place.lingers {
                wanted.bits |= shows::LINGERS;
            }
            if place.terminating {
                wanted.bits |= shows::TERMINATING;
            }
        }
        if show.udp && (show.needs.cluster || show.needs.local) && facts.has(Facts::SERVING) {
            wanted.bits |= shows::SERVING;
        }
        self.publish(at, &wanted, show.low)
    }

    /// Publishes a row as it is wanted, if it is not so already.
    fn publish(&mut self, at: EndpointId, wanted: &Shown, low: u32) -> bool {
        let row = self.endpoints.at_mut(at);
        row.shows &= !shows::DIRTY;
        let shown = Shown {
            bits: row.shows & shows::PUBLISHED,
            cluster_weight: row.cluster_weight,
            local_weight: row.local_weight,
            place: row.shown_place,
            pod: row.shown_pod,
        };
        if shown == *wanted {
            return false;
        }
        let seen = (shown.bits | wanted.bits) & shows::VISIBLE != 0;
        // Of an endpoint that consumers do not see, only one thing concerns them: that its flows must be flushed.
        let flushed = shown.bits & !wanted.bits & shows::SERVING != 0;
        self.list_touched(at);
        self.retain_place(wanted.place);
        self.texts.retain(wanted.pod);
        let row = self.endpoints.at_mut(at);
        row.shows = row.shows & !shows::PUBLISHED | wanted.bits;
        row.cluster_weight = wanted.cluster_weight;
        row.local_weight = wanted.local_weight;
        row.shown_place = wanted.place;
        row.shown_pod = wanted.pod;
        if seen || flushed {
            row.generation = low;
        }
        self.drop_place(shown.place);
        self.texts.release(shown.pod);
        seen || flushed
    }

    /// Nodes as backends: each has the port of the VIP and the count of its usable endpoints.
    fn show_nodes(&mut self, id: PortId, show: &Show) -> bool {
        let mut at = self.ports.at(id).first_endpoint;
        while at.is_some() {
            let row = self.endpoints.at_mut(at);
            if row.shows(shows::OF_NODE) {
                row.forget_sum();
            }
            at = row.next_in_port;
        }
        // Endpoints are counted with their nodes; rows for new nodes come in at the front of the list.
        let mut at = self.ports.at(id).first_endpoint;
        while at.is_some() {
            let row = *self.endpoints.at(at);
            if !row.shows(shows::OF_NODE) {
                let (in_cluster, in_local) =
                    (show.usable.in_cluster(row.counted), show.usable.in_local(row.counted));
                if in_cluster || in_local {
                    self.add_to_node(id, at, in_cluster, in_local, show.maintenance);
                }
                self.endpoints.at_mut(at).shows &= !shows::DIRTY;
            }
            at = row.next_in_port;
        }
        self.sort_port(id);
        let first = self.ports.at(id).first_endpoint;
        let range = self.settings.weight_range;
        // Weights are in hundredths until they are scaled, if they fit; whole without a range.
        let sums = |set| self.node_sums(first, set);
        let fits =
            range > 0 && sums(Facts::READY).chain(sums(Facts::LOCAL)).all(|sum| u16::try_from(sum).is_ok());
        let weigh =
            move |sum: u32| u16::try_from(sum).ok().filter(|_| fits).unwrap_or(weight::node(sum.into()));
        let mut cluster = Scale::new(sums(Facts::READY).map(weigh), range);
        let mut local = Scale::new(sums(Facts::LOCAL).map(weigh), range);
        let mut differs = false;
        let mut at = first;
        while at.is_some() {
            let row = *self.endpoints.at(at);
            if row.shows(shows::OF_NODE) {
                let mut wanted = Shown::default();
                if row.counted.has(Facts::PRESENT) {
                    wanted.place = row.place;
                }
                if row.counted.has(Facts::READY) {
                    let weight = weigh(row.sum(Facts::READY));
                    wanted.bits |= shows::IN_CLUSTER;
                    wanted.cluster_weight = if range > 0 { cluster.give(weight) } else { weight };
                }
                if row.counted.has(Facts::LOCAL) {
                    let weight = weigh(row.sum(Facts::LOCAL));
                    wanted.bits |= shows::IN_LOCAL;
                    wanted.local_weight = if range > 0 { local.give(weight) } else { weight };
                }
                differs |= self.publish(at, &wanted, show.low);
            } else if row.shows(shows::VISIBLE | shows::SERVING) {
                differs |= self.publish(at, &Shown::default(), show.low);
            }
            at = row.next_in_port;
        }
        differs
    }

    /// The sums of weights, in hundredths, of the nodes that are backends in a set, in order of address. Sets are told
    /// apart by [`Facts::READY`] (Cluster) and [`Facts::LOCAL`].
    fn node_sums(&self, first: EndpointId, set: Facts) -> impl Iterator<Item = u32> + Clone {
        let mut at = first;
        core::iter::from_fn(move || {
            while at.is_some() {
                let row = self.endpoints.at(at);
                at = row.next_in_port;
                if row.shows(shows::OF_NODE) && row.counted.has(set) {
                    return Some(row.sum(set));
                }
            }
            None
        })
    }

    /// Counts an endpoint with its node, if flows can be sent there: known, ready, not cordoned, wanted, with an address.
    fn add_to_node(
        &mut self,
        port: PortId,
        at: EndpointId,
        in_cluster: bool,
        in_local: bool,
        maintenance: bool,
    ) {
        let weight = self.weigh(at, maintenance);
        let speaker = self.speaker(at).unwrap_or(at);
        let node_id = self.places.at(self.endpoints.at(speaker).place).node;
        let node_row = *self.nodes.at(node_id);
        let PortRow { family, number, .. } = *self.ports.at(port);
        let address = *super::by_family(&node_row.addresses, family);
        let asked = node::KNOWN | node::READY | node::UNSCHEDULABLE | node::EXCLUDED;
        let eligible = node_row.flags & asked == node::KNOWN | node::READY;
        if !eligible || address == Address::EMPTY {
            return;
        }
        let key = self.endpoint_key(port, address, number);
        let found = self.endpoints.find(key, |row| {
            row.port == port && row.number == number && row.address == address && row.shows(shows::OF_NODE)
        });
        let id = found.or_else(|| {
            let row = EndpointRow { address, port, number, shows: shows::OF_NODE, ..EndpointRow::EMPTY };
            let id = self.endpoints.insert(key, row)?;
            self.node_rows = self.node_rows.saturating_add(1);
            self.link_in_port(id, port);
            Some(id)
        });
        let Some(id) = id else {
            self.counters.full = self.counters.full.saturating_add(1);
            return;
        };
        if self.endpoints.at(id).place.is_none() {
            let place = self.place_of(node_id).unwrap_or(PlaceId::NONE);
            self.endpoints.at_mut(id).place = place;
        }
        let row = self.endpoints.at_mut(id);
        if in_cluster {
            row.add_to_sum(Facts::READY, weight);
        }
        if in_local {
            row.add_to_sum(Facts::LOCAL, weight);
        }
    }

    /// Lets go of touched endpoints that are no news to anybody, and puts the rest in order.
    pub(super) fn tidy_touched(&mut self, id: PortId) {
        let mut at = self.ports.at(id).touched;
        let mut kept = EndpointId::NONE;
        let mut in_order = true;
        let walked = self.is_walked(id);
        while at.is_some() {
            let row = *self.endpoints.at(at);
            if row.shows(shows::DIRTY) || self.is_news(row.generation) {
                let before = self.endpoints.at(kept);
                in_order &= kept.is_none() || (before.address, before.number) > (row.address, row.number);
                self.endpoints.at_mut(at).next_touched = kept;
                kept = at;
            } else {
                if walked {
                    self.pass_over(at);
                }
                let row = self.endpoints.at_mut(at);
                row.shows &= !shows::TOUCHED;
                row.next_touched = EndpointId::NONE;
                self.remove_endpoint_if_unused(at);
            }
            at = row.next_touched;
        }
        self.ports.at_mut(id).touched = kept;
        if kept.is_some() && !(in_order && self.endpoints.at(kept).next_touched.is_none()) {
            self.sort_touched(id);
        }
    }

    /// Some cursor has not acknowledged this generation.
    pub(super) const fn is_news(&self, low: u32) -> bool {
        is_after(low, self.acknowledged)
    }

    fn remove_endpoint_if_unused(&mut self, at: EndpointId) {
        let row = self.endpoints.at(at);
        let used = if row.shows(shows::OF_NODE) {
            row.counted.has(Facts::PRESENT)
        } else {
            row.says.has(Facts::PRESENT)
        };
        if used
            || row.next_twin.is_some()
            || row.shows & (shows::VISIBLE | shows::TOUCHED | shows::DIRTY) != 0
        {
            return;
        }
        self.remove_endpoint(at);
    }
}

/// A generation's low half comes after another generation, within half the range of the low halves.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the distance of two low halves, as a signed number"
)]
pub(super) const fn is_after(low: u32, generation: u64) -> bool {
    low.wrapping_sub(generation as u32) as i32 > 0
}

/// What was decided for a port, while its endpoints are brought up to date.
struct Show {
    usable: Usable,
    needs: Needs,
    maintenance: bool,
    udp: bool,
    low: u32,
}

/// What is published of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shown {
    bits: u16,
    cluster_weight: u16,
    local_weight: u16,
    place: PlaceId,
    pod: TextId,
}

impl Default for Shown {
    fn default() -> Self {
        Self { bits: 0, cluster_weight: 0, local_weight: 0, place: PlaceId::NONE, pod: TextId::NONE }
    }
}

/// In a row of a node, two fields that an endpoint needs for its Pod and hints hold the sums of the weights behind it in
/// the Cluster set and in the Local set; `counted` says in which it is.
impl EndpointRow {
    const fn sum(&self, set: Facts) -> u32 {
        let kept = if set.has(Facts::LOCAL) { self.hints } else { self.pod };
        if kept.is_none() { 0 } else { kept.0 }
    }

    fn add_to_sum(&mut self, set: Facts, weight: u16) {
        let sum = TextId(self.sum(set).saturating_add(weight.into()).min(crate::table::NONE - 1));
        if set.has(Facts::LOCAL) {
            self.hints = sum;
        } else {
            self.pod = sum;
        }
        self.counted = self.counted.with(Facts::PRESENT).with(set);
    }

    fn forget_sum(&mut self) {
        self.pod = TextId::NONE;
        self.hints = TextId::NONE;
        self.counted = Facts::NONE;
    }
}
