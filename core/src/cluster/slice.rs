//! EndpointSlices: each says some endpoints of one Service.

use super::endpoint::{Owner, Said};
use super::hold::{Need, check_counts, check_names, check_text};
use super::rows::{EndpointId, PlaceId, SliceId, shows};
use super::{Applied, Cluster, Kind, family_bit};
use crate::bounds;
use crate::error::{Error, Field};
use crate::object::{Endpoint, EndpointSlice, Endpoints};
use crate::reason::Reason;
use crate::text::{Domain, TextId};
use crate::usable::Facts;

/// Endpoints of a slice that are compared with each other rather than looked up.
const COMPARED_MAX: usize = 16;

/// Longest encoding of the hints of one endpoint.
const HINTS_BYTES: usize = 2 * bounds::HINTS_MAX * (bounds::NAME_BYTES_MAX + 2);

impl Cluster<'_> {
    /// Takes an EndpointSlice as it is now.
    ///
    /// A slice without a Service, of host names, of a headless Service or of another proxy does not concern this
    /// node (`kube-proxy`, as its selectors); what was known under its name is gone. Ports without a number are
    /// skipped and counted. Costs the same however large the cluster is; grows with the slice.
    ///
    /// # Errors
    /// `Invalid`: a name or a list is over its bound. `Full`. In both cases the last good state stays,
    /// its Service is marked as stale, and a relist in progress does not end it.
    pub fn apply_slice(&mut self, slice: &EndpointSlice<'_>) -> Result<Applied, Error> {
        self.apply_slice_of(slice, slice.endpoints)
    }

    /// The same with endpoints that stand elsewhere; those of the slice are not looked at.
    ///
    /// # Errors
    /// As [`Cluster::apply_slice`].
    pub fn apply_slice_of<E: Endpoints + ?Sized>(
        &mut self,
        slice: &EndpointSlice<'_>,
        endpoints: &E,
    ) -> Result<Applied, Error> {
        let mut most = match self.check_slice(slice, endpoints) {
            Ok(most) => most,
            Err(error) => {
                self.mark_stale(Kind::Slice, slice.namespace, slice.name);
                return self.refuse(error);
            }
        };
        if let Some(reason) = self.ignores(slice) {
            self.delete_slice(slice.namespace, slice.name);
            self.counters.ignored = self.counters.ignored.saturating_add(1);
            return Ok(Applied::Ignored(reason));
        }
        if self.check_room(&most).is_err() {
            most = self.need_slice(slice, endpoints, Look::AtTables);
            let about = self.find_service(slice.namespace, slice.service);
            let exact = |cluster: &Self| cluster.need_slice(slice, endpoints, Look::AtPairs);
            if let Err(error) = self.make_room(&most, about, exact) {
                self.mark_stale(Kind::Slice, slice.namespace, slice.name);
                return self.refuse(error);
            }
        }
        let Some(changed) = self.take_slice(slice, endpoints) else {
            return self.refuse(Error::Invalid(Field::Count)); // Cannot happen: there was room.
        };
        let counter = if changed { &mut self.counters.applied } else { &mut self.counters.unchanged };
        *counter = counter.saturating_add(1);
        Ok(if changed { Applied::Changed } else { Applied::Unchanged })
    }

    /// Forgets an EndpointSlice. Whether there was one.
    pub fn delete_slice(&mut self, namespace: &str, name: &str) -> bool {
        let Some(id) = self.find_slice(namespace, name) else {
            return false;
        };
        self.forget_slice(id);
        self.counters.deleted = self.counters.deleted.saturating_add(1);
        true
    }

    /// Its last version is good again, or gone.
    fn refresh_slice(&mut self, id: SliceId) {
        let row = self.slices.at_mut(id);
        if row.stale {
            row.stale = false;
            let service = self.services.at_mut(row.service);
            service.stale_slices = service.stale_slices.saturating_sub(1);
        }
    }

    pub(super) fn forget_slice(&mut self, id: SliceId) {
        self.refresh_slice(id);
        self.empty_slice(id);
        let row = *self.slices.at(id);
        let service = self.services.at_mut(row.service);
        service.slices = service.slices.saturating_sub(1);
        self.mark_dirty(row.service);
        self.slices.remove(id);
        self.texts.release(row.name);
    }

    fn empty_slice(&mut self, id: SliceId) {
        let mut at = self.slices.at(id).first;
        while at.is_some() {
            let next = self.endpoints.at(at).next_in_owner;
            self.unsay(at);
            at = next;
        }
        self.slices.at_mut(id).first = EndpointId::NONE;
    }

    /// Why this slice does not concern this node.
    fn ignores(&self, slice: &EndpointSlice<'_>) -> Option<Reason> {
        if !self.reads_slices() {
            Some(Reason::NotASource)
        } else if slice.service.is_empty() {
            Some(Reason::SliceWithoutService)
        } else if slice.family.is_none() {
            Some(Reason::SliceFqdn)
        } else if slice.headless {
            Some(Reason::SliceHeadless)
        } else if slice.family.is_some_and(|family| family_bit(family) & self.settings.families == 0) {
            Some(Reason::FamilyNotWanted)
        } else if slice.proxy_name.unwrap_or("").as_bytes() != self.texts.get(self.settings.proxy_name) {
            Some(Reason::OtherProxy)
        } else {
            None
        }
    }

    /// Every name and list is within its bound; and what the slice needs at most, if everything it names is new.
    fn check_slice<E: Endpoints + ?Sized>(
        &self,
        slice: &EndpointSlice<'_>,
        endpoints: &E,
    ) -> Result<Need, Error> {
        check_names(slice.namespace, slice.name)?;
        check_text(slice.service, bounds::NAME_BYTES_MAX)?;
        check_counts(slice.ports.len(), endpoints.count())?;
        let mut need = Need { slices: 1, services: 1, ..Need::default() };
        let prefix = slice.namespace.len().saturating_add(1);
        need.text(prefix.saturating_add(slice.name.len()));
        need.text(prefix.saturating_add(slice.service.len()));
        for port in slice.ports {
            check_text(port.name, bounds::PORT_NAME_BYTES_MAX)?;
            if port.port != 0 {
                need.ports = need.ports.saturating_add(1);
                need.text(port.name.len());
            }
        }
        let mut checked = Ok(());
        endpoints.each(|endpoint| {
            checked = check_endpoint(endpoint);
            let rows = if self.is_replaced_here(endpoint.node) { 2 } else { 1 };
            need.endpoints = need.endpoints.saturating_add(need.ports.saturating_mul(rows));
            need.nodes = need.nodes.saturating_add(1);
            need.places = need.places.saturating_add(1);
            need.text(endpoint.node.len());
            need.text(endpoint.node.len().saturating_add(endpoint.zone.len()).saturating_add(1));
            if !endpoint.zone_hints.is_empty() || !endpoint.node_hints.is_empty() {
                let mut bytes = [0; HINTS_BYTES];
                need.text(encode_hints(endpoint, &mut bytes).len());
            }
            if self.settings.keep_pods {
                let pod = endpoint.pod;
                need.pods = need.pods.saturating_add(rows.saturating_sub(1));
                need.text(pod.uid.len().saturating_add(pod.name.len()).saturating_add(1));
                need.text(prefix.saturating_add(pod.name.len()));
            }
            checked.is_ok()
        });
        checked.map(|()| need)
    }

    /// What it needs that is not there yet.
    fn need_slice<E: Endpoints + ?Sized>(
        &self,
        slice: &EndpointSlice<'_>,
        endpoints: &E,
        look: Look,
    ) -> Need {
        let mut need = Need::default();
        let ports = slice.ports.iter().filter(|port| port.port != 0);
        // Not `count`: where overflow is checked it could panic.
        let count = ports.clone().fold(0u32, |sum, _| sum.saturating_add(1));
        need.endpoints = super::count(endpoints.count()).saturating_mul(count);
        let (namespace, name) = (slice.namespace.as_bytes(), slice.name.as_bytes());
        let service = slice.service.as_bytes();
        if self.find_slice(slice.namespace, slice.name).is_none() {
            need.slices = 1;
            self.need_text(&mut need, Domain::Slice, &[namespace, name], true);
        }
        if self.find_service(slice.namespace, slice.service).is_none() {
            need.services = 1;
            self.need_text(&mut need, Domain::Service, &[namespace, service], true);
        }
        for port in ports {
            let known = self.known_port(slice, port);
            if known.is_none() {
                need.ports = need.ports.saturating_add(1);
                if !port.name.is_empty() {
                    self.need_text(&mut need, Domain::Plain, &[port.name.as_bytes()], true);
                }
            }
        }
        let mut at = 0usize;
        endpoints.each(|endpoint| {
            // What an earlier endpoint needs is not needed again.
            let first = |same: &dyn Fn(&Endpoint<'_>) -> bool| {
                look != Look::AtPairs || !is_before(endpoints, at, same)
            };
            let (node, zone) = (endpoint.node, endpoint.zone);
            if first(&|other| (other.node, other.zone) == (node, zone)) {
                let node_too = first(&|other| other.node == node);
                self.need_place(&mut need, node, zone, node_too, true);
            }
            let hints = (endpoint.zone_hints, endpoint.node_hints);
            if !(hints.0.is_empty() && hints.1.is_empty())
                && first(&|other| (other.zone_hints, other.node_hints) == hints)
            {
                let mut bytes = [0; HINTS_BYTES];
                self.need_text(&mut need, Domain::Plain, &[encode_hints(endpoint, &mut bytes)], true);
            }
            if self.settings.keep_pods && !endpoint.pod.name.is_empty() {
                let pod = endpoint.pod;
                if first(&|other| other.pod == pod) {
                    let parts = [pod.uid.as_bytes(), pod.name.as_bytes()];
                    self.need_text(&mut need, Domain::Plain, &parts, true);
                }
                if self.is_replaced_here(node) {
                    // Its Pod may not have been seen yet, and then takes a row; and its own endpoint takes another.
                    need.endpoints = need.endpoints.saturating_add(count);
                    let known = self.find_pod(slice.namespace, pod.name).is_some();
                    if !known && first(&|other| other.node == node && other.pod.name == pod.name) {
                        need.pods = need.pods.saturating_add(1);
                        self.need_text(&mut need, Domain::Pod, &[namespace, pod.name.as_bytes()], true);
                    }
                }
            }
            at = at.saturating_add(1);
            true
        });
        need
    }

    fn known_port(
        &self,
        slice: &EndpointSlice<'_>,
        port: &crate::object::SlicePort<'_>,
    ) -> Option<crate::change::PortId> {
        let service = self.find_service(slice.namespace, slice.service)?;
        self.find_port(service, port.name, port.protocol, slice.family?)
    }

    /// Takes it over; whether anything changed. `None` cannot happen where there was room.
    fn take_slice<E: Endpoints + ?Sized>(
        &mut self,
        slice: &EndpointSlice<'_>,
        endpoints: &E,
    ) -> Option<bool> {
        let family = slice.family?;
        let service = self.hold_service(slice.namespace, slice.service)?;
        let (id, new) = self.hold_slice(slice.namespace, slice.name)?;
        let mut changed = new;
        self.refresh_slice(id);
        let row = *self.slices.at(id);
        if !new && (row.service != service || row.family != family) {
            self.empty_slice(id);
            let before = self.services.at_mut(row.service);
            before.slices = before.slices.saturating_sub(1);
            self.mark_dirty(row.service);
            changed = true;
        }
        if new || row.service != service {
            let now = self.services.at_mut(service);
            now.slices = now.slices.saturating_add(1);
        }
        let seen = self.relist_of(Kind::Slice);
        let row = self.slices.at_mut(id);
        row.service = service;
        row.family = family;
        row.seen = seen;
        let before = row.trigger;
        row.trigger = slice.trigger.nanos();
        let first = row.first;

        let mut remake = self.remake(Owner::Slice(id), first);
        for port in slice.ports {
            if port.port == 0 {
                self.counters.ports_skipped = self.counters.ports_skipped.saturating_add(1);
                continue;
            }
            let port_id = self.hold_port(service, port.name, port.protocol, family)?;
            // The first slice of a port, as most are, can only meet itself: looking is dearer than comparing.
            let alone = endpoints.count() <= COMPARED_MAX && self.ports.at(port_id).first_endpoint.is_none();
            let mut taken = Some(());
            endpoints.each(|endpoint| {
                taken = self.take_endpoint(slice, endpoint, port_id, port.port, alone, &mut remake);
                taken.is_some()
            });
            taken?;
        }
        let first = self.end_remake(&mut remake, first);
        self.slices.at_mut(id).first = first;
        changed |= remake.changed;
        if slice.trigger.nanos() != before {
            changed |= self.touch_duplicates(first);
            self.add_trigger(service, slice.trigger.nanos());
        }
        if changed {
            self.mark_dirty(service);
        }
        Some(changed)
    }

    /// One endpoint of a slice for one of its ports. `alone`: the port had no endpoints before this slice.
    fn take_endpoint(
        &mut self,
        slice: &EndpointSlice<'_>,
        endpoint: &Endpoint<'_>,
        port: crate::change::PortId,
        number: u16,
        alone: bool,
        remake: &mut super::endpoint::Remake,
    ) -> Option<()> {
        let said = self.said(endpoint, port, number, slice.weight)?;
        let row = if alone && !self.stands_in(port, endpoint.address) {
            self.say_first(remake, &said)?
        } else {
            self.say(remake, &said)?
        };
        if self.is_replaced_here(endpoint.node) && !endpoint.pod.name.is_empty() {
            self.let_pod_speak(row, slice.namespace, endpoint.pod.name)?;
        }
        Some(())
    }

    /// The port has an endpoint of this address. Looks at each.
    fn stands_in(&self, port: crate::change::PortId, address: crate::address::Address) -> bool {
        let mut at = self.ports.at(port).first_endpoint;
        while at.is_some() {
            let row = self.endpoints.at(at);
            if row.address == address {
                return true;
            }
            at = row.next_in_port;
        }
        false
    }

    /// Of endpoints that stand in several slices, the newest slice speaks: one of them is newer now.
    fn touch_duplicates(&mut self, first: EndpointId) -> bool {
        let mut any = false;
        let mut at = first;
        while at.is_some() {
            let row = self.endpoints.at(at);
            let next = row.next_in_owner;
            if row.shows(shows::SHADOW) || row.next_twin.is_some() {
                any = true;
                self.touch_twins(at);
            }
            at = next;
        }
        any
    }

    fn said(
        &mut self,
        endpoint: &Endpoint<'_>,
        port: crate::change::PortId,
        number: u16,
        factor: u16,
    ) -> Option<Said> {
        let place = if endpoint.node.is_empty() && endpoint.zone.is_empty() {
            PlaceId::NONE
        } else {
            self.hold_place(endpoint.node, endpoint.zone)?
        };
        let hints = if endpoint.zone_hints.is_empty() && endpoint.node_hints.is_empty() {
            TextId::NONE
        } else {
            let mut bytes = [0; HINTS_BYTES];
            self.texts.intern(encode_hints(endpoint, &mut bytes))?
        };
        let pod = if self.settings.keep_pods && !endpoint.pod.name.is_empty() {
            self.texts
                .intern_parts(Domain::Plain, &[endpoint.pod.uid.as_bytes(), endpoint.pod.name.as_bytes()])?
        } else {
            TextId::NONE
        };
        let facts = Facts::PRESENT
            .with_if(endpoint.conditions.ready, Facts::READY)
            .with_if(endpoint.conditions.serving, Facts::SERVING)
            .with_if(endpoint.conditions.terminating, Facts::TERMINATING);
        let facts = self.placed(facts, place, hints);
        Some(Said { port, address: endpoint.address, number, factor, place, pod, hints, facts })
    }
}

