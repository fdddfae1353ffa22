//! Everything that comes out, into one number, so that nothing of it can be left out.

use evenkeel_core::Cluster;
use evenkeel_core::address::Address;
use evenkeel_core::change::{Change, PortId, PortName, ServiceName};
use evenkeel_core::cluster::{Kind, Origin, PortView, Sample, Sealed, ServiceView};
use evenkeel_core::object::PodRef;
use evenkeel_core::snapshot::Image;

use crate::input::Input;

#[derive(Default)]
pub struct Sum(u64);

impl Sum {
    pub const fn get(&self) -> u64 {
        self.0
    }

    pub const fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }

    pub fn text(&mut self, text: &str) {
        for byte in text.bytes() {
            self.add(u64::from(byte));
        }
    }

    fn address(&mut self, address: Address) {
        self.text(address.text(&mut [0; 45]));
    }

    fn service(&mut self, service: ServiceName<'_>) {
        self.text(service.namespace);
        self.text(service.name);
    }

    fn port(&mut self, id: PortId, port: &PortName<'_>) {
        self.add(u64::from(id.get()));
        self.service(port.service);
        self.text(port.name);
        self.text(port.protocol.text());
        self.text(port.family.text());
    }

    fn pod(&mut self, pod: PodRef<'_>) {
        self.text(pod.name);
        self.text(pod.uid);
    }

    pub fn sample(&mut self, sample: &Sample<'_>) {
        self.service(sample.service);
        self.add(sample.latency_ns);
        self.add(u64::from(sample.skewed));
    }

    pub const fn sealed(&mut self, sealed: Sealed) {
        match sealed {
            Sealed::Waiting => self.add(0),
            Sealed::Unchanged(generation) => self.add(generation),
            Sealed::Generation(generation) => self.add(!generation),
        }
    }

    pub fn change(&mut self, change: &Change<'_>) {
        match change {
            Change::Vip(vip) => {
                self.port(vip.id, &vip.port());
                self.address(vip.address);
                self.add(u64::from(vip.number) + u64::from(vip.affinity_seconds));
                self.text(vip.kind.text());
                self.text(vip.state.text());
                self.add(u64::from(vip.masquerade) + u64::from(vip.short_circuit) * 2);
                for range in vip.source_ranges.iter() {
                    self.address(range.address);
                    self.add(u64::from(range.length));
                }
            }
            Change::Backend(backend) => {
                self.port(backend.id, &backend.port());
                self.address(backend.address);
                self.add(u64::from(backend.number));
                self.text(backend.node());
                self.text(backend.zone());
                self.pod(backend.pod());
                self.add(u64::from(backend.cluster_weight.unwrap_or(1)));
                self.add(u64::from(backend.local_weight.unwrap_or(1)));
                self.text(backend.state.text());
                self.add(u64::from(backend.local));
            }
            Change::BackendGone(gone) => {
                self.port(gone.id, &gone.port());
                self.address(gone.address);
                self.add(u64::from(gone.number) + u64::from(gone.flush));
            }
            Change::VipGone(gone) => {
                self.port(gone.id, &gone.port());
                self.address(gone.address);
                self.add(u64::from(gone.number));
                self.text(gone.kind.text());
            }
            Change::ServiceEnd(end) => self.service(end.service()),
        }
    }
}

/// What can be asked without pulling a change.
pub fn explain(cluster: &Cluster<'_>, input: &mut Input<'_>, sum: &mut Sum) {
    for kind in Kind::ALL {
        sum.text(kind.text());
        sum.add(u64::from(cluster.awaits(kind)));
    }
    for (name, count) in cluster.counters().each() {
        sum.text(name);
        sum.add(count);
    }
    for (limit, count, most) in cluster.usage() {
        sum.text(limit.name());
        sum.add(u64::from(count) + u64::from(most));
    }
    if let Some(service) = cluster.service(input.name(), input.name()) {
        explain_service(cluster, &service, input, sum);
    }
    for service in cluster.services() {
        explain_service(cluster, &service, input, sum);
    }
}

