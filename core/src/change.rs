//! What comes out: the node view, in load balancers' words, one row at a time.
//!
//! A change is the full new state of one row, never "old to new": asking twice is harmless. Within a
//! generation the changes of one Service come together: its VIPs, its backends, the backends that went, the
//! VIPs that went, then a mark. Each is ordered by port name, protocol and family; VIPs then by kind, address and
//! port, backends by address and port.
//!
//! Changes are numbers. What has a name is asked for it: a consumer that does not ask pays nothing.

use crate::address::{Address, Family, Prefix};
use crate::cluster::Cluster;
use crate::cluster::rows::{PlaceId, ServiceId};
use crate::object::{PodRef, TrafficPolicy};
use crate::port::Protocol;
use crate::table::ids;
use crate::text::TextId;

/// One difference between what a consumer has acknowledged and what is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'c> {
    /// A VIP to serve: new, or with something changed.
    Vip(Vip<'c>),
    /// A backend: new, or with something changed.
    Backend(Backend<'c>),
    /// A backend that is no longer behind its VIPs.
    BackendGone(BackendGone<'c>),
    /// A VIP that is no longer served.
    VipGone(VipGone<'c>),
    /// All changes of this Service have been given.
    ServiceEnd(ServiceEnd<'c>),
}

/// Namespace and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "spelled as in the API")]
pub struct ServiceName<'c> {
    pub namespace: &'c str,
    pub name: &'c str,
}

/// A port of a Service in one address family: what backends stand behind, and what VIPs lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortName<'c> {
    /// The Service.
    pub service: ServiceName<'c>,
    /// The port's name; empty for an unnamed one.
    pub name: &'c str,
    /// The protocol.
    pub protocol: Protocol,
    /// The family of VIPs and backends.
    pub family: Family,
}

ids!(
    /// Row number of a service port in one family. Stable while the port has VIPs or backends; then it may name another.
    PortId
);

impl PortId {
    /// The number, for consumers that index by it.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// What kind of address a VIP is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VipKind {
    /// `spec.clusterIPs`.
    ClusterIp,
    /// `spec.externalIPs`.
    ExternalIp,
    /// `status.loadBalancer.ingress[].ip`.
    LoadBalancer,
    /// A node port; the unspecified address (`0.0.0.0`, `::`) stands for every address of the node.
    NodePort,
}

impl VipKind {
    /// As printed in JSON and tables.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::ClusterIp => "ClusterIP",
            Self::ExternalIp => "ExternalIP",
            Self::LoadBalancer => "LoadBalancer",
            Self::NodePort => "NodePort",
        }
    }
}

/// What to do with a new flow to a VIP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VipState {
    /// There are backends.
    Serve,
    /// No endpoint anywhere: answer with a refusal (kube-proxy: reject).
    Reject,
    /// There are endpoints, but none that this VIP's policy allows on this node: drop silently.
    Drop,
}

impl VipState {
    /// As printed in JSON and tables.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Reject => "reject",
            Self::Drop => "drop",
        }
    }
}

/// An address and port that clients dial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vip<'c> {
    pub(crate) names: Names<'c>,
    /// Row number of the service port: VIPs and backends with the same number belong together.
    pub id: PortId,
    /// What clients dial.
    pub address: Address,
    /// The port that clients dial.
    pub number: u16,
    /// Where the address comes from.
    pub kind: VipKind,
    /// Which of the two sets of backends serves it: `Cluster` or `Local`.
    pub policy: TrafficPolicy,
    /// Serve, reject or drop.
    pub state: VipState,
    /// Seconds of ClientIP affinity; 0 for none.
    pub affinity_seconds: u32,
    /// The node port on which the health of a LoadBalancer Service with external policy Local is asked; on every VIP of
    /// it, since load balancers ask before they give it an address; 0 for none.
    pub health_check_node_port: u16,
    /// External traffic under the Cluster policy: the source address must be rewritten.
    pub masquerade: bool,
    /// External traffic under the Local policy: what comes from this node or its Pods goes to the Cluster set.
    pub short_circuit: bool,
    /// Who may dial; empty for everybody. Only on load-balancer VIPs.
    pub source_ranges: Ranges<'c>,
}

