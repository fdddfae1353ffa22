//! One sealed generation as a flat image: bytes that any number of threads may read while the owner goes on.
//!
//! An image is what a new consumer would be given, and nothing else: the same published state makes the same bytes,
//! whatever came first and however it came about. It holds no addresses of memory, so that it may be copied,
//! mapped, sent or kept on disk. [`Cluster::snapshot_write`](crate::Cluster::snapshot_write) makes one,
//! [`Image::open`] reads it.
//!
//! ```text
//! Numbers are little-endian, places within a record and lengths in bytes. Sections stand in the order of their
//! numbers, each at the next multiple of 8; what lies between is 0.
//!
//! header, 96 bytes
//!    0   8  "evenkeel"
//!    8   4  version: 1
//!   12   4  bytes of the whole image, a multiple of 8
//!   16   8  checksum
//!   24   8  generation
//!   32   8  text: name of the node
//!   40  56  seven sections: first byte, counted from the header's (4); count of records (4)
//!
//! section 0: Services, 16 bytes each, in the order of their names
//!    0   8  text: "namespace/name"
//!    8   8  run of ports
//! section 1: ports of a Service in one family, 32 bytes each, by name, protocol, family
//!    0   8  text: its name
//!    8   8  run of VIPs
//!   16   8  run of backends
//!   24   4  its Service
//!   28   2  the port that clients dial, node ports aside; 0 for none
//!   30   1  0 TCP, 1 UDP, 2 SCTP
//!   31   1  0 IPv4, 1 IPv6
//! section 2: VIPs, 40 bytes each, by kind, address, port
//!    0  16  address; IPv4 as ::ffff:a.b.c.d
//!   16   4  its port in section 1
//!   20   8  run of source ranges; an empty one stands for everybody
//!   28   4  seconds of ClientIP affinity; 0 for none
//!   32   2  the port that clients dial
//!   34   2  health check node port; 0 for none
//!   36   1  0 ClusterIP, 1 ExternalIP, 2 LoadBalancer, 3 NodePort
//!   37   1  0 serve, 1 reject, 2 drop
//!   38   1  bits: 1 policy Local, 2 masquerade, 4 short circuit
//!   39   1  0
//! section 3: source ranges, 17 bytes each
//!    0  16  first address
//!   16   1  length of the prefix, in its own family
//! section 4: backends, 40 bytes each, by address, port
//!    0  16  address
//!   16   4  its port in section 1
//!   20   4  its place; 0xffffffff for none
//!   24   8  text: "uid/name" of its Pod
//!   32   2  the port to send to
//!   34   2  weight in the Cluster set
//!   36   2  weight in the Local set
//!   38   1  0 ready, 1 terminating, 2 draining
//!   39   1  bits: 1 in the Cluster set, 2 in the Local set, 4 on the node of the image
//! section 5: places, 8 bytes each, as they first appear among backends
//!    0   8  text: "node/zone"
//! section 6: bytes of text, UTF-8
//!
//! run:      number of the first record of a section (4), how many there are (4)
//! text:     number of its first byte in section 6 (4), length (2), bytes before its slash (2; 0 without)
//! checksum: sum = 0x9e3779b97f4a7c15, then for each 8 bytes w of the image but the checksum's own:
//!           sum = (sum ^ w) * 0x9fb21c651e98df25, sum = sum ^ (sum >> 32)
//! ```
//! Another layout is another version, and no version but its own is read: whoever finds an old image takes the
//! state anew.
//!
//! Opening costs a look at every byte, for the checksum. After that every question has an answer and an end, even
//! if the image was made by hand and its numbers lead nowhere; such an image reads as something, but never stops
//! the reader.

pub(crate) mod record;

use crate::address::{Address, Family};
use crate::change::{BackendState, PortName, Ranges, ServiceName, VipKind, VipState};
use crate::cluster::NodeWeight;
use crate::object::{PodRef, TrafficPolicy};
use crate::port::Protocol;
use core::cmp::Ordering;
use core::ops::Range;
use record::{Field as _, Header, Layout, RANGE_BYTES, Run, Section};

