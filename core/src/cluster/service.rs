//! Services: ports, VIPs, policies, selectors.

use super::hold::{Need, check_names, check_text};
use super::rows::{SelectorId, ServiceId, ServiceRow, port, service, vip};
use super::vip::{each_vip, row_is_settled};
use super::{Applied, Cluster, Kind, family_bit};
use crate::address::Family;
use crate::bounds;
use crate::change::VipKind;
use crate::error::{Error, Field};
use crate::limits::Source;
use crate::object::{Service, ServicePort, ServiceType, TargetPort, TrafficPolicy};
use crate::reason::Reason;
use crate::text::{Domain, TextId};

const FAMILIES: [Family; 2] = [Family::V4, Family::V6];
/// Source ranges of one family that are kept; the rest is refused.
const RANGES_MAX: usize = 250;
/// Pairs of a selector that are kept; the rest is refused.
const PAIRS_MAX: usize = 64;

impl Cluster<'_> {
    /// Takes a Service as it is now.
    ///
    /// Headless, ExternalName and other proxies' Services are kept too, since `explain` speaks of them; they have no
    /// VIP. Costs the same however large the cluster is; with endpoints from Pods it grows with the Pods that it
    /// selects.
    ///
    /// # Errors
    /// `Invalid`: a name or a list is over its bound, or a port is 0. `Full`. In both cases the last good state
    /// stays, marked as stale, and a relist in progress does not end it.
    pub fn apply_service(&mut self, service: &Service<'_>) -> Result<Applied, Error> {
        let room = check(service).and_then(|()| {
            let most = self.need_service(service, false);
            let about = self.find_service(service.namespace, service.name);
            self.make_room(&most, about, |cluster| cluster.need_service(service, true))
        });
        if let Err(error) = room {
            self.mark_stale(Kind::Service, service.namespace, service.name);
            return self.refuse(error);
        }
        let Some(changed) = self.take_service(service) else {
            return self.refuse(Error::Invalid(Field::Count)); // Cannot happen: there was room.
        };
        let counter = if changed { &mut self.counters.applied } else { &mut self.counters.unchanged };
        *counter = counter.saturating_add(1);
        Ok(if changed { Applied::Changed } else { Applied::Unchanged })
    }

    /// Forgets a Service. Whether there was one.
    pub fn delete_service(&mut self, namespace: &str, name: &str) -> bool {
        let Some(id) = self.find_service(namespace, name) else {
            return false;
        };
        if !self.services.at(id).is(service::KNOWN) {
            return false;
        }
        self.forget_service(id);
        self.counters.deleted = self.counters.deleted.saturating_add(1);
        true
    }

    pub(super) fn forget_service(&mut self, id: ServiceId) {
        self.services.at_mut(id).flags &= !(service::KNOWN | service::STATED | service::STALE);
        let mut at = self.services.at(id).first_port;
        while at.is_some() {
            self.ports.at_mut(at).flags |= port::OLD;
            at = self.ports.at(at).next_in_service;
        }
        self.end_ports(id);
        self.set_selector(id, TextId::NONE);
        self.refresh_selected(id);
        let row = self.services.at_mut(id);
        let ranges = row.ranges;
        row.ranges = [TextId::NONE; 2];
        row.families = 0;
        ranges.into_iter().for_each(|text| self.texts.release(text));
        self.mark_dirty(id);
    }

    /// In which families it is to be served, and why not in the others.
    pub(super) fn served(&self, id: ServiceId) -> Reason {
        let row = self.services.at(id);
        if !row.is(service::KNOWN) {
            Reason::ServiceUnknown
        } else if row.is(service::EXTERNAL_NAME) {
            Reason::ExternalName
        } else if row.is(service::OTHER_PROXY) {
            Reason::OtherProxy
        } else if row.is(service::HEADLESS) {
            Reason::Headless
        } else {
            Reason::Served
        }
    }

    fn need_service(&self, object: &Service<'_>, exact: bool) -> Need {
        let mut need = Need::default();
        let (namespace, name) = (object.namespace.as_bytes(), object.name.as_bytes());
        let id = exact.then(|| self.find_service(object.namespace, object.name)).flatten();
        if id.is_none() {
            need.services = 1;
            self.need_text(&mut need, Domain::Service, &[namespace, name], exact);
        }
        let mut endpoints = 0u32;
        let families = families(object);
        for port in object.ports {
            if let TargetPort::Name(name) = port.target {
                self.need_text(&mut need, Domain::Plain, &[name.as_bytes()], exact);
            }
            for family in FAMILIES {
                if families & family_bit(family) == 0 {
                    continue;
                }
                endpoints = endpoints.saturating_add(1);
                let known = id.and_then(|id| self.find_port(id, port.name, port.protocol, family));
                if known.is_none() {
                    need.ports = need.ports.saturating_add(1);
                    if !port.name.is_empty() {
                        self.need_text(&mut need, Domain::Plain, &[port.name.as_bytes()], exact);
                    }
                }
                each_vip(object, port, family, &self.settings, |kind, address, number| {
                    if known.is_none_or(|port| self.find_vip(port, kind, address, number).is_none()) {
                        need.vips = need.vips.saturating_add(1);
                    }
                });
            }
        }
        if !object.source_ranges.is_empty() {
            for family in FAMILIES {
                let mut bytes = [0; RANGES_MAX * 17];
                let ranges = encode_ranges(object, family, &mut bytes);
                if !ranges.is_empty() {
                    self.need_text(&mut need, Domain::Plain, &[ranges], exact);
                }
            }
        }
        if self.settings.source == Source::Pods && !object.selector.is_empty() {
            need.selectors = 1;
            need.text(object.selector.len().saturating_mul(4));
            let mut pods = u32::MAX;
            for pair in object.selector {
                let parts = [namespace, pair.key.as_bytes(), pair.value.as_bytes()];
                self.need_text(&mut need, Domain::Selector, &parts, exact);
                pods = pods.min(self.find_selector(&parts).map_or(0, |id| self.selectors.at(id).pods));
            }
            need.endpoints = pods.saturating_mul(endpoints);
        }
        need
    }

    fn take_service(&mut self, object: &Service<'_>) -> Option<bool> {
        let id = self.hold_service(object.namespace, object.name)?;
        let before = *self.services.at(id);
        let other_proxy =
            object.proxy_name.unwrap_or("").as_bytes() != self.texts.get(self.settings.proxy_name);
        let external_name = object.kind == ServiceType::ExternalName;
        let mut flags = service::KNOWN;
        for (is, flag) in [
            (object.headless || (object.cluster_ips.is_empty() && !external_name), service::HEADLESS),
            (external_name, service::EXTERNAL_NAME),
            (other_proxy, service::OTHER_PROXY),
            (object.publish_not_ready, service::PUBLISH_NOT_READY),
            (object.maintenance, service::MAINTENANCE),
            (object.internal_policy == TrafficPolicy::Local, service::INTERNAL_LOCAL),
            (object.external_policy == TrafficPolicy::Local, service::EXTERNAL_LOCAL),
            (object.kind == ServiceType::LoadBalancer, service::LOAD_BALANCER),
        ] {
            flags |= if is { flag } else { 0 };
        }
        let mut ranges = [TextId::NONE; 2];
        for (slot, family) in ranges.iter_mut().zip(FAMILIES) {
            if object.source_ranges.is_empty() {
                break;
            }
            let mut bytes = [0; RANGES_MAX * 17];
            *slot = self.texts.intern(encode_ranges(object, family, &mut bytes))?;
        }
        let families = families(object);
        let seen = self.relist_of(Kind::Service);
        let row = self.services.at_mut(id);
        row.flags = row.flags & !(service::STATED | service::STALE) | flags;
        row.families = families;
        row.health_check_node_port = object.health_check_node_port;
        row.affinity_seconds = object.affinity_seconds;
        row.created = object.created.nanos();
        row.ranges = ranges;
        row.seen = seen;
        let now = *row;
        before.ranges.into_iter().for_each(|text| self.texts.release(text));
        let stated = |row: &ServiceRow| {
            let attributes = (row.flags & service::STATED, row.families, row.health_check_node_port);
            (attributes, row.affinity_seconds, row.created, row.ranges)
        };
        let mut changed = stated(&before) != stated(&now);
        let publishes = (before.flags ^ now.flags) & service::PUBLISH_NOT_READY != 0;
        if (before.flags ^ now.flags) & service::STATED != 0 {
            self.services.at_mut(id).flags |= service::ALL;
        }

        let mut at = before.first_port;
        if before.created != now.created {
            self.reconsider_all_claims(before.first_port);
        }
        while at.is_some() {
            self.ports.at_mut(at).flags |= port::OLD;
            at = self.ports.at(at).next_in_service;
        }
        let served = self.served(id) == Reason::Served;
        let mut ports_changed = false;
        for port in object.ports {
            for family in FAMILIES {
                if families & family_bit(family) != 0 && !external_name {
                    ports_changed |= self.take_port(id, object, port, family, served)?;
                }
            }
        }
        ports_changed |= self.end_ports(id);
        changed |= ports_changed;

        if self.reads_pods() {
            let mut reselected = false;
            if self.settings.source == Source::Pods {
                let selector = self.hold_pairs(object)?;
                reselected = selector != before.selector;
                if reselected {
                    self.set_selector(id, selector);
                } else {
                    self.release_pairs(selector);
                }
            }
            if reselected || ports_changed || publishes {
                changed = true;
                self.refresh_selected(id);
            }
        }
        if changed {
            self.mark_dirty(id);
        }
        Some(changed)
    }

    /// One port in one family; whether anything changed that endpoints or VIPs depend on.
    fn take_port(
        &mut self,
        id: ServiceId,
        object: &Service<'_>,
        said: &ServicePort<'_>,
        family: Family,
        served: bool,
    ) -> Option<bool> {
        let at = self.hold_port(id, said.name, said.protocol, family)?;
        let has_address = object.cluster_ips.iter().any(|address| address.family() == family);
        let served = served && has_address && family_bit(family) & self.settings.families != 0;
        let (target, target_number) = match said.target {
            TargetPort::Number(number) => (TextId::NONE, if number == 0 { said.port } else { number }),
            TargetPort::Name(name) => (self.texts.intern(name.as_bytes())?, 0),
        };
        let row = self.ports.at_mut(at);
        let before = *row;
        let mut flags = port::DEFINED;
        flags |= if served { port::SERVED } else { 0 };
        row.flags = row.flags & !(port::DEFINED | port::SERVED | port::EXTERNAL | port::OLD) | flags;
        row.number = said.port;
        row.target = target;
        row.target_number = target_number;
        self.texts.release(before.target);

        let mut vip = before.first_vip;
        while vip.is_some() {
            let row = self.vips.at_mut(vip);
            if row.is(vip::WANTED) {
                row.flags = row.flags & !vip::WANTED | vip::OLD;
            }
            vip = row.next_in_port;
        }
        let mut external = false;
        let mut vips_changed = false;
        if served {
            // The settings are read while VIPs are added.
            let settings = self.settings;
            let mut added = Some(());
            each_vip(object, said, family, &settings, |kind, address, number| {
                external |= kind != VipKind::ClusterIp;
                match self.want_vip(at, kind, address, number, said.protocol) {
                    Some(new) => vips_changed |= new,
                    None => added = None,
                }
            });
            added?;
        }
        let mut vip = before.first_vip;
        while vip.is_some() {
            let row = self.vips.at(vip);
            let (next, published) = (row.next_in_port, row.is(vip::PUBLISHED));
            if row.is(vip::OLD) {
                vips_changed = true;
                self.vips.at_mut(vip).flags &= !vip::OLD;
                self.reconsider_claims(vip);
                if !published && row_is_settled(self.vips.at(vip)) {
                    self.remove_vip(vip);
                }
            }
            vip = next;
        }
        let row = self.ports.at_mut(at);
        if external {
            row.flags |= port::EXTERNAL;
        }
        const SAID: u16 = port::DEFINED | port::SERVED | port::EXTERNAL;
        let same = (before.flags & SAID, before.number, before.target, before.target_number)
            == (row.flags & SAID, row.number, row.target, row.target_number);
        if !same && (before.flags ^ row.flags) & SAID != 0 {
            row.flags |= port::ALL | port::DIRTY;
        }
        Some(!same || vips_changed)
    }

    /// Ports that were not named again are no longer the Service's. Whether there are any.
    fn end_ports(&mut self, id: ServiceId) -> bool {
        let mut ended = false;
        let mut at = self.services.at(id).first_port;
        while at.is_some() {
            let row = *self.ports.at(at);
            if row.is(port::OLD) {
                ended |= row.is(port::DEFINED);
                let mut vip = row.first_vip;
                while vip.is_some() {
                    let row = self.vips.at_mut(vip);
                    row.flags &= !vip::WANTED;
                    let (next, published) = (row.next_in_port, row.is(vip::PUBLISHED));
                    self.reconsider_claims(vip);
                    if !published && row_is_settled(self.vips.at(vip)) {
                        self.remove_vip(vip);
                    }
                    vip = next;
                }
                let row = self.ports.at_mut(at);
                row.flags = row.flags & !(port::OLD | port::DEFINED | port::SERVED | port::EXTERNAL)
                    | port::ALL
                    | port::DIRTY;
            }
            at = row.next_in_service;
        }
        ended
    }

    /// The selector as numbers of texts, all held; [`TextId::NONE`] for none.
    fn hold_pairs(&mut self, object: &Service<'_>) -> Option<TextId> {
        let mut bytes = [0u8; PAIRS_MAX * 4];
        let mut used = 0usize;
        for pair in object.selector {
            let parts = [object.namespace.as_bytes(), pair.key.as_bytes(), pair.value.as_bytes()];
            let text = self.texts.intern_parts(Domain::Selector, &parts)?;
            if let Some(slot) = bytes.get_mut(used..).and_then(|rest| rest.first_chunk_mut::<4>()) {
                *slot = text.0.to_le_bytes();
                used = used.saturating_add(4);
            }
        }
        self.texts.intern(bytes.get(..used)?)
    }

    /// Lets go of a selector and of its pairs.
    fn release_pairs(&mut self, selector: TextId) {
        let mut at = 0usize;
        loop {
            let pair = self.texts.get(selector).get(at..).and_then(|rest| rest.first_chunk::<4>()).copied();
            let Some(pair) = pair else { break };
            self.texts.release(TextId(u32::from_le_bytes(pair)));
            at = at.saturating_add(4);
        }
        self.texts.release(selector);
    }

    /// Gives the Service another selector, indexed under the pair that the fewest Pods carry.
    fn set_selector(&mut self, id: ServiceId, selector: TextId) {
        let before = *self.services.at(id);
        if before.indexed.is_some() {
            let mut at = self.selectors.at(before.indexed).first_service;
            if at == id {
                self.selectors.at_mut(before.indexed).first_service = before.next_in_selector;
            } else {
                while at.is_some() {
                    let next = self.services.at(at).next_in_selector;
                    if next == id {
                        self.services.at_mut(at).next_in_selector = before.next_in_selector;
                        break;
                    }
                    at = next;
                }
            }
            let row = self.selectors.at_mut(before.indexed);
            row.services = row.services.saturating_sub(1);
        }
        let mut best: Option<TextId> = None;
        let mut fewest = u32::MAX;
        let (pairs, _) = self.texts.get(selector).as_chunks::<4>();
        for pair in pairs {
            let pair = TextId(u32::from_le_bytes(*pair));
            let row = self.selector_of(pair).map(|id| *self.selectors.at(id));
            let carried = row.map_or(0, |row| row.pods.saturating_add(row.services));
            if best.is_none() || carried < fewest {
                best = Some(pair);
                fewest = carried;
            }
        }
        let indexed = best.and_then(|pair| self.hold_selector(pair)).unwrap_or(SelectorId::NONE);
        let next = if indexed.is_some() { self.selectors.at(indexed).first_service } else { ServiceId::NONE };
        if indexed.is_some() {
            let row = self.selectors.at_mut(indexed);
            row.first_service = id;
            row.services = row.services.saturating_add(1);
        }
        let row = self.services.at_mut(id);
        row.selector = selector;
        row.indexed = indexed;
        row.next_in_selector = next;
        self.drop_selector_if_unused(before.indexed);
        self.release_pairs(before.selector);
    }

    /// Works out anew the Pods that stand behind this Service, and those that did.
    fn refresh_selected(&mut self, id: ServiceId) {
        if !self.reads_pods() {
            return;
        }
        let mut port = self.services.at(id).first_port;
        while port.is_some() {
            let mut at = self.ports.at(port).first_endpoint;
            while at.is_some() {
                let row = *self.endpoints.at(at);
                let mut twin = at;
                while twin.is_some() {
                    let owner = self.endpoints.at(twin).owner();
                    twin = self.endpoints.at(twin).next_twin;
                    if let Some(super::endpoint::Owner::Pod(pod)) = owner {
                        self.refresh_pod(pod);
                    }
                }
                at = row.next_in_port;
            }
            port = self.ports.at(port).next_in_service;
        }
        let indexed = self.services.at(id).indexed;
        let mut label = if indexed.is_some() {
            self.selectors.at(indexed).first_label
        } else {
            super::rows::LabelId::NONE
        };
        while label.is_some() {
            let row = *self.labels.at(label);
            self.refresh_pod(row.pod);
            label = row.next_in_selector;
        }
    }
}

