//! What Kubernetes itself bounds, each with its source. What the operator chooses is in [`limits`](crate::limits).
//!
//! Sources: *metadata* is `apimachinery/pkg/util/validation`, *core* is `pkg/apis/core/validation`, *discovery* is
//! `pkg/apis/discovery/validation`, all of Kubernetes; *API* is the documentation of the types.

/// `metadata.name`: a DNS subdomain (metadata, `DNS1123SubdomainMaxLength`).
pub const NAME_BYTES_MAX: usize = 253;

/// `metadata.namespace`: a DNS label (metadata, `DNS1123LabelMaxLength`).
pub const NAMESPACE_BYTES_MAX: usize = 63;

/// "namespace/name".
pub const NAMESPACED_NAME_BYTES_MAX: usize = NAMESPACE_BYTES_MAX + 1 + NAME_BYTES_MAX;

/// Key of a label or annotation: a DNS subdomain, a slash, and 63 bytes more (metadata, `qualifiedNameMaxLength`).
pub const LABEL_KEY_BYTES_MAX: usize = NAME_BYTES_MAX + 1 + 63;

/// Value of a label (metadata, `LabelValueMaxLength`). A zone is the value of a Node's label, and a hint names one.
pub const LABEL_VALUE_BYTES_MAX: usize = 63;

/// Name of a zone, in `zone` and in hints (discovery, `validateHints`).
pub const ZONE_BYTES_MAX: usize = LABEL_VALUE_BYTES_MAX;

/// `metadata.uid` has 36 bytes in practice. Nothing bounds it, so this is our own bound, with much room.
pub const UID_BYTES_MAX: usize = 128;

/// `hostname` and `subdomain` of a Pod: a DNS label each (core).
pub const HOSTNAME_BYTES_MAX: usize = 63;

/// Name of a port of a Service or a slice: a DNS label (core, discovery).
pub const PORT_NAME_BYTES_MAX: usize = 63;

/// Name of a container port, and `targetPort` as a name (metadata, `IsValidPortName`: an IANA service name).
pub const CONTAINER_PORT_NAME_BYTES_MAX: usize = 15;

/// `appProtocol`: a qualified name (core, discovery).
pub const APP_PROTOCOL_BYTES_MAX: usize = LABEL_KEY_BYTES_MAX;

/// Endpoints of a slice (discovery, `maxEndpoints`). The controller fills 100 unless it is told otherwise.
pub const SLICE_ENDPOINTS_MAX: usize = 1_000;

/// Ports of a slice as the API documents it. The server lets 20,000 pass (discovery, `maxPorts`), for Services that
/// were made before; whoever meets one of those has to say so.
pub const SLICE_PORTS_MAX: usize = 100;

/// Addresses of one endpoint (discovery, `maxAddresses`). Only the first is used.
pub const ENDPOINT_ADDRESSES_MAX: usize = 100;

/// Zones, and again Nodes, that one endpoint's hints may name (discovery, `maxZoneHints`; API for Nodes).
pub const HINTS_MAX: usize = 8;

/// Addresses of an Endpoints object before it is truncated (endpoints controller, `maxCapacity`).
pub const ENDPOINTS_ADDRESSES_MAX: usize = 1_000;

/// Cluster IPs, families, and IPs of a Pod: one for each family (core).
pub const FAMILIES_MAX: usize = 2;

/// `sessionAffinityConfig.clientIP.timeoutSeconds` (core, `MaxClientIPServiceAffinitySeconds`).
pub const AFFINITY_SECONDS_MAX: u32 = 86_400;

/// The same where a Service with ClientIP affinity does not say (API, `DefaultClientIPServiceAffinitySeconds`).
pub const AFFINITY_SECONDS_DEFAULT: u32 = 10_800;
