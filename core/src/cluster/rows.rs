//! The rows of a cluster's tables: numbers only; texts stand in the pool.

use crate::address::{Address, Family};
use crate::change::{PortId, VipKind};
use crate::port::Protocol;
use crate::table::{Entry, ids};
use crate::text::TextId;
use crate::usable::{Counts, Facts};

ids!(
    /// A Service.
    ServiceId,
    /// An EndpointSlice.
    SliceId,
    /// An endpoint, or a node as a backend.
    EndpointId,
    /// A VIP.
    VipId,
    /// A Pod.
    PodId,
    /// A named container port of a Pod.
    PodPortId,
    /// A label of a Pod.
    LabelId,
    /// A pair of a label in one namespace.
    SelectorId,
    /// A Node.
    NodeId,
    /// A Node and a zone, as endpoints name them together.
    PlaceId,
    /// A trigger time.
    TriggerId,
);

/// Tells bits apart in a row's flags.
macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {$(
        $(#[$doc])* pub(crate) const $name: u16 = $value;
    )*};
}

/// Of a Service.
pub(crate) mod service {
    flags! {
        /// The Service itself has been applied, not only named by slices.
        KNOWN = 1;
        HEADLESS = 1 << 1;
        EXTERNAL_NAME = 1 << 2;
        OTHER_PROXY = 1 << 3;
        PUBLISH_NOT_READY = 1 << 4;
        MAINTENANCE = 1 << 5;
        INTERNAL_LOCAL = 1 << 6;
        EXTERNAL_LOCAL = 1 << 7;
        LOAD_BALANCER = 1 << 8;
        /// The last version was refused.
        STALE = 1 << 9;
        /// In the list of Services to be looked at by the next seal.
        DIRTY = 1 << 10;
        /// In the list of Services that have been published.
        LISTED = 1 << 11;
        /// Every endpoint must be looked at, not only those that changed.
        ALL = 1 << 12;
        /// What an object says, as opposed to what this program remembers.
        STATED = 0x1ff;
    }
}

/// A Service, or the name of one that only slices speak of.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRow {
    /// "namespace/name".
    pub(crate) name: TextId,
    /// [`service`].
    pub(crate) flags: u16,
    /// `ipFamilies`: bit 0 for IPv4, bit 1 for IPv6.
    pub(crate) families: u8,
    pub(crate) health_check_node_port: u16,
    pub(crate) affinity_seconds: u32,
    /// `creationTimestamp` in nanoseconds: the older claim to a VIP wins.
    pub(crate) created: u64,
    /// Allowed sources of load-balancer VIPs, by family.
    pub(crate) ranges: [TextId; 2],
    /// The pairs of the selector as numbers of texts, four bytes each.
    pub(crate) selector: TextId,
    /// Under which pair the selector is indexed, and the next Service there.
    pub(crate) indexed: SelectorId,
    pub(crate) next_in_selector: ServiceId,
    /// Ports, ordered by name, protocol and family.
    pub(crate) first_port: PortId,
    /// Slices that name this Service.
    pub(crate) slices: u32,
    /// Of them, those whose last version was refused.
    pub(crate) stale_slices: u32,
    pub(crate) next_dirty: ServiceId,
    /// Published Services in the order of their last change.
    pub(crate) older: ServiceId,
    pub(crate) newer: ServiceId,
    /// Published Services in order of their names, while an image is made.
    pub(crate) next_in_image: ServiceId,
    /// Generation of its last change.
    pub(crate) generation: u64,
    /// Trigger times that no generation has yet.
    pub(crate) triggers: TriggerId,
    /// Relist in which it was last seen.
    pub(crate) seen: u32,
}

impl Entry for ServiceRow {
    type Id = ServiceId;
    const EMPTY: Self = Self {
        name: TextId::NONE,
        flags: 0,
        families: 0,
        health_check_node_port: 0,
        affinity_seconds: 0,
        created: 0,
        ranges: [TextId::NONE; 2],
        selector: TextId::NONE,
        indexed: SelectorId::NONE,
        next_in_selector: ServiceId::NONE,
        first_port: PortId::NONE,
        slices: 0,
        stale_slices: 0,
        next_dirty: ServiceId::NONE,
        older: ServiceId::NONE,
        newer: ServiceId::NONE,
        next_in_image: ServiceId::NONE,
        generation: 0,
        triggers: TriggerId::NONE,
        seen: 0,
    };
}

