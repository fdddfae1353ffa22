//! What comes in: Kubernetes' objects, as a C program has them, and as core takes them.

use evenkeel_core::address::{Address, Family, Prefix};
use evenkeel_core::bounds;
use evenkeel_core::object::{
    self, Conditions, ContainerPort, Endpoint, EndpointSlice, Label, Node, Pod, PodRef, Service, ServicePort,
    ServiceType, SlicePort, TargetPort, TrafficPolicy,
};
use evenkeel_core::time::Timestamp;

use crate::borrow::{self, Plain};
use crate::limits::families;
use crate::status::{Answer, ek_status};
use crate::value::{ek_address, ek_prefix, ek_text, family, protocol};

/// Ports of a Service at the most; also of a slice.
pub const EK_PORTS_MAX: usize = 100;
/// Endpoints of a slice at the most.
pub const EK_SLICE_ENDPOINTS_MAX: usize = 1000;
/// Hints of one kind that an endpoint may have at the most.
pub const EK_HINTS_MAX: usize = 8;
/// Pairs of a selector at the most.
pub const EK_SELECTOR_MAX: usize = 64;
/// External IPs of a Service at the most, and again of its load balancers.
pub const EK_EXTERNAL_IPS_MAX: usize = 64;
/// Source ranges of a Service at the most.
pub const EK_SOURCE_RANGES_MAX: usize = 250;
/// Labels of a Pod at the most.
pub const EK_LABELS_MAX: usize = 128;
/// Named container ports of a Pod at the most.
pub const EK_CONTAINER_PORTS_MAX: usize = 128;
/// Addresses of a Pod or a Node that are looked at.
pub const EK_ADDRESSES_MAX: usize = 16;

const _: () = assert!(EK_PORTS_MAX == bounds::SLICE_PORTS_MAX);
const _: () = assert!(EK_SLICE_ENDPOINTS_MAX == bounds::SLICE_ENDPOINTS_MAX);
const _: () = assert!(EK_HINTS_MAX == bounds::HINTS_MAX);
const _: () = assert!(EK_SOURCE_RANGES_MAX == crate::memory::RANGES_MAX);

/// A few values on the stack.
pub(crate) struct List<T, const N: usize> {
    items: [T; N],
    count: usize,
}

impl<T: Copy + Default, const N: usize> List<T, N> {
    pub(crate) fn new() -> Self {
        Self { items: [T::default(); N], count: 0 }
    }

    pub(crate) fn push(&mut self, item: T) -> Answer<()> {
        *self.items.get_mut(self.count).ok_or(ek_status::Invalid)? = item;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Each of these, converted; more than there is room for are refused.
    pub(crate) fn read<U>(from: &[U], mut convert: impl FnMut(&U) -> Answer<T>) -> Answer<Self> {
        let mut list = Self::new();
        for item in from {
            list.push(convert(item)?)?;
        }
        Ok(list)
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        self.items.get(..self.count).unwrap_or(&[])
    }
}

/// The bit is set.
const fn is(flags: u32, flag: u32) -> bool {
    flags & flag != 0
}

/// Only these bits may be set.
const fn only(flags: u32, known: u32) -> Answer<()> {
    if flags & !known == 0 { Ok(()) } else { Err(ek_status::Invalid) }
}

/// Reserved fields are all zero.
fn zero<T: PartialEq + Default, const N: usize>(reserved: [T; N]) -> Answer<()> {
    if reserved.into_iter().all(|field| field == T::default()) { Ok(()) } else { Err(ek_status::Invalid) }
}

/// Addresses as core has them.
///
/// # Safety
/// The caller lends them.
unsafe fn addresses<const N: usize>(first: *const ek_address, count: usize) -> Answer<List<Address, N>> {
    // SAFETY: the same promise.
    List::read(unsafe { borrow::slice(first, count) }?, |address| address.to_core())
}

/// A label, or one pair of a selector.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_label {
    /// Its key.
    pub key: ek_text,
    /// Its value.
    pub value: ek_text,
}