fn explain_service(cluster: &Cluster<'_>, service: &ServiceView<'_>, input: &mut Input<'_>, sum: &mut Sum) {
    sum.service(service.name);
    sum.text(service.reason.text());
    sum.add(u64::from(service.stale));
    for port in service.ports() {
        explain_port(&port, sum);
        let weight = cluster.node_weight(port.id, input.name());
        let share = weight.share();
        sum.add(u64::from(weight.local) + u64::from(weight.total));
        sum.add(u64::from(share.local) + u64::from(share.total));
    }
}

fn explain_port(port: &PortView<'_>, sum: &mut Sum) {
    sum.port(port.id, &port.port);
    sum.text(port.reason.code());
    sum.text(port.hints.code());
    sum.add(
        u64::from(port.endpoints_ready) + u64::from(port.endpoints_local_ready) + u64::from(port.has_any),
    );
    for vip in port.vips() {
        sum.address(vip.address);
        sum.add(u64::from(vip.number));
        sum.text(vip.reason.code());
    }
    for endpoint in port.endpoints() {
        sum.address(endpoint.address);
        sum.add(u64::from(endpoint.number) + u64::from(endpoint.conditions.ready));
        sum.text(endpoint.node);
        sum.text(endpoint.zone);
        sum.pod(endpoint.pod);
        sum.add(
            u64::from(endpoint.weight) + u64::from(endpoint.in_cluster) + u64::from(endpoint.in_local) * 2,
        );
        sum.text(endpoint.reason.code());
        let (Origin::Slice(name) | Origin::Pod(name)) = endpoint.origin;
        sum.text(name);
    }
    for (pod, reason) in port.left_out() {
        sum.text(pod);
        sum.text(reason.text());
    }
}

/// An image, opened as it is or with a byte changed, and asked everything.
pub fn image(cluster: &mut Cluster<'_>, input: &mut Input<'_>, sum: &mut Sum) {
    let mut bytes = [0; 8192];
    let size = cluster.snapshot_size();
    sum.add(size as u64);
    let room = bytes.get_mut(..usize::from(input.number()).wrapping_mul(8) % 8193).unwrap_or(&mut []);
    match cluster.snapshot_write(room) {
        Ok(size) => sum.add(size as u64),
        Err(error) => sum.add(u64::from(error == evenkeel_core::error::Error::TooSmall { needed: size })),
    }
    if input.flag()
        && let Some(byte) = room.get_mut(usize::from(input.number()))
    {
        *byte = input.byte();
    }
    let image = match Image::open(room) {
        Ok(image) => image,
        Err(refused) => return sum.add(u64::from(refused == evenkeel_core::snapshot::Refused::Damaged)),
    };
    sum.text(image.node());
    sum.add(image.generation());
    sum.add(image.size() as u64);
    sum.add(u64::from(image.counts().ports));
    sum.add(image.bytes().len() as u64);
    if let Some(service) = image.service(input.name(), input.name()) {
        sum.add(u64::from(service.port_number(input.name()).unwrap_or(0)));
        sum.add(u64::from(service.runs_on(input.name())));
    }
    for service in image.services() {
        sum.service(service.name());
        for port in service.ports() {
            sum.add(u64::from(port.node_weight(input.name()).local));
            for vip in port.vips() {
                sum.address(vip.address);
            }
            for backend in port.backends_on(input.name()).chain(port.backends()) {
                sum.address(backend.address);
            }
        }
    }
    for port in image.ports() {
        sum.text(port.name().name);
    }
    for vip in image.vips() {
        sum.service(vip.port().service);
        sum.text(vip.kind.text());
        sum.text(vip.state.text());
        for range in vip.source_ranges.iter() {
            sum.address(range.address);
        }
    }
    for backend in image.backends() {
        sum.service(backend.port().service);
        sum.text(backend.node());
        sum.text(backend.zone());
        sum.pod(backend.pod());
        sum.text(backend.state.text());
    }
}
