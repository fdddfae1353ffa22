//! The memory of a cluster, divided into its tables.
//!
//! All sizes are slice lengths, chosen when the memory is made: in a `static`, on the heap, or in a block that a
//! C program owns. Nothing is taken later, and nothing is given back.

use crate::cluster::rows::{
    CursorRow, EndpointRow, LabelRow, NodeRow, PlaceRow, PodPortRow, PodRow, PortRow, SelectorRow,
    ServiceRow, SliceRow, TriggerRow, VipRow,
};
use crate::error::Limit;
use crate::limits::Limits;
use crate::table::Row;
use crate::text::TextRow;

/// Lent memory: the rows of each table. Every row must be `EMPTY`; lengths are the limits. What is named `_index` is as
/// long as its table and may hold anything.
#[allow(missing_docs, reason = "each is the table of the limit with the same name")]
#[derive(Debug)]
pub struct Memory<'m> {
    pub services: &'m mut [Row<ServiceRow>],
    pub ports: &'m mut [Row<PortRow>],
    pub slices: &'m mut [Row<SliceRow>],
    pub endpoints: &'m mut [Row<EndpointRow>],
    pub endpoints_index: &'m mut [u32],
    pub vips: &'m mut [Row<VipRow>],
    pub vips_index: &'m mut [u32],
    pub pods: &'m mut [Row<PodRow>],
    pub pod_ports: &'m mut [Row<PodPortRow>],
    pub labels: &'m mut [Row<LabelRow>],
    pub selectors: &'m mut [Row<SelectorRow>],
    pub nodes: &'m mut [Row<NodeRow>],
    pub places: &'m mut [Row<PlaceRow>],
    pub triggers: &'m mut [Row<TriggerRow>],
    pub texts: &'m mut [Row<TextRow>],
    pub texts_index: &'m mut [u32],
    pub text_bytes: &'m mut [u8],
    pub cursors: &'m mut [CursorRow],
}

/// Bytes of the index for one row.
const INDEX: usize = size_of::<u32>();

/// Bytes of one row of each table with its index, and of one byte of text. What a cluster needs is the sum over its limits.
pub const BYTES_PER_ROW: [(Limit, usize); 15] = [
    (Limit::Services, size_of::<Row<ServiceRow>>()),
    (Limit::Ports, size_of::<Row<PortRow>>()),
    (Limit::Slices, size_of::<Row<SliceRow>>()),
    (Limit::Endpoints, size_of::<Row<EndpointRow>>() + INDEX),
    (Limit::Vips, size_of::<Row<VipRow>>() + INDEX),
    (Limit::Pods, size_of::<Row<PodRow>>()),
    (Limit::PodPorts, size_of::<Row<PodPortRow>>()),
    (Limit::Labels, size_of::<Row<LabelRow>>()),
    (Limit::Selectors, size_of::<Row<SelectorRow>>()),
    (Limit::Nodes, size_of::<Row<NodeRow>>()),
    (Limit::Places, size_of::<Row<PlaceRow>>()),
    (Limit::Triggers, size_of::<Row<TriggerRow>>()),
    (Limit::Texts, size_of::<Row<TextRow>>() + INDEX),
    (Limit::TextBytes, 1),
    (Limit::Cursors, size_of::<CursorRow>()),
];

// What is promised: an endpoint, and a Service port with its Service and its VIP.
const _: () = assert!(size_of::<Row<EndpointRow>>() + INDEX <= 96);
const _: () = assert!(
    size_of::<Row<ServiceRow>>()
        + size_of::<Row<PortRow>>()
        + size_of::<Row<VipRow>>()
        + size_of::<Row<SliceRow>>()
        + INDEX
        <= 512
);