/// Why bytes cannot be read as an image.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// They are something else: look whether it is the right file.
    NotAnImage,
    /// Another release wrote it: take the state anew.
    Version(u32),
    /// It is longer: read on.
    Truncated {
        /// How long it says it is, or a header if that much is not there.
        needed: usize,
    },
    /// Something was overwritten: use an older one, or take the state anew.
    Damaged,
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotAnImage => f.write_str("not an image"),
            Self::Version(version) => {
                write!(f, "an image of version {version}: this release reads version {}", record::VERSION)
            }
            Self::Truncated { needed } => write!(f, "a part of an image of {needed} bytes"),
            Self::Damaged => f.write_str("a damaged image"),
        }
    }
}

impl core::error::Error for Refused {}

/// An opened image. It is as cheap to copy as the slice that it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Image<'a>(&'a [u8]);

/// How many of each thing an image holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub struct Counts {
    pub services: u32,
    pub ports: u32,
    pub vips: u32,
    pub backends: u32,
}

impl<'a> Image<'a> {
    /// Reads the image at the beginning of `bytes`; what follows it is not looked at.
    ///
    /// Costs a look at every byte of it.
    ///
    /// # Errors
    /// Each kind of [`Refused`], looked for in this order. A size that is too large may itself be damage.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Refused> {
        if bytes.iter().zip(record::MAGIC).any(|(byte, wanted)| *byte != wanted) {
            return Err(Refused::NotAnImage);
        }
        if let Some(([.., a, b, c, d], _)) = bytes.split_first_chunk::<12>() {
            let version = u32::from_le_bytes([*a, *b, *c, *d]);
            if version != record::VERSION {
                return Err(Refused::Version(version));
            }
        }
        let Some((header, _)) = bytes.split_first_chunk() else {
            return Err(Refused::Truncated { needed: Header::BYTES });
        };
        let header = Header::from_bytes(header);
        let needed = header.size as usize;
        let Some(image) = bytes.get(..needed) else { return Err(Refused::Truncated { needed }) };
        let layout = Layout::of(Layout::counts(&header.sections()));
        let stated = Layout { sections: header.sections(), size: header.size };
        if layout != Some(stated) || record::checksum(image) != header.checksum {
            return Err(Refused::Damaged);
        }
        Ok(Self(image))
    }

    fn header(self) -> Header {
        Header::from_bytes(self.0.first_chunk().unwrap_or(&[0; Header::BYTES]))
    }

    /// The bytes: what [`Image::open`] would open again.
    #[must_use]
    pub const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// How many bytes it has.
    #[must_use]
    pub const fn size(self) -> usize {
        self.0.len()
    }

    /// The generation that it shows; 0 if nothing was sealed.
    #[must_use]
    pub fn generation(self) -> u64 {
        self.header().generation
    }

    /// The node that it is for; empty for a place outside the cluster.
    #[must_use]
    pub fn node(self) -> &'a str {
        self.str(self.header().node)
    }

    /// How many of each thing there are.
    #[must_use]
    pub fn counts(self) -> Counts {
        let Header { services, ports, vips, backends, .. } = self.header();
        Counts { services: services.count, ports: ports.count, vips: vips.count, backends: backends.count }
    }

    /// All Services, by namespace and name joined with a slash.
    pub fn services(self) -> impl Iterator<Item = Service<'a>> + use<'a> {
        (0..self.section(Section::Services).count).filter_map(move |id| self.service_at(id))
    }

    /// All ports, in the order of their Services.
    pub fn ports(self) -> impl Iterator<Item = Port<'a>> + use<'a> {
        (0..self.section(Section::Ports).count).filter_map(move |id| self.port_at(id))
    }

    /// All VIPs, in the order of their ports.
    pub fn vips(self) -> impl Iterator<Item = Vip<'a>> + use<'a> {
        (0..self.section(Section::Vips).count).filter_map(move |id| self.vip_at(id))
    }

    /// All backends, in the order of their ports.
    pub fn backends(self) -> impl Iterator<Item = Backend<'a>> + use<'a> {
        (0..self.section(Section::Backends).count).filter_map(move |id| self.backend_at(id))
    }

    /// The Service of this name, if anything of it is published. Costs the logarithm of their number.
    #[must_use]
    pub fn service(self, namespace: &str, name: &str) -> Option<Service<'a>> {
        let (mut low, mut high) = (0, self.section(Section::Services).count);
        while low < high {
            let middle = low.saturating_add(high.saturating_sub(low) / 2);
            let service = self.service_at(middle)?;
            let wanted = namespace.as_bytes().iter().chain(b"/").chain(name.as_bytes());
            match self.text(service.name).iter().cmp(wanted) {
                Ordering::Less => low = middle.saturating_add(1),
                Ordering::Equal => return Some(service),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// A Service by its number in the image.
    #[must_use]
    pub fn service_at(self, id: u32) -> Option<Service<'a>> {
        let record::Service { name, ports } =
            record::Service::from_bytes(self.record(Section::Services, id)?);
        Some(Service { image: self, name, ports, id })
    }

    /// A port by its number in the image.
    #[must_use]
    pub fn port_at(self, id: u32) -> Option<Port<'a>> {
        let row = record::Port::from_bytes(self.record(Section::Ports, id)?);
        Some(Port { image: self, row, id, number: row.number })
    }

    /// A VIP by its number in the image.
    #[must_use]
    pub fn vip_at(self, id: u32) -> Option<Vip<'a>> {
        let row = record::Vip::from_bytes(self.record(Section::Vips, id)?);
        let is = |flag| row.flags & flag != 0;
        Some(Vip {
            image: self,
            port_id: row.port,
            address: row.address,
            number: row.number,
            kind: row.kind,
            policy: if is(record::vip::LOCAL) { TrafficPolicy::Local } else { TrafficPolicy::Cluster },
            state: row.state,
            affinity_seconds: row.affinity_seconds,
            health_check_node_port: row.health_check_node_port,
            masquerade: is(record::vip::MASQUERADE),
            short_circuit: is(record::vip::SHORT_CIRCUIT),
            source_ranges: self.ranges(row.ranges),
        })
    }

    /// A backend by its number in the image.
    #[must_use]
    pub fn backend_at(self, id: u32) -> Option<Backend<'a>> {
        let row = record::Backend::from_bytes(self.record(Section::Backends, id)?);
        let is = |flag| row.flags & flag != 0;
        Some(Backend {
            image: self,
            place: row.place,
            pod: row.pod,
            port_id: row.port,
            address: row.address,
            number: row.number,
            cluster_weight: is(record::backend::IN_CLUSTER).then_some(row.cluster_weight),
            local_weight: is(record::backend::IN_LOCAL).then_some(row.local_weight),
            state: row.state,
            local: is(record::backend::HERE),
        })
    }

    fn section(self, section: Section) -> Run {
        let run = self.0.get(Header::section_at(section)..).and_then(|bytes| bytes.first_chunk());
        run.map_or(Run { first: 0, count: 0 }, Run::from_bytes)
    }

    fn record<const N: usize>(self, section: Section, id: u32) -> Option<&'a [u8; N]> {
        let Run { first, count } = self.section(section);
        if id >= count {
            return None;
        }
        let at = (id as usize).checked_mul(N)?.checked_add(first as usize)?;
        self.0.get(at..)?.first_chunk()
    }

    /// Numbers of a run, as far as there are such records.
    fn run(self, section: Section, run: Run) -> Range<u32> {
        run.first..run.first.saturating_add(run.count).min(self.section(section).count)
    }

    fn ranges(self, run: Run) -> Ranges<'a> {
        let Run { first, count } = self.section(Section::Ranges);
        let bytes = self.0.get(first as usize..).unwrap_or(&[]);
        let (all, _) = bytes.as_chunks::<RANGE_BYTES>();
        let all = all.get(..count as usize).unwrap_or(&[]);
        let end = run.first.saturating_add(run.count);
        Ranges(all.get(run.first as usize..end as usize).unwrap_or(&[]))
    }

    fn text(self, text: record::Text) -> &'a [u8] {
        let Run { first, count } = self.section(Section::Text);
        let all = self.0.get(first as usize..).and_then(|rest| rest.get(..count as usize)).unwrap_or(&[]);
        let bytes = all.get(text.first as usize..).and_then(|rest| rest.get(..text.bytes.into()));
        bytes.unwrap_or(&[])
    }

    fn str(self, text: record::Text) -> &'a str {
        core::str::from_utf8(self.text(text)).unwrap_or("")
    }

    /// Both parts of "first/second".
    fn pair(self, text: record::Text) -> (&'a str, &'a str) {
        match self.text(text).split_at_checked(text.split.into()) {
            Some((first, [b'/', second @ ..])) => {
                (core::str::from_utf8(first).unwrap_or(""), core::str::from_utf8(second).unwrap_or(""))
            }
            _ => ("", ""),
        }
    }

    fn port_name(self, id: u32) -> PortName<'a> {
        self.port_at(id).map_or(
            PortName {
                service: ServiceName { namespace: "", name: "" },
                name: "",
                protocol: Protocol::Tcp,
                family: Family::V4,
            },
            Port::name,
        )
    }
}

