//! What comes out, pulled one row at a time.

use core::ffi::c_char;

use evenkeel_core::Sample;
use evenkeel_core::address::Prefix;
use evenkeel_core::change::{self, BackendState, Change, PortName, VipKind, VipState};
use evenkeel_core::cluster::CursorId;
use evenkeel_core::object::TrafficPolicy;
use evenkeel_core::time::Timestamp;

use crate::borrow::{self, Plain};
use crate::cluster::ek_cluster;
use crate::memory::Head;
use crate::object::ek_policy;
use crate::status::{ek_status, status};
use crate::value::{ek_address, ek_family, ek_prefix, ek_protocol, ek_text};

/// What a change says.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_change_kind {
    /// A VIP to serve, new or with something changed: vip is all of it.
    Vip = 1,
    /// A backend, new or with something changed: backend is all of it.
    Backend = 2,
    /// A backend is no longer behind its VIPs: backend says its address and number, and EK_BACKEND_FLUSH.
    BackendGone = 3,
    /// A VIP is no longer served by anybody: vip says its address, number and kind.
    VipGone = 4,
    /// All changes of this Service have been given.
    ServiceEnd = 5,
}

/// What kind of address a VIP is.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_vip_kind {
    /// Of spec.clusterIPs.
    ClusterIp = 0,
    /// Of spec.externalIPs.
    ExternalIp = 1,
    /// Of status.loadBalancer.ingress.
    LoadBalancer = 2,
    /// A node port; the address 0.0.0.0 or :: stands for every address of the node.
    NodePort = 3,
}

/// What to do with a new flow to a VIP.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_vip_state {
    /// Send it to a backend.
    Serve = 0,
    /// No endpoint anywhere: answer with a refusal.
    Reject = 1,
    /// There are endpoints, but none that the policy allows on this node: drop it silently.
    Drop = 2,
}

/// Whether a backend takes new flows.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_backend_state {
    /// It does.
    Ready = 0,
    /// It does although it is terminating, since nothing else is left.
    Terminating = 1,
    /// It keeps the flows it has and gets no new ones.
    Draining = 2,
}

/// A port of a Service in one address family: what backends stand behind, and what VIPs lead to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_port_name {
    /// Namespace of the Service.
    pub in_namespace: ek_text,
    /// Name of the Service.
    pub service: ek_text,
    /// Name of the port; empty for an unnamed one.
    pub name: ek_text,
    /// enum ek_protocol; 0 at the end of a Service.
    pub protocol: u8,
    /// enum ek_family; 0 at the end of a Service.
    pub family: u8,
    /// 0
    pub reserved: [u8; 6],
}

// SAFETY: integers and texts, and padding is named.
unsafe impl Plain for ek_port_name {}

impl From<PortName<'_>> for ek_port_name {
    fn from(port: PortName<'_>) -> Self {
        Self {
            in_namespace: ek_text::from_str(port.service.namespace),
            service: ek_text::from_str(port.service.name),
            name: ek_text::from_str(port.name),
            protocol: ek_protocol::from(port.protocol) as u8,
            family: ek_family::from(port.family) as u8,
            reserved: [0; 6],
        }
    }
}

/// Of struct ek_vip: traffic from outside under the policy Cluster; the source address must be rewritten.
pub const EK_VIP_MASQUERADE: u32 = 1;
/// Of struct ek_vip: traffic from outside under the policy Local; what comes from this node or its Pods goes to the Cluster set.
pub const EK_VIP_SHORT_CIRCUIT: u32 = 2;

/// An address and port that clients dial.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_vip {
    /// Number of the service port: VIPs and backends with the same number belong together.
    pub port: u32,
    /// What clients dial.
    pub address: ek_address,
    /// The port that clients dial.
    pub number: u16,
    /// The node port on which health is asked, of a load balancer with policy Local; 0 for none.
    pub health_check_node_port: u16,
    /// Seconds of ClientIP affinity; 0 for none.
    pub affinity_seconds: u32,
    /// How many prefixes may dial; 0 for everybody.
    pub source_ranges_count: u32,
    /// EK_VIP_*
    pub flags: u32,
    /// Where the address comes from: enum ek_vip_kind
    pub kind: u8,
    /// Serve, reject or drop: enum ek_vip_state
    pub state: u8,
    /// Which of the two sets of backends serves it: enum ek_policy
    pub policy: u8,
    /// 0
    pub reserved: [u8; 17],
}

