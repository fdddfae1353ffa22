//! Lists that stand in links, put in order: merge sort without memory.

use super::Cluster;
use super::rows::{EndpointId, EndpointRow, ServiceId};
use crate::change::PortId;
use crate::table::Id;

/// Sorts a singly linked list. Answers its new first row. `next` and `set_next` read and write the links of `rows`.
fn sorted<T, I: Id>(
    rows: &mut T,
    first: I,
    none: I,
    next: impl Fn(&T, I) -> I,
    mut set_next: impl FnMut(&mut T, I, I),
    before: impl Fn(&T, I, I) -> bool,
) -> I {
    // Runs of 1, 2, 4, … rows, as a binary counter does.
    let mut runs = [none; 32];
    let mut at = first;
    while at != none {
        let rest = next(rows, at);
        set_next(rows, at, none);
        let mut run = at;
        for slot in &mut runs {
            if *slot == none {
                *slot = run;
                break; // There are more slots than a list of 2^31 rows needs.
            }
            run = merged(rows, *slot, run, none, &next, &mut set_next, &before);
            *slot = none;
        }
        at = rest;
    }
    let mut all = none;
    for run in runs {
        if run != none {
            all = merged(rows, run, all, none, &next, &mut set_next, &before);
        }
    }
    all
}

fn merged<T, I: Id>(
    rows: &mut T,
    mut a: I,
    mut b: I,
    none: I,
    next: &impl Fn(&T, I) -> I,
    set_next: &mut impl FnMut(&mut T, I, I),
    before: &impl Fn(&T, I, I) -> bool,
) -> I {
    let (mut first, mut last) = (none, none);
    while a != none || b != none {
        let take_b = a == none || (b != none && before(rows, b, a));
        let taken = if take_b { b } else { a };
        let rest = next(rows, taken);
        if take_b {
            b = rest;
        } else {
            a = rest;
        }
        if last == none {
            first = taken;
        } else {
            set_next(rows, last, taken);
        }
        last = taken;
        if (a == none) != (b == none) && last != none {
            // One list is used up: the other is in order already.
            set_next(rows, last, if a == none { b } else { a });
            break;
        }
    }
    first
}

impl Cluster<'_> {
    /// Order of endpoints wherever they are seen: address, then port. Those of one port are of one family.
    fn endpoint_before(&self, a: EndpointId, b: EndpointId) -> bool {
        let (a, b) = (self.endpoints.at(a), self.endpoints.at(b));
        let bytes = |row: &EndpointRow| u128::from_be_bytes(row.address.octets());
        (bytes(a), a.number) < (bytes(b), b.number)
    }

    /// Puts a port's touched endpoints in order.
    pub(super) fn sort_touched(&mut self, port: PortId) {
        let first = self.ports.at(port).touched;
        let first = sorted(
            self,
            first,
            EndpointId::NONE,
            |cluster, at| cluster.endpoints.at(at).next_touched,
            |cluster, at, next| cluster.endpoints.at_mut(at).next_touched = next,
            Self::endpoint_before,
        );
        self.ports.at_mut(port).touched = first;
    }

    /// Puts all of a port's endpoints in order.
    pub(super) fn sort_port(&mut self, port: PortId) {
        let first = self.ports.at(port).first_endpoint;
        let (mut in_order, mut reversed) = (true, true);
        let mut at = first;
        while at.is_some() && (in_order || reversed) {
            let next = self.endpoints.at(at).next_in_port;
            if next.is_some() {
                let before = self.endpoint_before(at, next);
                in_order &= before;
                reversed &= !before;
            }
            at = next;
        }
        if in_order {
            return;
        }
        let first = if reversed {
            // As slices are read: each endpoint comes in at the front.
            let (mut reversed, mut at) = (EndpointId::NONE, first);
            while at.is_some() {
                let row = self.endpoints.at_mut(at);
                let next = row.next_in_port;
                row.next_in_port = reversed;
                reversed = at;
                at = next;
            }
            reversed
        } else {
            sorted(
                self,
                first,
                EndpointId::NONE,
                |cluster, at| cluster.endpoints.at(at).next_in_port,
                |cluster, at, next| cluster.endpoints.at_mut(at).next_in_port = next,
                Self::endpoint_before,
            )
        };
        self.ports.at_mut(port).first_endpoint = first;
        let mut previous = EndpointId::NONE;
        let mut at = first;
        while at.is_some() {
            let row = self.endpoints.at_mut(at);
            row.previous_in_port = previous;
            previous = at;
            at = row.next_in_port;
        }
    }

    /// Order of Services wherever there is one: "namespace/name".
    fn service_before(&self, a: ServiceId, b: ServiceId) -> bool {
        let name = |id| self.texts.get(self.services.at(id).name);
        name(a) < name(b)
    }

    /// Puts a list of Services, linked for an image, in order of their names.
    pub(super) fn sort_for_image(&mut self, first: ServiceId) -> ServiceId {
        sorted(
            self,
            first,
            ServiceId::NONE,
            |cluster, at| cluster.services.at(at).next_in_image,
            |cluster, at, next| cluster.services.at_mut(at).next_in_image = next,
            Self::service_before,
        )
    }

    /// Puts a list of Services, linked as dirty ones are, in order of their names.
    pub(super) fn sort_services(&mut self, first: ServiceId) -> ServiceId {
        // An API server lists in order of names: then this is all there is to do.
        let mut in_order = true;
        let mut at = first;
        while at.is_some() && in_order {
            let next = self.services.at(at).next_dirty;
            in_order = next.is_none() || self.service_before(at, next);
            at = next;
        }
        if in_order {
            return first;
        }
        sorted(
            self,
            first,
            ServiceId::NONE,
            |cluster, at| cluster.services.at(at).next_dirty,
            |cluster, at, next| cluster.services.at_mut(at).next_dirty = next,
            Self::service_before,
        )
    }
}