impl ServiceRow {
    pub(crate) const fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// Of a service port.
pub(crate) mod port {
    flags! {
        /// The Service has this port in this family.
        DEFINED = 1;
        /// It is to be served: a cluster IP of a wanted family, of a Service that is ours.
        SERVED = 1 << 1;
        /// Clients from outside can dial it: external IP, load balancer or node port.
        EXTERNAL = 1 << 2;
        /// Every endpoint must be looked at.
        ALL = 1 << 3;
        /// Some endpoint changed.
        DIRTY = 1 << 4;
        /// Not named again yet, while its Service is applied.
        OLD = 1 << 5;
    }
}

/// A port of a Service in one family: what VIPs lead to and backends stand behind.
#[derive(Clone, Copy, Debug)]
pub struct PortRow {
    pub(crate) service: ServiceId,
    pub(crate) name: TextId,
    pub(crate) protocol: Protocol,
    pub(crate) family: Family,
    /// [`port`].
    pub(crate) flags: u16,
    /// The port of the VIP.
    pub(crate) number: u16,
    /// `targetPort`: a number, or with `target` a name.
    pub(crate) target_number: u16,
    /// What was decided at the last seal ([`crate::plan::Decision`]).
    pub(crate) decision: u16,
    pub(crate) target: TextId,
    pub(crate) next_in_service: PortId,
    /// All its endpoints, in no order.
    pub(crate) first_endpoint: EndpointId,
    /// Endpoints with something new: for the next seal, or for a cursor that has not acknowledged it. In order of
    /// address and port after each seal.
    pub(crate) touched: EndpointId,
    /// Its VIPs, ordered by kind and address.
    pub(crate) first_vip: VipId,
    pub(crate) counts: Counts,
}

impl Entry for PortRow {
    type Id = PortId;
    const EMPTY: Self = Self {
        service: ServiceId::NONE,
        name: TextId::NONE,
        protocol: Protocol::Tcp,
        family: Family::V4,
        flags: 0,
        number: 0,
        target_number: 0,
        decision: 0,
        target: TextId::NONE,
        next_in_service: PortId::NONE,
        first_endpoint: EndpointId::NONE,
        touched: EndpointId::NONE,
        first_vip: VipId::NONE,
        counts: Counts::NONE,
    };
}

impl PortRow {
    pub(crate) const fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// Of an endpoint: what is published, and what this program remembers of it.
pub(crate) mod shows {
    flags! {
        IN_CLUSTER = 1;
        IN_LOCAL = 1 << 1;
        /// In no set, but shown: it keeps its flows.
        LINGERS = 1 << 2;
        /// Chosen although terminating.
        TERMINATING = 1 << 3;
        /// It serves: flows to it need not be flushed.
        SERVING = 1 << 4;
        /// Any of these: the backend exists for consumers.
        VISIBLE = 7;
        /// All that is published as bits.
        PUBLISHED = 31;

        /// In the port's list of touched endpoints.
        TOUCHED = 1 << 5;
        /// The next seal must look at it.
        DIRTY = 1 << 6;
        /// Another row with the same address and port is the one in the index.
        SHADOW = 1 << 7;
        /// The owner is a Pod, not a slice.
        OF_POD = 1 << 8;
        /// A node as a backend; no source has it.
        OF_NODE = 1 << 9;
        /// Not named again yet, while its owner is applied.
        OLD = 1 << 10;
    }
}

/// An endpoint of a service port: what its source says of it, and what is published of it.
///
/// Both stand in one row, which is how it stays under 96 bytes.
#[derive(Clone, Copy, Debug)]
pub struct EndpointRow {
    pub(crate) address: Address,
    pub(crate) port: PortId,
    pub(crate) previous_in_port: EndpointId,
    pub(crate) next_in_port: EndpointId,
    /// The slice or Pod that it comes from, as a row number.
    pub(crate) owner: u32,
    pub(crate) next_in_owner: EndpointId,
    /// Rows with the same port, address and number, beginning at the one in the index.
    pub(crate) next_twin: EndpointId,
    /// Slice endpoints that a local Pod speaks for.
    pub(crate) next_in_pod: EndpointId,
    pub(crate) next_touched: EndpointId,
    pub(crate) place: PlaceId,
    /// "uid/name" of its Pod; in a row of a node: the sum of the weights behind it in the Cluster set.
    pub(crate) pod: TextId,
    /// Its hints; in a row of a node: the sum in the Local set.
    pub(crate) hints: TextId,
    pub(crate) shown_place: PlaceId,
    pub(crate) shown_pod: TextId,
    /// Low half of the generation of its last change. Only compared within the window of what is not acknowledged.
    pub(crate) generation: u32,
    /// Its port.
    pub(crate) number: u16,
    /// Factor of its slice's weights, in hundredths.
    pub(crate) factor: u16,
    /// Its weight before it is scaled.
    pub(crate) weight: u16,
    pub(crate) cluster_weight: u16,
    pub(crate) local_weight: u16,
    /// What its source says.
    pub(crate) says: Facts,
    /// What it was counted as in its port.
    pub(crate) counted: Facts,
    /// [`shows`].
    pub(crate) shows: u16,
}

impl Entry for EndpointRow {
    type Id = EndpointId;
    const EMPTY: Self = Self {
        address: Address::EMPTY,
        port: PortId::NONE,
        previous_in_port: EndpointId::NONE,
        next_in_port: EndpointId::NONE,
        owner: crate::table::NONE,
        next_in_owner: EndpointId::NONE,
        next_twin: EndpointId::NONE,
        next_in_pod: EndpointId::NONE,
        next_touched: EndpointId::NONE,
        place: PlaceId::NONE,
        pod: TextId::NONE,
        hints: TextId::NONE,
        shown_place: PlaceId::NONE,
        shown_pod: TextId::NONE,
        generation: 0,
        number: 0,
        factor: 100,
        weight: 0,
        cluster_weight: 0,
        local_weight: 0,
        says: Facts::NONE,
        counted: Facts::NONE,
        shows: 0,
    };
}

impl EndpointRow {
    pub(crate) const fn shows(&self, flag: u16) -> bool {
        self.shows & flag != 0
    }