// SAFETY: texts.
unsafe impl Plain for ek_label {}

/// Labels as core has them.
///
/// # Safety
/// The caller lends them.
unsafe fn labels<'a, const N: usize>(first: *const ek_label, count: usize) -> Answer<List<Label<'a>, N>> {
    // SAFETY: the same promise.
    List::read(unsafe { borrow::slice(first, count) }?, |label| {
        // SAFETY: the same promise.
        let key = unsafe { borrow::text(label.key) }?;
        // SAFETY: the same promise.
        Ok(Label { key, value: unsafe { borrow::text(label.value) }? })
    })
}

/// spec.type of a Service.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_service_type {
    /// ClusterIP
    ClusterIp = 0,
    /// NodePort
    NodePort = 1,
    /// LoadBalancer
    LoadBalancer = 2,
    /// ExternalName
    ExternalName = 3,
}

/// A traffic policy of a Service, and which of the two sets of backends serves a VIP.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_policy {
    /// Any usable endpoint of the cluster.
    Cluster = 0,
    /// Only endpoints on this node.
    Local = 1,
}

const fn policy(number: u8) -> Answer<TrafficPolicy> {
    match number {
        0 => Ok(TrafficPolicy::Cluster),
        1 => Ok(TrafficPolicy::Local),
        _ => Err(ek_status::Invalid),
    }
}

/// Of struct ek_service: spec.clusterIP is "None" or empty.
pub const EK_SERVICE_HEADLESS: u32 = 1;
/// Of struct ek_service: spec.publishNotReadyAddresses.
pub const EK_SERVICE_PUBLISH_NOT_READY: u32 = 2;
/// Of struct ek_service: annotation evenkeel.dev/maintenance; every backend gets weight 0.
pub const EK_SERVICE_MAINTENANCE: u32 = 4;

/// One of spec.ports of a Service.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_service_port {
    /// Empty for an unnamed single port.
    pub name: ek_text,
    /// targetPort if it is a name; empty if it is a number. Only read where endpoints come from Pods.
    pub target_name: ek_text,
    /// appProtocol
    pub app_protocol: ek_text,
    /// The port of the VIP; 1 to 65535.
    pub port: u16,
    /// nodePort; 0 for none.
    pub node_port: u16,
    /// targetPort if it is a number.
    pub target_port: u16,
    /// enum ek_protocol; 0 stands for TCP.
    pub protocol: u8,
    /// 0
    pub reserved: u8,
}

// SAFETY: integers and texts, and padding is named.
unsafe impl Plain for ek_service_port {}

/// A Service, as far as a node needs it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_service {
    /// sizeof(struct ek_service)
    pub size: u32,
    /// EK_SERVICE_*
    pub flags: u32,
    /// metadata.namespace
    pub in_namespace: ek_text,
    /// metadata.name
    pub name: ek_text,
    /// metadata.creationTimestamp; of two claims to one VIP, the older wins. 0 if it is not known.
    pub created_ns: u64,
    /// enum ek_service_type
    pub r#type: u8,
    /// enum ek_policy: internalTrafficPolicy
    pub internal_policy: u8,
    /// enum ek_policy: externalTrafficPolicy
    pub external_policy: u8,
    /// 0
    pub reserved: u8,
    /// Seconds of ClientIP affinity, 10800 where the Service does not say; 0 for none.
    pub affinity_seconds: u32,
    /// spec.healthCheckNodePort; 0 for none.
    pub health_check_node_port: u16,
    /// enum ek_family: spec.ipFamilies, in order. None: that of the cluster IP, or both if it is headless.
    pub families: [u8; 2],
    /// 0
    pub reserved_too: u32,
    /// spec.clusterIPs, at most one a family; none if it is headless.
    pub cluster_ips: *const ek_address,
    /// How many there are.
    pub cluster_ips_count: usize,
    /// spec.externalIPs that are addresses, at most EK_EXTERNAL_IPS_MAX.
    pub external_ips: *const ek_address,
    /// How many there are.
    pub external_ips_count: usize,
    /// status.loadBalancer.ingress, the ip of those with ipMode absent or VIP, at most EK_EXTERNAL_IPS_MAX.
    pub ingress_ips: *const ek_address,
    /// How many there are.
    pub ingress_ips_count: usize,
    /// spec.loadBalancerSourceRanges that are prefixes, at most EK_SOURCE_RANGES_MAX.
    pub source_ranges: *const ek_prefix,
    /// How many there are.
    pub source_ranges_count: usize,
    /// spec.ports, at most EK_PORTS_MAX.
    pub ports: *const ek_service_port,
    /// How many there are.
    pub ports_count: usize,
    /// spec.selector, each pair once, at most EK_SELECTOR_MAX.
    pub selector: *const ek_label,
    /// How many there are.
    pub selector_count: usize,
    /// Label service.kubernetes.io/service-proxy-name; bytes is NULL without the label.
    pub proxy_name: ek_text,
}

