//! What the caller chooses: how much there may be, and what is wanted of it.

use core::ptr;

use evenkeel_core::address::{Address, Family};
use evenkeel_core::limits::{Backends, Config, Limits, Source};
use evenkeel_core::time::Timestamp;

use crate::borrow::{self, Plain};
use crate::object::List;
use crate::status::{Answer, ek_status, status};
use crate::value::{ek_address, ek_text, family};

/// How many of each thing there may be. Every row costs memory from the start, as ek_cluster_usage() tells; nothing grows
/// by itself. 0 stands for a sensible number, worked out from services_max, endpoints_max, nodes_max and pods_max.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_limits {
    /// sizeof(struct ek_limits)
    pub size: u32,
    /// Services, and names of Services that only slices speak of. 0 stands for 208.
    pub services_max: u32,
    /// Endpoints, one for each address and port of a Service, with room for one more of the largest slice, and for what went and
    /// is not acknowledged yet. With nodes as backends, one more for each pair of node and port. 0 stands for 5,500.
    pub endpoints_max: u32,
    /// Nodes, and names of Nodes that only endpoints speak of. 0 stands for 58.
    pub nodes_max: u32,
    /// Pods; 0 for none: they are only needed where endpoints depend on them.
    pub pods_max: u32,
    /// Ports: one for each port, protocol and family of a Service.
    pub ports_max: u32,
    /// EndpointSlices.
    pub slices_max: u32,
    /// VIPs: cluster IPs, external IPs, addresses of load balancers, node ports.
    pub vips_max: u32,
    /// Named container ports, over all Pods.
    pub pod_ports_max: u32,
    /// Labels, over all Pods.
    pub labels_max: u32,
    /// Pairs of labels that are selected by or carried, each counted once a namespace.
    pub selectors_max: u32,
    /// Pairs of a Node and a zone that endpoints name together.
    pub places_max: u32,
    /// Trigger times that wait for their acknowledgement.
    pub triggers_max: u32,
    /// Distinct names, pairs of labels, sets of hints and of source ranges.
    pub texts_max: u32,
    /// Bytes of all these; each is rounded up to 16 and costs 8 more.
    pub text_bytes_max: u32,
    /// Consumers that pull changes, each at its own pace.
    pub cursors_max: u32,
    /// Mixed into every hash: take it from a source of chance, so that nobody who may create objects can choose what collides. 0
    /// stands for a fixed one. A cluster that is moved keeps its own.
    pub hash_seed: u64,
}

// SAFETY: integers; 16 of 4 bytes, then one of 8.
unsafe impl Plain for ek_limits {}

impl ek_limits {
    pub(crate) const fn to_core(self) -> Limits {
        const fn or(given: u32, derived: u32) -> u32 {
            if given == 0 { derived } else { given }
        }
        let chosen = Limits::for_cluster(
            or(self.services_max, 200),
            or(self.endpoints_max, 4_000),
            or(self.nodes_max, 50),
        );
        let derived = if self.pods_max == 0 { chosen } else { chosen.with_pods(self.pods_max) };
        Limits {
            services_max: or(self.services_max, derived.services_max),
            ports_max: or(self.ports_max, derived.ports_max),
            slices_max: or(self.slices_max, derived.slices_max),
            endpoints_max: or(self.endpoints_max, derived.endpoints_max),
            vips_max: or(self.vips_max, derived.vips_max),
            pods_max: self.pods_max,
            pod_ports_max: or(self.pod_ports_max, derived.pod_ports_max),
            labels_max: or(self.labels_max, derived.labels_max),
            selectors_max: or(self.selectors_max, derived.selectors_max),
            nodes_max: or(self.nodes_max, derived.nodes_max),
            places_max: or(self.places_max, derived.places_max),
            triggers_max: or(self.triggers_max, derived.triggers_max),
            texts_max: or(self.texts_max, derived.texts_max),
            text_bytes_max: or(self.text_bytes_max, derived.text_bytes_max),
            cursors_max: or(self.cursors_max, derived.cursors_max),
            hash_seed: if self.hash_seed == 0 { derived.hash_seed } else { self.hash_seed },
        }
    }

    const fn from_core(limits: &Limits) -> Self {
        Self {
            #[allow(clippy::cast_possible_truncation, reason = "a few dozen")]
            size: size_of::<Self>() as u32,
            services_max: limits.services_max,
            endpoints_max: limits.endpoints_max,
            nodes_max: limits.nodes_max,
            pods_max: limits.pods_max,
            ports_max: limits.ports_max,
            slices_max: limits.slices_max,
            vips_max: limits.vips_max,
            pod_ports_max: limits.pod_ports_max,
            labels_max: limits.labels_max,
            selectors_max: limits.selectors_max,
            places_max: limits.places_max,
            triggers_max: limits.triggers_max,
            texts_max: limits.texts_max,
            text_bytes_max: limits.text_bytes_max,
            cursors_max: limits.cursors_max,
            hash_seed: limits.hash_seed,
        }
    }
}

/// Fills *out_limits with room for so many Services with one or two ports, so many endpoints, Nodes and Pods, and some to
/// spare. Pods are 0 where endpoints come from slices alone. The seed is to be set afterwards.
///
/// size: sizeof *out_limits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_limits_for(
    services: u32,
    endpoints: u32,
    nodes: u32,
    pods: u32,
    out_limits: *mut ek_limits,
    size: usize,
) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let place = unsafe { borrow::place(out_limits, size) }?;
        let limits = Limits::for_cluster(services, endpoints, nodes);
        let limits = if pods == 0 { limits } else { limits.with_pods(pods) };
        place.fill(&ek_limits::from_core(&limits));
        Ok(ek_status::Ok)
    })
}

