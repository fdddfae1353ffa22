//! Names, nodes and places: found or taken, counted, given back. And whether there is room.

use super::rows::{
    EndpointId, NodeId, NodeRow, PlaceId, PlaceRow, PortRow, ServiceId, ServiceRow, SliceId, SliceRow, VipId,
    port, service, shows, vip,
};
use super::{Cluster, count};
use crate::address::{Address, Family};
use crate::bounds;
use crate::change::PortId;
use crate::error::{Error, Field, Limit};
use crate::limits::Backends;
use crate::port::Protocol;
use crate::table::{Entry as _, hash_of};
use crate::text::{Domain, Texts};

/// What an object needs at most, to be held against the room there is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    pub(super) services: u32,
    pub(super) ports: u32,
    pub(super) slices: u32,
    pub(super) endpoints: u32,
    pub(super) vips: u32,
    pub(super) pods: u32,
    pub(super) pod_ports: u32,
    pub(super) labels: u32,
    pub(super) selectors: u32,
    pub(super) nodes: u32,
    pub(super) places: u32,
    pub(super) texts: u32,
    pub(super) text_bytes: u32,
}

impl Need {
    /// What is left to be needed when so much comes free.
    fn without(&self, free: &Self) -> Self {
        Self {
            services: self.services.saturating_sub(free.services),
            ports: self.ports.saturating_sub(free.ports),
            endpoints: self.endpoints.saturating_sub(free.endpoints),
            vips: self.vips.saturating_sub(free.vips),
            texts: self.texts.saturating_sub(free.texts),
            text_bytes: self.text_bytes.saturating_sub(free.text_bytes),
            ..*self
        }
    }

    /// One more text of this length.
    pub(super) fn text(&mut self, len: usize) {
        if len > 0 {
            self.texts = self.texts.saturating_add(1);
            self.text_bytes = self.text_bytes.saturating_add(Texts::cost(len));
        }
    }
}

/// The object has a name that can be one.
pub(super) fn check_names(namespace: &str, name: &str) -> Result<(), Error> {
    if !crate::name::is_namespace(namespace) {
        return Err(Error::Invalid(Field::Namespace));
    }
    if !crate::name::is_name(name) {
        return Err(Error::Invalid(Field::Name));
    }
    Ok(())
}

/// A text that is no object's name, within a bound.
pub(super) fn check_text(text: &str, bound: usize) -> Result<(), Error> {
    if text.len() > bound { Err(Error::Invalid(Field::Text)) } else { Ok(()) }
}

