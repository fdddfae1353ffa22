use super::*;
use crate::address::Prefix;
use crate::change::Change;
use crate::error::Error;
use crate::limits::{Backends, Config, Limits};
use crate::object::{self, Endpoint, EndpointSlice, ServicePort, ServiceType, SlicePort};
use crate::storage::HeapStorage;
use crate::time::Timestamp;
use crate::{Cluster, Kind, Sealed};
use std::fmt::Write as _;
use world::{Random, apply_some, delete_some};

mod world;

const T0: Timestamp = Timestamp::NONE;

fn with(seed: u64, config: &Config<'_>, test: impl FnOnce(&mut Cluster<'_>)) {
    let limits =
        Limits { ports_max: 400, vips_max: 2_000, ..Limits::for_cluster(40, 800, 10).with_pods(300) };
    let mut memory = HeapStorage::new(&limits);
    let mut cluster = Cluster::new(memory.lend(), seed, config).unwrap();
    for kind in Kind::ALL {
        cluster.relist_begin(kind);
        cluster.relist_end(kind);
    }
    test(&mut cluster);
}

const NODE_A: Config<'_> = Config {
    node: "node-a",
    source: crate::limits::Source::Slices,
    backends: Backends::Endpoints,
    weight_range: 0,
    service_proxy_name: "",
    node_port_addresses: &[],
    families: &[],
    started: Timestamp::NONE,
    keep_pods: true,
};

fn image_of(cluster: &mut Cluster<'_>) -> Vec<u8> {
    let mut bytes = vec![0xaa; cluster.snapshot_size()];
    assert_eq!(cluster.snapshot_write(&mut bytes), Ok(bytes.len()));
    bytes
}

fn ready(last: u8) -> Endpoint<'static> {
    let pod = PodRef { name: "web-7", uid: "b51" };
    Endpoint {
        address: Address::v4([192, 0, 2, last]),
        node: "node-a",
        zone: "zone-1",
        pod,
        ..Endpoint::default()
    }
}

const HTTP: ServicePort<'_> = ServicePort {
    name: "http",
    protocol: Protocol::Tcp,
    port: 80,
    node_port: 30_080,
    target: object::TargetPort::Number(8080),
    app_protocol: "",
};

fn web() -> object::Service<'static> {
    object::Service {
        namespace: "shop",
        name: "web",
        kind: ServiceType::LoadBalancer,
        cluster_ips: const { &[Address::v4([10, 96, 0, 10])] },
        ingress_ips: const { &[Address::v4([203, 0, 113, 1]), Address::v4([203, 0, 113, 2])] },
        source_ranges: const { &[Prefix { address: Address::v4([198, 51, 100, 0]), length: 24 }] },
        ports: &[HTTP],
        external_policy: TrafficPolicy::Local,
        affinity_seconds: 10_800,
        health_check_node_port: 32_000,
        ..object::Service::default()
    }
}