/// Where endpoints come from.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_source {
    /// EndpointSlices, as kube-proxy.
    Slices = 0,
    /// Pods, as the endpoint controllers compute them.
    Pods = 1,
    /// EndpointSlices; those on this node are corrected by its Pods, matched by uid.
    Overlay = 2,
}

/// What a backend is.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_backends {
    /// An endpoint: address and port of a Pod.
    Endpoints = 0,
    /// A Node: its address, and the port of the VIP; its weight is the count of its usable endpoints.
    Nodes = 1,
}

/// Of struct ek_config: keep which Pod each endpoint is. Costs text; EK_SOURCE_OVERLAY switches it on.
pub const EK_CONFIG_KEEP_PODS: u32 = 1;

/// Addresses in ek_config.node_port_addresses at the most.
pub const EK_NODE_PORT_ADDRESSES_MAX: usize = 16;

/// What is wanted of a cluster, fixed for its life. All zero but the size is a place outside the cluster that uses every
/// endpoint of EndpointSlices.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_config {
    /// sizeof(struct ek_config)
    pub size: u32,
    /// EK_CONFIG_*
    pub flags: u32,
    /// Name of the node that the view is for; empty for a place outside the cluster.
    pub node: ek_text,
    /// Only Services whose label service.kubernetes.io/service-proxy-name says this; empty: only those without it.
    pub service_proxy_name: ek_text,
    /// Addresses on which node ports are served, at most EK_NODE_PORT_ADDRESSES_MAX; none for every address of the node.
    pub node_port_addresses: *const ek_address,
    /// How many there are.
    pub node_port_addresses_count: usize,
    /// Trigger times before this are of another life and not measured. 0: all are.
    pub started_ns: u64,
    /// 0: plain weights (an endpoint has 100, a node the count of its endpoints). Else the weights of each set have exactly this
    /// sum, or 1 each where there are more backends than that.
    pub weight_range: u16,
    /// enum ek_source
    pub source: u8,
    /// enum ek_backends
    pub backends: u8,
    /// The families that are wanted; none for both.
    pub families: [u8; 2],
    /// 0
    pub reserved: [u8; 2],
}

// SAFETY: integers and pointers, and padding is named.
unsafe impl Plain for ek_config {}

/// A configuration, read: what [`Config`] borrows and does not stand in the caller's memory.
pub(crate) struct ReadConfig<'a> {
    config: Config<'a>,
    addresses: List<Address, EK_NODE_PORT_ADDRESSES_MAX>,
    families: List<Family, 2>,
}

impl ReadConfig<'_> {
    /// NULL is the configuration that is all zero.
    ///
    /// # Safety
    /// The caller lends the configuration and all it points to.
    pub(crate) unsafe fn new(config: *const ek_config) -> Answer<Self> {
        let given = if config.is_null() {
            ek_config {
                size: 0,
                flags: 0,
                node: ek_text::EMPTY,
                service_proxy_name: ek_text::EMPTY,
                node_port_addresses: ptr::null(),
                node_port_addresses_count: 0,
                started_ns: 0,
                weight_range: 0,
                source: 0,
                backends: 0,
                families: [0; 2],
                reserved: [0; 2],
            }
        } else {
            // SAFETY: the same promise.
            unsafe { borrow::read(config) }?
        };
        if given.flags & !EK_CONFIG_KEEP_PODS != 0 || given.reserved != [0; 2] {
            return Err(ek_status::Invalid);
        }
        // SAFETY: the same promise.
        let addresses = unsafe { borrow::slice(given.node_port_addresses, given.node_port_addresses_count) }?;
        // SAFETY: the same promise.
        let node = unsafe { borrow::text(given.node) }?;
        if !node.is_empty() && !evenkeel_core::name::is_name(node) {
            return Err(ek_status::Invalid);
        }
        Ok(Self {
            config: Config {
                node,
                source: match given.source {
                    0 => Source::Slices,
                    1 => Source::Pods,
                    2 => Source::Overlay,
                    _ => return Err(ek_status::Invalid),
                },
                backends: match given.backends {
                    0 => Backends::Endpoints,
                    1 => Backends::Nodes,
                    _ => return Err(ek_status::Invalid),
                },
                weight_range: given.weight_range,
                // SAFETY: the same promise.
                service_proxy_name: unsafe { borrow::text(given.service_proxy_name) }?,
                started: Timestamp::from_nanos(given.started_ns),
                keep_pods: given.flags & EK_CONFIG_KEEP_PODS != 0,
                ..Config::default()
            },
            addresses: List::read(addresses, |address| address.to_core())?,
            families: families(given.families)?,
        })
    }

    /// As core takes it.
    pub(crate) fn config(&self) -> Config<'_> {
        Config {
            node_port_addresses: self.addresses.as_slice(),
            families: self.families.as_slice(),
            ..self.config
        }
    }
}

/// Families as they are stated, in order; none stands for nothing.
pub(crate) fn families(numbers: [u8; 2]) -> Answer<List<Family, 2>> {
    let mut list = List::new();
    for number in numbers {
        if let Some(family) = family(number)? {
            list.push(family)?;
        }
    }
    Ok(list)
}
