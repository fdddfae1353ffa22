//! A cluster in the caller's memory: its life, and the verbs that feed it.

use core::ffi::c_void;

use evenkeel_core::error::{Error, Limit};
use evenkeel_core::time::Timestamp;
use evenkeel_core::{Applied, Cluster, Kind, Sealed};

use crate::borrow;
use crate::limits::{ReadConfig, ek_config, ek_limits};
use crate::memory::{self, Block, Head};
use crate::object::{ReadNode, ReadPod, ReadService, ReadSlice, ek_node, ek_pod, ek_service, ek_slice};
use crate::status::{Answer, LIMITS, ek_reason, ek_status, status};
use crate::value::ek_text;

/// What a node must serve: objects in, changes out. It stands in the block it was made in, and is gone when that is used for
/// something else. One thread at a time; different clusters are independent.
pub struct ek_cluster {
    _block: [u8; 0],
}

/// What a block must be aligned to.
pub const EK_MEMORY_ALIGNMENT: usize = 16;
const _: () = assert!(EK_MEMORY_ALIGNMENT == memory::ALIGNMENT);

impl Head {
    /// Why core did not do it; what it would have needed is kept.
    pub(crate) fn refused(&mut self, error: Error) -> ek_status {
        if let Error::Full { limit, needed } = error {
            self.need(limit, needed);
        }
        error.into()
    }

    fn need(&mut self, limit: Limit, needed: u32) {
        for (kept, of) in self.needed.iter_mut().zip(LIMITS) {
            if of == limit {
                *kept = needed.max(*kept);
            }
        }
    }

    /// What became of an object.
    fn applied(&mut self, applied: Result<Applied, Error>) -> Answer<ek_reason> {
        match applied {
            Ok(Applied::Changed) => Ok(ek_reason::Changed),
            Ok(Applied::Unchanged) => Ok(ek_reason::Unchanged),
            Ok(Applied::Ignored(reason)) => Ok(reason.into()),
            Err(error) => Err(self.refused(error)),
        }
    }

    /// An object that could not even be read: the last good one stays, and says so.
    ///
    /// # Safety
    /// The caller lends the names.
    unsafe fn unreadable(&mut self, kind: Kind, in_namespace: ek_text, name: ek_text) {
        self.invalid = self.invalid.saturating_add(1);
        let names = if kind == Kind::Node {
            // SAFETY: the same promise.
            unsafe { borrow::name(name) }.map(|name| ("", name))
        } else {
            // SAFETY: the same promise.
            unsafe { borrow::names(in_namespace, name) }
        };
        if let Ok((namespace, name)) = names {
            self.cluster.mark_stale(kind, namespace, name);
        }
    }
}

/// Bytes of a block for these limits, exactly; 0 if the limits are invalid or no block could be so large.
///
/// For equal limits it does not grow while EK_ABI stays the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_size(limits: *const ek_limits) -> usize {
    // SAFETY: the contract page.
    match unsafe { borrow::read(limits) } {
        Ok(limits) => memory::size(&limits.to_core()).unwrap_or(0),
        Err(_) => 0,
    }
}

/// Makes an empty cluster. Gives the memory of the block, which must be aligned to EK_MEMORY_ALIGNMENT and may be larger
/// than it must; lends limits and config. config: NULL is one that is all zero. Fills *out_cluster with the beginning of
/// the block.
///
/// EK_STATUS_MEMORY_TOO_SMALL: ek_cluster_size() says how much it must be; the block was not touched. EK_STATUS_FULL_*: there
/// is no room for what config says. Writes all of the block once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_init(
    memory: *mut c_void,
    size: usize,
    limits: *const ek_limits,
    config: *const ek_config,
    out_cluster: *mut *mut ek_cluster,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out(out_cluster) }?;
        // SAFETY: the contract page.
        let limits = unsafe { borrow::read(limits) }?.to_core();
        // SAFETY: the contract page.
        let config = unsafe { ReadConfig::new(config) }?;
        // SAFETY: the contract page.
        let block = unsafe { Block::new(memory.cast(), size) }.ok_or(ek_status::Invalid)?;
        let make = |memory| Cluster::new(memory, limits.hash_seed, &config.config());
        let head = block.place(&limits, make).ok_or(ek_status::MemoryTooSmall)?;
        to.write(head.map_err(ek_status::from)?.cast());
        Ok(ek_status::Ok)
    })
}