/// How closely to look at what a slice needs. The closer, the less it seems to need and the dearer it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Not what is there already.
    AtTables,
    /// Nor what one of its endpoints needs as another does: exactly. Looks at all pairs of endpoints.
    AtPairs,
}

/// One of the first `end` endpoints is such.
fn is_before<E: Endpoints + ?Sized>(endpoints: &E, end: usize, is: &dyn Fn(&Endpoint<'_>) -> bool) -> bool {
    let mut left = end;
    let mut found = false;
    endpoints.each(|endpoint| {
        if left == 0 || found {
            return false;
        }
        left = left.saturating_sub(1);
        found = is(endpoint);
        !found
    });
    found
}

/// Every name and list of an endpoint is within its bound.
fn check_endpoint(endpoint: &Endpoint<'_>) -> Result<(), Error> {
    check_text(endpoint.node, bounds::NAME_BYTES_MAX)?;
    check_text(endpoint.zone, bounds::NAME_BYTES_MAX)?;
    check_text(endpoint.pod.name, bounds::NAME_BYTES_MAX)?;
    check_text(endpoint.pod.uid, bounds::UID_BYTES_MAX)?;
    if endpoint.zone_hints.len() > bounds::HINTS_MAX || endpoint.node_hints.len() > bounds::HINTS_MAX {
        return Err(Error::Invalid(Field::Count));
    }
    for hint in endpoint.zone_hints.iter().chain(endpoint.node_hints) {
        check_text(hint, bounds::NAME_BYTES_MAX)?;
    }
    Ok(())
}

/// Hints as one text: 'n' or 'z' and a name each, with a zero byte after it, in order.
fn encode_hints<'b>(endpoint: &Endpoint<'_>, bytes: &'b mut [u8; HINTS_BYTES]) -> &'b [u8] {
    let mut used = 0usize;
    for (kind, names) in [(b'n', endpoint.node_hints), (b'z', endpoint.zone_hints)] {
        let mut last: Option<&str> = None;
        for _ in names {
            // The next name in order, so that the order in the object does not matter.
            let next = names.iter().filter(|name| last.is_none_or(|last| **name > last)).min();
            let Some(next) = next else { break };
            last = Some(next);
            for byte in core::iter::once(&kind).chain(next.as_bytes()).chain(core::iter::once(&0)) {
                if let Some(slot) = bytes.get_mut(used) {
                    *slot = *byte;
                    used = used.saturating_add(1);
                }
            }
        }
    }
    bytes.get(..used).unwrap_or(&[])
}
