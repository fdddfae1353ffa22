//! The operations that are measured. Each ends where a dataplane would have the result: sealed, pulled and
//! acknowledged.

use std::hint::black_box;

use evenkeel_core::Cluster;
use evenkeel_core::change::Change;
use evenkeel_core::cluster::{CursorId, Kind, Sealed};
use evenkeel_core::limits::{Config, Limits, Source};
use evenkeel_core::object::{EndpointSlice, Pod};
use evenkeel_core::storage::Memory;
use evenkeel_core::table::Row;
use evenkeel_core::time::Timestamp;

use crate::input::{EPOCH_SECONDS, Input};

/// Upstream ignores trigger times from before its start; so does this, or each first build would wait for
/// thousands of them.
const STARTED: Timestamp = Timestamp::from_nanos((EPOCH_SECONDS + 86_400) * 1_000_000_000);
const NOW: Timestamp = Timestamp::from_nanos((EPOCH_SECONDS + 86_500) * 1_000_000_000);

pub(crate) fn config(source: Source) -> Config<'static> {
    Config { node: "node-0", source, started: STARTED, ..Config::default() }
}

/// Room for the case, as an operator would state it: from three numbers.
pub(crate) fn limits(input: &Input, source: Source) -> Limits {
    let count = |n: usize| u32::try_from(n).expect("the cases are small enough");
    let limits = Limits::for_cluster(
        count(input.case.services),
        count(input.case.endpoints()),
        count(input.nodes.len()),
    );
    match source {
        Source::Slices => limits,
        Source::Pods | Source::Overlay => limits.with_pods(count(input.pods.len())),
    }
}

/// The same memory as if it had never been used, as every cluster begins: part of a build.
pub(crate) fn as_new(memory: Memory<'_>) -> Memory<'_> {
    memory.services.fill(Row::EMPTY);
    memory.ports.fill(Row::EMPTY);
    memory.slices.fill(Row::EMPTY);
    memory.endpoints.fill(Row::EMPTY);
    memory.vips.fill(Row::EMPTY);
    memory.pods.fill(Row::EMPTY);
    memory.pod_ports.fill(Row::EMPTY);
    memory.labels.fill(Row::EMPTY);
    memory.selectors.fill(Row::EMPTY);
    memory.nodes.fill(Row::EMPTY);
    memory.places.fill(Row::EMPTY);
    memory.triggers.fill(Row::EMPTY);
    memory.texts.fill(Row::EMPTY);
    memory
}

/// A cluster with one consumer.
pub(crate) struct Running<'m> {
    pub(crate) cluster: Cluster<'m>,
    cursor: CursorId,
}

impl<'m> Running<'m> {
    pub(crate) fn new(mut cluster: Cluster<'m>) -> Self {
        let cursor = cluster.cursor_open().expect("room for a cursor");
        Self { cluster, cursor }
    }

    /// Every object once, then the view, complete. Gives the number of changes.
    pub(crate) fn build(&mut self, input: &Input, source: Source) -> usize {
        self.list(input, source);
        let changes = self.publish();
        assert!(changes > input.case.endpoints(), "every backend and every VIP is a change");
        changes
    }

    /// The first list of each source, or another one.
    fn list(&mut self, input: &Input, source: Source) {
        self.cluster.relist_begin(Kind::Node);
        self.cluster.relist_begin(Kind::Service);
        for node in &input.nodes {
            self.cluster.apply_node(node).expect("room for a Node");
        }
        for service in &input.services {
            self.cluster.apply_service(service).expect("room for a Service");
        }
        self.cluster.relist_end(Kind::Node);
        self.cluster.relist_end(Kind::Service);
        match source {
            Source::Slices => {
                self.cluster.relist_begin(Kind::Slice);
                for slice in &input.slices {
                    self.cluster.apply_slice(slice).expect("room for a slice");
                }
                self.cluster.relist_end(Kind::Slice);
            }
            Source::Pods | Source::Overlay => {
                self.cluster.relist_begin(Kind::Pod);
                for pod in &input.pods {
                    self.cluster.apply_pod(pod).expect("room for a Pod");
                }
                self.cluster.relist_end(Kind::Pod);
            }
        }
    }

    /// Everything listed again, and nothing of it new.
    pub(crate) fn relist(&mut self, input: &Input, source: Source) {
        self.list(input, source);
        assert!(matches!(self.cluster.seal(NOW), Sealed::Unchanged(_)), "nothing has changed");
        assert_eq!(self.pull(), 0, "nothing has changed");
    }

    /// Back to the input, whatever was changed since.
    pub(crate) fn restore(&mut self, input: &Input, source: Source) {
        self.list(input, source);
        if let Sealed::Generation(generation) = self.cluster.seal(NOW) {
            self.pull();
            self.cluster.ack(self.cursor, generation, NOW, |_| {}).expect("a sealed generation");
        }
    }

    pub(crate) fn change_slice(&mut self, slice: &EndpointSlice<'_>) -> usize {
        self.cluster.apply_slice(slice).expect("room for a slice");
        self.publish()
    }

    pub(crate) fn change_pod(&mut self, pod: &Pod<'_>) -> usize {
        self.cluster.apply_pod(pod).expect("room for a Pod");
        self.publish()
    }

    /// Seals, pulls every change, acknowledges. Gives the number of changes.
    fn publish(&mut self) -> usize {
        let Sealed::Generation(generation) = self.cluster.seal(NOW) else { panic!("something has changed") };
        let count = self.pull();
        self.cluster
            .ack(self.cursor, generation, NOW, |sample| _ = black_box(sample))
            .expect("a sealed generation");
        count
    }

    fn pull(&mut self) -> usize {
        let mut count = 0;
        while let Some(change) = self.cluster.next(self.cursor).expect("a cursor that keeps up") {
            // A mark carries nothing that a dataplane would store.
            if !matches!(change, Change::ServiceEnd(_)) {
                count += 1;
            }
            black_box(&change);
        }
        count
    }
}