// SAFETY: integers, pointers and texts, and padding is named.
unsafe impl Plain for ek_service {}

/// A Service, read: what core's borrows and does not stand in the caller's memory.
pub(crate) struct ReadService<'a> {
    service: Service<'a>,
    families: List<Family, 2>,
    cluster_ips: List<Address, 2>,
    external_ips: List<Address, EK_EXTERNAL_IPS_MAX>,
    ingress_ips: List<Address, EK_EXTERNAL_IPS_MAX>,
    source_ranges: List<Prefix, EK_SOURCE_RANGES_MAX>,
    ports: List<ServicePort<'a>, EK_PORTS_MAX>,
    selector: List<Label<'a>, EK_SELECTOR_MAX>,
}

impl ReadService<'_> {
    /// # Safety
    /// The caller lends all that the Service points to.
    pub(crate) unsafe fn new(given: &ek_service) -> Answer<Self> {
        only(given.flags, EK_SERVICE_HEADLESS | EK_SERVICE_PUBLISH_NOT_READY | EK_SERVICE_MAINTENANCE)?;
        zero([given.reserved])?;
        zero([given.reserved_too])?;
        // SAFETY: the same promise.
        let (namespace, name) = unsafe { borrow::names(given.in_namespace, given.name) }?;
        // SAFETY: the same promise.
        let ports = unsafe { borrow::slice(given.ports, given.ports_count) }?;
        // SAFETY: the same promise.
        let ranges = unsafe { borrow::slice(given.source_ranges, given.source_ranges_count) }?;
        Ok(Self {
            service: Service {
                namespace,
                name,
                created: Timestamp::from_nanos(given.created_ns),
                kind: match given.r#type {
                    0 => ServiceType::ClusterIp,
                    1 => ServiceType::NodePort,
                    2 => ServiceType::LoadBalancer,
                    3 => ServiceType::ExternalName,
                    _ => return Err(ek_status::Invalid),
                },
                headless: is(given.flags, EK_SERVICE_HEADLESS),
                internal_policy: policy(given.internal_policy)?,
                external_policy: policy(given.external_policy)?,
                affinity_seconds: given.affinity_seconds,
                health_check_node_port: given.health_check_node_port,
                publish_not_ready: is(given.flags, EK_SERVICE_PUBLISH_NOT_READY),
                // SAFETY: the same promise.
                proxy_name: unsafe { borrow::text_if_any(given.proxy_name) }?,
                maintenance: is(given.flags, EK_SERVICE_MAINTENANCE),
                ..Service::default()
            },
            families: families(given.families)?,
            // SAFETY: the same promise.
            cluster_ips: unsafe { addresses(given.cluster_ips, given.cluster_ips_count) }?,
            // SAFETY: the same promise.
            external_ips: unsafe { addresses(given.external_ips, given.external_ips_count) }?,
            // SAFETY: the same promise.
            ingress_ips: unsafe { addresses(given.ingress_ips, given.ingress_ips_count) }?,
            source_ranges: List::read(ranges, |range| range.to_core())?,
            // SAFETY: the same promise.
            ports: List::read(ports, |port| unsafe { service_port(port) })?,
            // SAFETY: the same promise.
            selector: unsafe { labels(given.selector, given.selector_count) }?,
        })
    }

    /// As core takes it.
    pub(crate) fn service(&self) -> Service<'_> {
        Service {
            families: self.families.as_slice(),
            cluster_ips: self.cluster_ips.as_slice(),
            external_ips: self.external_ips.as_slice(),
            ingress_ips: self.ingress_ips.as_slice(),
            source_ranges: self.source_ranges.as_slice(),
            ports: self.ports.as_slice(),
            selector: self.selector.as_slice(),
            ..self.service
        }
    }
}