// SAFETY: integers, and padding is named.
unsafe impl Plain for ek_vip {}

/// Of struct ek_backend: it is in the Cluster set, with cluster_weight.
pub const EK_BACKEND_IN_CLUSTER: u32 = 1;
/// Of struct ek_backend: it is in the Local set, with local_weight.
pub const EK_BACKEND_IN_LOCAL: u32 = 2;
/// Of struct ek_backend: it is on this node.
pub const EK_BACKEND_LOCAL: u32 = 4;
/// Of struct ek_backend that is gone: UDP, and it no longer serves; delete the flows that are still tracked to it.
pub const EK_BACKEND_FLUSH: u32 = 8;

/// A backend of a service port. It stands behind every VIP of that port whose policy names a set that it is in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_backend {
    /// Number of the service port.
    pub port: u32,
    /// Where to send.
    pub address: ek_address,
    /// The port to send to.
    pub number: u16,
    /// Its share of new flows in the Cluster set.
    pub cluster_weight: u16,
    /// Its share of new flows in the Local set.
    pub local_weight: u16,
    /// Whether it takes new flows: enum ek_backend_state
    pub state: u8,
    /// 0
    pub reserved: u8,
    /// EK_BACKEND_*
    pub flags: u32,
    /// 0
    pub reserved_too: u32,
    /// Name of its node; empty if it is unknown.
    pub node: ek_text,
    /// Its zone; empty if it is unknown.
    pub zone: ek_text,
    /// Name of its Pod; empty if it is unknown or not kept.
    pub pod_name: ek_text,
    /// uid of its Pod.
    pub pod_uid: ek_text,
    /// 0
    pub reserved_more: [u64; 2],
}

// SAFETY: integers and texts, and padding is named.
unsafe impl Plain for ek_backend {}

/// One difference between what a consumer has acknowledged and what is sealed: always the full new state of one row.
///
/// Its texts stand in the cluster and are good until the next call with that cluster that is not const.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_change {
    /// enum ek_change_kind
    pub kind: u32,
    /// 0
    pub reserved: u32,
    /// The service port; of EK_CHANGE_KIND_SERVICE_END only the Service.
    pub name: ek_port_name,
    /// Of EK_CHANGE_KIND_VIP and EK_CHANGE_KIND_VIP_GONE; else 0.
    pub vip: ek_vip,
    /// Of EK_CHANGE_KIND_BACKEND and EK_CHANGE_KIND_BACKEND_GONE; else 0.
    pub backend: ek_backend,
}

// SAFETY: plain structs, and padding is named.
unsafe impl Plain for ek_change {}

impl ek_vip {
    pub(crate) const EMPTY: Self = Self {
        port: 0,
        address: ek_address::EMPTY,
        number: 0,
        health_check_node_port: 0,
        affinity_seconds: 0,
        source_ranges_count: 0,
        flags: 0,
        kind: 0,
        state: 0,
        policy: 0,
        reserved: [0; 17],
    };
}

impl ek_backend {
    pub(crate) const EMPTY: Self = Self {
        port: 0,
        address: ek_address::EMPTY,
        number: 0,
        cluster_weight: 0,
        local_weight: 0,
        state: 0,
        reserved: 0,
        flags: 0,
        reserved_too: 0,
        node: ek_text::EMPTY,
        zone: ek_text::EMPTY,
        pod_name: ek_text::EMPTY,
        pod_uid: ek_text::EMPTY,
        reserved_more: [0; 2],
    };
}

/// A flag if it is so.
pub(crate) const fn flag(is: bool, flag: u32) -> u32 {
    if is { flag } else { 0 }
}

