//! Static memory: the sizes stand in the type.

use evenkeel_core::cluster::rows::{
    CursorRow, EndpointRow, LabelRow, NodeRow, PlaceRow, PodPortRow, PodRow, PortRow, SelectorRow,
    ServiceRow, SliceRow, TriggerRow, VipRow,
};
use evenkeel_core::storage::Memory;
use evenkeel_core::table::Row;
use evenkeel_core::text::TextRow;

/// Small enough that every table is full now and then.
pub struct Storage {
    services: [Row<ServiceRow>; 8],
    ports: [Row<PortRow>; 16],
    slices: [Row<SliceRow>; 8],
    endpoints: [Row<EndpointRow>; 64],
    endpoints_index: [u32; 64],
    vips: [Row<VipRow>; 32],
    vips_index: [u32; 32],
    pods: [Row<PodRow>; 16],
    pod_ports: [Row<PodPortRow>; 32],
    labels: [Row<LabelRow>; 32],
    selectors: [Row<SelectorRow>; 32],
    nodes: [Row<NodeRow>; 8],
    places: [Row<PlaceRow>; 32],
    triggers: [Row<TriggerRow>; 8],
    texts: [Row<TextRow>; 64],
    texts_index: [u32; 64],
    text_bytes: [u8; 2048],
    cursors: [CursorRow; 2],
}

impl Storage {
    pub const EMPTY: Self = Self {
        services: [Row::EMPTY; 8],
        ports: [Row::EMPTY; 16],
        slices: [Row::EMPTY; 8],
        endpoints: [Row::EMPTY; 64],
        endpoints_index: [0; 64],
        vips: [Row::EMPTY; 32],
        vips_index: [0; 32],
        pods: [Row::EMPTY; 16],
        pod_ports: [Row::EMPTY; 32],
        labels: [Row::EMPTY; 32],
        selectors: [Row::EMPTY; 32],
        nodes: [Row::EMPTY; 8],
        places: [Row::EMPTY; 32],
        triggers: [Row::EMPTY; 8],
        texts: [Row::EMPTY; 64],
        texts_index: [0; 64],
        text_bytes: [0; 2048],
        cursors: [CursorRow::EMPTY; 2],
    };

    pub fn clear(&mut self) {
        *self = Self::EMPTY;
    }

    pub fn lend(&mut self) -> Memory<'_> {
        Memory {
            services: &mut self.services,
            ports: &mut self.ports,
            slices: &mut self.slices,
            endpoints: &mut self.endpoints,
            endpoints_index: &mut self.endpoints_index,
            vips: &mut self.vips,
            vips_index: &mut self.vips_index,
            pods: &mut self.pods,
            pod_ports: &mut self.pod_ports,
            labels: &mut self.labels,
            selectors: &mut self.selectors,
            nodes: &mut self.nodes,
            places: &mut self.places,
            triggers: &mut self.triggers,
            texts: &mut self.texts,
            texts_index: &mut self.texts_index,
            text_bytes: &mut self.text_bytes,
            cursors: &mut self.cursors,
        }
    }
}