/// # Safety
/// The caller lends what the port points to.
unsafe fn service_port<'a>(port: &ek_service_port) -> Answer<ServicePort<'a>> {
    zero([port.reserved])?;
    // SAFETY: the same promise.
    let target = unsafe { borrow::text(port.target_name) }?;
    Ok(ServicePort {
        // SAFETY: the same promise.
        name: unsafe { borrow::text(port.name) }?,
        protocol: protocol(port.protocol)?,
        port: port.port,
        node_port: port.node_port,
        target: if target.is_empty() { TargetPort::Number(port.target_port) } else { TargetPort::Name(target) },
        // SAFETY: the same promise.
        app_protocol: unsafe { borrow::text(port.app_protocol) }?,
    })
}

/// Of struct ek_slice: label service.kubernetes.io/headless is present.
pub const EK_SLICE_HEADLESS: u32 = 1;
/// Of struct ek_slice: its weight counts; without this it is 100.
pub const EK_SLICE_WEIGHTED: u32 = 2;

/// One of ports of an EndpointSlice.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_slice_port {
    /// The name of the Service's port; empty for an unnamed one.
    pub name: ek_text,
    /// 0 if it is absent: such a port is skipped and counted.
    pub port: u16,
    /// enum ek_protocol; 0 stands for TCP.
    pub protocol: u8,
    /// 0
    pub reserved: [u8; 5],
}

// SAFETY: integers and a text, and padding is named.
unsafe impl Plain for ek_slice_port {}

/// Of struct ek_endpoint: conditions.ready is true or absent.
pub const EK_ENDPOINT_READY: u32 = 1;
/// Of struct ek_endpoint: conditions.serving is true or absent.
pub const EK_ENDPOINT_SERVING: u32 = 2;
/// Of struct ek_endpoint: conditions.terminating is true.
pub const EK_ENDPOINT_TERMINATING: u32 = 4;

/// One of endpoints of an EndpointSlice.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_endpoint {
    /// The first of addresses, of the slice's family; further ones have no meaning for a proxy.
    pub address: ek_address,
    /// Conditions: EK_ENDPOINT_*. All absent means EK_ENDPOINT_READY | EK_ENDPOINT_SERVING.
    pub flags: u32,
    /// nodeName; empty if it is absent.
    pub node: ek_text,
    /// zone; empty if it is absent.
    pub zone: ek_text,
    /// targetRef.name if its kind is Pod, else empty.
    pub pod_name: ek_text,
    /// targetRef.uid if its kind is Pod, else empty.
    pub pod_uid: ek_text,
    /// Names in hints.forZones, at most EK_HINTS_MAX.
    pub zone_hints: *const ek_text,
    /// How many there are.
    pub zone_hints_count: usize,
    /// Names in hints.forNodes, at most EK_HINTS_MAX.
    pub node_hints: *const ek_text,
    /// How many there are.
    pub node_hints_count: usize,
    /// 0
    pub reserved: [u32; 2],
}

// SAFETY: integers, pointers and texts, and padding is named.
unsafe impl Plain for ek_endpoint {}

