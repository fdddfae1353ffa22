//! VIPs: wanted by Services, claimed by one of them each, and what is published of them.

use super::Cluster;
use super::rows::{VipId, VipRow, service, vip};
use super::seal::is_after;
use crate::address::{Address, Family};
use crate::change::{PortId, VipKind, VipState};
use crate::object::{Service, ServicePort, TrafficPolicy};
use crate::plan::{self, Policies};
use crate::port::Protocol;
use crate::table::Entry as _;
use crate::text::TextId;
use crate::usable::Usable;

impl Cluster<'_> {
    pub(super) fn find_vip(
        &self,
        port: PortId,
        kind: VipKind,
        address: Address,
        number: u16,
    ) -> Option<VipId> {
        let mut at = self.ports.at(port).first_vip;
        while at.is_some() {
            let row = self.vips.at(at);
            if (row.kind, row.address, row.number) == (kind, address, number) {
                return Some(at);
            }
            at = row.next_in_port;
        }
        None
    }

    /// The Service wants this VIP. Whether that is new.
    pub(super) fn want_vip(
        &mut self,
        port: PortId,
        kind: VipKind,
        address: Address,
        number: u16,
        protocol: Protocol,
    ) -> Option<bool> {
        if let Some(id) = self.find_vip(port, kind, address, number) {
            let row = self.vips.at_mut(id);
            let new = !row.is(vip::OLD);
            row.flags = row.flags & !vip::OLD | vip::WANTED;
            if new {
                self.reconsider_claims(id);
            }
            return Some(new);
        }
        let row = VipRow { address, number, kind, protocol, port, flags: vip::WANTED, ..VipRow::EMPTY };
        let id = self.vips.insert(self.vip_key(address, number, protocol), row)?;
        let (mut before, mut after) = (VipId::NONE, self.ports.at(port).first_vip);
        while after.is_some() {
            let other = self.vips.at(after);
            if (other.kind, other.address, other.number) > (kind, address, number) {
                break;
            }
            before = after;
            after = other.next_in_port;
        }
        self.vips.at_mut(id).next_in_port = after;
        if before.is_some() {
            self.vips.at_mut(before).next_in_port = id;
        } else {
            self.ports.at_mut(port).first_vip = id;
        }
        self.reconsider_claims(id);
        Some(true)
    }

    /// The claims of these ports are older or younger than they were.
    pub(super) fn reconsider_all_claims(&mut self, first: PortId) {
        let mut port = first;
        while port.is_some() {
            let mut at = self.ports.at(port).first_vip;
            while at.is_some() {
                self.reconsider_claims(at);
                at = self.vips.at(at).next_in_port;
            }
            port = self.ports.at(port).next_in_service;
        }
    }

    /// A claim to an address and port came or went: whoever else has one must be looked at.
    pub(super) fn reconsider_claims(&mut self, id: VipId) {
        let row = *self.vips.at(id);
        let key = self.vip_key(row.address, row.number, row.protocol);
        let is = |other: &VipRow| {
            (other.address, other.number, other.protocol) == (row.address, row.number, row.protocol)
        };
        let mut at = self.vips.find(key, is);
        while let Some(other) = at {
            at = self.vips.find_next(other, is);
            if other != id {
                let service = self.ports.at(self.vips.at(other).port).service;
                self.mark_dirty(service);
            }
        }
    }

    /// Another claim to the same address, port and protocol comes first: of the older Service, else by name.
    pub(super) fn is_taken(&self, id: VipId) -> bool {
        let row = self.vips.at(id);
        let key = self.vip_key(row.address, row.number, row.protocol);
        let is = |other: &VipRow| {
            (other.address, other.number, other.protocol) == (row.address, row.number, row.protocol)
                && other.is(vip::WANTED)
        };
        let mut at = self.vips.find(key, is);
        while let Some(other) = at {
            if other != id && self.claims_before(other, id) {
                return true;
            }
            at = self.vips.find_next(other, is);
        }
        false
    }

    /// Somebody publishes the address, port and protocol of this VIP: the same port under another kind, or another
    /// Service that had the next claim.
    pub(super) fn is_served(&self, id: VipId) -> bool {
        let row = self.vips.at(id);
        let key = self.vip_key(row.address, row.number, row.protocol);
        let is = |other: &VipRow| {
            (other.address, other.number, other.protocol) == (row.address, row.number, row.protocol)
                && other.is(vip::PUBLISHED)
        };
        self.vips.find(key, is).is_some()
    }

    fn claims_before(&self, a: VipId, b: VipId) -> bool {
        let claim = |id: VipId| {
            let row = self.vips.at(id);
            let port = self.ports.at(row.port);
            let service = self.services.at(port.service);
            (service.created, self.texts.get(service.name), self.texts.get(port.name), row.kind)
        };
        claim(a) < claim(b)
    }

    /// Brings the VIPs of a port up to date. Whether there is anything to be seen of it.
    pub(super) fn settle_vips(&mut self, id: PortId, policies: &Policies, usable: Usable, low: u32) -> bool {
        let mut differs = false;
        let mut at = self.ports.at(id).first_vip;
        while at.is_some() {
            let next = self.vips.at(at).next_in_port;
            differs |= self.settle_vip(at, policies, usable, low);
            at = next;
        }
        differs
    }

    fn settle_vip(&mut self, at: VipId, policies: &Policies, usable: Usable, low: u32) -> bool {
        let row = *self.vips.at(at);
        let mut wanted = VipShown::default();
        let taken = row.is(vip::WANTED) && self.is_taken(at);
        if row.is(vip::WANTED) && !taken {
            let service = *self.services.at(self.ports.at(row.port).service);
            let policy = policies.of(row.kind);
            let external = row.kind != VipKind::ClusterIp;
            let local = policy == TrafficPolicy::Local;
            let state = plan::vip_state(usable, policy);
            let balancer = row.kind == VipKind::LoadBalancer;
            wanted = VipShown {
                flags: [
                    (true, vip::PUBLISHED),
                    (local, vip::LOCAL),
                    (state == VipState::Reject, vip::REJECT),
                    (state == VipState::Drop, vip::DROP),
                    (external && !local, vip::MASQUERADE),
                    (external && local, vip::SHORT_CIRCUIT),
                ]
                .into_iter()
                .fold(0, |bits, (is, flag)| bits | if is { flag } else { 0 }),
                affinity_seconds: service.affinity_seconds,
                health_check_node_port: if service.is(service::LOAD_BALANCER)
                    && policies.external == TrafficPolicy::Local
                {
                    service.health_check_node_port
                } else {
                    0
                },
                ranges: if balancer {
                    *super::by_family(&service.ranges, row.address.family())
                } else {
                    TextId::NONE
                },
            };
        }
        let shown = VipShown {
            flags: row.flags & vip::SHOWN,
            affinity_seconds: row.affinity_seconds,
            health_check_node_port: row.health_check_node_port,
            ranges: row.ranges,
        };
        let row = self.vips.at_mut(at);
        row.flags = row.flags & !vip::TAKEN | if taken { vip::TAKEN } else { 0 };
        if shown == wanted {
            let gone = row.flags & (vip::WANTED | vip::PUBLISHED) == 0;
            if gone && !is_after(row.generation, self.acknowledged) {
                self.remove_vip(at);
            }
            return false;
        }
        self.texts.retain(wanted.ranges);
        let row = self.vips.at_mut(at);
        row.flags = row.flags & !vip::SHOWN | wanted.flags;
        row.affinity_seconds = wanted.affinity_seconds;
        row.health_check_node_port = wanted.health_check_node_port;
        row.ranges = wanted.ranges;
        row.generation = low;
        self.texts.release(shown.ranges);
        true
    }
}

