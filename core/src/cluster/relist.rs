//! Relists: what a source lists is what there is.

use super::Cluster;
use super::rows::{node, pod, service};
use crate::limits::{Backends, Source};

/// What a source feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "spelled as in the API")]
pub enum Kind {
    Service,
    Slice,
    Pod,
    Node,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Service, Self::Slice, Self::Pod, Self::Node];

    /// As in the API.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::Slice => "EndpointSlice",
            Self::Pod => "Pod",
            Self::Node => "Node",
        }
    }
}

impl Cluster<'_> {
    /// A source begins to list everything of a kind. What was known stays until it ends.
    pub fn relist_begin(&mut self, kind: Kind) {
        if let Some(number) = self.relists.get_mut(kind as usize) {
            *number = number.wrapping_add(1);
        }
        if let Some(listing) = self.listing.get_mut(kind as usize) {
            *listing = true;
        }
    }

    /// The source has listed everything: what was not applied since the beginning is gone. How many that is.
    /// A relist that was not begun ends nothing. Costs one look at each row of the kind.
    pub fn relist_end(&mut self, kind: Kind) -> u32 {
        if !self.listing.get(kind as usize).copied().unwrap_or(false) {
            return 0;
        }
        if let Some(listing) = self.listing.get_mut(kind as usize) {
            *listing = false;
        }
        if let Some(listed) = self.listed.get_mut(kind as usize) {
            *listed = true;
        }
        let number = self.relist_of(kind);
        let mut gone = 0u32;
        let mut next = 0;
        loop {
            let found = match kind {
                Kind::Service => self.services.next_in_use(next).map(|id| {
                    let row = self.services.at(id);
                    if row.is(service::KNOWN) && row.seen != number {
                        self.forget_service(id);
                        gone = gone.saturating_add(1);
                    }
                    id.0
                }),
                Kind::Slice => self.slices.next_in_use(next).map(|id| {
                    if self.slices.at(id).seen != number {
                        self.forget_slice(id);
                        gone = gone.saturating_add(1);
                    }
                    id.0
                }),
                Kind::Pod => self.pods.next_in_use(next).map(|id| {
                    let row = self.pods.at(id);
                    if row.is(pod::KNOWN) && row.seen != number {
                        self.forget_pod(id);
                        gone = gone.saturating_add(1);
                    }
                    id.0
                }),
                Kind::Node => self.nodes.next_in_use(next).map(|id| {
                    let row = self.nodes.at(id);
                    if row.is(node::KNOWN) && row.seen != number {
                        self.forget_node(id);
                        gone = gone.saturating_add(1);
                    }
                    id.0
                }),
            };
            match found {
                Some(at) => next = at.wrapping_add(1),
                None => break,
            }
        }
        self.counters.deleted = self.counters.deleted.saturating_add(gone.into());
        gone
    }

    /// The last version of an object could not be used, here or by whoever decodes: the last good one stays, a relist in
    /// progress does not end it, and `explain` says so. Whether there is one. A Node has no namespace.
    pub fn mark_stale(&mut self, kind: Kind, namespace: &str, name: &str) -> bool {
        let number = self.relist_of(kind);
        match kind {
            Kind::Service => {
                let Some(id) = self.find_service(namespace, name) else {
                    return false;
                };
                let row = self.services.at_mut(id);
                row.flags |= service::STALE;
                row.seen = number;
                row.is(service::KNOWN)
            }
            Kind::Slice => {
                let Some(id) = self.find_slice(namespace, name) else {
                    return false;
                };
                let row = self.slices.at_mut(id);
                row.seen = number;
                let service = row.service;
                if !row.stale {
                    row.stale = true;
                    let row = self.services.at_mut(service);
                    row.stale_slices = row.stale_slices.saturating_add(1);
                }
                true
            }
            Kind::Pod => {
                let Some(id) = self.find_pod(namespace, name) else {
                    return false;
                };
                let row = self.pods.at_mut(id);
                row.seen = number;
                row.is(pod::KNOWN)
            }
            Kind::Node => {
                let Some(id) = self.find_node(name) else {
                    return false;
                };
                let row = self.nodes.at_mut(id);
                row.seen = number;
                row.is(node::KNOWN)
            }
        }
    }

    /// Kinds that must be listed before anything is published.
    #[must_use]
    pub fn awaits(&self, kind: Kind) -> bool {
        let needed = match kind {
            Kind::Service => true,
            Kind::Slice => self.reads_slices(),
            Kind::Pod => self.reads_pods(),
            Kind::Node => self.settings.source == Source::Pods || self.settings.backends == Backends::Nodes,
        };
        needed && !self.listed.get(kind as usize).copied().unwrap_or(false)
    }

    pub(super) fn relist_of(&self, kind: Kind) -> u32 {
        self.relists.get(kind as usize).copied().unwrap_or(0)
    }
}