pub(crate) const fn vip_kind(kind: VipKind) -> u8 {
    (match kind {
        VipKind::ClusterIp => ek_vip_kind::ClusterIp,
        VipKind::ExternalIp => ek_vip_kind::ExternalIp,
        VipKind::LoadBalancer => ek_vip_kind::LoadBalancer,
        VipKind::NodePort => ek_vip_kind::NodePort,
    }) as u8
}

pub(crate) const fn vip_state(state: VipState) -> u8 {
    (match state {
        VipState::Serve => ek_vip_state::Serve,
        VipState::Reject => ek_vip_state::Reject,
        VipState::Drop => ek_vip_state::Drop,
    }) as u8
}

pub(crate) const fn policy(policy: TrafficPolicy) -> u8 {
    (match policy {
        TrafficPolicy::Cluster => ek_policy::Cluster,
        TrafficPolicy::Local => ek_policy::Local,
    }) as u8
}

pub(crate) const fn backend_state(state: BackendState) -> u8 {
    (match state {
        BackendState::Ready => ek_backend_state::Ready,
        BackendState::Terminating => ek_backend_state::Terminating,
        BackendState::Draining => ek_backend_state::Draining,
    }) as u8
}

impl From<&change::Vip<'_>> for ek_vip {
    fn from(vip: &change::Vip<'_>) -> Self {
        Self {
            port: vip.id.get(),
            address: vip.address.into(),
            number: vip.number,
            health_check_node_port: vip.health_check_node_port,
            affinity_seconds: vip.affinity_seconds,
            source_ranges_count: u32::try_from(vip.source_ranges.len()).unwrap_or(u32::MAX),
            flags: flag(vip.masquerade, EK_VIP_MASQUERADE) | flag(vip.short_circuit, EK_VIP_SHORT_CIRCUIT),
            kind: vip_kind(vip.kind),
            state: vip_state(vip.state),
            policy: policy(vip.policy),
            reserved: [0; 17],
        }
    }
}

impl From<&change::Backend<'_>> for ek_backend {
    fn from(backend: &change::Backend<'_>) -> Self {
        let pod = backend.pod();
        Self {
            port: backend.id.get(),
            address: backend.address.into(),
            number: backend.number,
            cluster_weight: backend.cluster_weight.unwrap_or(0),
            local_weight: backend.local_weight.unwrap_or(0),
            state: backend_state(backend.state),
            flags: flag(backend.cluster_weight.is_some(), EK_BACKEND_IN_CLUSTER)
                | flag(backend.local_weight.is_some(), EK_BACKEND_IN_LOCAL)
                | flag(backend.local, EK_BACKEND_LOCAL),
            node: ek_text::from_str(backend.node()),
            zone: ek_text::from_str(backend.zone()),
            pod_name: ek_text::from_str(pod.name),
            pod_uid: ek_text::from_str(pod.uid),
            ..Self::EMPTY
        }
    }
}

impl From<&Change<'_>> for ek_change {
    fn from(change: &Change<'_>) -> Self {
        let (mut vip, mut backend) = (ek_vip::EMPTY, ek_backend::EMPTY);
        let (kind, name) = match change {
            Change::Vip(row) => {
                vip = row.into();
                (ek_change_kind::Vip, row.port().into())
            }
            Change::Backend(row) => {
                backend = row.into();
                (ek_change_kind::Backend, row.port().into())
            }
            Change::BackendGone(row) => {
                backend.port = row.id.get();
                backend.address = row.address.into();
                backend.number = row.number;
                backend.flags = flag(row.flush, EK_BACKEND_FLUSH);
                (ek_change_kind::BackendGone, row.port().into())
            }
            Change::VipGone(row) => {
                vip.port = row.id.get();
                vip.address = row.address.into();
                vip.number = row.number;
                vip.kind = vip_kind(row.kind);
                (ek_change_kind::VipGone, row.port().into())
            }
            Change::ServiceEnd(row) => {
                let service = row.service();
                let name = ek_port_name {
                    in_namespace: ek_text::from_str(service.namespace),
                    service: ek_text::from_str(service.name),
                    name: ek_text::EMPTY,
                    protocol: 0,
                    family: 0,
                    reserved: [0; 6],
                };
                (ek_change_kind::ServiceEnd, name)
            }
        };
        Self { kind: kind as u32, reserved: 0, name, vip, backend }
    }
}