/// Backend of a service port; stands behind every VIP of that port whose policy names a set that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend<'c> {
    pub(crate) names: Names<'c>,
    pub(crate) place: PlaceId,
    pub(crate) target: TextId,
    /// Row number of the service port.
    pub id: PortId,
    /// Where to send.
    pub address: Address,
    /// The port to send to.
    pub number: u16,
    /// Its share of new flows in the Cluster set; `None` if it is not in it.
    pub cluster_weight: Option<u16>,
    /// Its share of new flows in the Local set; `None` if it is not in it.
    pub local_weight: Option<u16>,
    /// Whether it takes new flows.
    pub state: BackendState,
    /// It is on this node.
    pub local: bool,
}

impl<'c> Backend<'c> {
    /// The service port.
    #[must_use]
    pub fn port(&self) -> PortName<'c> {
        self.names.0.port_name(self.id)
    }

    /// Name of its node; empty if unknown.
    #[must_use]
    pub fn node(&self) -> &'c str {
        self.names.0.place_name(self.place).0
    }

    /// Its zone; empty if unknown.
    #[must_use]
    pub fn zone(&self) -> &'c str {
        self.names.0.place_name(self.place).1
    }

    /// Its Pod; empty if unknown or not kept ([`Config::keep_pods`](crate::limits::Config)).
    #[must_use]
    pub fn pod(&self) -> PodRef<'c> {
        self.names.0.pod_ref(self.target)
    }
}

impl<'c> Vip<'c> {
    /// The service port.
    #[must_use]
    pub fn port(&self) -> PortName<'c> {
        self.names.0.port_name(self.id)
    }
}

impl<'c> BackendGone<'c> {
    /// The service port.
    #[must_use]
    pub fn port(&self) -> PortName<'c> {
        self.names.0.port_name(self.id)
    }
}

impl<'c> VipGone<'c> {
    /// The service port.
    #[must_use]
    pub fn port(&self) -> PortName<'c> {
        self.names.0.port_name(self.id)
    }
}

/// The end of a Service's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceEnd<'c> {
    pub(crate) names: Names<'c>,
    pub(crate) id: ServiceId,
}

impl<'c> ServiceEnd<'c> {
    /// The Service.
    #[must_use]
    pub fn service(&self) -> ServiceName<'c> {
        self.names.0.service_name(self.id)
    }
}

/// Where names are asked for. Two changes are compared by their numbers, not by where they come from.
#[derive(Clone, Copy)]
pub(crate) struct Names<'c>(pub(crate) &'c Cluster<'c>);

impl PartialEq for Names<'_> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Names<'_> {}

impl core::fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("..")
    }
}

/// Whether a backend takes new flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BackendState {
    /// It takes new flows.
    Ready,
    /// It takes new flows although it is terminating, since nothing else is left (KEP-1669).
    Terminating,
    /// It keeps the flows it has and gets no new ones: weight 0, or terminating while others are ready.
    Draining,
}

impl BackendState {
    /// As printed in JSON and tables.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Terminating => "terminating",
            Self::Draining => "draining",
        }
    }
}

/// A backend that went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendGone<'c> {
    pub(crate) names: Names<'c>,
    /// Row number of the service port.
    pub id: PortId,
    /// Its address.
    pub address: Address,
    /// Its port.
    pub number: u16,
    /// UDP, and it no longer serves: delete the flows that the kernel still tracks to it (`kube-proxy conntrack`).
    pub flush: bool,
}

/// A VIP that went. A VIP is its address, port and protocol: while anybody serves them, under another kind or for another
/// Service, this is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VipGone<'c> {
    pub(crate) names: Names<'c>,
    /// Row number of the service port.
    pub id: PortId,
    /// Its address.
    pub address: Address,
    /// Its port.
    pub number: u16,
    /// Where the address came from.
    pub kind: VipKind,
}

/// The prefixes of a VIP's allowed sources, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges<'c>(pub(crate) &'c [[u8; 17]]);

impl<'c> Ranges<'c> {
    /// How many there are; 0 stands for no restriction.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// There is no restriction.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Each prefix, smallest address first.
    pub fn iter(self) -> impl Iterator<Item = Prefix> + 'c {
        self.0.iter().map(Prefix::from_bytes)
    }
}
