//! A small world of Services and slices: objects that are random, but the same for the same number.

use super::slice;
use crate::Cluster;
use crate::address::{Address, Family, Prefix};
use crate::object::{
    self, Conditions, Endpoint, EndpointSlice, PodRef, ServicePort, ServiceType, SlicePort, TrafficPolicy,
};
use crate::port::Protocol;
use crate::time::Timestamp;

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(super) fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(super) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

const NAMESPACES: [&str; 3] = ["shop", "shop-2", "lab"];
const NAMES: [&str; 5] = ["web", "web-2", "db", "dns", "a"];
const PORTS: [&str; 3] = ["http", "https", "dns"];
const NODES: [&str; 4] = ["node-a", "node-b", "node-c", ""];
const ZONES: [&str; 3] = ["zone-1", "zone-2", ""];

/// One object of a small world, by its number in that world: said twice, it is the same.
pub(super) fn apply_some(cluster: &mut Cluster<'_>, seed: u64) {
    let mut random = Random(seed);
    let namespace = random.pick(&NAMESPACES);
    let service = random.pick(&NAMES);
    let v6 = |last: u64| Address::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last as u8]);
    if random.below(3) == 0 {
        let cluster_ips = [Address::v4([10, 96, 0, random.below(40) as u8]), v6(random.below(40))];
        let ingress = [Address::v4([203, 0, 113, random.below(9) as u8]), v6(100 + random.below(9))];
        let external = [Address::v4([198, 51, 100, random.below(9) as u8])];
        let ranges = [Prefix::parse("192.0.2.0/24").unwrap(), Prefix::parse("2001:db8::/32").unwrap()];
        let number = |random: &mut Random| 1 + random.below(9) as u16;
        let ports: Vec<ServicePort<'_>> = PORTS[..1 + random.below(3) as usize]
            .iter()
            .map(|name| ServicePort {
                name,
                protocol: if *name == "dns" { Protocol::Udp } else { Protocol::Tcp },
                port: number(&mut random),
                node_port: if random.flag() { 30_000 + number(&mut random) } else { 0 },
                ..ServicePort::default()
            })
            .collect();
        let policy = |local| if local { TrafficPolicy::Local } else { TrafficPolicy::Cluster };
        let object = object::Service {
            namespace,
            name: service,
            kind: random.pick(&[ServiceType::ClusterIp, ServiceType::NodePort, ServiceType::LoadBalancer]),
            cluster_ips: &cluster_ips[..1 + random.below(2) as usize],
            ingress_ips: &ingress[..random.below(3) as usize],
            external_ips: &external[..random.below(2) as usize],
            source_ranges: &ranges[..random.below(3) as usize],
            ports: &ports,
            internal_policy: policy(random.below(4) == 0),
            external_policy: policy(random.flag()),
            affinity_seconds: random.pick(&[0, 0, 10_800]),
            health_check_node_port: random.pick(&[0, 32_000]),
            maintenance: random.below(9) == 0,
            created: Timestamp::from_nanos(1 + random.below(5)),
            ..object::Service::default()
        };
        cluster.apply_service(&object).unwrap();
        return;
    }
    let family = random.pick(&[Family::V4, Family::V4, Family::V6]);
    let name = format!("{service}-{}{}", family.text().to_lowercase(), random.below(3));
    let pods: Vec<String> = (0..random.below(9)).map(|_| format!("pod-{}", random.below(20))).collect();
    let endpoints: Vec<Endpoint<'_>> = pods
        .iter()
        .map(|pod| {
            let last = random.below(30);
            let address =
                if family == Family::V4 { Address::v4([192, 0, 2, last as u8]) } else { v6(200 + last) };
            let (ready, terminating) = (random.below(4) > 0, random.below(4) == 0);
            Endpoint {
                address,
                node: random.pick(&NODES),
                zone: random.pick(&ZONES),
                conditions: Conditions { ready, serving: ready || random.flag(), terminating },
                pod: PodRef { name: pod, uid: if random.flag() { pod } else { "" } },
                ..Endpoint::default()
            }
        })
        .collect();
    let ports: Vec<SlicePort<'_>> = PORTS
        .iter()
        .map(|name| SlicePort {
            name,
            protocol: if *name == "dns" { Protocol::Udp } else { Protocol::Tcp },
            port: 8000 + random.below(3) as u16,
        })
        .collect();
    let object = EndpointSlice {
        namespace,
        service,
        ports: &ports,
        family: Some(family),
        weight: random.pick(&[100, 100, 50, 0]),
        ..slice(&name, service, &endpoints)
    };
    cluster.apply_slice(&object).unwrap();
}

pub(super) fn delete_some(cluster: &mut Cluster<'_>, random: &mut Random) {
    let namespace = random.pick(&NAMESPACES);
    let service = random.pick(&NAMES);
    if random.flag() {
        cluster.delete_service(namespace, service);
    } else {
        let family = random.pick(&["ipv4", "ipv6"]);
        cluster.delete_slice(namespace, &format!("{service}-{family}{}", random.below(3)));
    }
}
