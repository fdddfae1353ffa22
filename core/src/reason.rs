//! Why something is as it is: a code for every decision, with one sentence for people.

/// Why a Service, a service port or an endpoint is in or out.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Served.
    Served,
    /// Only slices speak of this Service; the Service itself has not been seen.
    ServiceUnknown,
    /// `clusterIP` is `None` or empty.
    Headless,
    /// `type: ExternalName`.
    ExternalName,
    /// Label `service-proxy-name` gives it to another proxy.
    OtherProxy,
    /// The Service has no address of this family.
    NoAddressOfFamily,
    /// This family is not wanted here.
    FamilyNotWanted,
    /// The Service has no port of this name and protocol.
    PortUnknown,
    /// Another Service has the same address, port and protocol, and the older claim.
    VipTaken,
    /// No endpoint anywhere.
    NoEndpoints,
    /// Endpoints exist, but the policy is Local and none is on this node.
    NoLocalEndpoints,
    /// Ready and chosen.
    Ready,
    /// Chosen although terminating: nothing else is left.
    TerminatingFallback,
    /// Not ready.
    NotReady,
    /// Terminating, while others are ready.
    Terminating,
    /// Terminating, and no longer serving.
    NotServing,
    /// Hints keep this node's flows in its zone (or on it), and this endpoint is elsewhere.
    OtherTopology,
    /// The policy is Local, and it is on another node.
    NotLocal,
    /// The same address and port stands in another slice, with the better claim.
    Duplicate,
    /// The local Pod says otherwise: its own address and readiness are used instead.
    ReplacedByPod,
    /// It should be on this node, and no Pod here has this uid.
    PodGone,
    /// Weight 0: no new flows.
    Drained,
    /// Hints are used: nodes.
    HintsNode,
    /// Hints are used: zones.
    HintsZone,
    /// There are no ready endpoints whose hints could be asked.
    HintsNoReady,
    /// An endpoint without hints makes all hints void.
    HintsIncomplete,
    /// No hint names this node's zone.
    HintsElsewhere,
    /// No endpoint has hints.
    HintsAbsent,
    /// The Pod's Node is not known, so its zone cannot be told.
    NodeUnknown,
    /// The Pod has ended (phase Failed or Succeeded).
    PodTerminal,
    /// The Pod has no address of this family.
    PodNoAddress,
    /// The Pod has no port of the target's name and protocol.
    PodNoPort,
    /// Endpoints are not read from such objects here.
    NotASource,
    /// The slice names no Service.
    SliceWithoutService,
    /// The slice holds host names, not addresses.
    SliceFqdn,
    /// The slice is of a headless Service.
    SliceHeadless,
    /// The last version of this object was refused; what is shown is the last good one.
    Stale,
}

impl Reason {
    /// A short stable name, for programs.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.texts().0
    }

    /// One sentence, for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.texts().1
    }

    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Served => ("served", "served"),
            Self::ServiceUnknown => {
                ("service-unknown", "only slices speak of this Service; it has not been seen itself")
            }
            Self::Headless => ("headless", "headless: no VIP to serve"),
            Self::ExternalName => ("external-name", "type ExternalName: a DNS alias, no VIP to serve"),
            Self::OtherProxy => ("other-proxy", "the label service-proxy-name gives it to another proxy"),
            Self::NoAddressOfFamily => ("no-address-of-family", "the Service has no address of this family"),
            Self::FamilyNotWanted => ("family-not-wanted", "this family is not wanted here"),
            Self::PortUnknown => ("port-unknown", "the Service has no port of this name and protocol"),
            Self::VipTaken => {
                ("vip-taken", "another Service with an older claim has the same address and port")
            }
            Self::NoEndpoints => ("no-endpoints", "no usable endpoint anywhere: clients are refused"),
            Self::NoLocalEndpoints => {
                ("no-local-endpoints", "policy Local, and no usable endpoint on this node: dropped")
            }
            Self::Ready => ("ready", "ready and chosen"),
            Self::TerminatingFallback => {
                ("terminating-fallback", "chosen although terminating: nothing else is left")
            }
            Self::NotReady => ("not-ready", "not ready"),
            Self::Terminating => {
                ("terminating", "terminating while others are ready: keeps its flows, gets no new ones")
            }
            Self::NotServing => ("not-serving", "terminating and no longer serving"),
            Self::OtherTopology => ("other-topology", "hints keep this node's flows nearer"),
            Self::NotLocal => ("not-local", "policy Local, and it is on another node"),
            Self::Duplicate => {
                ("duplicate", "the same address and port stands in another slice with the better claim")
            }
            Self::ReplacedByPod => {
                ("replaced-by-pod", "the local Pod's own address and readiness are used instead")
            }
            Self::PodGone => ("pod-gone", "should be on this node, but no Pod here has its uid"),
            Self::Drained => ("drained", "weight 0: keeps its flows, gets no new ones"),
            Self::HintsNode => ("hints-node", "node hints are used"),
            Self::HintsZone => ("hints-zone", "zone hints are used"),
            Self::HintsNoReady => ("hints-no-ready", "no ready endpoint, so hints are not asked"),
            Self::HintsIncomplete => {
                ("hints-incomplete", "a ready endpoint without hints makes all hints void")
            }
            Self::HintsElsewhere => {
                ("hints-elsewhere", "no hint names this node or its zone, so all are used")
            }
            Self::HintsAbsent => ("hints-absent", "no endpoint has hints"),
            Self::NodeUnknown => ("node-unknown", "its Node has not been seen"),
            Self::PodTerminal => ("pod-terminal", "the Pod has ended"),
            Self::PodNoAddress => ("pod-no-address", "the Pod has no address of this family"),
            Self::PodNoPort => ("pod-no-port", "the Pod has no port of the target's name and protocol"),
            Self::NotASource => ("not-a-source", "endpoints are not read from such objects here"),
            Self::SliceWithoutService => ("slice-without-service", "the slice names no Service"),
            Self::SliceFqdn => ("slice-fqdn", "the slice holds host names, not addresses"),
            Self::SliceHeadless => ("slice-headless", "the slice is of a headless Service"),
            Self::Stale => ("stale", "the last version was refused; this is the last good one"),
        }
    }
}
