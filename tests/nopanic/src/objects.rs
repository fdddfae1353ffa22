//! Objects made of input, whatever they then are, into a cluster.

use evenkeel_core::Cluster;
use evenkeel_core::address::{Address, Family, Prefix};
use evenkeel_core::cluster::Applied;
use evenkeel_core::endpoints;
use evenkeel_core::error::Error;
use evenkeel_core::object::{
    Conditions, ContainerPort, Endpoint, EndpointSlice, Label, Node, Pod, PodRef, Service, ServicePort,
    ServiceType, SlicePort, TargetPort, TrafficPolicy,
};
use evenkeel_core::port::Protocol;
use evenkeel_core::table::Row;
use evenkeel_core::text::Texts;
use evenkeel_core::time::Timestamp;
use evenkeel_core::{trigger, weight};

use crate::input::Input;
use crate::walk::Sum;

/// The parsers, on text as it comes.
pub fn read_texts(input: &mut Input<'_>, sum: &mut Sum) {
    for _ in 0..input.byte() {
        let text = input.text();
        if let Some(address) = Address::parse(text) {
            sum.text(address.text(&mut [0; 45]));
            sum.add(u64::from(address.is_loopback()) + u64::from(address.is_link_local()) * 2);
        }
        if let Some(prefix) = Prefix::parse(text) {
            sum.add(u64::from(prefix.contains(input.address())));
        }
        sum.add(Timestamp::parse(text).unwrap_or(Timestamp::NONE).nanos());
        sum.add(u64::from(Protocol::parse(text).is_some()));
    }
}

/// The rules that stand alone, for callers that want a rule and no cluster.
pub fn ask_rules(input: &mut Input<'_>, sum: &mut Sum) {
    let labels: [Label<'_>; 2] = core::array::from_fn(|_| label(input));
    let ports = [ContainerPort { name: input.name(), protocol: input.protocol(), port: input.number() }];
    let addresses = [input.address(), input.address()];
    let pod = Pod {
        namespace: input.name(),
        labels: &labels,
        addresses: &addresses,
        ports: &ports,
        hostname: input.name(),
        subdomain: input.name(),
        ..Pod::default()
    };
    let port = ServicePort { target: TargetPort::Name(input.name()), ..ServicePort::default() };
    let service = Service { namespace: input.name(), name: input.name(), ..Service::default() };
    sum.add(u64::from(endpoints::selects(some(&labels, input), &labels)));
    sum.add(u64::from(endpoints::included(&pod, input.flag())));
    sum.add(u64::from(endpoints::conditions(&pod, input.flag()).ready));
    sum.add(u64::from(endpoints::find_port(&pod, &port).unwrap_or(0)));
    sum.text(endpoints::hostname(&pod, &service).unwrap_or(""));
    for address in endpoints::addresses(&pod, family(input)) {
        sum.text(address.text(&mut [0; 45]));
    }
    for family in endpoints::address_types(&service).into_iter().flatten() {
        sum.text(family.text());
    }
    if let Some(reason) = endpoints::left_out(&pod, &service, &port, family(input), input.flag()) {
        sum.text(reason.text());
    }
    let weights: [u16; 8] = core::array::from_fn(|_| input.number());
    let mut scale = weight::Scale::new(weights.into_iter(), input.number());
    for weight in weights {
        sum.add(u64::from(scale.give(weight)));
    }
    let share = weight::Share::new(u32::from(input.number()), u32::from(input.number()));
    sum.add(u64::from(share.local) ^ u64::from(share.total));
    let times = [trigger::Times { remembered: input.time(), current: input.time() }];
    sum.add(trigger::first_cause(Some(input.time()), input.time(), times).nanos());
    if let Some(latency) = trigger::sample(input.time(), input.time(), input.time()) {
        sum.add(latency.nanos);
    }
    track(input, sum);
}

/// A tracker of trigger times, in memory so small that it is full now and then.
fn track(input: &mut Input<'_>, sum: &mut Sum) {
    let (mut services, mut services_index) = ([Row::<trigger::ServiceRow>::EMPTY; 4], [0; 4]);
    let (mut pods, mut pods_index) = ([Row::<trigger::PodRow>::EMPTY; 8], [0; 8]);
    let (mut texts, mut texts_index, mut bytes) = ([Row::EMPTY; 16], [0; 16], [0; 256]);
    let texts = Texts::new(&mut texts, &mut texts_index, &mut bytes, input.wide());
    let mut tracker = trigger::Tracker::new(
        (&mut services, &mut services_index),
        (&mut pods, &mut pods_index),
        texts,
        input.wide(),
    );
    for _ in 0..input.byte() {
        let pods = [(input.name(), input.time()), (input.name(), input.time())];
        let computed = tracker.compute(input.name(), input.name(), input.time(), pods);
        sum.add(computed.map_or(1, |time| time.nanos()));
        if input.flag() {
            tracker.delete(input.name(), input.name());
        }
        sum.add(u64::from(tracker.usage().0));
    }
}

/// As many of them as the input says.
fn some<'v, T>(values: &'v [T], input: &mut Input<'_>) -> &'v [T] {
    let count = usize::from(input.byte() & 3).min(values.len());
    values.get(..count).unwrap_or(&[])
}

fn policy(input: &mut Input<'_>) -> TrafficPolicy {
    if input.flag() { TrafficPolicy::Local } else { TrafficPolicy::Cluster }
}

fn family(input: &mut Input<'_>) -> Family {
    if input.flag() { Family::V6 } else { Family::V4 }
}

fn label<'a>(input: &mut Input<'a>) -> Label<'a> {
    Label { key: input.name(), value: input.name() }
}