/// An EndpointSlice.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_slice {
    /// sizeof(struct ek_slice)
    pub size: u32,
    /// EK_SLICE_*
    pub flags: u32,
    /// metadata.namespace
    pub in_namespace: ek_text,
    /// metadata.name
    pub name: ek_text,
    /// Label kubernetes.io/service-name; empty without it.
    pub service: ek_text,
    /// Annotation endpoints.kubernetes.io/last-change-trigger-time; 0 if it is absent or cannot be read.
    pub trigger_ns: u64,
    /// Label service.kubernetes.io/service-proxy-name; bytes is NULL without the label.
    pub proxy_name: ek_text,
    /// ports, at most EK_PORTS_MAX.
    pub ports: *const ek_slice_port,
    /// How many there are.
    pub ports_count: usize,
    /// endpoints that have an address, at most EK_SLICE_ENDPOINTS_MAX.
    pub endpoints: *const ek_endpoint,
    /// How many there are.
    pub endpoints_count: usize,
    /// With EK_SLICE_WEIGHTED, annotation evenkeel.dev/weight: factor of each endpoint in hundredths.
    pub weight: u16,
    /// enum ek_family: addressType; EK_FAMILY_NONE for FQDN.
    pub family: u8,
    /// 0
    pub reserved: [u8; 5],
}

// SAFETY: integers, pointers and texts, and padding is named.
unsafe impl Plain for ek_slice {}

/// An EndpointSlice, read. Its endpoints stay where they are.
pub(crate) struct ReadSlice<'a> {
    slice: EndpointSlice<'a>,
    ports: List<SlicePort<'a>, EK_PORTS_MAX>,
    pub(crate) endpoints: Endpoints<'a>,
}

impl ReadSlice<'_> {
    /// # Safety
    /// The caller lends all that the slice points to.
    pub(crate) unsafe fn new(given: &ek_slice) -> Answer<Self> {
        only(given.flags, EK_SLICE_HEADLESS | EK_SLICE_WEIGHTED)?;
        zero(given.reserved)?;
        // SAFETY: the same promise.
        let (namespace, name) = unsafe { borrow::names(given.in_namespace, given.name) }?;
        // SAFETY: the same promise.
        let ports = unsafe { borrow::slice(given.ports, given.ports_count) }?;
        // SAFETY: the same promise.
        let endpoints = unsafe { borrow::slice(given.endpoints, given.endpoints_count) }?;
        let family = family(given.family)?;
        Ok(Self {
            slice: EndpointSlice {
                namespace,
                name,
                // SAFETY: the same promise.
                service: unsafe { borrow::text(given.service) }?,
                family,
                headless: is(given.flags, EK_SLICE_HEADLESS),
                // SAFETY: the same promise.
                proxy_name: unsafe { borrow::text_if_any(given.proxy_name) }?,
                trigger: Timestamp::from_nanos(given.trigger_ns),
                weight: if is(given.flags, EK_SLICE_WEIGHTED) { given.weight } else { 100 },
                ..EndpointSlice::default()
            },
            // SAFETY: the same promise.
            ports: List::read(ports, |port| unsafe { slice_port(port) })?,
            // SAFETY: the same promise.
            endpoints: unsafe { Endpoints::new(endpoints, family) }?,
        })
    }

    /// As core takes it.
    pub(crate) fn slice(&self) -> EndpointSlice<'_> {
        EndpointSlice { ports: self.ports.as_slice(), ..self.slice }
    }
}

/// # Safety
/// The caller lends what the port points to.
unsafe fn slice_port<'a>(port: &ek_slice_port) -> Answer<SlicePort<'a>> {
    zero(port.reserved)?;
    Ok(SlicePort {
        // SAFETY: the same promise.
        name: unsafe { borrow::text(port.name) }?,
        protocol: protocol(port.protocol)?,
        port: port.port,
    })
}

/// Endpoints in the caller's array, each of which can be read.
pub(crate) struct Endpoints<'a>(&'a [ek_endpoint]);

impl<'a> Endpoints<'a> {
    /// # Safety
    /// The caller lends all that the endpoints point to, for as long as they are used.
    unsafe fn new(endpoints: &'a [ek_endpoint], family: Option<Family>) -> Answer<Self> {
        for endpoint in endpoints {
            let mut hints = Hints::new();
            // SAFETY: the same promise.
            let endpoint = unsafe { hints.read(endpoint) }?;
            // An IPv4 address may be written as IPv6, but then its family is not the slice's.
            if Some(endpoint.address.family()) != family {
                return Err(ek_status::Invalid);
            }
        }
        Ok(Self(endpoints))
    }
}