impl core::fmt::Debug for Image<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Image")
            .field("node", &self.node())
            .field("generation", &self.generation())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// A Service of which something is published.
#[derive(Clone, Copy, Debug)]
pub struct Service<'a> {
    image: Image<'a>,
    name: record::Text,
    ports: Run,
    /// Its number in the image.
    pub id: u32,
}

impl<'a> Service<'a> {
    /// Its name.
    #[must_use]
    pub fn name(self) -> ServiceName<'a> {
        let (namespace, name) = self.image.pair(self.name);
        ServiceName { namespace, name }
    }

    /// Its ports that have VIPs or backends, by name, protocol and family.
    pub fn ports(self) -> impl Iterator<Item = Port<'a>> + use<'a> {
        self.image.run(Section::Ports, self.ports).filter_map(move |id| self.image.port_at(id))
    }

    /// The port that clients dial, of the first of its ports with this name that has VIPs.
    #[must_use]
    pub fn port_number(self, name: &str) -> Option<u16> {
        self.ports().find(|port| port.number != 0 && port.port_name() == name).map(|port| port.number)
    }

    /// There is a backend of it on this node. Costs a look at each of its backends.
    #[must_use]
    pub fn runs_on(self, node: &str) -> bool {
        self.ports().any(|port| port.backends_on(node).next().is_some())
    }
}

