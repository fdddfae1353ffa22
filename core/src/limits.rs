//! What the operator chooses: how much there may be, and what is wanted of it.

use crate::address::{Address, Family};
use crate::time::Timestamp;

/// How many of each thing there may be. Every row costs memory from the start; nothing grows by itself.
///
/// `Limits::for_cluster` gives a sensible set from three numbers. [`Storage`](crate::storage) says what a set costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Services, and names of Services that only slices speak of.
    pub services_max: u32,
    /// Service ports: one for each port, protocol and family of a Service.
    pub ports_max: u32,
    /// EndpointSlices; 0 if endpoints come from Pods.
    pub slices_max: u32,
    /// Endpoints, one for each address and port of a Service, with room for one extra largest slice, plus what
    /// went and is not acknowledged yet. With nodes as backends, one more for each pair of node and service port.
    pub endpoints_max: u32,
    /// VIPs: cluster IPs, external IPs, ingress addresses, node ports.
    pub vips_max: u32,
    /// Pods; 0 if endpoints come from slices alone.
    pub pods_max: u32,
    /// Named container ports, over all Pods.
    pub pod_ports_max: u32,
    /// Labels, over all Pods.
    pub labels_max: u32,
    /// Pairs of labels that are selected by or carried, each counted once a namespace.
    pub selectors_max: u32,
    /// Nodes, and names of Nodes that only endpoints speak of.
    pub nodes_max: u32,
    /// Pairs of a Node and a zone that endpoints name together: as many as Nodes, and a few.
    pub places_max: u32,
    /// Trigger times that wait for their acknowledgement.
    pub triggers_max: u32,
    /// Distinct names, label pairs, sets of hints and of source ranges.
    pub texts_max: u32,
    /// Bytes of all these; each is rounded up to 16 and costs 8 more.
    pub text_bytes_max: u32,
    /// Consumers that pull changes, each at its own pace.
    pub cursors_max: u32,
    /// Mixed into every hash, so that whoever may create objects cannot choose what collides.
    pub hash_seed: u64,
}

impl Limits {
    /// Room for so many Services with one or two ports, so many endpoints and so many Nodes, read from slices.
    #[must_use]
    pub const fn for_cluster(services: u32, endpoints: u32, nodes: u32) -> Self {
        let ports = services.saturating_mul(2).saturating_add(8);
        let slices = services.saturating_add(endpoints / 50).saturating_add(16);
        let endpoints_max = endpoints.saturating_add(endpoints / 8).saturating_add(1_000);
        let texts =
            services.saturating_add(slices).saturating_add(nodes.saturating_mul(3)).saturating_add(256);
        Self {
            services_max: services.saturating_add(8),
            ports_max: ports,
            slices_max: slices,
            endpoints_max,
            vips_max: ports.saturating_add(ports / 4),
            pods_max: 0,
            pod_ports_max: 0,
            labels_max: 0,
            selectors_max: 0,
            nodes_max: nodes.saturating_add(8),
            places_max: nodes.saturating_add(nodes / 4).saturating_add(32),
            triggers_max: (services / 4).saturating_add(64),
            texts_max: texts,
            text_bytes_max: texts.saturating_mul(64),
            cursors_max: 4,
            hash_seed: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The same with room for so many Pods: for endpoints from Pods, or corrected by local Pods.
    #[must_use]
    pub const fn with_pods(mut self, pods: u32) -> Self {
        self.pods_max = pods.saturating_add(8);
        self.pod_ports_max = pods.saturating_mul(3).saturating_add(16);
        self.labels_max = pods.saturating_mul(6).saturating_add(16);
        self.selectors_max = pods.saturating_mul(4).saturating_add(self.services_max).saturating_add(16);
        let texts = pods.saturating_mul(5).saturating_add(64);
        self.texts_max = self.texts_max.saturating_add(texts);
        self.text_bytes_max = self.text_bytes_max.saturating_add(texts.saturating_mul(80));
        self
    }
}

impl Default for Limits {
    /// A small cluster: 200 Services, 4,000 endpoints, 50 Nodes.
    fn default() -> Self {
        Self::for_cluster(200, 4_000, 50)
    }
}

/// Where endpoints come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// EndpointSlices, as kube-proxy.
    #[default]
    Slices,
    /// Pods, as the endpoint controllers compute them.
    Pods,
    /// EndpointSlices; those on this node are corrected by its Pods, matched by uid.
    Overlay,
}

/// What a backend is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backends {
    /// An endpoint: address and port of a Pod.
    #[default]
    Endpoints,
    /// A Node: its address and the port of the VIP; its weight is the count of its usable endpoints (Ravel 3.6).
    Nodes,
}

/// What is wanted of a [`Cluster`](crate::Cluster): fixed for its life.
#[derive(Clone, Copy, Debug)]
pub struct Config<'a> {
    /// Name of the node that the view is for; empty for a place outside the cluster.
    pub node: &'a str,
    /// Where endpoints come from.
    pub source: Source,
    /// What a backend is.
    pub backends: Backends,
    /// 0: plain weights (an endpoint has 100, a node the count of its endpoints). Else the weights of each set
    /// have exactly this sum, or 1 each where there are more backends than that. At most 65,535.
    pub weight_range: u16,
    /// Only Services with this value of the label `service.kubernetes.io/service-proxy-name`; empty for those without.
    pub service_proxy_name: &'a str,
    /// Addresses on which node ports are served, at most 16; empty for all addresses of the node.
    pub node_port_addresses: &'a [Address],
    /// The families that are wanted; empty for both.
    pub families: &'a [Family],
    /// Trigger times before this are of another life and not measured (k/k#100861).
    pub started: Timestamp,
    /// Keep which Pod each endpoint is. Costs text; the overlay needs it and switches it on.
    pub keep_pods: bool,
}

impl Default for Config<'_> {
    fn default() -> Self {
        Self {
            node: "",
            source: Source::Slices,
            backends: Backends::Endpoints,
            weight_range: 0,
            service_proxy_name: "",
            node_port_addresses: &[],
            families: &[],
            started: Timestamp::NONE,
            keep_pods: false,
        }
    }
}
