//! The benchmarks' clusters: a closed form without random numbers, the same as `oracle bench-gen`'s.
//!
//! 100 Nodes; Services `svc-i` in namespace `ns-(i mod N)`; P Pods each; a Service's Pods in order in its
//! slices, 100 a slice. They come as an API server lists them, by namespace and name, and their text lies in
//! memory as it was read; upstream's figures do not depend on it.

use evenkeel_core::address::{Address, Family};
use evenkeel_core::object::{
    Conditions, ContainerPort, Endpoint, EndpointSlice, Label, Node, Pod, PodRef, Service, ServicePort,
    SlicePort, TargetPort,
};
use evenkeel_core::port::Protocol;
use evenkeel_core::time::Timestamp;

/// 2024-05-01T10:00:00Z, from which all times count.
pub(crate) const EPOCH_SECONDS: u64 = 1_714_557_600;

const NODES: usize = 100;
const ENDPOINTS_PER_SLICE: usize = 100;

/// One benchmark input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) services: usize,
    pub(crate) pods_per_service: usize,
    pub(crate) namespaces: usize,
}

impl Case {
    /// The name of its files.
    pub(crate) fn file(self) -> String {
        match self.services {
            1 => format!("svc1-pods{}", self.pods_per_service),
            n => format!("svc{n}-pods{}-ns{}", self.pods_per_service, self.namespaces),
        }
    }

    /// As people say it, and as upstream's benchmarks end.
    pub(crate) fn size(self) -> String {
        format!("{}x{}", self.services, self.pods_per_service)
    }

    pub(crate) const fn endpoints(self) -> usize {
        self.services * self.pods_per_service
    }
}

/// The objects of a case. Text lives as long as the process: a benchmark has no reason to free it.
pub(crate) struct Input {
    pub(crate) case: Case,
    pub(crate) nodes: Vec<Node<'static>>,
    pub(crate) services: Vec<Service<'static>>,
    pub(crate) slices: Vec<EndpointSlice<'static>>,
    pub(crate) pods: Vec<Pod<'static>>,
    /// The number `i` of each Service, in the order in which they stand.
    order: Vec<usize>,
}

fn text(owned: String) -> &'static str {
    owned.leak()
}

fn list<T>(owned: Vec<T>) -> &'static [T] {
    owned.leak()
}

fn seconds(after: u64) -> Timestamp {
    Timestamp::from_nanos((EPOCH_SECONDS + after) * 1_000_000_000)
}

/// `10.(first + n/65536).(n/256 mod 256).(n mod 256)`.
fn address(first: u8, n: usize) -> Address {
    let [.., high, middle, low] = n.to_be_bytes();
    Address::v4([10, first + high, middle, low])
}

const PORTS: &[ServicePort<'static>] = &[ServicePort {
    name: "http",
    protocol: Protocol::Tcp,
    port: 80,
    node_port: 0,
    target: TargetPort::Number(8080),
    app_protocol: "",
}];
const SLICE_PORTS: &[SlicePort<'static>] = &[SlicePort { name: "http", protocol: Protocol::Tcp, port: 8080 }];
const CONTAINER_PORTS: &[ContainerPort<'static>] =
    &[ContainerPort { name: "http", protocol: Protocol::Tcp, port: 8080 }];

impl Input {
    pub(crate) fn new(case: Case) -> Self {
        let nodes: Vec<Node<'static>> = (0..NODES)
            .map(|k| Node {
                name: text(format!("node-{k}")),
                zone: ["zone-a", "zone-b", "zone-c"][k % 3],
                ready: true,
                weight: 100,
                ..Node::default()
            })
            .collect();
        let mut input = Self {
            case,
            nodes,
            services: Vec::new(),
            slices: Vec::new(),
            pods: Vec::new(),
            order: Vec::new(),
        };
        input.order = (0..case.services).collect();
        input.order.sort_by_cached_key(|i| (format!("ns-{}", i % case.namespaces), format!("svc-{i}")));
        for i in input.order.clone() {
            input.add_service(i);
        }
        input
    }

    /// What each Service has of these, in the order of the Services' numbers.
    pub(crate) fn by_number<'o, T>(&self, objects: &'o [T]) -> Vec<&'o [T]> {
        let mut by_number = vec![[].as_slice(); self.order.len()];
        for (i, of_one) in self.order.iter().zip(objects.chunks(objects.len() / self.order.len())) {
            by_number[*i] = of_one;
        }
        by_number
    }

    fn add_service(&mut self, i: usize) {
        let namespace = text(format!("ns-{}", i % self.case.namespaces));
        let name = text(format!("svc-{i}"));
        let app = text(format!("app-{i}"));
        self.services.push(Service {
            namespace,
            name,
            created: seconds(0),
            cluster_ips: list(vec![address(96, i)]),
            families: &[Family::V4],
            ports: PORTS,
            selector: list(vec![Label { key: "app", value: app }]),
            ..Service::default()
        });
        let hash = text(format!("{i:010x}"));
        let labels =
            list(vec![Label { key: "app", value: app }, Label { key: "pod-template-hash", value: hash }]);
        let mut endpoints = Vec::new();
        for j in 0..self.case.pods_per_service {
            let g = i * self.case.pods_per_service + j;
            let node = &self.nodes[g % NODES];
            let pod = Pod {
                namespace,
                name: text(format!("{app}-{i:010x}-{g:05x}")),
                uid: text(format!("00000003-0000-4000-8000-{g:012x}")),
                labels,
                node: node.name,
                ready: true,
                ready_since: seconds(2),
                addresses: list(vec![address(64, g)]),
                ports: CONTAINER_PORTS,
                weight: 100,
                ..Pod::default()
            };
            endpoints.push(Endpoint {
                address: pod.addresses[0],
                node: node.name,
                zone: node.zone,
                conditions: Conditions { ready: true, serving: true, terminating: false },
                pod: PodRef { name: pod.name, uid: pod.uid },
                zone_hints: &[],
                node_hints: &[],
            });
            self.pods.push(pod);
        }
        for (k, chunk) in list(endpoints).chunks(ENDPOINTS_PER_SLICE).enumerate() {
            self.slices.push(EndpointSlice {
                namespace,
                name: text(format!("{name}-slice{k}")),
                service: name,
                family: Some(Family::V4),
                headless: false,
                proxy_name: None,
                trigger: seconds(0),
                weight: 100,
                ports: SLICE_PORTS,
                endpoints: chunk,
            });
        }
    }
}

/// The slice with `ready` the other way round on its first endpoint.
pub(crate) fn flipped(slice: &EndpointSlice<'static>) -> EndpointSlice<'static> {
    let mut endpoints = slice.endpoints.to_vec();
    endpoints[0].conditions.ready = !endpoints[0].conditions.ready;
    EndpointSlice { endpoints: list(endpoints), ..*slice }
}