/// The families of its ports: those it states, else those of its addresses, else (headless) both.
fn families(object: &Service<'_>) -> u8 {
    let stated = object.families.iter().fold(0, |bits, family| bits | family_bit(*family));
    let addresses =
        object.cluster_ips.iter().fold(stated, |bits, address| bits | family_bit(address.family()));
    if addresses == 0 { 3 } else { addresses }
}

/// The source ranges of a family, each 17 bytes, in order and each once.
fn encode_ranges<'b>(object: &Service<'_>, family: Family, bytes: &'b mut [u8; RANGES_MAX * 17]) -> &'b [u8] {
    let mut used = 0usize;
    let mut last = None;
    let ours = object.source_ranges.iter().filter(|range| range.address.family() == family);
    if ours.clone().any(|range| range.length == 0) {
        return &[]; // Everybody: the same as no restriction.
    }
    for _ in ours.clone() {
        let Some(next) = ours.clone().filter(|range| last.is_none_or(|last| **range > last)).min() else {
            break;
        };
        last = Some(*next);
        if let Some(slot) = bytes.get_mut(used..).and_then(|rest| rest.first_chunk_mut::<17>()) {
            *slot = next.to_bytes();
            used = used.saturating_add(17);
        }
    }
    bytes.get(..used).unwrap_or(&[])
}

/// Every name and list is within its bound, and every port is one.
fn check(object: &Service<'_>) -> Result<(), Error> {
    check_names(object.namespace, object.name)?;
    if object.source_ranges.len() > RANGES_MAX || object.selector.len() > PAIRS_MAX {
        return Err(Error::Invalid(Field::Count));
    }
    for port in object.ports {
        check_text(port.name, bounds::PORT_NAME_BYTES_MAX)?;
        if port.port == 0 {
            return Err(Error::Invalid(Field::Port));
        }
        if let TargetPort::Name(name) = port.target {
            check_text(name, bounds::PORT_NAME_BYTES_MAX)?;
        }
    }
    for pair in object.selector {
        check_text(pair.key, bounds::LABEL_KEY_BYTES_MAX)?;
        check_text(pair.value, bounds::LABEL_VALUE_BYTES_MAX)?;
    }
    Ok(())
}