impl Cluster<'_> {
    /// There is room for this.
    pub(super) fn check_room(&self, need: &Need) -> Result<(), Error> {
        let (texts, bytes) = self.texts.room();
        let enough = need.services <= self.services.room()
            && need.ports <= self.ports.room()
            && need.slices <= self.slices.room()
            && need.endpoints <= self.endpoints_room()
            && need.vips <= self.vips.room()
            && need.pods <= self.pods.room()
            && need.pod_ports <= self.pod_ports.room()
            && need.labels <= self.labels.room()
            && need.selectors <= self.selectors.room()
            && need.nodes <= self.nodes.room()
            && need.places <= self.places.room()
            && need.texts <= texts
            && need.text_bytes <= bytes;
        if enough { Ok(()) } else { self.shortage(need) }
    }

    /// Endpoints that can still be applied. With nodes as backends, a seal may need another row for each of them.
    fn endpoints_room(&self) -> u32 {
        let room = self.endpoints.room();
        if self.settings.backends == Backends::Endpoints {
            return room;
        }
        let said = self.endpoints.len().saturating_sub(self.node_rows);
        room.saturating_sub(said.saturating_sub(self.node_rows)) / 2
    }

    /// The first limit that does not do, and what would.
    #[cold]
    fn shortage(&self, need: &Need) -> Result<(), Error> {
        let (texts, bytes) = self.texts.room();
        let (texts_max, bytes_max) = self.texts.capacity();
        for (limit, need, room, capacity) in [
            (Limit::Services, need.services, self.services.room(), self.services.capacity()),
            (Limit::Ports, need.ports, self.ports.room(), self.ports.capacity()),
            (Limit::Slices, need.slices, self.slices.room(), self.slices.capacity()),
            (Limit::Endpoints, need.endpoints, self.endpoints_room(), self.endpoints.capacity()),
            (Limit::Vips, need.vips, self.vips.room(), self.vips.capacity()),
            (Limit::Pods, need.pods, self.pods.room(), self.pods.capacity()),
            (Limit::PodPorts, need.pod_ports, self.pod_ports.room(), self.pod_ports.capacity()),
            (Limit::Labels, need.labels, self.labels.room(), self.labels.capacity()),
            (Limit::Selectors, need.selectors, self.selectors.room(), self.selectors.capacity()),
            (Limit::Nodes, need.nodes, self.nodes.room(), self.nodes.capacity()),
            (Limit::Places, need.places, self.places.room(), self.places.capacity()),
            (Limit::Texts, need.texts, texts, texts_max),
            (Limit::TextBytes, need.text_bytes, bytes, bytes_max),
        ] {
            if need > room {
                return Err(Error::Full {
                    limit,
                    needed: capacity.saturating_add(need.saturating_sub(room)),
                });
            }
        }
        Ok(())
    }

    /// Room for an object: first by what it needs at most, which costs little to know; then exactly; then again
    /// after leaving behind cursors for whose sake removed rows are kept.
    pub(super) fn make_room(
        &mut self,
        most: &Need,
        about: Option<ServiceId>,
        exact: impl Fn(&Self) -> Need,
    ) -> Result<(), Error> {
        if self.check_room(most).is_ok() {
            return Ok(());
        }
        let need = exact(self);
        let short = self.check_room(&need);
        if short.is_ok() || self.check_room(&need.without(&self.reclaimable(about))).is_err() {
            return short;
        }
        self.leave_slow_cursors_behind();
        self.check_room(&exact(self))
    }

    /// What is only kept for cursors that have not acknowledged the newest generation. Of the Service that room is needed
    /// for only endpoints: its other rows would be needed again.
    fn reclaimable(&self, about: Option<ServiceId>) -> Need {
        let mut kept = Need::default();
        let mut service = self.unpruned;
        while service.is_some() {
            let mut empty = true;
            let mut port_id = self.services.at(service).first_port;
            while port_id.is_some() {
                let row = self.ports.at(port_id);
                let mut rows_left = false;
                let mut at = row.first_endpoint;
                while at.is_some() {
                    let endpoint = self.endpoints.at(at);
                    if endpoint.is_tombstone() {
                        kept.endpoints = kept.endpoints.saturating_add(1);
                    } else {
                        rows_left = true;
                    }
                    at = endpoint.next_in_port;
                }
                let mut at = row.first_vip;
                while at.is_some() {
                    let vip = self.vips.at(at);
                    if vip.is(vip::WANTED | vip::PUBLISHED) || about == Some(service) {
                        rows_left = true;
                    } else {
                        kept.vips = kept.vips.saturating_add(1);
                    }
                    at = vip.next_in_port;
                }
                if rows_left || row.is(port::DEFINED) || about == Some(service) {
                    empty = false;
                } else {
                    kept.ports = kept.ports.saturating_add(1);
                }
                port_id = row.next_in_service;
            }
            let row = self.services.at(service);
            if empty && !row.is(service::KNOWN | service::DIRTY) && row.slices == 0 {
                kept.services = kept.services.saturating_add(1);
                kept.text(self.texts.get(row.name).len());
            }
            service = row.newer;
        }
        kept
    }

    pub(super) fn find_service(&self, namespace: &str, name: &str) -> Option<ServiceId> {
        self.texts.owner_of_pair(Domain::Service, namespace, name)
    }

    /// The Service of this name, known or not.
    pub(super) fn hold_service(&mut self, namespace: &str, name: &str) -> Option<ServiceId> {
        let parts = [namespace.as_bytes(), name.as_bytes()];
        let hash = match self.texts.lookup_pair(Domain::Service, namespace.as_bytes(), name.as_bytes()) {
            Ok(name) => return Some(self.texts.owner(name)),
            Err(hash) => hash,
        };
        let name = self.texts.insert(hash, Domain::Service, &parts)?;
        let id = self.services.insert(ServiceRow { name, ..ServiceRow::EMPTY })?;
        self.texts.set_owner(name, id);
        Some(id)
    }

    /// Forgets a Service of which nothing is left.
    pub(super) fn drop_service_if_unused(&mut self, id: ServiceId) {
        let row = *self.services.at(id);
        let held = service::KNOWN | service::DIRTY;
        if row.name.is_none()
            || row.is(held)
            || row.slices > 0
            || row.first_port.is_some()
            || row.triggers.is_some()
        {
            return;
        }
        if row.is(service::LISTED) {
            if row.generation > self.acknowledged {
                return;
            }
            self.unlist(id);
        }
        self.services.remove(id);
        self.texts.release(row.name);
    }

    pub(super) fn find_slice(&self, namespace: &str, name: &str) -> Option<SliceId> {
        self.texts.owner_of_pair(Domain::Slice, namespace, name)
    }

    /// The slice of this name, and whether it is new.
    pub(super) fn hold_slice(&mut self, namespace: &str, name: &str) -> Option<(SliceId, bool)> {
        let parts = [namespace.as_bytes(), name.as_bytes()];
        let hash = match self.texts.lookup_pair(Domain::Slice, namespace.as_bytes(), name.as_bytes()) {
            Ok(name) => return Some((self.texts.owner(name), false)),
            Err(hash) => hash,
        };
        let name = self.texts.insert(hash, Domain::Slice, &parts)?;
        let id = self.slices.insert(SliceRow { name, ..SliceRow::EMPTY })?;
        self.texts.set_owner(name, id);
        Some((id, true))
    }

    /// The port of a Service in one family, if there is one. Looks at the Service's ports, which are few.
    pub(super) fn find_port(
        &self,
        service: ServiceId,
        name: &str,
        protocol: Protocol,
        family: Family,
    ) -> Option<PortId> {
        self.search_port(service, name, protocol, family).ok()
    }

    /// The port; or, if there is none, the one that it would stand after.
    fn search_port(
        &self,
        service: ServiceId,
        name: &str,
        protocol: Protocol,
        family: Family,
    ) -> Result<PortId, PortId> {
        let mut before = PortId::NONE;
        let mut at = self.services.at(service).first_port;
        while at.is_some() {
            let row = self.ports.at(at);
            let order = self.texts.order(row.name, name.as_bytes());
            match order.then((row.protocol, row.family).cmp(&(protocol, family))) {
                core::cmp::Ordering::Less => before = at,
                core::cmp::Ordering::Equal => return Ok(at),
                core::cmp::Ordering::Greater => break,
            }
            at = row.next_in_service;
        }
        Err(before)
    }

    /// The port of a Service in one family, defined by it or not.
    pub(super) fn hold_port(
        &mut self,
        service: ServiceId,
        name: &str,
        protocol: Protocol,
        family: Family,
    ) -> Option<PortId> {
        let before = match self.search_port(service, name, protocol, family) {
            Ok(found) => return Some(found),
            Err(before) => before,
        };
        let after = if before.is_some() {
            self.ports.at(before).next_in_service
        } else {
            self.services.at(service).first_port
        };
        let name = self.texts.intern(name.as_bytes())?;
        let row = PortRow { service, name, protocol, family, next_in_service: after, ..PortRow::EMPTY };
        let id = self.ports.insert(row)?;
        if before.is_some() {
            self.ports.at_mut(before).next_in_service = id;
        } else {
            self.services.at_mut(service).first_port = id;
        }
        Some(id)
    }

    /// Forgets a port of which nothing is left.
    pub(super) fn drop_port_if_unused(&mut self, id: PortId) {
        let row = *self.ports.at(id);
        if row.service.is_none()
            || row.is(port::DEFINED)
            || row.first_endpoint.is_some()
            || row.first_vip.is_some()
        {
            return;
        }
        let mut at = self.services.at(row.service).first_port;
        if at == id {
            self.services.at_mut(row.service).first_port = row.next_in_service;
        } else {
            while at.is_some() {
                let next = self.ports.at(at).next_in_service;
                if next == id {
                    self.ports.at_mut(at).next_in_service = row.next_in_service;
                    break;
                }
                at = next;
            }
        }
        self.leave_port(id, row.next_in_service);
        self.ports.remove(id);
        self.texts.release(row.name);
        self.texts.release(row.target);
    }

    pub(super) fn find_node(&self, name: &str) -> Option<NodeId> {
        self.texts.find_owner(Domain::Node, &[name.as_bytes()])
    }

    /// The Node of this name, known or not, counted once more; none for no name.
    pub(super) fn hold_node(&mut self, name: &str) -> Option<NodeId> {
        if name.is_empty() {
            return Some(NodeId::NONE);
        }
        let id = if let Some(id) = self.find_node(name) {
            id
        } else {
            let name = self.texts.intern_parts(Domain::Node, &[name.as_bytes()])?;
            let id = self.nodes.insert(NodeRow { name, ..NodeRow::EMPTY })?;
            self.texts.set_owner(name, id);
            id
        };
        let row = self.nodes.at_mut(id);
        row.refs = row.refs.saturating_add(1);
        Some(id)
    }

    /// Counts one holder less.
    pub(super) fn drop_node(&mut self, id: NodeId) {
        let row = self.nodes.at_mut(id);
        row.refs = row.refs.saturating_sub(1);
        self.drop_node_if_unused(id);
    }

    pub(super) fn drop_node_if_unused(&mut self, id: NodeId) {
        let row = *self.nodes.at(id);
        if row.name.is_none() || row.refs > 0 || row.is(super::rows::node::KNOWN) {
            return;
        }
        self.nodes.remove(id);
        self.texts.release(row.name);
        self.texts.release(row.zone);
    }

    /// The place of this node and zone, counted once more; no place for neither.
    pub(super) fn hold_place(&mut self, node: &str, zone: &str) -> Option<PlaceId> {
        if node.is_empty() && zone.is_empty() {
            return Some(PlaceId::NONE);
        }
        let parts = [node.as_bytes(), zone.as_bytes()];
        let hash = match self.texts.lookup_pair(Domain::Place, node.as_bytes(), zone.as_bytes()) {
            Ok(name) => {
                let id = self.texts.owner(name);
                self.retain_place(id);
                return Some(id);
            }
            Err(hash) => hash,
        };
        let name = self.texts.insert(hash, Domain::Place, &parts)?;
        let node = self.hold_node(node)?;
        let id = self.places.insert(PlaceRow { name, node, refs: 1, ..PlaceRow::EMPTY })?;
        self.texts.set_owner(name, id);
        Some(id)
    }

    pub(super) fn retain_place(&mut self, id: PlaceId) {
        if id.is_none() {
            return;
        }
        let row = self.places.at_mut(id);
        row.refs = row.refs.saturating_add(1);
    }

    /// Counts one holder less; the last one gives it back.
    pub(super) fn drop_place(&mut self, id: PlaceId) {
        if id.is_none() {
            return;
        }
        let row = self.places.at_mut(id);
        if row.refs > 1 {
            row.refs = row.refs.saturating_sub(1);
            return;
        }
        let PlaceRow { name, node, refs, .. } = *row;
        if refs == 1 {
            self.places.remove(id);
            self.texts.release(name);
            self.drop_node(node);
        }
    }

    /// What a place needs at most, with its Node unless that is counted already; or, exactly, what is not there yet.
    pub(super) fn need_place(&self, need: &mut Need, node: &str, zone: &str, node_too: bool, exact: bool) {
        if (node.is_empty() && zone.is_empty())
            || (exact && self.texts.lookup_pair(Domain::Place, node.as_bytes(), zone.as_bytes()).is_ok())
        {
            return;
        }
        need.places = need.places.saturating_add(1);
        need.text(node.len().saturating_add(zone.len()).saturating_add(1));
        if node_too && !(node.is_empty() || exact && self.find_node(node).is_some()) {
            need.nodes = need.nodes.saturating_add(1);
            need.text(node.len());
        }
    }

    /// What a text needs at most, and whether it is there already.
    pub(super) fn need_text(&self, need: &mut Need, domain: Domain, parts: &[&[u8]], exact: bool) {
        if !exact || self.texts.find_parts(domain, parts).is_none() {
            let len = parts.iter().fold(0usize, |sum, part| sum.saturating_add(part.len()).saturating_add(1));
            need.text(len.saturating_sub(1));
        }
    }

    pub(super) fn endpoint_key(&self, port: PortId, address: Address, number: u16) -> u32 {
        let wide = u128::from_le_bytes(address.octets());
        #[allow(clippy::cast_possible_truncation, reason = "both halves are taken")]
        let (low, high) = (wide as u64, (wide >> 64) as u64);
        let place = u64::from(port.0) << 16 | u64::from(number);
        hash_of(self.settings.seed ^ low, high, place)
    }

    pub(super) fn vip_key(&self, address: Address, number: u16, protocol: Protocol) -> u32 {
        let wide = u128::from_le_bytes(address.octets());
        #[allow(clippy::cast_possible_truncation, reason = "both halves are taken")]
        let (low, high) = (wide as u64, (wide >> 64) as u64);
        hash_of(self.settings.seed ^ low, high, u64::from(number) << 8 | protocol as u64)
    }

    /// Removes an endpoint's row; every list must have let go of it.
    pub(super) fn remove_endpoint_row(&mut self, id: EndpointId) {
        let row = *self.endpoints.at(id);
        if row.shows(shows::OF_NODE) {
            self.node_rows = self.node_rows.saturating_sub(1);
        }
        self.endpoints.remove(self.endpoint_key(row.port, row.address, row.number), id);
    }

    /// Removes a VIP's row from its port and from the table.
    pub(super) fn remove_vip(&mut self, id: VipId) {
        let row = *self.vips.at(id);
        let mut at = self.ports.at(row.port).first_vip;
        if at == id {
            self.ports.at_mut(row.port).first_vip = row.next_in_port;
        } else {
            while at.is_some() {
                let next = self.vips.at(at).next_in_port;
                if next == id {
                    self.vips.at_mut(at).next_in_port = row.next_in_port;
                    break;
                }
                at = next;
            }
        }
        for cursor in self.cursors.iter_mut() {
            if cursor.vip == id {
                cursor.vip = row.next_in_port;
            }
        }
        self.texts.release(row.ranges);
        self.vips.remove(self.vip_key(row.address, row.number, row.protocol), id);
    }
}

/// The lists of an object are within Kubernetes' bounds.
pub(super) fn check_counts(ports: usize, endpoints: usize) -> Result<(), Error> {
    if ports > bounds::SLICE_PORTS_MAX || endpoints > bounds::SLICE_ENDPOINTS_MAX {
        return Err(Error::Invalid(Field::Count));
    }
    let _ = count(endpoints);
    Ok(())
}