fn slice<'a>(name: &'a str, service: &'a str, endpoints: &'a [Endpoint<'a>]) -> EndpointSlice<'a> {
    EndpointSlice {
        namespace: "shop",
        name,
        service,
        family: Some(Family::V4),
        weight: 100,
        ports: &[SlicePort { name: "http", protocol: Protocol::Tcp, port: 8080 }],
        endpoints,
        ..EndpointSlice::default()
    }
}

fn web_and_its_endpoints(cluster: &mut Cluster<'_>) {
    cluster.apply_service(&web()).unwrap();
    let far = Endpoint { node: "node-b", zone: "zone-2", pod: PodRef::default(), ..ready(2) };
    let nowhere = Endpoint { node: "", zone: "", ..ready(3) };
    cluster.apply_slice(&slice("web-1", "web", &[nowhere, far, ready(1)])).unwrap();
    assert!(matches!(cluster.seal(T0), Sealed::Generation(_)));
}

fn small_image() -> Vec<u8> {
    let mut bytes = Vec::new();
    with(1, &NODE_A, |cluster| {
        web_and_its_endpoints(cluster);
        bytes = image_of(cluster);
    });
    bytes
}

/// Everything that can be asked of a VIP, as one line.
macro_rules! vip_line {
    ($vip:expr) => {{
        let (vip, port) = (&$vip, $vip.port());
        let ranges: Vec<String> = vip.source_ranges.iter().map(|range| range.to_string()).collect();
        format!(
            "{port:?} {:?} {} {} {:?} {} affinity {} health {} masquerade {} short {} {ranges:?}",
            vip.kind,
            vip.address,
            vip.number,
            vip.policy,
            vip.state.text(),
            vip.affinity_seconds,
            vip.health_check_node_port,
            vip.masquerade,
            vip.short_circuit,
        )
    }};
}

/// Everything that can be asked of a backend, as one line.
macro_rules! backend_line {
    ($backend:expr) => {{
        let (backend, port) = (&$backend, $backend.port());
        format!(
            "{port:?} {} {} cluster {:?} local {:?} {} here {} {} {} {:?}",
            backend.address,
            backend.number,
            backend.cluster_weight,
            backend.local_weight,
            backend.state.text(),
            backend.local,
            backend.node(),
            backend.zone(),
            backend.pod(),
        )
    }};
}

/// What a new consumer is told, in the order of an image: by Service, port, then VIPs before backends.
fn told(cluster: &mut Cluster<'_>) -> String {
    let cursor = cluster.cursor_open().unwrap();
    let mut lines = Vec::new();
    while let Some(change) = cluster.next(cursor).unwrap() {
        let order = lines.len();
        let (port, backend, line) = match &change {
            Change::Vip(vip) => (vip.port(), false, vip_line!(vip)),
            Change::Backend(backend) => (backend.port(), true, backend_line!(backend)),
            Change::ServiceEnd(_) => continue,
            gone => panic!("a new consumer is told of {gone:?}"),
        };
        let service = format!("{}/{}", port.service.namespace, port.service.name);
        lines.push((service, port.name.to_string(), port.protocol, port.family, backend, order, line));
    }
    cluster.cursor_close(cursor);
    lines.sort();
    lines.into_iter().fold(String::new(), |text, (.., line)| text + &line + "\n")
}

/// What an image tells, found from its Services on.
fn tells(image: Image<'_>) -> String {
    let mut text = String::new();
    for service in image.services() {
        let ServiceName { namespace, name } = service.name();
        assert_eq!(image.service(namespace, name).unwrap().id, service.id);
        for port in service.ports() {
            for vip in port.vips() {
                assert_eq!(vip.port_id, port.id);
                writeln!(text, "{}", vip_line!(vip)).unwrap();
            }
            for backend in port.backends() {
                assert_eq!(backend.port_id, port.id);
                writeln!(text, "{}", backend_line!(backend)).unwrap();
            }
        }
    }
    text
}

/// Asks everything. How many answers there were.
fn ask(image: Image<'_>) -> usize {
    let mut answers = 0;
    for service in image.services() {
        let ServiceName { namespace, name } = service.name();
        answers += usize::from(image.service(namespace, name).is_some());
        answers += usize::from(service.runs_on(image.node()));
        answers += usize::from(service.port_number("http").is_some());
        for port in service.ports() {
            answers += port.vips().map(|vip| vip_line!(vip).len()).sum::<usize>();
            answers += port.backends().map(|backend| backend_line!(backend).len()).sum::<usize>();
            answers += port.node_weight("node-a").total as usize;
        }
    }
    let ports = image.ports().map(|port| format!("{:?}", port.name()).len()).sum::<usize>();
    let vips = image.vips().map(|vip| vip_line!(vip).len()).sum::<usize>();
    let backends = image.backends().map(|backend| backend_line!(backend).len()).sum::<usize>();
    answers + ports + vips + backends + format!("{image:?}").len()
}

/// One more generation, whatever there was before.
fn pass_a_generation(cluster: &mut Cluster<'_>) {
    let ports = [ServicePort { port: 1 + (cluster.generation() % 2) as u16, ..ServicePort::default() }];
    let filler = object::Service {
        namespace: "filler",
        name: "filler",
        cluster_ips: &[Address::v4([10, 97, 0, 1]), Address::v6([0xfd; 16])],
        ports: &ports,
        ..object::Service::default()
    };
    cluster.apply_service(&filler).unwrap();
    assert!(matches!(cluster.seal(T0), Sealed::Generation(_)));
}

fn configs() -> [Config<'static>; 4] {
    [
        NODE_A,
        Config { node: "", keep_pods: false, ..NODE_A },
        Config { weight_range: 1_000, ..NODE_A },
        Config { families: &[Family::V6], ..NODE_A },
    ]
}

fn on_random_clusters(mut test: impl FnMut(&mut Cluster<'_>, &mut Random)) {
    for (number, config) in configs().iter().cycle().take(12).enumerate() {
        with(number as u64, config, |cluster| {
            let mut random = Random(number as u64);
            for _ in 0..40 {
                for _ in 0..random.below(8) {
                    apply_some(cluster, random.below(400));
                }
                delete_some(cluster, &mut random);
                cluster.seal(T0);
                test(cluster, &mut random);
            }
        });
    }
}

#[test]
fn an_image_tells_what_a_new_consumer_is_told() {
    let mut largest = Counts::default();
    on_random_clusters(|cluster, _| {
        let bytes = image_of(cluster);
        let image = Image::open(&bytes).unwrap();
        assert_eq!(tells(image), told(cluster));
        assert_eq!(image.generation(), cluster.generation());
        let counts = image.counts();
        assert_eq!(counts.services as usize, image.services().count());
        assert_eq!(counts.ports as usize, image.services().flat_map(Service::ports).count());
        assert_eq!(counts.vips as usize, image.ports().flat_map(Port::vips).count());
        assert_eq!(counts.backends as usize, image.ports().flat_map(Port::backends).count());
        if counts.backends > largest.backends {
            largest = counts;
        }
    });
    assert!(largest.services > 5 && largest.vips > 20 && largest.backends > 100, "{largest:?}");
}

#[test]
fn what_is_applied_after_the_seal_is_not_in_an_image() {
    on_random_clusters(|cluster, random| {
        let sealed = image_of(cluster);
        for _ in 0..4 {
            apply_some(cluster, random.below(400));
            delete_some(cluster, random);
        }
        assert!(sealed == image_of(cluster), "generation {}", cluster.generation());
    });
}

#[test]
fn an_image_changes_nothing_for_consumers_at_work() {
    with(3, &NODE_A, |cluster| {
        let mut random = Random(3);
        for _ in 0..60 {
            apply_some(cluster, random.below(400));
        }
        cluster.seal(T0);
        let undisturbed = told(cluster);
        let cursor = cluster.cursor_open().unwrap();
        let mut pulled = 0;
        while cluster.next(cursor).unwrap().is_some() {
            apply_some(cluster, random.below(400));
            image_of(cluster);
            pulled += 1;
        }
        assert_eq!(told(cluster), undisturbed);
        let ends = Image::open(&image_of(cluster)).unwrap().counts().services;
        assert_eq!(pulled, undisturbed.lines().count() + ends as usize);
    });
}

#[test]
fn one_state_has_one_image_however_it_came_about() {
    for (number, config) in configs().iter().enumerate() {
        let mut random = Random(100 + number as u64);
        let world: Vec<u64> = (0..40).map(|_| random.below(400)).collect();
        let mut images = Vec::new();
        for history in 0..3u64 {
            with(history * 77, config, |cluster| {
                let mut random = Random(history);
                let cursor = (history == 1).then(|| cluster.cursor_open().unwrap());
                if history > 0 {
                    for _ in 0..20 {
                        apply_some(cluster, 1_000 + random.below(400));
                        cluster.seal(T0);
                        cursor.map(|cursor| cluster.next(cursor).map(|_| ()));
                    }
                    for kind in [Kind::Slice, Kind::Service] {
                        cluster.relist_begin(kind);
                        cluster.relist_end(kind);
                    }
                }
                for object in &world {
                    apply_some(cluster, *object);
                    if history > 1 || random.flag() {
                        cluster.seal(T0);
                    }
                }
                while cluster.generation() < 200 {
                    pass_a_generation(cluster);
                }
                images.push(image_of(cluster));
            });
        }
        let opened: Vec<Image<'_>> = images.iter().map(|bytes| Image::open(bytes).unwrap()).collect();
        assert!(opened[0].counts().services > 3 && opened[0].counts().vips > 5);
        for other in &opened {
            assert_eq!(tells(*other), tells(opened[0]));
            assert_eq!(*other, opened[0]);
        }
    }
}

#[test]
fn services_that_arrive_in_another_order_stand_in_the_same() {
    let image = |names: [&str; 4]| {
        let mut bytes = Vec::new();
        with(names.len() as u64, &NODE_A, |cluster| {
            for name in names {
                let service = object::Service { name, cluster_ips: &[], external_ips: &[], ..web() };
                let last = name.len() as u8;
                let service = object::Service { cluster_ips: &[Address::v4([10, 96, 0, last])], ..service };
                cluster.apply_slice(&slice(name, name, &[ready(2), ready(1)])).unwrap();
                cluster
                    .apply_service(&object::Service {
                        ingress_ips: &[],
                        kind: ServiceType::ClusterIp,
                        ..service
                    })
                    .unwrap();
            }
            cluster.seal(T0);
            bytes = image_of(cluster);
        });
        bytes
    };
    let bytes = image(["b", "aa", "bbb", "aaaa"]);
    assert_eq!(bytes, image(["aaaa", "bbb", "aa", "b"]));
    let names: Vec<&str> =
        Image::open(&bytes).unwrap().services().map(|service| service.name().name).collect();
    assert_eq!(names, ["aa", "aaaa", "b", "bbb"]);
}

#[test]
fn a_service_is_asked_for_its_parts() {
    let bytes = small_image();
    let image = Image::open(&bytes).unwrap();
    assert_eq!((image.generation(), image.node(), image.size()), (1, "node-a", bytes.len()));
    assert_eq!(image.counts(), Counts { services: 1, ports: 1, vips: 4, backends: 3 });
    let service = image.service("shop", "web").unwrap();
    assert_eq!((service.port_number("http"), service.port_number("https")), (Some(80), None));
    assert_eq!(
        ["node-a", "node-b", "node-c", ""].map(|node| service.runs_on(node)),
        [true, true, false, false]
    );
    let port = service.ports().next().unwrap();
    assert_eq!((port.name().name, port.name().family, port.number), ("http", Family::V4, 80));
    assert_eq!(port.node_weight("node-b"), NodeWeight { local: 1, total: 3 });
    assert_eq!(port.node_weight(""), NodeWeight { local: 0, total: 3 });
    let here: Vec<String> = port.backends_on("node-a").map(|backend| backend.address.to_string()).collect();
    assert_eq!(here, ["192.0.2.1"]);
    let vips: Vec<_> = port.vips().map(|vip| (vip.kind, vip.number, vip.source_ranges.len())).collect();
    assert_eq!(
        vips,
        [
            (VipKind::ClusterIp, 80, 0),
            (VipKind::LoadBalancer, 80, 1),
            (VipKind::LoadBalancer, 80, 1),
            (VipKind::NodePort, 30_080, 0),
        ]
    );
    for absent in
        [("shop", "wea"), ("shop", "webb"), ("sho", "p/web"), ("", ""), ("zoo", "web"), ("shop/web", "")]
    {
        assert!(image.service(absent.0, absent.1).is_none(), "{absent:?}");
    }
    assert!(
        image.service_at(1).is_none() && image.vip_at(4).is_none() && image.backend_at(u32::MAX).is_none()
    );
}

#[test]
fn before_the_first_seal_an_image_is_empty() {
    with(1, &NODE_A, |cluster| {
        cluster.apply_service(&web()).unwrap();
        let bytes = image_of(cluster);
        let image = Image::open(&bytes).unwrap();
        assert_eq!((image.generation(), image.node(), image.counts()), (0, "node-a", Counts::default()));
        assert!(image.service("shop", "web").is_none());
    });
}

#[test]
fn a_service_that_went_is_not_in_an_image_while_it_is_kept_for_a_consumer() {
    with(1, &NODE_A, |cluster| {
        let cursor = cluster.cursor_open().unwrap();
        web_and_its_endpoints(cluster);
        cluster.next(cursor).unwrap();
        cluster.delete_slice("shop", "web-1");
        cluster.delete_service("shop", "web");
        cluster.seal(T0);
        let bytes = image_of(cluster);
        assert_eq!(Image::open(&bytes).unwrap().counts(), Counts::default());
        assert_eq!(Image::open(&bytes).unwrap().generation(), 2);
    });
}

#[test]
fn nodes_as_backends_are_in_an_image_too() {
    with(1, &Config { backends: Backends::Nodes, ..NODE_A }, |cluster| {
        for (name, last) in [("node-a", 1), ("node-b", 2)] {
            let addresses = [Address::v4([192, 0, 2, 100 + last])];
            let node = object::Node {
                name,
                ready: true,
                addresses: &addresses,
                weight: 100,
                ..object::Node::default()
            };
            cluster.apply_node(&node).unwrap();
        }
        web_and_its_endpoints(cluster);
        let bytes = image_of(cluster);
        let image = Image::open(&bytes).unwrap();
        assert_eq!(tells(image), told(cluster));
        assert_eq!(image.counts().backends, 2);
    });
}

#[test]
fn a_buffer_that_is_too_small_is_told_how_much_is_needed_and_left_alone() {
    with(1, &NODE_A, |cluster| {
        web_and_its_endpoints(cluster);
        let needed = cluster.snapshot_size();
        for size in [0, 1, 96, needed - 1] {
            let mut buffer = vec![0xaa; size];
            assert_eq!(cluster.snapshot_write(&mut buffer), Err(Error::TooSmall { needed }));
            assert!(buffer.iter().all(|byte| *byte == 0xaa));
        }
        let mut buffer = vec![0xaa; needed + 5];
        assert_eq!(cluster.snapshot_write(&mut buffer), Ok(needed));
        assert_eq!(buffer[needed..], [0xaa; 5]);
        assert_eq!(Image::open(&buffer).unwrap().size(), needed);
    });
}

#[test]
fn a_part_of_an_image_is_refused_at_every_length() {
    let bytes = small_image();
    for length in 0..bytes.len() {
        let needed = if length < 96 { 96 } else { bytes.len() };
        assert_eq!(Image::open(&bytes[..length]), Err(Refused::Truncated { needed }), "{length}");
    }
}

#[test]
fn a_byte_that_is_not_what_it_was_is_noticed() {
    let mut bytes = small_image();
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            bytes[at] ^= flip;
            let refused = Image::open(&bytes).unwrap_err();
            match at {
                0..8 => assert_eq!(refused, Refused::NotAnImage),
                8..12 => assert!(matches!(refused, Refused::Version(version) if version != 1)),
                12..16 => assert!(matches!(refused, Refused::Truncated { .. } | Refused::Damaged)),
                _ => assert_eq!(refused, Refused::Damaged),
            }
            bytes[at] ^= flip;
        }
    }
    Image::open(&bytes).unwrap();
}

