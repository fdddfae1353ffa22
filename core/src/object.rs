//! What comes in: Kubernetes' objects as plain, valid, borrowed values with their defaults applied.
//!
//! Whoever decodes (serde in the agent, the reader of watch streams, a C program) ends here. After this
//! nothing is optional that the API defaults, and nobody downstream asks again what an absent field means.

use crate::address::{Address, Family, Prefix};
use crate::port::Protocol;
use crate::time::Timestamp;

/// `spec.type` of a Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "spelled as in the API")]
pub enum ServiceType {
    #[default]
    ClusterIp,
    NodePort,
    LoadBalancer,
    ExternalName,
}

/// `internalTrafficPolicy` or `externalTrafficPolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficPolicy {
    /// Any usable endpoint of the cluster.
    #[default]
    Cluster,
    /// Only endpoints on this node.
    Local,
}

/// A Service, as far as a node needs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Service<'a> {
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.creationTimestamp`; [`Timestamp::NONE`] if absent.
    pub created: Timestamp,
    /// `spec.type`.
    pub kind: ServiceType,
    /// `spec.clusterIP` is `None` or empty: nothing is served, endpoints are only published.
    pub headless: bool,
    /// The cluster IPs, at most one a family: `spec.clusterIPs`, else `spec.clusterIP`. Empty if headless.
    pub cluster_ips: &'a [Address],
    /// `spec.ipFamilies`, in order; if absent the family of the cluster IP; empty for "both" (headless, not stated).
    pub families: &'a [Family],
    /// `spec.externalIPs` that are addresses.
    pub external_ips: &'a [Address],
    /// `status.loadBalancer.ingress[].ip` with `ipMode` absent or `VIP`.
    pub ingress_ips: &'a [Address],
    /// `spec.loadBalancerSourceRanges` that are prefixes.
    pub source_ranges: &'a [Prefix],
    /// `spec.ports`.
    pub ports: &'a [ServicePort<'a>],
    /// `spec.selector`, each pair once; empty for none (absent, null and `{}` mean the same).
    pub selector: &'a [Label<'a>],
    /// `spec.internalTrafficPolicy`.
    pub internal_policy: TrafficPolicy,
    /// `spec.externalTrafficPolicy`.
    pub external_policy: TrafficPolicy,
    /// Seconds of ClientIP affinity; 0 for none. The API's default is 10,800, its maximum 86,400.
    pub affinity_seconds: u32,
    /// `spec.healthCheckNodePort`; 0 for none.
    pub health_check_node_port: u16,
    /// `spec.publishNotReadyAddresses`.
    pub publish_not_ready: bool,
    /// Label `service.kubernetes.io/service-proxy-name`: whose Service this is; `None` without the label.
    pub proxy_name: Option<&'a str>,
    /// Annotation `evenkeel.dev/maintenance`: every backend gets weight 0.
    pub maintenance: bool,
}

/// One of `spec.ports` of a Service.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServicePort<'a> {
    /// Empty for an unnamed single port.
    pub name: &'a str,
    /// Default TCP.
    pub protocol: Protocol,
    /// The port of the VIP; 1 to 65,535.
    pub port: u16,
    /// 0 for none.
    pub node_port: u16,
    /// Where Pods listen; only read when endpoints are computed from Pods.
    pub target: TargetPort<'a>,
    /// Empty if absent.
    pub app_protocol: &'a str,
}

/// `targetPort`: a number, or the name of a container port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPort<'a> {
    /// Used as it is, declared by a container or not.
    Number(u16),
    /// Looked up in each Pod.
    Name(&'a str),
}

impl Default for TargetPort<'_> {
    fn default() -> Self {
        Self::Number(0)
    }
}

/// A label, or one pair of a selector: compared byte for byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "a key and its value")]
pub struct Label<'a> {
    pub key: &'a str,
    pub value: &'a str,
}

/// An EndpointSlice.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndpointSlice<'a> {
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// Label `kubernetes.io/service-name`; empty without it.
    pub service: &'a str,
    /// `addressType`; `None` for FQDN, which no dataplane of addresses can use.
    pub family: Option<Family>,
    /// Label `service.kubernetes.io/headless` is present: kube-proxy does not look at such a slice.
    pub headless: bool,
    /// Label `service.kubernetes.io/service-proxy-name`, as on the Service.
    pub proxy_name: Option<&'a str>,
    /// Annotation `endpoints.kubernetes.io/last-change-trigger-time`; [`Timestamp::NONE`] if absent or unparsable.
    pub trigger: Timestamp,
    /// Annotation `evenkeel.dev/weight`, else Cilium's: factor of each endpoint in hundredths; 100 without.
    pub weight: u16,
    /// `ports`; entries without a name or a number are to be left in, with `port` 0 (they are skipped and counted).
    pub ports: &'a [SlicePort<'a>],
    /// `endpoints` with at least one address.
    pub endpoints: &'a [Endpoint<'a>],
}

/// Endpoints of a slice, wherever they stand: as they are here, in a C program's array, in a reader's memory.
pub trait Endpoints {
    /// How many there are.
    fn count(&self) -> usize;

    /// Shows each of them, in order, for as long as `visit` answers true. May be called several times, and shows the
    /// same each time.
    fn each(&self, visit: impl FnMut(&Endpoint<'_>) -> bool);
}

impl Endpoints for [Endpoint<'_>] {
    fn count(&self) -> usize {
        self.len()
    }

    fn each(&self, mut visit: impl FnMut(&Endpoint<'_>) -> bool) {
        for endpoint in self {
            if !visit(endpoint) {
                break;
            }
        }
    }
}

/// One of `ports` of an EndpointSlice.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlicePort<'a> {
    /// The name of the Service's port; empty for an unnamed one.
    pub name: &'a str,
    /// Default TCP.
    pub protocol: Protocol,
    /// 0 if absent: such a port is skipped.
    pub port: u16,
}

/// One of `endpoints` of an EndpointSlice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Endpoint<'a> {
    /// The first of `addresses`; further ones have no meaning for a proxy.
    pub address: Address,
    /// `nodeName`; empty if absent.
    pub node: &'a str,
    /// `zone`; empty if absent.
    pub zone: &'a str,
    /// `conditions`, defaulted.
    pub conditions: Conditions,
    /// `targetRef` of kind Pod, else empty.
    pub pod: PodRef<'a>,
    /// `hints.forZones[].name`, at most 8.
    pub zone_hints: &'a [&'a str],
    /// `hints.forNodes[].name`, at most 8.
    pub node_hints: &'a [&'a str],
}

/// The three conditions of an endpoint, already defaulted: absent `ready` and `serving` are true, absent
/// `terminating` is false (kube-proxy's reading; discovery/v1 says the same of `ready`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "spelled as in the API")]
pub struct Conditions {
    pub ready: bool,
    pub serving: bool,
    pub terminating: bool,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { ready: true, serving: true, terminating: false }
    }
}

/// Which Pod an endpoint is; empty texts for none. The namespace is the endpoint's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "spelled as in the API")]
pub struct PodRef<'a> {
    pub name: &'a str,
    pub uid: &'a str,
}

/// A Pod, as far as endpoints depend on it (endpoints controller; `spec/k8s-endpoints` 2.5 to 2.7, 4.4).
#[derive(Clone, Copy, Debug, Default)]
pub struct Pod<'a> {
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.uid`: another uid under the same name is another Pod.
    pub uid: &'a str,
    /// `metadata.labels`.
    pub labels: &'a [Label<'a>],
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// `status.phase` is Failed or Succeeded: never an endpoint.
    pub terminal: bool,
    /// `spec.nodeName`; empty if not scheduled.
    pub node: &'a str,
    /// `spec.hostname`.
    pub hostname: &'a str,
    /// `spec.subdomain`.
    pub subdomain: &'a str,
    /// Condition Ready is True.
    pub ready: bool,
    /// `lastTransitionTime` of condition Ready, whatever its status; [`Timestamp::NONE`] if absent.
    pub ready_since: Timestamp,
    /// `status.podIP` or `status.podIPs` is not empty, readable or not: such a Pod counts, even while it has no
    /// address that an endpoint could have.
    pub has_ip: bool,
    /// `status.podIPs` that are addresses, in order.
    pub addresses: &'a [Address],
    /// Ports of containers, then of init containers with restart policy Always, in order.
    pub ports: &'a [ContainerPort<'a>],
    /// Annotation `evenkeel.dev/weight`; 100 without.
    pub weight: u16,
    /// Annotation `evenkeel.dev/maintenance`.
    pub maintenance: bool,
}

/// A named container port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "spelled as in the API")]
pub struct ContainerPort<'a> {
    pub name: &'a str,
    pub protocol: Protocol,
    pub port: u16,
}

/// A Node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// Label `topology.kubernetes.io/zone`; empty if absent.
    pub zone: &'a str,
    /// Condition Ready is True.
    pub ready: bool,
    /// `spec.unschedulable`, or the taint of that meaning.
    pub unschedulable: bool,
    /// The operator does not want it as a backend: label `node.kubernetes.io/exclude-from-external-load-balancers`, or
    /// not chosen by his selector.
    pub excluded: bool,
    /// `status.addresses` of type InternalIP, else any that is an address; at most one a family is used.
    pub addresses: &'a [Address],
    /// Annotation `evenkeel.dev/weight`: factor of each of its endpoints in hundredths; 100 without.
    pub weight: u16,
    /// Annotation `evenkeel.dev/maintenance`.
    pub maintenance: bool,
}
