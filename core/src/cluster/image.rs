//! The owner's side of a [snapshot](crate::snapshot): what is published, drawn into an image.
//!
//! One walk both measures and writes: without memory, a draft only counts. The walk puts Services in order through a
//! link of their own, since the links of unsealed changes must stay, and numbers places as they first appear.

use super::Cluster;
use super::rows::{EndpointId, PlaceId, ServiceId, VipId, shows, vip};
use crate::change::{PortId, ServiceName, VipKind};
use crate::error::Error;
use crate::object::{PodRef, TrafficPolicy};
use crate::snapshot::record::{self, Header, Layout, RANGE_BYTES, Run, SECTIONS, Section, Text};
use crate::text::TextId;

impl Cluster<'_> {
    /// Bytes of an image of the newest sealed generation; [`usize::MAX`] if it would be over 4 GiB, which no image
    /// can be.
    ///
    /// Costs a look at every published Service with all its ports, VIPs and endpoints, once: linear, but for putting
    /// Services and endpoints in order where they are not. That changes links, which is all that it changes.
    #[must_use]
    pub fn snapshot_size(&mut self) -> usize {
        let first = self.link_for_image();
        self.measured(first).map_or(usize::MAX, |layout| layout.size as usize)
    }

    /// Writes an image of the newest sealed generation to the beginning of `buffer`. How many bytes it has.
    ///
    /// What was applied since is not in it. Costs twice what [`Cluster::snapshot_size`] costs, and a write of each
    /// byte.
    ///
    /// # Errors
    /// `TooSmall`: the buffer is smaller than [`Cluster::snapshot_size`]; nothing was written.
    pub fn snapshot_write(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let first = self.link_for_image();
        let layout = self.measured(first).ok_or(Error::TooSmall { needed: usize::MAX })?;
        let needed = layout.size as usize;
        let bytes = buffer.get_mut(..needed).ok_or(Error::TooSmall { needed })?;
        bytes.fill(0); // What lies between two sections.
        let mut draft = Draft { bytes, layout, counts: [0; SECTIONS] };
        let node = self.draw(first, &mut draft);
        draft.finish(self.generation, node);
        Ok(needed)
    }

    fn measured(&mut self, first: ServiceId) -> Option<Layout> {
        let nowhere = [Run { first: 0, count: 0 }; SECTIONS];
        let mut draft =
            Draft { bytes: &mut [], layout: Layout { sections: nowhere, size: 0 }, counts: [0; SECTIONS] };
        self.draw(first, &mut draft);
        Layout::of(draft.counts)
    }

    /// Links the published Services in order of their names. Answers the first.
    fn link_for_image(&mut self) -> ServiceId {
        let mut first = ServiceId::NONE;
        let mut at = self.newest;
        while at.is_some() {
            let row = self.services.at_mut(at);
            row.next_in_image = first;
            first = at;
            at = row.older;
        }
        self.sort_for_image(first)
    }

    /// Draws everything but the header. Answers the name of the node.
    fn draw(&mut self, first: ServiceId, draft: &mut Draft<'_>) -> Text {
        let mut next = 0;
        while let Some(place) = self.places.next_in_use(next) {
            next = place.0.saturating_add(1);
            self.places.at_mut(place).image = record::NONE;
        }
        let node = draft.text(self.here().0);
        let mut at = first;
        while at.is_some() {
            self.draw_service(at, draft);
            at = self.services.at(at).next_in_image;
        }
        node
    }

    /// A Service of which nothing is published any more is not drawn: it is only kept for cursors.
    fn draw_service(&mut self, id: ServiceId, draft: &mut Draft<'_>) {
        let first = draft.count(Section::Ports);
        let mut at = self.services.at(id).first_port;
        while at.is_some() {
            self.draw_port(at, draft);
            at = self.ports.at(at).next_in_service;
        }
        let ports = draft.since(Section::Ports, first);
        if ports.count > 0 {
            let ServiceName { namespace, name } = self.service_name(id);
            let name = draft.pair(namespace, name);
            draft.put(Section::Services, record::Service { name, ports }.to_bytes());
        }
    }

    /// A port with neither VIPs nor backends is not drawn either.
    fn draw_port(&mut self, id: PortId, draft: &mut Draft<'_>) {
        let (vips, number) = self.draw_vips(id, draft);
        let backends = self.draw_backends(id, draft);
        if vips.count == 0 && backends.count == 0 {
            return;
        }
        let row = self.ports.at(id);
        let port = record::Port {
            name: draft.text(self.texts.get(row.name)),
            vips,
            backends,
            service: draft.count(Section::Services),
            number,
            protocol: row.protocol,
            family: row.family,
        };
        draft.put(Section::Ports, port.to_bytes());
    }

    /// Also answers the port that clients dial. The row of the port has it too, but as applied, not as sealed.
    fn draw_vips(&self, id: PortId, draft: &mut Draft<'_>) -> (Run, u16) {
        let first = draft.count(Section::Vips);
        let mut number = 0;
        // A Service's load-balancer VIPs have the same ranges: those of a family stand once for each port.
        let mut drawn = (TextId::NONE, Run { first: 0, count: 0 });
        let mut at: VipId = self.ports.at(id).first_vip;
        while at.is_some() {
            let row = self.vips.at(at);
            if row.is(vip::PUBLISHED) {
                let vip = self.vip(at);
                if row.ranges.is_some() && row.ranges != drawn.0 {
                    drawn = (row.ranges, draft.ranges(vip.source_ranges.0));
                }
                if number == 0 && vip.kind != VipKind::NodePort {
                    number = vip.number;
                }
                let flag = |is, flag| if is { flag } else { 0 };
                let record = record::Vip {
                    address: vip.address,
                    port: draft.count(Section::Ports),
                    ranges: if row.ranges.is_some() { drawn.1 } else { Run { first: 0, count: 0 } },
                    affinity_seconds: vip.affinity_seconds,
                    number: vip.number,
                    health_check_node_port: vip.health_check_node_port,
                    kind: vip.kind,
                    state: vip.state,
                    flags: flag(vip.policy == TrafficPolicy::Local, record::vip::LOCAL)
                        | flag(vip.masquerade, record::vip::MASQUERADE)
                        | flag(vip.short_circuit, record::vip::SHORT_CIRCUIT),
                    reserved: 0,
                };
                draft.put(Section::Vips, record.to_bytes());
            }
            at = row.next_in_port;
        }
        (draft.since(Section::Vips, first), number)
    }

    fn draw_backends(&mut self, id: PortId, draft: &mut Draft<'_>) -> Run {
        self.sort_port(id);
        let first = draft.count(Section::Backends);
        let mut at: EndpointId = self.ports.at(id).first_endpoint;
        while at.is_some() {
            let row = self.endpoints.at(at);
            let (next, visible, place) = (row.next_in_port, row.shows(shows::VISIBLE), row.shown_place);
            if visible {
                let place = self.draw_place(place, draft);
                let backend = self.backend(at);
                let PodRef { name, uid } = backend.pod();
                let flag = |is, flag| if is { flag } else { 0 };
                let record = record::Backend {
                    address: backend.address,
                    port: draft.count(Section::Ports),
                    place,
                    pod: draft.pair(uid, name),
                    number: backend.number,
                    cluster_weight: backend.cluster_weight.unwrap_or(0),
                    local_weight: backend.local_weight.unwrap_or(0),
                    state: backend.state,
                    flags: flag(backend.cluster_weight.is_some(), record::backend::IN_CLUSTER)
                        | flag(backend.local_weight.is_some(), record::backend::IN_LOCAL)
                        | flag(backend.local, record::backend::HERE),
                };
                draft.put(Section::Backends, record.to_bytes());
            }
            at = next;
        }
        draft.since(Section::Backends, first)
    }

    /// The number of a place, which gets one when it first appears.
    fn draw_place(&mut self, id: PlaceId, draft: &mut Draft<'_>) -> u32 {
        if id.is_none() {
            return record::NONE;
        }
        if self.places.at(id).image == record::NONE {
            self.places.at_mut(id).image = draft.count(Section::Places);
            let (node, zone) = self.place_name(id);
            let name = draft.pair(node, zone);
            draft.put(Section::Places, record::Place { name }.to_bytes());
        }
        self.places.at(id).image
    }
}