impl object::Endpoints for Endpoints<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn each(&self, mut visit: impl FnMut(&Endpoint<'_>) -> bool) {
        for endpoint in self.0 {
            let mut hints = Hints::new();
            // SAFETY: whoever made this promised it, and that it could be read was seen then.
            let Ok(endpoint) = (unsafe { hints.read(endpoint) }) else { return };
            if !visit(&endpoint) {
                return;
            }
        }
    }
}

/// The hints of one endpoint at a time.
struct Hints<'a> {
    zones: List<&'a str, EK_HINTS_MAX>,
    nodes: List<&'a str, EK_HINTS_MAX>,
}

impl<'a> Hints<'a> {
    fn new() -> Self {
        Self { zones: List::new(), nodes: List::new() }
    }

    /// # Safety
    /// The caller lends what the endpoint points to.
    unsafe fn read(&mut self, from: &ek_endpoint) -> Answer<Endpoint<'_>> {
        only(from.flags, EK_ENDPOINT_READY | EK_ENDPOINT_SERVING | EK_ENDPOINT_TERMINATING)?;
        zero(from.reserved)?;
        // SAFETY: the same promise.
        self.zones = unsafe { texts(from.zone_hints, from.zone_hints_count) }?;
        // SAFETY: the same promise.
        self.nodes = unsafe { texts(from.node_hints, from.node_hints_count) }?;
        // SAFETY: the same promise.
        let pod = unsafe { pod_ref(from) }?;
        Ok(Endpoint {
            address: from.address.to_core()?,
            // SAFETY: the same promise.
            node: unsafe { borrow::text(from.node) }?,
            // SAFETY: the same promise.
            zone: unsafe { borrow::text(from.zone) }?,
            conditions: Conditions {
                ready: is(from.flags, EK_ENDPOINT_READY),
                serving: is(from.flags, EK_ENDPOINT_SERVING),
                terminating: is(from.flags, EK_ENDPOINT_TERMINATING),
            },
            pod,
            zone_hints: self.zones.as_slice(),
            node_hints: self.nodes.as_slice(),
        })
    }
}

/// # Safety
/// The caller lends what the endpoint points to.
unsafe fn pod_ref<'a>(from: &ek_endpoint) -> Answer<PodRef<'a>> {
    // SAFETY: the same promise.
    let name = unsafe { borrow::text(from.pod_name) }?;
    // SAFETY: the same promise.
    Ok(PodRef { name, uid: unsafe { borrow::text(from.pod_uid) }? })
}

/// # Safety
/// The caller lends the texts.
unsafe fn texts<'a>(first: *const ek_text, count: usize) -> Answer<List<&'a str, EK_HINTS_MAX>> {
    // SAFETY: the same promise.
    List::read(unsafe { borrow::slice(first, count) }?, |text| unsafe { borrow::text(*text) })
}

/// Of struct ek_pod: metadata.deletionTimestamp is set.
pub const EK_POD_TERMINATING: u32 = 1;
/// Of struct ek_pod: status.phase is Failed or Succeeded; never an endpoint.
pub const EK_POD_TERMINAL: u32 = 2;
/// Of struct ek_pod: condition Ready is True.
pub const EK_POD_READY: u32 = 4;
/// Of struct ek_pod: status.podIP or status.podIPs is not empty, whether it can be read or not. Addresses imply it.
pub const EK_POD_HAS_IP: u32 = 8;
/// Of struct ek_pod: its weight counts; without this it is 100.
pub const EK_POD_WEIGHTED: u32 = 16;
/// Of struct ek_pod: annotation evenkeel.dev/maintenance.
pub const EK_POD_MAINTENANCE: u32 = 32;

/// A named container port.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_container_port {
    /// Its name.
    pub name: ek_text,
    /// Its number.
    pub port: u16,
    /// enum ek_protocol; 0 stands for TCP.
    pub protocol: u8,
    /// 0
    pub reserved: [u8; 5],
}