/// Makes the same cluster in another block, with larger limits: generations, cursors and trigger times stay. Gives the
/// memory of the new block, which must share no byte with the old one. The old cluster stays as it is, and its block is free for
/// something else once the new one is used instead.
///
/// EK_STATUS_MEMORY_TOO_SMALL: as for ek_cluster_init(). EK_STATUS_FULL_*: this limit is smaller than what the old one holds.
/// Costs a copy of everything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_move(
    cluster: *const ek_cluster,
    memory: *mut c_void,
    size: usize,
    limits: *const ek_limits,
    out_cluster: *mut *mut ek_cluster,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out(out_cluster) }?;
        // SAFETY: the contract page.
        let from = unsafe { borrow::cluster(cluster) }?;
        // SAFETY: the contract page.
        let limits = unsafe { borrow::read(limits) }?.to_core();
        // SAFETY: the contract page.
        let block = unsafe { Block::new(memory.cast(), size) }.ok_or(ek_status::Invalid)?;
        if !block.is_apart_from(from) {
            return Err(ek_status::Invalid);
        }
        let head = block.place(&limits, |memory| from.cluster.move_to(memory)).ok_or(ek_status::MemoryTooSmall)?;
        let head = head.map_err(ek_status::from)?;
        // SAFETY: it was just made.
        unsafe { (*head).invalid = from.invalid };
        to.write(head.cast());
        Ok(ek_status::Ok)
    })
}

/// What a source feeds.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_kind {
    /// Services
    Service = 1,
    /// EndpointSlices
    Slice = 2,
    /// Pods
    Pod = 3,
    /// Nodes
    Node = 4,
}

pub(crate) const fn kind(number: u32) -> Answer<Kind> {
    match number {
        1 => Ok(Kind::Service),
        2 => Ok(Kind::Slice),
        3 => Ok(Kind::Pod),
        4 => Ok(Kind::Node),
        _ => Err(ek_status::Invalid),
    }
}

/// A source begins to list everything of a kind. What was known stays until it ends.
///
/// kind: enum ek_kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_relist_begin(cluster: *mut ek_cluster, kind: u32) -> ek_status {
    status(|| {
        let kind = self::kind(kind)?;
        // SAFETY: the contract page.
        unsafe { borrow::cluster_mut(cluster) }?.cluster.relist_begin(kind);
        Ok(ek_status::Ok)
    })
}

/// The source has listed everything: what was not applied since the beginning is gone. Fills *out_gone with how many that
/// were; NULL if that is not wanted. A relist that was not begun ends nothing. Costs a look at each object of the kind.
///
/// kind: enum ek_kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_relist_end(cluster: *mut ek_cluster, kind: u32, out_gone: *mut u32) -> ek_status {
    status(|| {
        let kind = self::kind(kind)?;
        // SAFETY: the contract page.
        let to = unsafe { borrow::out_if_wanted(out_gone) }?;
        // SAFETY: the contract page.
        let gone = unsafe { borrow::cluster_mut(cluster) }?.cluster.relist_end(kind);
        if let Some(to) = to {
            to.write(gone);
        }
        Ok(ek_status::Ok)
    })
}

/// Tells what became of an object, if that is wanted.
fn tell(to: Option<&mut core::mem::MaybeUninit<u32>>, reason: ek_reason) -> Answer {
    if let Some(to) = to {
        to.write(reason as u32);
    }
    Ok(ek_status::Ok)
}