fn note(applied: Result<Applied, Error>, sum: &mut Sum) {
    sum.add(match applied {
        Ok(Applied::Changed) => 1,
        Ok(Applied::Unchanged) => 2,
        Ok(Applied::Ignored(_)) => 3,
        Err(_) => 4,
    });
}

pub fn apply_service(cluster: &mut Cluster<'_>, input: &mut Input<'_>, sum: &mut Sum) {
    let cluster_ips: [Address; 2] = core::array::from_fn(|_| input.address());
    let families: [Family; 2] = core::array::from_fn(|_| family(input));
    let more: [Address; 3] = core::array::from_fn(|_| input.address());
    let ranges: [Prefix; 3] =
        core::array::from_fn(|_| Prefix::new(input.address(), input.byte()).unwrap_or_default());
    let ports: [ServicePort<'_>; 3] = core::array::from_fn(|_| ServicePort {
        name: input.name(),
        protocol: input.protocol(),
        port: input.number(),
        node_port: input.number(),
        target: if input.flag() {
            TargetPort::Number(input.number())
        } else {
            TargetPort::Name(input.name())
        },
        app_protocol: input.name(),
    });
    let selector: [Label<'_>; 2] = core::array::from_fn(|_| label(input));
    let service = Service {
        namespace: input.name(),
        name: input.name(),
        created: input.time(),
        kind: match input.below(4) {
            0 => ServiceType::ClusterIp,
            1 => ServiceType::NodePort,
            2 => ServiceType::LoadBalancer,
            _ => ServiceType::ExternalName,
        },
        headless: input.below(5) == 0,
        cluster_ips: some(&cluster_ips, input),
        families: some(&families, input),
        external_ips: some(&more, input),
        ingress_ips: some(&more, input),
        source_ranges: some(&ranges, input),
        ports: some(&ports, input),
        selector: some(&selector, input),
        internal_policy: policy(input),
        external_policy: policy(input),
        affinity_seconds: u32::from(input.number()),
        health_check_node_port: input.number(),
        publish_not_ready: input.flag(),
        proxy_name: if input.below(5) == 0 { Some(input.name()) } else { None },
        maintenance: input.flag(),
    };
    note(cluster.apply_service(&service), sum);
}

pub fn apply_slice(cluster: &mut Cluster<'_>, input: &mut Input<'_>, sum: &mut Sum) {
    let names: [&str; 3] = core::array::from_fn(|_| input.name());
    let ports: [SlicePort<'_>; 3] = core::array::from_fn(|_| SlicePort {
        name: input.name(),
        protocol: input.protocol(),
        port: input.number(),
    });
    let endpoints: [Endpoint<'_>; 3] = core::array::from_fn(|_| Endpoint {
        address: input.address(),
        node: input.name(),
        zone: input.name(),
        conditions: Conditions { ready: input.flag(), serving: input.flag(), terminating: input.flag() },
        pod: PodRef { name: input.name(), uid: input.name() },
        zone_hints: some(&names, input),
        node_hints: some(&names, input),
    });
    let slice = EndpointSlice {
        namespace: input.name(),
        name: input.name(),
        service: input.name(),
        family: if input.below(5) == 0 { None } else { Some(family(input)) },
        headless: input.below(5) == 0,
        proxy_name: if input.below(5) == 0 { Some(input.name()) } else { None },
        trigger: input.time(),
        weight: input.number(),
        ports: some(&ports, input),
        endpoints: some(&endpoints, input),
    };
    note(cluster.apply_slice(&slice), sum);
}

pub fn apply_pod(cluster: &mut Cluster<'_>, input: &mut Input<'_>, sum: &mut Sum) {
    let labels: [Label<'_>; 3] = core::array::from_fn(|_| label(input));
    let addresses: [Address; 3] = core::array::from_fn(|_| input.address());
    let ports: [ContainerPort<'_>; 3] = core::array::from_fn(|_| ContainerPort {
        name: input.name(),
        protocol: input.protocol(),
        port: input.number(),
    });
    let pod = Pod {
        namespace: input.name(),
        name: input.name(),
        uid: input.name(),
        labels: some(&labels, input),
        terminating: input.flag(),
        terminal: input.below(5) == 0,
        node: input.name(),
        hostname: input.name(),
        subdomain: input.name(),
        ready: input.flag(),
        ready_since: input.time(),
        has_ip: input.flag(),
        addresses: some(&addresses, input),
        ports: some(&ports, input),
        weight: input.number(),
        maintenance: input.flag(),
    };
    note(cluster.apply_pod(&pod), sum);
}

pub fn apply_node(cluster: &mut Cluster<'_>, input: &mut Input<'_>, sum: &mut Sum) {
    let addresses: [Address; 3] = core::array::from_fn(|_| input.address());
    let node = Node {
        name: input.name(),
        zone: input.name(),
        ready: input.flag(),
        unschedulable: input.flag(),
        excluded: input.flag(),
        addresses: some(&addresses, input),
        weight: input.number(),
        maintenance: input.flag(),
    };
    note(cluster.apply_node(&node), sum);
}