// SAFETY: integers and a text, and padding is named.
unsafe impl Plain for ek_container_port {}

/// A Pod, as far as endpoints depend on it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_pod {
    /// sizeof(struct ek_pod)
    pub size: u32,
    /// EK_POD_*
    pub flags: u32,
    /// metadata.namespace
    pub in_namespace: ek_text,
    /// metadata.name
    pub name: ek_text,
    /// metadata.uid: another uid under the same name is another Pod.
    pub uid: ek_text,
    /// spec.nodeName; empty if it is not scheduled.
    pub node: ek_text,
    /// spec.hostname
    pub hostname: ek_text,
    /// spec.subdomain
    pub subdomain: ek_text,
    /// lastTransitionTime of condition Ready, whatever its status; 0 if it is absent.
    pub ready_since_ns: u64,
    /// metadata.labels, at most EK_LABELS_MAX.
    pub labels: *const ek_label,
    /// How many there are.
    pub labels_count: usize,
    /// status.podIPs that are addresses, in order, at most EK_ADDRESSES_MAX.
    pub addresses: *const ek_address,
    /// How many there are.
    pub addresses_count: usize,
    /// Ports of containers, then of init containers that restart always, in order, at most EK_CONTAINER_PORTS_MAX.
    pub ports: *const ek_container_port,
    /// How many there are.
    pub ports_count: usize,
    /// With EK_POD_WEIGHTED, annotation evenkeel.dev/weight, in hundredths.
    pub weight: u16,
    /// 0
    pub reserved: [u16; 3],
}

// SAFETY: integers, pointers and texts, and padding is named.
unsafe impl Plain for ek_pod {}

/// A Pod, read: what core's borrows and does not stand in the caller's memory.
pub(crate) struct ReadPod<'a> {
    pod: Pod<'a>,
    labels: List<Label<'a>, EK_LABELS_MAX>,
    addresses: List<Address, EK_ADDRESSES_MAX>,
    ports: List<ContainerPort<'a>, EK_CONTAINER_PORTS_MAX>,
}

impl ReadPod<'_> {
    /// # Safety
    /// The caller lends all that the Pod points to.
    pub(crate) unsafe fn new(given: &ek_pod) -> Answer<Self> {
        let known = EK_POD_TERMINATING | EK_POD_TERMINAL | EK_POD_READY | EK_POD_HAS_IP | EK_POD_WEIGHTED;
        only(given.flags, known | EK_POD_MAINTENANCE)?;
        zero(given.reserved)?;
        // SAFETY: the same promise.
        let (namespace, name) = unsafe { borrow::names(given.in_namespace, given.name) }?;
        // SAFETY: the same promise.
        let ports = unsafe { borrow::slice(given.ports, given.ports_count) }?;
        Ok(Self {
            pod: Pod {
                namespace,
                name,
                // SAFETY: the same promise.
                uid: unsafe { borrow::text(given.uid) }?,
                terminating: is(given.flags, EK_POD_TERMINATING),
                terminal: is(given.flags, EK_POD_TERMINAL),
                // SAFETY: the same promise.
                node: unsafe { borrow::text(given.node) }?,
                // SAFETY: the same promise.
                hostname: unsafe { borrow::text(given.hostname) }?,
                // SAFETY: the same promise.
                subdomain: unsafe { borrow::text(given.subdomain) }?,
                ready: is(given.flags, EK_POD_READY),
                ready_since: Timestamp::from_nanos(given.ready_since_ns),
                has_ip: is(given.flags, EK_POD_HAS_IP) || given.addresses_count > 0,
                weight: if is(given.flags, EK_POD_WEIGHTED) { given.weight } else { 100 },
                maintenance: is(given.flags, EK_POD_MAINTENANCE),
                ..Pod::default()
            },
            // SAFETY: the same promise.
            labels: unsafe { labels(given.labels, given.labels_count) }?,
            // SAFETY: the same promise.
            addresses: unsafe { addresses(given.addresses, given.addresses_count) }?,
            // SAFETY: the same promise.
            ports: List::read(ports, |port| unsafe { container_port(port) })?,
        })
    }

    /// As core takes it.
    pub(crate) fn pod(&self) -> Pod<'_> {
        Pod {
            labels: self.labels.as_slice(),
            addresses: self.addresses.as_slice(),
            ports: self.ports.as_slice(),
            ..self.pod
        }
    }
}