/// Takes a Service as it is now. Lends it with all that it points to. Fills *out_reason (enum ek_reason) with what became of
/// it; NULL if that is not wanted.
///
/// EK_STATUS_INVALID, EK_STATUS_FULL_*: the last good one stays, is marked as stale, and a relist does not end it. Costs the
/// same however large the cluster is; with endpoints from Pods it grows with the Pods that it selects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_apply_service(
    cluster: *mut ek_cluster,
    service: *const ek_service,
    out_reason: *mut u32,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out_if_wanted(out_reason) }?;
        // SAFETY: the contract page.
        let head = unsafe { borrow::cluster_mut(cluster) }?;
        // SAFETY: the contract page.
        let given = unsafe { borrow::read(service) }?;
        // SAFETY: the contract page.
        match unsafe { ReadService::new(&given) } {
            Ok(read) => {
                let applied = head.cluster.apply_service(&read.service());
                tell(to, head.applied(applied)?)
            }
            Err(status) => {
                // SAFETY: the contract page.
                unsafe { head.unreadable(Kind::Service, given.in_namespace, given.name) };
                Err(status)
            }
        }
    })
}

/// Takes an EndpointSlice as it is now. Lends it with all that it points to. Fills *out_reason (enum ek_reason) with what
/// became of it; NULL if that is not wanted. A slice that does not concern this node is not kept.
///
/// EK_STATUS_INVALID, EK_STATUS_FULL_*: the last good one stays, its Service is marked as stale, and a relist does not end
/// it. Costs the same however large the cluster is; grows with the slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_apply_slice(
    cluster: *mut ek_cluster,
    slice: *const ek_slice,
    out_reason: *mut u32,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out_if_wanted(out_reason) }?;
        // SAFETY: the contract page.
        let head = unsafe { borrow::cluster_mut(cluster) }?;
        // SAFETY: the contract page.
        let given = unsafe { borrow::read(slice) }?;
        // SAFETY: the contract page.
        match unsafe { ReadSlice::new(&given) } {
            Ok(read) => {
                let applied = head.cluster.apply_slice_of(&read.slice(), &read.endpoints);
                tell(to, head.applied(applied)?)
            }
            Err(status) => {
                // SAFETY: the contract page.
                unsafe { head.unreadable(Kind::Slice, given.in_namespace, given.name) };
                Err(status)
            }
        }
    })
}

/// Takes a Pod as it is now. Lends it with all that it points to. Fills *out_reason (enum ek_reason) with what became of it;
/// NULL if that is not wanted. With EK_SOURCE_SLICES it is not kept.
///
/// EK_STATUS_INVALID, EK_STATUS_FULL_*: the last good one stays, and a relist does not end it. Costs grow with the Services
/// that select the Pod, not with those that there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_apply_pod(
    cluster: *mut ek_cluster,
    pod: *const ek_pod,
    out_reason: *mut u32,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out_if_wanted(out_reason) }?;
        // SAFETY: the contract page.
        let head = unsafe { borrow::cluster_mut(cluster) }?;
        // SAFETY: the contract page.
        let given = unsafe { borrow::read(pod) }?;
        // SAFETY: the contract page.
        match unsafe { ReadPod::new(&given) } {
            Ok(read) => {
                let applied = head.cluster.apply_pod(&read.pod());
                tell(to, head.applied(applied)?)
            }
            Err(status) => {
                // SAFETY: the contract page.
                unsafe { head.unreadable(Kind::Pod, given.in_namespace, given.name) };
                Err(status)
            }
        }
    })
}

/// Takes a Node as it is now. Lends it with all that it points to. Fills *out_reason (enum ek_reason) with what became of it;
/// NULL if that is not wanted.
///
/// EK_STATUS_INVALID, EK_STATUS_FULL_*: the last good one stays, and a relist does not end it. A new zone of this node, a new
/// weight or another readiness makes the next seal look at every endpoint; nothing else costs more than a look.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_apply_node(
    cluster: *mut ek_cluster,
    node: *const ek_node,
    out_reason: *mut u32,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out_if_wanted(out_reason) }?;
        // SAFETY: the contract page.
        let head = unsafe { borrow::cluster_mut(cluster) }?;
        // SAFETY: the contract page.
        let given = unsafe { borrow::read(node) }?;
        // SAFETY: the contract page.
        match unsafe { ReadNode::new(&given) } {
            Ok(read) => {
                let applied = head.cluster.apply_node(&read.node());
                tell(to, head.applied(applied)?)
            }
            Err(status) => {
                // SAFETY: the contract page.
                unsafe { head.unreadable(Kind::Node, ek_text::EMPTY, given.name) };
                Err(status)
            }
        }
    })
}

