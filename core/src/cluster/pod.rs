//! Pods: endpoints computed from them, or slices' endpoints on this node corrected by them.

use super::endpoint::{Owner, Said};
use super::hold::{Need, check_names, check_text};
use super::rows::{
    EndpointId, LabelId, LabelRow, NodeId, PlaceId, PodId, PodPortId, PodPortRow, PodRow, SelectorId,
    SelectorRow, ServiceId, pod, port, service,
};
use super::{Applied, Cluster, Kind, by_family, count};
use crate::address::{Address, Family};
use crate::bounds;
use crate::change::PortId;
use crate::error::{Error, Field};
use crate::limits::Source;
use crate::object::Pod;
use crate::reason::Reason;
use crate::table::Entry as _;
use crate::text::{Domain, TextId};
use crate::usable::Facts;

impl Cluster<'_> {
    /// Takes a Pod as it is now. Another uid under the same name is another Pod.
    ///
    /// Costs grow with the Services that select the Pod, not with those that there are. In a cluster that reads
    /// slices alone it is ignored.
    ///
    /// # Errors
    /// `Invalid`: a name or a list is over its bound. `Full`. In both cases the last good state stays,
    /// and a relist in progress does not end it.
    pub fn apply_pod(&mut self, pod: &Pod<'_>) -> Result<Applied, Error> {
        if !self.reads_pods() {
            self.counters.ignored = self.counters.ignored.saturating_add(1);
            return Ok(Applied::Ignored(Reason::NotASource));
        }
        if let Err(error) = check(pod) {
            self.mark_stale(Kind::Pod, pod.namespace, pod.name);
            return self.refuse(error);
        }
        let most = self.need_pod(pod, false);
        if let Err(error) = self.make_room(&most, None, |cluster| cluster.need_pod(pod, true)) {
            self.mark_stale(Kind::Pod, pod.namespace, pod.name);
            return self.refuse(error);
        }
        let Some(changed) = self.take_pod(pod) else {
            return self.refuse(Error::Invalid(Field::Count)); // Cannot happen: there was room.
        };
        let counter = if changed { &mut self.counters.applied } else { &mut self.counters.unchanged };
        *counter = counter.saturating_add(1);
        Ok(if changed { Applied::Changed } else { Applied::Unchanged })
    }

    /// Forgets a Pod. Whether there was one.
    pub fn delete_pod(&mut self, namespace: &str, name: &str) -> bool {
        let Some(id) = self.find_pod(namespace, name) else {
            return false;
        };
        if !self.pods.at(id).is(pod::KNOWN) {
            return false;
        }
        self.forget_pod(id);
        self.counters.deleted = self.counters.deleted.saturating_add(1);
        true
    }

    pub(super) fn forget_pod(&mut self, id: PodId) {
        let row = self.pods.at_mut(id);
        row.flags = 0;
        self.refresh_pod(id);
        self.clear_labels(id);
        self.clear_ports(id);
        self.move_pod(id, NodeId::NONE);
        let row = self.pods.at_mut(id);
        let place = row.place;
        row.place = PlaceId::NONE;
        let target = row.target;
        row.target = TextId::NONE;
        row.addresses = [Address::EMPTY; 2];
        self.texts.release(target);
        self.drop_place(place);
        self.drop_pod_if_unused(id);
    }

    fn drop_pod_if_unused(&mut self, id: PodId) {
        let row = *self.pods.at(id);
        if row.name.is_none() || row.is(pod::KNOWN) || row.first_replaced.is_some() || row.first.is_some() {
            return;
        }
        self.pods.remove(id);
        self.texts.release(row.name);
    }

    pub(super) fn find_pod(&self, namespace: &str, name: &str) -> Option<PodId> {
        self.texts.owner_of_pair(Domain::Pod, namespace, name)
    }

    fn hold_pod(&mut self, namespace: &str, name: &str) -> Option<PodId> {
        if let Some(id) = self.find_pod(namespace, name) {
            return Some(id);
        }
        let name = self.texts.intern_parts(Domain::Pod, &[namespace.as_bytes(), name.as_bytes()])?;
        let id = self.pods.insert(PodRow { name, ..PodRow::EMPTY })?;
        self.texts.set_owner(name, id);
        Some(id)
    }

    /// Factor of the weights of its endpoints; 0 under maintenance.
    pub(super) fn pod_factor(&self, id: PodId) -> u16 {
        let row = self.pods.at(id);
        if row.is(pod::MAINTENANCE) { 0 } else { row.weight }
    }

    fn need_pod(&self, pod: &Pod<'_>, exact: bool) -> Need {
        let mut need = Need::default();
        let (namespace, name) = (pod.namespace.as_bytes(), pod.name.as_bytes());
        if !exact || self.find_pod(pod.namespace, pod.name).is_none() {
            need.pods = 1;
            self.need_text(&mut need, Domain::Pod, &[namespace, name], exact);
        }
        self.need_text(&mut need, Domain::Plain, &[pod.uid.as_bytes(), name], exact);
        self.need_place(&mut need, pod.node, "", true, exact);
        let zone = self.find_node(pod.node).map_or(0, |id| self.texts.get(self.nodes.at(id).zone).len());
        if zone > 0 {
            need.places = need.places.saturating_add(1);
            need.text(pod.node.len().saturating_add(zone).saturating_add(1));
        }
        if self.settings.source == Source::Pods {
            need.pod_ports = count(pod.ports.len());
            need.labels = count(pod.labels.len());
            for port in pod.ports {
                self.need_text(&mut need, Domain::Plain, &[port.name.as_bytes()], exact);
            }
            for label in pod.labels {
                let parts = [namespace, label.key.as_bytes(), label.value.as_bytes()];
                let known = exact.then(|| self.find_selector(&parts)).flatten();
                if known.is_none() {
                    need.selectors = need.selectors.saturating_add(1);
                    self.need_text(&mut need, Domain::Selector, &parts, exact);
                }
                // Endpoints: at most one for each port of each Service that may select it.
                let Some(id) = self.find_selector(&parts) else {
                    continue;
                };
                let mut at = self.selectors.at(id).first_service;
                while at.is_some() {
                    need.endpoints = need.endpoints.saturating_add(self.defined_ports(at));
                    at = self.services.at(at).next_in_selector;
                }
            }
        } else if let Some(id) = self.find_pod(pod.namespace, pod.name) {
            let mut at = self.pods.at(id).first_replaced;
            while at.is_some() {
                need.endpoints = need.endpoints.saturating_add(1);
                at = self.endpoints.at(at).next_in_pod;
            }
        }
        need
    }

    fn defined_ports(&self, id: ServiceId) -> u32 {
        let mut count = 0u32;
        let mut at = self.services.at(id).first_port;
        while at.is_some() {
            let row = self.ports.at(at);
            count = count.saturating_add(u32::from(row.is(port::DEFINED)));
            at = row.next_in_service;
        }
        count
    }

    fn take_pod(&mut self, pod: &Pod<'_>) -> Option<bool> {
        let id = self.hold_pod(pod.namespace, pod.name)?;
        let before = *self.pods.at(id);
        let target = self.texts.intern_parts(Domain::Plain, &[pod.uid.as_bytes(), pod.name.as_bytes()])?;
        let node = self.hold_node(pod.node)?;
        let mut flags = pod::KNOWN;
        for (is, flag) in [
            (pod.ready, pod::READY),
            (pod.terminating, pod::TERMINATING),
            (pod.terminal, pod::TERMINAL),
            (pod.maintenance, pod::MAINTENANCE),
        ] {
            flags |= if is { flag } else { 0 };
        }
        let address = |family| pod.addresses.iter().copied().find(|address| address.family() == family);
        let none = Address::EMPTY;
        let addresses = [address(Family::V4).unwrap_or(none), address(Family::V6).unwrap_or(none)];
        let seen = self.relist_of(Kind::Pod);
        let row = self.pods.at_mut(id);
        row.target = target;
        row.flags = flags;
        row.addresses = addresses;
        row.weight = pod.weight;
        row.seen = seen;
        let mut changed = (before.target, before.flags, before.addresses, before.weight, before.node)
            != (target, flags, addresses, pod.weight, node);
        self.texts.release(before.target);
        self.move_pod(id, node);
        self.replace_pod(id);
        if self.settings.source == Source::Pods {
            changed |= self.take_labels(id, pod)?;
            changed |= self.take_ports(id, pod)?;
        }
        if changed {
            self.refresh_pod(id);
            if (before.weight, before.flags & pod::MAINTENANCE) != (pod.weight, flags & pod::MAINTENANCE) {
                let mut at = self.pods.at(id).first;
                while at.is_some() {
                    self.touch_twins(at);
                    at = self.endpoints.at(at).next_in_owner;
                }
            }
        }
        Some(changed)
    }

    /// Puts the Pod on a node, which is held already; lets go of the one it was on.
    fn move_pod(&mut self, id: PodId, node: NodeId) {
        let row = *self.pods.at(id);
        if row.node.is_some() {
            if row.previous_on_node.is_some() {
                self.pods.at_mut(row.previous_on_node).next_on_node = row.next_on_node;
            } else {
                self.nodes.at_mut(row.node).first_pod = row.next_on_node;
            }
            if row.next_on_node.is_some() {
                self.pods.at_mut(row.next_on_node).previous_on_node = row.previous_on_node;
            }
        }
        let first = if node.is_some() { self.nodes.at(node).first_pod } else { PodId::NONE };
        let new = self.pods.at_mut(id);
        new.node = node;
        new.previous_on_node = PodId::NONE;
        new.next_on_node = first;
        if first.is_some() {
            self.pods.at_mut(first).previous_on_node = id;
        }
        if node.is_some() {
            self.nodes.at_mut(node).first_pod = id;
        }
        self.drop_node(row.node);
    }

    /// The Pod is where its Node is now. Its place is held from here on, so that no Service needs room for it.
    pub(super) fn replace_pod(&mut self, id: PodId) {
        let before = *self.pods.at(id);
        if let Some(place) = self.place_of(before.node) {
            self.pods.at_mut(id).place = place;
            self.drop_place(before.place);
        }
    }

    fn take_labels(&mut self, id: PodId, pod: &Pod<'_>) -> Option<bool> {
        let namespace = pod.namespace.as_bytes();
        let mut same = true;
        let mut at = self.pods.at(id).first_label;
        for label in pod.labels {
            let parts = [namespace, label.key.as_bytes(), label.value.as_bytes()];
            let row = self.labels.at(at);
            same &= at.is_some() && self.find_selector(&parts) == Some(row.selector);
            at = row.next_in_pod;
        }
        if same && at.is_none() {
            return Some(false);
        }
        self.clear_labels(id);
        let mut last = LabelId::NONE;
        for label in pod.labels {
            let parts = [namespace, label.key.as_bytes(), label.value.as_bytes()];
            let pair = self.texts.intern_parts(Domain::Selector, &parts)?;
            let selector = self.hold_selector(pair)?;
            self.texts.release(pair);
            let next = self.selectors.at(selector).first_label;
            let row = LabelRow { selector, pod: id, next_in_selector: next, ..LabelRow::EMPTY };
            let new = self.labels.insert(row)?;
            if next.is_some() {
                self.labels.at_mut(next).previous_in_selector = new;
            }
            let pair = self.selectors.at_mut(selector);
            pair.first_label = new;
            pair.pods = pair.pods.saturating_add(1);
            if last.is_some() {
                self.labels.at_mut(last).next_in_pod = new;
            } else {
                self.pods.at_mut(id).first_label = new;
            }
            last = new;
        }
        Some(true)
    }

    fn clear_labels(&mut self, id: PodId) {
        let mut at = self.pods.at(id).first_label;
        self.pods.at_mut(id).first_label = LabelId::NONE;
        while at.is_some() {
            let row = *self.labels.at(at);
            if row.previous_in_selector.is_some() {
                self.labels.at_mut(row.previous_in_selector).next_in_selector = row.next_in_selector;
            } else {
                self.selectors.at_mut(row.selector).first_label = row.next_in_selector;
            }
            if row.next_in_selector.is_some() {
                self.labels.at_mut(row.next_in_selector).previous_in_selector = row.previous_in_selector;
            }
            let pair = self.selectors.at_mut(row.selector);
            pair.pods = pair.pods.saturating_sub(1);
            self.labels.remove(at);
            self.drop_selector_if_unused(row.selector);
            at = row.next_in_pod;
        }
    }

    fn take_ports(&mut self, id: PodId, pod: &Pod<'_>) -> Option<bool> {
        let mut same = true;
        let mut at = self.pods.at(id).first_port;
        for port in pod.ports {
            let row = self.pod_ports.at(at);
            same &= at.is_some()
                && (row.number, row.protocol) == (port.port, port.protocol)
                && self.texts.get(row.name) == port.name.as_bytes();
            at = row.next;
        }
        if same && at.is_none() {
            return Some(false);
        }
        self.clear_ports(id);
        let mut last = PodPortId::NONE;
        for port in pod.ports {
            let name = self.texts.intern(port.name.as_bytes())?;
            let row = PodPortRow { name, protocol: port.protocol, number: port.port, next: PodPortId::NONE };
            let new = self.pod_ports.insert(row)?;
            if last.is_some() {
                self.pod_ports.at_mut(last).next = new;
            } else {
                self.pods.at_mut(id).first_port = new;
            }
            last = new;
        }
        Some(true)
    }

    fn clear_ports(&mut self, id: PodId) {
        let mut at = self.pods.at(id).first_port;
        self.pods.at_mut(id).first_port = PodPortId::NONE;
        while at.is_some() {
            let row = *self.pod_ports.at(at);
            self.texts.release(row.name);
            self.pod_ports.remove(at);
            at = row.next;
        }
    }

    pub(super) fn find_selector(&self, parts: &[&[u8]]) -> Option<SelectorId> {
        self.selector_of(self.texts.find_parts(Domain::Selector, parts)?)
    }

    pub(super) fn selector_of(&self, pair: TextId) -> Option<SelectorId> {
        let id: SelectorId = self.texts.owner(pair);
        id.is_some().then_some(id)
    }

    /// The row of a pair that is held; it holds it once more.
    pub(super) fn hold_selector(&mut self, pair: TextId) -> Option<SelectorId> {
        if let Some(id) = self.selector_of(pair) {
            return Some(id);
        }
        let id = self.selectors.insert(SelectorRow { pair, ..SelectorRow::EMPTY })?;
        self.texts.retain(pair);
        self.texts.set_owner(pair, id);
        Some(id)
    }

    pub(super) fn drop_selector_if_unused(&mut self, id: SelectorId) {
        let row = *self.selectors.at(id);
        if row.pair.is_some() && row.pods == 0 && row.services == 0 {
            self.selectors.remove(id);
            self.texts.set_owner(row.pair, SelectorId::NONE);
            self.texts.release(row.pair);
        }
    }

    /// The Pod carries every pair of the Service's selector.
    pub(super) fn selects(&self, service: ServiceId, pod: PodId) -> bool {
        let (pairs, rest) = self.texts.get(self.services.at(service).selector).as_chunks::<4>();
        let carries = |pair: TextId| {
            let mut at = self.pods.at(pod).first_label;
            while at.is_some() {
                let row = self.labels.at(at);
                if self.selectors.at(row.selector).pair == pair {
                    return true;
                }
                at = row.next_in_pod;
            }
            false
        };
        rest.is_empty()
            && !pairs.is_empty()
            && pairs.iter().all(|pair| carries(TextId(u32::from_le_bytes(*pair))))
    }

    /// Works out anew which endpoints come from this Pod.
    pub(super) fn refresh_pod(&mut self, id: PodId) {
        let row = *self.pods.at(id);
        let mut remake = self.remake(Owner::Pod(id), row.first);
        if row.is(pod::KNOWN) && !row.is(pod::TERMINAL) {
            if self.settings.source == Source::Pods {
                self.say_selected(id, &mut remake);
            } else {
                self.say_replaced(id, &mut remake);
            }
        }
        let first = self.end_remake(&mut remake, row.first);
        self.pods.at_mut(id).first = first;
    }

    fn say_selected(&mut self, id: PodId, remake: &mut super::endpoint::Remake) {
        let row = *self.pods.at(id);
        let mut label = row.first_label;
        while label.is_some() {
            let LabelRow { selector, next_in_pod, .. } = *self.labels.at(label);
            let mut service = self.selectors.at(selector).first_service;
            while service.is_some() {
                if self.selects(service, id) {
                    let mut port = self.services.at(service).first_port;
                    while port.is_some() {
                        let next = self.ports.at(port).next_in_service;
                        if self.pod_stands_behind(id, service, port).is_ok() {
                            let number = self.target_port(id, port).unwrap_or(0);
                            let place = row.place;
                            self.retain_place(place);
                            self.say_of_pod(
                                id,
                                &PodSaid { port, number, factor: 100, place, hints: TextId::NONE },
                                remake,
                            );
                        }
                        port = next;
                    }
                }
                service = self.services.at(service).next_in_selector;
            }
            label = next_in_pod;
        }
    }

    /// The Pod is an endpoint of this port; or why it is not.
    pub(super) fn pod_stands_behind(
        &self,
        id: PodId,
        service: ServiceId,
        port: PortId,
    ) -> Result<(), Reason> {
        let row = self.pods.at(id);
        let target = self.ports.at(port);
        if row.is(pod::TERMINAL) {
            Err(Reason::PodTerminal)
        } else if !target.is(port::DEFINED) {
            Err(Reason::PortUnknown)
        } else if *by_family(&row.addresses, target.family) == Address::EMPTY {
            Err(Reason::PodNoAddress)
        } else if !self.nodes.at(row.node).is(super::rows::node::KNOWN)
            && !self.services.at(service).is(service::PUBLISH_NOT_READY)
        {
            Err(Reason::NodeUnknown)
        } else if self.target_port(id, port).is_none() {
            Err(Reason::PodNoPort)
        } else {
            Ok(())
        }
    }

    /// The port on which this Pod listens for a Service's port: `targetPort` as a number, or the first container
    /// port of that name and protocol.
    fn target_port(&self, id: PodId, port: PortId) -> Option<u16> {
        let row = self.ports.at(port);
        if row.target.is_none() {
            return (row.target_number != 0).then_some(row.target_number);
        }
        let mut at = self.pods.at(id).first_port;
        while at.is_some() {
            let port = self.pod_ports.at(at);
            if port.name == row.target && port.protocol == row.protocol {
                return (port.number != 0).then_some(port.number);
            }
            at = port.next;
        }
        None
    }

    fn say_replaced(&mut self, id: PodId, remake: &mut super::endpoint::Remake) {
        let target = self.pods.at(id).target;
        let mut at = self.pods.at(id).first_replaced;
        while at.is_some() {
            let row = *self.endpoints.at(at);
            let family = self.ports.at(row.port).family;
            if row.pod == target && *by_family(&self.pods.at(id).addresses, family) != Address::EMPTY {
                self.retain_place(row.place);
                self.texts.retain(row.hints);
                let said = PodSaid {
                    port: row.port,
                    number: row.number,
                    factor: row.factor,
                    place: row.place,
                    hints: row.hints,
                };
                self.say_of_pod(id, &said, remake);
            }
            at = row.next_in_pod;
        }
    }

    /// Says one endpoint of a Pod; takes over the place and the hints.
    fn say_of_pod(&mut self, id: PodId, said: &PodSaid, remake: &mut super::endpoint::Remake) {
        let &PodSaid { port, number, factor, place, hints } = said;
        let row = *self.pods.at(id);
        let target = self.ports.at(port);
        let family = target.family;
        let publish = self.services.at(target.service).is(service::PUBLISH_NOT_READY);
        let (serving, terminating) = (row.is(pod::READY), row.is(pod::TERMINATING));
        let facts = Facts::PRESENT
            .with_if(publish || (serving && !terminating), Facts::READY)
            .with_if(serving, Facts::SERVING)
            .with_if(terminating, Facts::TERMINATING);
        let facts = self.placed(facts, place, hints);
        let target = if self.settings.keep_pods { row.target } else { TextId::NONE };
        self.texts.retain(target);
        let address = *by_family(&row.addresses, family);
        let _ = self.say(remake, &Said { port, address, number, factor, place, pod: target, hints, facts });
    }

    /// The place of Pods on a Node, held once more.
    pub(super) fn place_of(&mut self, node: NodeId) -> Option<PlaceId> {
        let row = *self.nodes.at(node);
        let (mut name, mut zone) = ([0; bounds::NAME_BYTES_MAX], [0; bounds::NAME_BYTES_MAX]);
        let name = copied(&mut name, self.texts.get(row.name));
        let zone = copied(&mut zone, self.texts.get(row.zone));
        self.hold_place(name, zone)
    }

    /// Slices' endpoints on this node are corrected by its Pods.
    pub(super) fn is_replaced_here(&self, node: &str) -> bool {
        self.settings.source == Source::Overlay
            && self.settings.node.is_some()
            && self.texts.get(self.nodes.at(self.settings.node).name) == node.as_bytes()
    }

    /// From now on the Pod of this name speaks for a slice's endpoint.
    pub(super) fn let_pod_speak(&mut self, id: EndpointId, namespace: &str, name: &str) -> Option<()> {
        let speaker = self.hold_pod(namespace, name)?;
        if !self.endpoints.at(id).says.has(Facts::REPLACED) {
            let first = self.pods.at(speaker).first_replaced;
            let row = self.endpoints.at_mut(id);
            row.says = row.says.with(Facts::REPLACED);
            row.next_in_pod = first;
            self.pods.at_mut(speaker).first_replaced = id;
            self.touch_twins(id);
        }
        self.refresh_pod(speaker);
        Some(())
    }

    /// No Pod speaks for this endpoint any more.
    pub(super) fn unlink_from_pod(&mut self, id: EndpointId) {
        let row = *self.endpoints.at(id);
        let slice = super::rows::SliceId(row.owner);
        let (mut namespace, mut name) = ([0; bounds::NAME_BYTES_MAX], [0; 400]);
        let (slice_namespace, _) = self.texts.pair(self.slices.at(slice).name);
        let namespace = copied(&mut namespace, slice_namespace.as_bytes());
        let (_, pod_name) = self.texts.pair(row.pod);
        let name = copied(&mut name, pod_name.as_bytes());
        let Some(speaker) = self.find_pod(namespace, name) else {
            return;
        };
        let mut at = self.pods.at(speaker).first_replaced;
        if at == id {
            self.pods.at_mut(speaker).first_replaced = row.next_in_pod;
        } else {
            while at.is_some() {
                let next = self.endpoints.at(at).next_in_pod;
                if next == id {
                    self.endpoints.at_mut(at).next_in_pod = row.next_in_pod;
                    break;
                }
                at = next;
            }
        }
        let row = self.endpoints.at_mut(id);
        row.says = row.says.without(Facts::REPLACED);
        row.next_in_pod = EndpointId::NONE;
        self.refresh_pod(speaker);
        self.drop_pod_if_unused(speaker);
    }
}

/// An endpoint of a Pod, as far as the Pod does not say it itself.
struct PodSaid {
    port: PortId,
    number: u16,
    factor: u16,
    place: PlaceId,
    hints: TextId,
}

/// A text in a buffer of the caller's.
fn copied<'b, const N: usize>(buffer: &'b mut [u8; N], bytes: &[u8]) -> &'b str {
    for (to, from) in buffer.iter_mut().zip(bytes) {
        *to = *from;
    }
    let used = buffer.get(..bytes.len()).unwrap_or(&[]);
    core::str::from_utf8(used).unwrap_or("")
}

/// Every name and list is within its bound.
fn check(pod: &Pod<'_>) -> Result<(), Error> {
    check_names(pod.namespace, pod.name)?;
    check_text(pod.uid, bounds::UID_BYTES_MAX)?;
    check_text(pod.node, bounds::NAME_BYTES_MAX)?;
    for label in pod.labels {
        check_text(label.key, bounds::LABEL_KEY_BYTES_MAX)?;
        check_text(label.value, bounds::LABEL_VALUE_BYTES_MAX)?;
    }
    for port in pod.ports {
        check_text(port.name, bounds::PORT_NAME_BYTES_MAX)?;
    }
    Ok(())
}