/// Nobody has to be told that this VIP went.
pub(super) const fn row_is_settled(row: &VipRow) -> bool {
    row.generation == 0
}

/// Each VIP of a port in one family (`kube-proxy`, servicechangetracker and proxier).
pub(super) fn each_vip(
    object: &Service<'_>,
    port: &ServicePort<'_>,
    family: Family,
    settings: &super::Settings,
    mut each: impl FnMut(VipKind, Address, u16),
) {
    for (kind, addresses) in [
        (VipKind::ClusterIp, object.cluster_ips),
        (VipKind::ExternalIp, object.external_ips),
        (VipKind::LoadBalancer, object.ingress_ips),
    ] {
        for address in addresses.iter().filter(|address| address.family() == family) {
            each(kind, *address, port.port);
        }
    }
    if port.node_port == 0 {
        return;
    }
    if settings.node_port_addresses_count == 0 {
        each(VipKind::NodePort, Address::unspecified(family), port.node_port);
        return;
    }
    for address in settings.node_port_addresses.iter().take(settings.node_port_addresses_count) {
        if address.family() == family {
            each(VipKind::NodePort, *address, port.node_port);
        }
    }
}

/// What is published of a VIP.
#[derive(Clone, Copy, PartialEq, Eq)]
struct VipShown {
    flags: u16,
    affinity_seconds: u32,
    health_check_node_port: u16,
    ranges: TextId,
}

impl Default for VipShown {
    fn default() -> Self {
        Self { flags: 0, affinity_seconds: 0, health_check_node_port: 0, ranges: TextId::NONE }
    }
}