/// A port of a Service in one family: its VIPs, and the backends that stand behind them.
#[derive(Clone, Copy, Debug)]
pub struct Port<'a> {
    image: Image<'a>,
    row: record::Port,
    /// Its number in the image: what VIPs and backends name.
    pub id: u32,
    /// The port that clients dial, node ports aside; 0 if there is no such VIP.
    pub number: u16,
}

impl<'a> Port<'a> {
    /// Its Service, name, protocol and family.
    #[must_use]
    pub fn name(self) -> PortName<'a> {
        let service = self.image.service_at(self.row.service);
        PortName {
            service: service.map_or(ServiceName { namespace: "", name: "" }, Service::name),
            name: self.port_name(),
            protocol: self.row.protocol,
            family: self.row.family,
        }
    }

    fn port_name(self) -> &'a str {
        self.image.str(self.row.name)
    }

    /// Its VIPs, by kind, address and port.
    pub fn vips(self) -> impl Iterator<Item = Vip<'a>> + use<'a> {
        self.image.run(Section::Vips, self.row.vips).filter_map(move |id| self.image.vip_at(id))
    }

    /// Its backends, by address and port.
    pub fn backends(self) -> impl Iterator<Item = Backend<'a>> + use<'a> {
        self.image.run(Section::Backends, self.row.backends).filter_map(move |id| self.image.backend_at(id))
    }

    /// Its backends on one node. Costs a look at each of its backends.
    pub fn backends_on<'n>(self, node: &'n str) -> impl Iterator<Item = Backend<'a>> + use<'a, 'n> {
        self.backends().filter(move |backend| backend.is_on(node))
    }

    /// How many backends of the Cluster set the node has, and how many there are. With nodes as backends each node is
    /// one: then ask for their weights. Costs a look at each of the port's backends.
    #[must_use]
    pub fn node_weight(self, node: &str) -> NodeWeight {
        let mut weight = NodeWeight::default();
        for backend in self.backends().filter(|backend| backend.cluster_weight.is_some()) {
            weight.total = weight.total.saturating_add(1);
            weight.local = weight.local.saturating_add(u32::from(backend.is_on(node)));
        }
        weight
    }
}