/// A new consumer, which will be given everything. Fills *out_cursor with its number. The open one with the lowest number is
/// the primary: its acknowledgements answer trigger times.
///
/// EK_STATUS_FULL_CURSORS: all are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_cursor_open(cluster: *mut ek_cluster, out_cursor: *mut u32) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out(out_cursor) }?;
        // SAFETY: the contract page.
        let head = unsafe { borrow::cluster_mut(cluster) }?;
        let opened = head.cluster.cursor_open();
        to.write(opened.map_err(|error| head.refused(error))?.get());
        Ok(ek_status::Ok)
    })
}

/// Begins anew: the consumer has dropped all it had and will be given everything.
///
/// EK_STATUS_NOT_FOUND: no such cursor is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_cursor_resync(cluster: *mut ek_cluster, cursor: u32) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let cluster = &mut unsafe { borrow::cluster_mut(cluster) }?.cluster;
        cluster.cursor_resync(CursorId::from_number(cursor))?;
        Ok(ek_status::Ok)
    })
}

/// The consumer is no more; nothing is kept for its sake.
///
/// EK_STATUS_NOT_FOUND: no such cursor is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_cursor_close(cluster: *mut ek_cluster, cursor: u32) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let cluster = &mut unsafe { borrow::cluster_mut(cluster) }?.cluster;
        let cursor = CursorId::from_number(cursor);
        cluster.acknowledged(cursor)?;
        cluster.cursor_close(cursor);
        Ok(ek_status::Ok)
    })
}

/// Next difference between what the consumer has acknowledged and what is sealed. Fills *out_change, of which size is the
/// sizeof; its texts are good until the next call with this cluster that is not const.
///
/// Changes of one Service come together: its VIPs, its backends, the backends that went, the VIPs that went, then
/// EK_CHANGE_KIND_SERVICE_END. EK_STATUS_DONE: there is no more; everything up to ek_cluster_generation() has been given and is to
/// be acknowledged. Asked again without that, or after a seal in between, it begins anew, which harms nobody.
/// EK_STATUS_NOT_FOUND: no such cursor is open. EK_STATUS_STALE: it was left behind; drop everything and call
/// ek_cluster_cursor_resync(). Costs the same however large the cluster is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_next(
    cluster: *mut ek_cluster,
    cursor: u32,
    out_change: *mut ek_change,
    size: usize,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let place = unsafe { borrow::place(out_change, size) }?;
        // SAFETY: the contract page.
        let Head { cluster, ranges, ranges_count, .. } = unsafe { borrow::cluster_mut(cluster) }?;
        *ranges_count = 0;
        let Some(change) = cluster.next(CursorId::from_number(cursor))? else { return Ok(ek_status::Done) };
        if let Change::Vip(vip) = &change {
            for (place, range) in ranges.iter_mut().zip(vip.source_ranges.iter()) {
                *place = range;
                *ranges_count = ranges_count.saturating_add(1);
            }
        }
        place.fill(&(&change).into());
        Ok(ek_status::Ok)
    })
}

/// Fills an array of ranges.
pub(crate) fn fill_ranges(
    to: &mut [core::mem::MaybeUninit<ek_prefix>],
    from: impl Iterator<Item = Prefix>,
) -> usize {
    let mut filled = 0usize;
    for (place, range) in to.iter_mut().zip(from) {
        place.write(range.into());
        filled = filled.saturating_add(1);
    }
    filled
}