/// # Safety
/// The caller lends what the port points to.
unsafe fn container_port<'a>(port: &ek_container_port) -> Answer<ContainerPort<'a>> {
    zero(port.reserved)?;
    Ok(ContainerPort {
        // SAFETY: the same promise.
        name: unsafe { borrow::text(port.name) }?,
        protocol: protocol(port.protocol)?,
        port: port.port,
    })
}

/// Of struct ek_node: condition Ready is True.
pub const EK_NODE_READY: u32 = 1;
/// Of struct ek_node: spec.unschedulable, or the taint of that meaning.
pub const EK_NODE_UNSCHEDULABLE: u32 = 2;
/// Of struct ek_node: the operator does not want it as a backend, by the label
/// node.kubernetes.io/exclude-from-external-load-balancers or by his own choice.
pub const EK_NODE_EXCLUDED: u32 = 4;
/// Of struct ek_node: its weight counts; without this it is 100.
pub const EK_NODE_WEIGHTED: u32 = 8;
/// Of struct ek_node: annotation evenkeel.dev/maintenance.
pub const EK_NODE_MAINTENANCE: u32 = 16;

/// A Node.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_node {
    /// sizeof(struct ek_node)
    pub size: u32,
    /// EK_NODE_*
    pub flags: u32,
    /// metadata.name
    pub name: ek_text,
    /// Label topology.kubernetes.io/zone; empty if it is absent.
    pub zone: ek_text,
    /// status.addresses of type InternalIP, else any; at most one a family is used, at most EK_ADDRESSES_MAX are given.
    pub addresses: *const ek_address,
    /// How many there are.
    pub addresses_count: usize,
    /// With EK_NODE_WEIGHTED, annotation evenkeel.dev/weight: factor of each of its endpoints in hundredths.
    pub weight: u16,
    /// 0
    pub reserved: [u16; 3],
}

// SAFETY: integers, pointers and texts, and padding is named.
unsafe impl Plain for ek_node {}

/// A Node, read: what core's borrows and does not stand in the caller's memory.
pub(crate) struct ReadNode<'a> {
    node: Node<'a>,
    addresses: List<Address, EK_ADDRESSES_MAX>,
}

impl ReadNode<'_> {
    /// # Safety
    /// The caller lends all that the Node points to.
    pub(crate) unsafe fn new(given: &ek_node) -> Answer<Self> {
        let known = EK_NODE_READY | EK_NODE_UNSCHEDULABLE | EK_NODE_EXCLUDED | EK_NODE_WEIGHTED;
        only(given.flags, known | EK_NODE_MAINTENANCE)?;
        zero(given.reserved)?;
        Ok(Self {
            node: Node {
                // SAFETY: the same promise.
                name: unsafe { borrow::name(given.name) }?,
                // SAFETY: the same promise.
                zone: unsafe { borrow::text(given.zone) }?,
                ready: is(given.flags, EK_NODE_READY),
                unschedulable: is(given.flags, EK_NODE_UNSCHEDULABLE),
                excluded: is(given.flags, EK_NODE_EXCLUDED),
                weight: if is(given.flags, EK_NODE_WEIGHTED) { given.weight } else { 100 },
                maintenance: is(given.flags, EK_NODE_MAINTENANCE),
                ..Node::default()
            },
            // SAFETY: the same promise.
            addresses: unsafe { addresses(given.addresses, given.addresses_count) }?,
        })
    }

    /// As core takes it.
    pub(crate) fn node(&self) -> Node<'_> {
        Node { addresses: self.addresses.as_slice(), ..self.node }
    }
}