/// An address and port that clients dial: as [`change::Vip`](crate::change::Vip), by an image's numbers.
#[derive(Clone, Copy, Debug)]
pub struct Vip<'a> {
    image: Image<'a>,
    /// Number of its port in the image.
    pub port_id: u32,
    /// What clients dial.
    pub address: Address,
    /// The port that clients dial.
    pub number: u16,
    /// Where the address comes from.
    pub kind: VipKind,
    /// Which of the two sets of backends serves it.
    pub policy: TrafficPolicy,
    /// Serve, reject or drop.
    pub state: VipState,
    /// Seconds of ClientIP affinity; 0 for none.
    pub affinity_seconds: u32,
    /// The node port on which the health of a `Local` LoadBalancer Service is asked; 0 for none.
    pub health_check_node_port: u16,
    /// The source address must be rewritten.
    pub masquerade: bool,
    /// What comes from this node or its Pods goes to the Cluster set.
    pub short_circuit: bool,
    /// Who may dial; empty for everybody.
    pub source_ranges: Ranges<'a>,
}

impl<'a> Vip<'a> {
    /// The service port.
    #[must_use]
    pub fn port(&self) -> PortName<'a> {
        self.image.port_name(self.port_id)
    }
}

/// Backend of a service port: as [`change::Backend`](crate::change::Backend), by an image's numbers.
#[derive(Clone, Copy, Debug)]
pub struct Backend<'a> {
    image: Image<'a>,
    place: u32,
    pod: record::Text,
    /// Number of its port in the image.
    pub port_id: u32,
    /// Where to send.
    pub address: Address,
    /// The port to send to.
    pub number: u16,
    /// Its share of new flows in the Cluster set; `None` if it is not in it.
    pub cluster_weight: Option<u16>,
    /// Its share of new flows in the Local set; `None` if it is not in it.
    pub local_weight: Option<u16>,
    /// Whether it takes new flows.
    pub state: BackendState,
    /// It is on the node that the image is for.
    pub local: bool,
}

impl<'a> Backend<'a> {
    /// The service port.
    #[must_use]
    pub fn port(&self) -> PortName<'a> {
        self.image.port_name(self.port_id)
    }

    /// Name of its node; empty if unknown.
    #[must_use]
    pub fn node(&self) -> &'a str {
        self.place().0
    }

    /// Its zone; empty if unknown.
    #[must_use]
    pub fn zone(&self) -> &'a str {
        self.place().1
    }

    /// Its Pod; empty if unknown or not kept.
    #[must_use]
    pub fn pod(&self) -> PodRef<'a> {
        let (uid, name) = self.image.pair(self.pod);
        PodRef { name, uid }
    }

    fn place(&self) -> (&'a str, &'a str) {
        let place = self.image.record(Section::Places, self.place).map(record::Place::from_bytes);
        place.map_or(("", ""), |place| self.image.pair(place.name))
    }

    /// No node is where nothing is known of.
    fn is_on(&self, node: &str) -> bool {
        !node.is_empty() && self.node() == node
    }
}

#[cfg(test)]
mod tests;