/// With a checksum that says that all is well.
fn forge(bytes: &mut [u8]) {
    let sum = record::checksum(bytes);
    bytes[16..24].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn a_forged_image_stops_nobody() {
    let good = small_image();
    let (mut opened, mut answers) = (0, 0);
    for at in 16..good.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            forge(&mut bytes);
            if let Ok(image) = Image::open(&bytes) {
                opened += 1;
                answers += ask(image);
            }
        }
    }
    let mut random = Random(9);
    for _ in 0..2_000 {
        let mut bytes = good.clone();
        for _ in 0..random.below(40) {
            let at = 96 + random.below(good.len() as u64 - 96) as usize;
            bytes[at] = random.pick(&[0, 1, 2, 0xff, random.0 as u8]);
        }
        forge(&mut bytes);
        opened += 1;
        answers += ask(Image::open(&bytes).unwrap());
    }
    assert!(opened > 3_000 && answers > opened);
}

#[test]
fn another_version_is_named() {
    let mut bytes = small_image();
    bytes[8] = 2;
    forge(&mut bytes);
    let refused = Image::open(&bytes).unwrap_err();
    assert_eq!(refused, Refused::Version(2));
    assert_eq!(refused.to_string(), "an image of version 2: this release reads version 1");
    assert_eq!(Image::open(b"{\"kind\":\"Service\"}"), Err(Refused::NotAnImage));
    assert_eq!(Image::open(b""), Err(Refused::Truncated { needed: 96 }));
}