    /// It is only kept to tell cursors that it went.
    pub(crate) const fn is_tombstone(&self) -> bool {
        let held = shows::VISIBLE | shows::DIRTY | shows::OF_NODE;
        !self.says.has(Facts::PRESENT) && self.next_twin.is_none() && self.shows & held == 0
    }
}

/// Of a VIP.
pub(crate) mod vip {
    flags! {
        /// The Service as applied has it.
        WANTED = 1;
        /// Consumers have it, or will.
        PUBLISHED = 1 << 1;
        /// Another Service has the better claim.
        TAKEN = 1 << 2;
        /// Published: policy Local.
        LOCAL = 1 << 3;
        REJECT = 1 << 4;
        DROP = 1 << 5;
        MASQUERADE = 1 << 6;
        SHORT_CIRCUIT = 1 << 7;
        /// Wanted before, and not named again yet, while its Service is applied.
        OLD = 1 << 8;
        /// What is compared to tell whether something changed.
        SHOWN = 0xfa;
    }
}

/// An address and port that clients dial.
#[derive(Clone, Copy, Debug)]
pub struct VipRow {
    pub(crate) address: Address,
    pub(crate) number: u16,
    pub(crate) kind: VipKind,
    pub(crate) protocol: Protocol,
    pub(crate) port: PortId,
    pub(crate) next_in_port: VipId,
    /// [`vip`].
    pub(crate) flags: u16,
    /// The rest is what is published.
    pub(crate) health_check_node_port: u16,
    pub(crate) affinity_seconds: u32,
    pub(crate) ranges: TextId,
    /// Low half of the generation of its last change.
    pub(crate) generation: u32,
}

impl Entry for VipRow {
    type Id = VipId;
    const EMPTY: Self = Self {
        address: Address::EMPTY,
        number: 0,
        kind: VipKind::ClusterIp,
        protocol: Protocol::Tcp,
        port: PortId::NONE,
        next_in_port: VipId::NONE,
        flags: 0,
        health_check_node_port: 0,
        affinity_seconds: 0,
        ranges: TextId::NONE,
        generation: 0,
    };
}

impl VipRow {
    pub(crate) const fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// An EndpointSlice.
#[derive(Clone, Copy, Debug)]
pub struct SliceRow {
    /// "namespace/name".
    pub(crate) name: TextId,
    pub(crate) service: ServiceId,
    pub(crate) family: Family,
    /// The last version was refused.
    pub(crate) stale: bool,
    /// Its endpoints.
    pub(crate) first: EndpointId,
    /// Relist in which it was last seen.
    pub(crate) seen: u32,
    /// The trigger time it had last.
    pub(crate) trigger: u64,
}

impl Entry for SliceRow {
    type Id = SliceId;
    const EMPTY: Self = Self {
        name: TextId::NONE,
        service: ServiceId::NONE,
        family: Family::V4,
        stale: false,
        first: EndpointId::NONE,
        seen: 0,
        trigger: 0,
    };
}

/// Of a Pod.
pub(crate) mod pod {
    flags! {
        /// The Pod itself has been applied, not only named by a slice.
        KNOWN = 1;
        READY = 1 << 1;
        TERMINATING = 1 << 2;
        TERMINAL = 1 << 3;
        MAINTENANCE = 1 << 4;
    }
}

/// A Pod, or the name of one that a slice puts on this node.
#[derive(Clone, Copy, Debug)]
pub struct PodRow {
    /// "namespace/name".
    pub(crate) name: TextId,
    /// "uid/name".
    pub(crate) target: TextId,
    pub(crate) node: NodeId,
    /// Its Node, and the zone of that.
    pub(crate) place: PlaceId,
    pub(crate) previous_on_node: PodId,
    pub(crate) next_on_node: PodId,
    /// By family; empty for none.
    pub(crate) addresses: [Address; 2],
    pub(crate) first_port: PodPortId,
    pub(crate) first_label: LabelId,
    /// The endpoints that come from it.
    pub(crate) first: EndpointId,
    /// The slice endpoints that it speaks for.
    pub(crate) first_replaced: EndpointId,
    /// Relist in which it was last seen.
    pub(crate) seen: u32,
    /// Factor of its endpoints' weights, in hundredths.
    pub(crate) weight: u16,
    /// [`pod`].
    pub(crate) flags: u16,
}

impl Entry for PodRow {
    type Id = PodId;
    const EMPTY: Self = Self {
        name: TextId::NONE,
        target: TextId::NONE,
        node: NodeId::NONE,
        place: PlaceId::NONE,
        previous_on_node: PodId::NONE,
        next_on_node: PodId::NONE,
        addresses: [Address::EMPTY; 2],
        first_port: PodPortId::NONE,
        first_label: LabelId::NONE,
        first: EndpointId::NONE,
        first_replaced: EndpointId::NONE,
        seen: 0,
        weight: 100,
        flags: 0,
    };
}

impl PodRow {
    pub(crate) const fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// A named container port.
#[derive(Clone, Copy, Debug)]
pub struct PodPortRow {
    pub(crate) name: TextId,
    pub(crate) protocol: Protocol,
    pub(crate) number: u16,
    pub(crate) next: PodPortId,
}

impl Entry for PodPortRow {
    type Id = PodPortId;
    const EMPTY: Self =
        Self { name: TextId::NONE, protocol: Protocol::Tcp, number: 0, next: PodPortId::NONE };
}

/// A label of a Pod, in the Pod's list and in its pair's.
#[derive(Clone, Copy, Debug)]
pub struct LabelRow {
    pub(crate) selector: SelectorId,
    pub(crate) pod: PodId,
    pub(crate) next_in_pod: LabelId,
    pub(crate) previous_in_selector: LabelId,
    pub(crate) next_in_selector: LabelId,
}

impl Entry for LabelRow {
    type Id = LabelId;
    const EMPTY: Self = Self {
        selector: SelectorId::NONE,
        pod: PodId::NONE,
        next_in_pod: LabelId::NONE,
        previous_in_selector: LabelId::NONE,
        next_in_selector: LabelId::NONE,
    };
}

/// A pair of a label in one namespace: who carries it, and whose selector is indexed under it.
#[derive(Clone, Copy, Debug)]
pub struct SelectorRow {
    /// "namespace/key/value".
    pub(crate) pair: TextId,
    pub(crate) first_label: LabelId,
    pub(crate) pods: u32,
    pub(crate) first_service: ServiceId,
    pub(crate) services: u32,
}

impl Entry for SelectorRow {
    type Id = SelectorId;
    const EMPTY: Self = Self {
        pair: TextId::NONE,
        first_label: LabelId::NONE,
        pods: 0,
        first_service: ServiceId::NONE,
        services: 0,
    };
}

/// Of a Node.
pub(crate) mod node {
    flags! {
        /// The Node itself has been applied, not only named by endpoints or Pods.
        KNOWN = 1;
        READY = 1 << 1;
        UNSCHEDULABLE = 1 << 2;
        MAINTENANCE = 1 << 3;
        /// The operator does not want it as a backend.
        EXCLUDED = 1 << 4;
    }
}

/// A Node, or the name of one that only endpoints speak of.
#[derive(Clone, Copy, Debug)]
pub struct NodeRow {
    pub(crate) name: TextId,
    /// Places and Pods that name it.
    pub(crate) refs: u32,
    pub(crate) first_pod: PodId,
    /// By family; empty for none.
    pub(crate) addresses: [Address; 2],
    /// Relist in which it was last seen.
    pub(crate) seen: u32,
    /// Label `topology.kubernetes.io/zone`.
    pub(crate) zone: TextId,
    /// Factor of its endpoints' weights, in hundredths.
    pub(crate) weight: u16,
    /// [`node`].
    pub(crate) flags: u16,
}

impl Entry for NodeRow {
    type Id = NodeId;
    const EMPTY: Self = Self {
        name: TextId::NONE,
        refs: 0,
        first_pod: PodId::NONE,
        addresses: [Address::EMPTY; 2],
        seen: 0,
        zone: TextId::NONE,
        weight: 100,
        flags: 0,
    };
}

impl NodeRow {
    pub(crate) const fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// Where endpoints are: a Node and a zone, named together. Most Nodes have one place.
#[derive(Clone, Copy, Debug)]
pub struct PlaceRow {
    /// "node/zone"; either part may be empty.
    pub(crate) name: TextId,
    /// [`NodeId::NONE`] without a node.
    pub(crate) node: NodeId,
    /// Endpoints that are there.
    pub(crate) refs: u32,
    /// Its number in the image that is being made.
    pub(crate) image: u32,
}

impl Entry for PlaceRow {
    type Id = PlaceId;
    const EMPTY: Self = Self { name: TextId::NONE, node: NodeId::NONE, refs: 0, image: 0 };
}

/// When the change at the source happened that a generation answers.
#[derive(Clone, Copy, Debug)]
pub struct TriggerRow {
    pub(crate) service: ServiceId,
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    /// 0 until a seal has taken it along.
    pub(crate) generation: u64,
    pub(crate) next: TriggerId,
}

impl Entry for TriggerRow {
    type Id = TriggerId;
    const EMPTY: Self = Self { service: ServiceId::NONE, time: 0, generation: 0, next: TriggerId::NONE };
}

/// How far a consumer is.
#[derive(Clone, Copy, Debug)]
pub struct CursorRow {
    pub(crate) state: CursorState,
    /// It has everything up to this generation.
    pub(crate) acknowledged: u64,
    /// The generation that it is being given, or [`u64::MAX`]; it begins anew when another is sealed.
    pub(crate) giving: u64,
    /// It has nothing yet: it is given everything, not only what changed.
    pub(crate) whole: bool,
    /// All of it has been given: asked again without an acknowledgement, it begins anew.
    pub(crate) done: bool,
    /// Something of the Service at hand has been given.
    pub(crate) given: bool,
    pub(crate) service: ServiceId,
    pub(crate) stage: u8,
    pub(crate) port: PortId,
    pub(crate) vip: VipId,
    pub(crate) endpoint: EndpointId,
}

/// Whether a cursor is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorState {
    Closed,
    Open,
    Stale,
}

impl CursorRow {
    /// A cursor that nobody uses: what lent memory must be filled with.
    pub const EMPTY: Self = Self {
        state: CursorState::Closed,
        acknowledged: 0,
        giving: u64::MAX,
        whole: false,
        done: false,
        given: false,
        service: ServiceId::NONE,
        stage: 0,
        port: PortId::NONE,
        vip: VipId::NONE,
        endpoint: EndpointId::NONE,
    };
}