/// OK if there was one.
const fn found(was_there: bool) -> Answer {
    if was_there { Ok(ek_status::Ok) } else { Err(ek_status::NotFound) }
}

/// An object of a kind. A Node has no namespace.
struct Named<'a> {
    kind: Kind,
    namespace: &'a str,
    name: &'a str,
}

impl Named<'_> {
    /// # Safety
    /// The caller lends the names.
    unsafe fn new(kind: u32, in_namespace: ek_text, name: ek_text) -> Answer<Self> {
        let kind = self::kind(kind)?;
        if kind == Kind::Node {
            // SAFETY: the same promise.
            if !unsafe { borrow::text(in_namespace) }?.is_empty() {
                return Err(ek_status::Invalid);
            }
            // SAFETY: the same promise.
            let name = unsafe { borrow::name(name) }?;
            return Ok(Self { kind, namespace: "", name });
        }
        // SAFETY: the same promise.
        let (namespace, name) = unsafe { borrow::names(in_namespace, name) }?;
        Ok(Self { kind, namespace, name })
    }
}

/// Forgets an object. Lends its names; the namespace of a Node is empty.
///
/// kind: enum ek_kind. EK_STATUS_NOT_FOUND: there was none, which does no harm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_delete(
    cluster: *mut ek_cluster,
    kind: u32,
    in_namespace: ek_text,
    name: ek_text,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let Named { kind, namespace, name } = unsafe { Named::new(kind, in_namespace, name) }?;
        // SAFETY: the contract page.
        let cluster = &mut unsafe { borrow::cluster_mut(cluster) }?.cluster;
        found(match kind {
            Kind::Service => cluster.delete_service(namespace, name),
            Kind::Slice => cluster.delete_slice(namespace, name),
            Kind::Pod => cluster.delete_pod(namespace, name),
            Kind::Node => cluster.delete_node(name),
        })
    })
}

/// The last version of an object could not be used by whoever decodes: the last good one stays, a relist does not end it, and
/// ek_cluster_explain() says so. Lends its names; the namespace of a Node is empty.
///
/// kind: enum ek_kind. EK_STATUS_NOT_FOUND: nothing is known of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_mark_stale(
    cluster: *mut ek_cluster,
    kind: u32,
    in_namespace: ek_text,
    name: ek_text,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let Named { kind, namespace, name } = unsafe { Named::new(kind, in_namespace, name) }?;
        // SAFETY: the contract page.
        found(unsafe { borrow::cluster_mut(cluster) }?.cluster.mark_stale(kind, namespace, name))
    })
}

/// Turns what was applied into a generation. Fills *out_generation with its number.
///
/// EK_STATUS_DONE: there is nothing to be seen of what was applied; the generation is as before. EK_STATUS_WAITING: some source
/// has not been listed yet, and nothing is published until it is. Costs grow with what was applied, not with what there is; a
/// port whose endpoints are chosen differently now costs a look at each of its endpoints.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_cluster_seal(
    cluster: *mut ek_cluster,
    now_ns: u64,
    out_generation: *mut u64,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out(out_generation) }?;
        // SAFETY: the contract page.
        let cluster = &mut unsafe { borrow::cluster_mut(cluster) }?.cluster;
        match cluster.seal(Timestamp::from_nanos(now_ns)) {
            Sealed::Waiting => Ok(ek_status::Waiting),
            Sealed::Unchanged(_) => Ok(ek_status::Done),
            Sealed::Generation(generation) => {
                to.write(generation);
                Ok(ek_status::Ok)
            }
        }
    })
}