#[test]
fn every_byte_stands_where_the_layout_says() {
    let bytes = small_image();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let short = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()) as usize;
    let section = |section: usize| number(40 + 8 * section);
    let text = |at: usize| &bytes[section(6) + number(at)..][..short(at + 4)];
    assert_eq!(&bytes[..8], b"evenkeel");
    assert_eq!((number(8), number(12), bytes[24]), (1, bytes.len(), 1));
    assert_eq!(text(32), b"node-a");
    assert_eq!([0, 1, 2, 3, 4, 5].map(|section| number(44 + 8 * section)), [1, 1, 4, 1, 3, 2]);
    let service = section(0);
    assert_eq!((text(service), short(service + 6), number(service + 12)), (&b"shop/web"[..], 4, 1));
    let port = section(1);
    assert_eq!((text(port), number(port + 12), number(port + 20)), (&b"http"[..], 4, 3));
    assert_eq!((short(port + 28), bytes[port + 30], bytes[port + 31]), (80, 0, 0));
    let balancer = section(2) + 40;
    assert_eq!(bytes[balancer..][..16], Address::v4([203, 0, 113, 1]).octets());
    assert_eq!((number(balancer + 20), number(balancer + 24), number(balancer + 28)), (0, 1, 10_800));
    assert_eq!((short(balancer + 32), short(balancer + 34)), (80, 32_000));
    assert_eq!(bytes[balancer + 36..][..4], [2, 0, 5, 0]);
    assert_eq!(bytes[section(3)..][10..17], [0xff, 0xff, 198, 51, 100, 0, 24]);
    let near = section(4);
    assert_eq!((number(near + 20), text(near + 24), short(near + 30)), (0, &b"b51/web-7"[..], 3));
    assert_eq!((short(near + 32), short(near + 34), short(near + 36)), (8080, 100, 100));
    assert_eq!(bytes[near + 38..][..2], [0, 7]);
    assert_eq!(number(near + 80 + 20), 0xffff_ffff);
    let far = section(5) + 8;
    assert_eq!((text(far), short(far + 6)), (&b"node-b/zone-2"[..], 6));
}

#[test]
fn the_checksum_is_the_documented_one() {
    let bytes = small_image();
    let mut sum = 0x9e37_79b9_7f4a_7c15_u64;
    for (number, word) in bytes.chunks(8).enumerate() {
        if number != 2 {
            sum = (sum ^ u64::from_le_bytes(word.try_into().unwrap())).wrapping_mul(0x9fb2_1c65_1e98_df25);
            sum ^= sum >> 32;
        }
    }
    assert_eq!(bytes[16..24], sum.to_le_bytes());
}

#[test]
fn many_threads_read_one_image_while_the_owner_goes_on() {
    fn is_for_any_thread<T: Copy + Send + Sync>(_: T) {}
    with(5, &NODE_A, |cluster| {
        let mut random = Random(5);
        for _ in 0..60 {
            apply_some(cluster, random.below(400));
        }
        cluster.seal(T0);
        let bytes = image_of(cluster);
        let image = Image::open(&bytes).unwrap();
        is_for_any_thread(image);
        let text = tells(image);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| assert_eq!(tells(image), text)));
            }
            for _ in 0..200 {
                apply_some(cluster, random.below(400));
                cluster.seal(T0);
            }
        });
        assert!(image_of(cluster) != bytes);
    });
}