impl Limits {
    /// The limit of this name.
    #[must_use]
    pub const fn get(&self, limit: Limit) -> u32 {
        match limit {
            Limit::Services => self.services_max,
            Limit::Ports => self.ports_max,
            Limit::Slices => self.slices_max,
            Limit::Endpoints => self.endpoints_max,
            Limit::Vips => self.vips_max,
            Limit::Pods => self.pods_max,
            Limit::PodPorts => self.pod_ports_max,
            Limit::Labels => self.labels_max,
            Limit::Selectors => self.selectors_max,
            Limit::Nodes => self.nodes_max,
            Limit::Places => self.places_max,
            Limit::Triggers => self.triggers_max,
            Limit::Texts => self.texts_max,
            Limit::TextBytes => self.text_bytes_max,
            Limit::Cursors => self.cursors_max,
        }
    }

    /// Sets the limit of this name.
    pub const fn set(&mut self, limit: Limit, value: u32) {
        *match limit {
            Limit::Services => &mut self.services_max,
            Limit::Ports => &mut self.ports_max,
            Limit::Slices => &mut self.slices_max,
            Limit::Endpoints => &mut self.endpoints_max,
            Limit::Vips => &mut self.vips_max,
            Limit::Pods => &mut self.pods_max,
            Limit::PodPorts => &mut self.pod_ports_max,
            Limit::Labels => &mut self.labels_max,
            Limit::Selectors => &mut self.selectors_max,
            Limit::Nodes => &mut self.nodes_max,
            Limit::Places => &mut self.places_max,
            Limit::Triggers => &mut self.triggers_max,
            Limit::Texts => &mut self.texts_max,
            Limit::TextBytes => &mut self.text_bytes_max,
            Limit::Cursors => &mut self.cursors_max,
        } = value;
    }

    /// Bytes of all tables, exactly: known before anything exists.
    #[must_use]
    pub fn bytes(&self) -> usize {
        BYTES_PER_ROW.iter().fold(0usize, |sum, (limit, bytes)| {
            sum.saturating_add((self.get(*limit) as usize).saturating_mul(*bytes))
        })
    }
}

/// Memory on the heap, for programs that have one. Taken once; [`Limits::bytes`] says how much.
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct HeapStorage {
    services: Vec<Row<ServiceRow>>,
    ports: Vec<Row<PortRow>>,
    slices: Vec<Row<SliceRow>>,
    endpoints: Vec<Row<EndpointRow>>,
    endpoints_index: Vec<u32>,
    vips: Vec<Row<VipRow>>,
    vips_index: Vec<u32>,
    pods: Vec<Row<PodRow>>,
    pod_ports: Vec<Row<PodPortRow>>,
    labels: Vec<Row<LabelRow>>,
    selectors: Vec<Row<SelectorRow>>,
    nodes: Vec<Row<NodeRow>>,
    places: Vec<Row<PlaceRow>>,
    triggers: Vec<Row<TriggerRow>>,
    texts: Vec<Row<TextRow>>,
    texts_index: Vec<u32>,
    text_bytes: Vec<u8>,
    cursors: Vec<CursorRow>,
}

#[cfg(feature = "std")]
impl HeapStorage {
    /// Takes the memory for these limits.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        fn rows<V: crate::table::Entry>(count: u32) -> Vec<Row<V>> {
            vec![Row::EMPTY; count as usize]
        }
        Self {
            services: rows(limits.services_max),
            ports: rows(limits.ports_max),
            slices: rows(limits.slices_max),
            endpoints: rows(limits.endpoints_max),
            endpoints_index: vec![0; limits.endpoints_max as usize],
            vips: rows(limits.vips_max),
            vips_index: vec![0; limits.vips_max as usize],
            pods: rows(limits.pods_max),
            pod_ports: rows(limits.pod_ports_max),
            labels: rows(limits.labels_max),
            selectors: rows(limits.selectors_max),
            nodes: rows(limits.nodes_max),
            places: rows(limits.places_max),
            triggers: rows(limits.triggers_max),
            texts: rows(limits.texts_max),
            texts_index: vec![0; limits.texts_max as usize],
            text_bytes: vec![0; limits.text_bytes_max as usize],
            cursors: vec![CursorRow::EMPTY; limits.cursors_max as usize],
        }
    }

    /// Bytes for these limits.
    #[must_use]
    pub fn size(limits: &Limits) -> usize {
        limits.bytes()
    }

    /// Lends all of it. Lent a second time, it is as it was left: make it anew instead.
    #[must_use]
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
