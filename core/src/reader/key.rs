//! The annotations and labels that mean something here, by their keys.

/// Factor of each backend, in hundredths; on a Node, a Pod or an EndpointSlice.
pub const WEIGHT: &str = "evenkeel.dev/weight";
/// Cilium 1.20 reads this one on EndpointSlices (cilium/cilium#46061), in the same unit; ours goes first.
pub const WEIGHT_CILIUM: &str = "service.cilium.io/weight";
/// Weight 0 until removed; on a Node, a Pod or a Service.
pub const MAINTENANCE: &str = "evenkeel.dev/maintenance";
/// When the change at the source of an EndpointSlice happened.
pub const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// On a bookmark: all that there was when the watch began has been sent.
pub const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Label of an EndpointSlice: whose endpoints these are.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Label of an EndpointSlice: its Service has no VIP.
pub const HEADLESS: &str = "service.kubernetes.io/headless";
/// Label of a Service and its EndpointSlices: another proxy's business.
pub const PROXY_NAME: &str = "service.kubernetes.io/service-proxy-name";
/// Label of a Node.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// Label of a Node: not wanted as a backend of load balancers.
pub const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// Key of the taint that a cordoned Node carries.
pub const TAINT_UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
