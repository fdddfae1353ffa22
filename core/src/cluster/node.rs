//! Nodes: zones, addresses, and factors of weights.

use super::hold::{Need, check_text};
use super::rows::{EndpointId, NodeId, node, port};
use super::{Applied, Cluster, Kind};
use crate::address::{Address, Family};
use crate::bounds;
use crate::error::{Error, Field};
use crate::limits::{Backends, Source};
use crate::object::Node;
use crate::text::{Domain, TextId};
use crate::usable::Facts;

impl Cluster<'_> {
    /// Takes a Node as it is now.
    ///
    /// Costs nothing more if nothing changed that matters here. A new zone of this node, a new weight or another
    /// readiness makes the next seal look at every endpoint.
    ///
    /// # Errors
    /// `Invalid`: a name is over its bound. `Full`. In both cases the last good state stays,
    /// and a relist in progress does not end it.
    pub fn apply_node(&mut self, node: &Node<'_>) -> Result<Applied, Error> {
        let checked = check_text(node.zone, bounds::NAME_BYTES_MAX);
        if let Err(error) =
            if crate::name::is_name(node.name) { checked } else { Err(Error::Invalid(Field::Name)) }
        {
            self.mark_stale(Kind::Node, "", node.name);
            return self.refuse(error);
        }
        let most = self.need_node(node, false);
        if let Err(error) = self.make_room(&most, None, |cluster| cluster.need_node(node, true)) {
            self.mark_stale(Kind::Node, "", node.name);
            return self.refuse(error);
        }
        let Some(changed) = self.take_node(node) else {
            return self.refuse(Error::Invalid(Field::Count)); // Cannot happen: there was room.
        };
        let counter = if changed { &mut self.counters.applied } else { &mut self.counters.unchanged };
        *counter = counter.saturating_add(1);
        Ok(if changed { Applied::Changed } else { Applied::Unchanged })
    }

    /// Forgets a Node. Whether there was one.
    pub fn delete_node(&mut self, name: &str) -> bool {
        let Some(id) = self.find_node(name) else {
            return false;
        };
        if !self.nodes.at(id).is(node::KNOWN) {
            return false;
        }
        self.forget_node(id);
        self.counters.deleted = self.counters.deleted.saturating_add(1);
        true
    }

    pub(super) fn forget_node(&mut self, id: NodeId) {
        let before = *self.nodes.at(id);
        let row = self.nodes.at_mut(id);
        row.flags = 0;
        row.weight = 100;
        row.zone = TextId::NONE;
        row.addresses = [Address::EMPTY; 2];
        self.node_changed(id, &before);
        self.texts.release(before.zone);
        self.drop_node_if_unused(id);
    }

    fn need_node(&self, node: &Node<'_>, exact: bool) -> Need {
        let mut need = Need::default();
        self.need_place(&mut need, node.name, node.zone, true, exact);
        if !node.zone.is_empty() {
            self.need_text(&mut need, Domain::Plain, &[node.zone.as_bytes()], exact);
        }
        if self.settings.source == Source::Pods {
            // Its Pods may become endpoints now that it is known.
            let Some(id) = self.find_node(node.name) else {
                return need;
            };
            let mut at = self.nodes.at(id).first_pod;
            while at.is_some() {
                need.endpoints = need.endpoints.saturating_add(self.endpoints_of_pod(at));
                at = self.pods.at(at).next_on_node;
            }
        }
        need
    }

    fn take_node(&mut self, object: &Node<'_>) -> Option<bool> {
        let id = self.hold_node(object.name)?;
        let row = self.nodes.at_mut(id);
        row.refs = row.refs.saturating_sub(1); // Being known holds it.
        let before = *row;
        let mut flags = node::KNOWN;
        for (is, flag) in [
            (object.ready, node::READY),
            (object.unschedulable, node::UNSCHEDULABLE),
            (object.maintenance, node::MAINTENANCE),
            (object.excluded, node::EXCLUDED),
        ] {
            flags |= if is { flag } else { 0 };
        }
        let address = |family| object.addresses.iter().copied().find(|address| address.family() == family);
        let none = Address::EMPTY;
        row.flags = flags;
        row.weight = object.weight;
        row.addresses = [address(Family::V4).unwrap_or(none), address(Family::V6).unwrap_or(none)];
        let addresses = row.addresses;
        let zone = self.texts.intern(object.zone.as_bytes())?;
        let seen = self.relist_of(Kind::Node);
        let row = self.nodes.at_mut(id);
        row.zone = zone;
        row.seen = seen;
        let changed = (before.flags, before.weight, before.addresses, before.zone)
            != (flags, object.weight, addresses, zone);
        if changed {
            self.node_changed(id, &before);
        }
        self.texts.release(before.zone);
        Some(changed)
    }

    /// What depends on a Node, which is different now.
    fn node_changed(&mut self, id: NodeId, before: &super::rows::NodeRow) {
        let now = *self.nodes.at(id);
        if self.settings.source == Source::Pods && (before.zone != now.zone || before.flags != now.flags) {
            let mut at = now.first_pod;
            while at.is_some() {
                self.replace_pod(at);
                self.refresh_pod(at);
                at = self.pods.at(at).next_on_node;
            }
        }
        let moved = id == self.settings.node && before.zone != now.zone;
        let reweighed = before.weight != now.weight || (before.flags ^ now.flags) & node::MAINTENANCE != 0;
        let as_backend = self.settings.backends == Backends::Nodes
            && (before.flags != now.flags || before.addresses != now.addresses || before.zone != now.zone);
        if !(moved || reweighed || as_backend) {
            return;
        }
        let mut next = 0;
        while let Some(at) = self.endpoints.next_in_use(next) {
            next = at.0.wrapping_add(1);
            self.reconsider(at, id, moved, reweighed || as_backend);
        }
    }

    /// One endpoint, after the zone of this node or anything about its own Node changed.
    fn reconsider(&mut self, at: EndpointId, changed: NodeId, moved: bool, reweighed: bool) {
        let row = *self.endpoints.at(at);
        if moved && row.hints.is_some() && row.says.has(Facts::PRESENT) {
            let facts = self.placed(row.says, row.place, row.hints);
            if facts != row.says {
                self.endpoints.at_mut(at).says = facts;
                self.touch_twins(at);
            }
        }
        if reweighed && self.places.at(row.place).node == changed {
            self.touch_twins(at);
            if self.settings.backends == Backends::Nodes {
                self.ports.at_mut(row.port).flags |= port::ALL;
            }
        }
    }

    fn endpoints_of_pod(&self, id: super::rows::PodId) -> u32 {
        let mut count = 0u32;
        let mut label = self.pods.at(id).first_label;
        while label.is_some() {
            let row = self.labels.at(label);
            let mut service = self.selectors.at(row.selector).first_service;
            while service.is_some() {
                let mut port = self.services.at(service).first_port;
                while port.is_some() {
                    count = count.saturating_add(1);
                    port = self.ports.at(port).next_in_service;
                }
                service = self.services.at(service).next_in_selector;
            }
            label = row.next_in_pod;
        }
        count
    }
}