/// An image in the making. What does not fit into its bytes is counted all the same.
struct Draft<'b> {
    bytes: &'b mut [u8],
    layout: Layout,
    counts: [u32; SECTIONS],
}

impl Draft<'_> {
    fn count(&self, section: Section) -> u32 {
        self.counts.get(section as usize).copied().unwrap_or(0)
    }

    /// What has been put into a section since it had so many.
    fn since(&self, section: Section, first: u32) -> Run {
        Run { first, count: self.count(section).saturating_sub(first) }
    }

    /// Counts so many records in, each of so many bytes. Answers where the first stands.
    fn advance(&mut self, section: Section, bytes: usize, count: usize) -> usize {
        let (Some(run), Some(counted)) =
            (self.layout.sections.get(section as usize), self.counts.get_mut(section as usize))
        else {
            return usize::MAX;
        };
        let at = (*counted as usize).saturating_mul(bytes).saturating_add(run.first as usize);
        // Past 32 bits there is no layout; so it is enough that the count does not come down again.
        *counted = counted.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        at
    }

    fn put<const N: usize>(&mut self, section: Section, record: [u8; N]) {
        let at = self.advance(section, N, 1);
        if let Some(place) = self.bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *place = record;
        }
    }

    fn ranges(&mut self, ranges: &[[u8; RANGE_BYTES]]) -> Run {
        let first = self.count(Section::Ranges);
        for range in ranges {
            self.put(Section::Ranges, *range);
        }
        self.since(Section::Ranges, first)
    }

    fn text(&mut self, text: &[u8]) -> Text {
        let first = self.count(Section::Text);
        let Ok(bytes) = u16::try_from(text.len()) else { return Text::EMPTY }; // Texts are never as long.
        if bytes == 0 {
            return Text::EMPTY;
        }
        let at = self.advance(Section::Text, 1, text.len());
        for (place, byte) in self.bytes.get_mut(at..).unwrap_or(&mut []).iter_mut().zip(text) {
            *place = *byte;
        }
        Text { first, bytes, split: 0 }
    }

    /// "first/second", or nothing for nothing.
    fn pair(&mut self, first: &str, second: &str) -> Text {
        if first.is_empty() && second.is_empty() {
            return Text::EMPTY;
        }
        let Text { first: start, bytes: split, .. } = self.text(first.as_bytes());
        let slash = self.text(b"/");
        let rest = self.text(second.as_bytes());
        let bytes = split.saturating_add(slash.bytes).saturating_add(rest.bytes);
        Text { first: if split == 0 { slash.first } else { start }, bytes, split }
    }

    fn finish(self, generation: u64, node: Text) {
        let [services, ports, vips, ranges, backends, places, text] = self.layout.sections;
        let header = Header {
            magic: record::MAGIC,
            version: record::VERSION,
            size: self.layout.size,
            checksum: 0,
            generation,
            node,
            services,
            ports,
            vips,
            ranges,
            backends,
            places,
            text,
        };
        if let Some(place) = self.bytes.first_chunk_mut() {
            *place = header.to_bytes();
        }
        let checksum = record::checksum(self.bytes);
        if let Some(place) = self.bytes.get_mut(record::CHECKSUM_AT..).and_then(|rest| rest.first_chunk_mut())
        {
            *place = checksum.to_le_bytes();
        }
    }
}