/// The source ranges of the VIP that ek_cluster_next() gave last. Fills up to count of the array, and *out_count with how many
/// were filled; ek_vip.source_ranges_count, at most EK_SOURCE_RANGES_MAX, says how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_source_ranges(
    cluster: *const ek_cluster,
    out_ranges: *mut ek_prefix,
    count: usize,
    out_count: *mut usize,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let filled = unsafe { borrow::out(out_count) }?;
        // SAFETY: the contract page.
        let to = unsafe { borrow::array(out_ranges, count) }?;
        // SAFETY: the contract page.
        let head = unsafe { borrow::cluster(cluster) }?;
        filled.write(fill_ranges(to, head.ranges.iter().take(head.ranges_count).copied()));
        Ok(ek_status::Ok)
    })
}

/// Of struct ek_sample: the acknowledgement came before the trigger, by two clocks that disagree; the latency is given as 0.
pub const EK_SAMPLE_SKEWED: u32 = 1;

/// How long a change took from its source to the dataplane.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_sample {
    /// From the trigger time to the acknowledgement.
    pub latency_ns: u64,
    /// EK_SAMPLE_*
    pub flags: u32,
    /// 0
    pub reserved: u32,
    /// Namespace of the Service, with a zero byte after it.
    pub in_namespace: [c_char; 64],
    /// Name of the Service, with a zero byte after it.
    pub service: [c_char; 256],
}

// SAFETY: integers, and padding is named.
unsafe impl Plain for ek_sample {}

/// A copy of a text that ends with a zero byte, as far as there is room.
fn copied<const N: usize>(text: &str) -> [c_char; N] {
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().take(N.saturating_sub(1)).zip(text.bytes()) {
        *place = c_char::from_ne_bytes([byte]);
    }
    bytes
}

impl From<&Sample<'_>> for ek_sample {
    fn from(sample: &Sample<'_>) -> Self {
        Self {
            latency_ns: sample.latency_ns,
            flags: flag(sample.skewed, EK_SAMPLE_SKEWED),
            reserved: 0,
            in_namespace: copied(sample.service.namespace),
            service: copied(sample.service.name),
        }
    }
}

/// The dataplane has everything up to this generation. If the cursor is the primary, this answers trigger times: fills up to
/// samples_count of the array, and *out_count with how many samples there were; what does not fit is dropped. Who does not
/// measure gives NULL, 0 and NULL.
///
/// Again, or with an older generation, it does nothing. EK_STATUS_NOT_FOUND: no such cursor is open, or no such generation is
/// sealed. EK_STATUS_STALE: as for ek_cluster_next(). Costs grow with what was removed and can be forgotten now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_ack(
    cluster: *mut ek_cluster,
    cursor: u32,
    generation: u64,
    now_ns: u64,
    out_samples: *mut ek_sample,
    samples_count: usize,
    out_count: *mut usize,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let counted = unsafe { borrow::out_if_wanted(out_count) }?;
        // SAFETY: the contract page.
        let mut to = unsafe { borrow::array(out_samples, samples_count) }?.iter_mut();
        // SAFETY: the contract page.
        let cluster = &mut unsafe { borrow::cluster_mut(cluster) }?.cluster;
        let mut count = 0usize;
        cluster.ack(CursorId::from_number(cursor), generation, Timestamp::from_nanos(now_ns), |sample| {
            count = count.saturating_add(1);
            if let Some(place) = to.next() {
                place.write((&sample).into());
            }
        })?;
        if let Some(counted) = counted {
            counted.write(count);
        }
        Ok(ek_status::Ok)
    })
}

/// Fills *out_generation with the newest that this consumer has acknowledged; 0 for none.
///
/// EK_STATUS_NOT_FOUND: no such cursor is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_acknowledged(
    cluster: *const ek_cluster,
    cursor: u32,
    out_generation: *mut u64,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out(out_generation) }?;
        // SAFETY: the contract page.
        let cluster = &unsafe { borrow::cluster(cluster) }?.cluster;
        to.write(cluster.acknowledged(CursorId::from_number(cursor))?);
        Ok(ek_status::Ok)
    })
}
