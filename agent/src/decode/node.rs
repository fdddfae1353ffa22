//! Nodes.

use evenkeel_core::address::Address;
use evenkeel_core::object;
use serde::Deserialize;

use super::annotation::{EXCLUDED, Marks, OfNode, TAINT_UNSCHEDULABLE, ZONE};
use super::metadata::Metadata;
use super::pod::Condition;
use super::{Note, Object, Refusal};

/// A Node, decoded: owns what [`object::Node`] borrows.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub(super) name: String,
    zone: String,
    ready: bool,
    unschedulable: bool,
    excluded: bool,
    /// Those of type InternalIP first.
    addresses: Vec<Address>,
    internal: usize,
    weight: u16,
    maintenance: bool,
    pub(super) notes: Vec<Note>,
}

impl Node {
    /// The Node as core takes it, for the duration of a call.
    pub fn lend<R>(&self, take: impl FnOnce(&object::Node<'_>) -> R) -> R {
        take(&object::Node {
            name: &self.name,
            zone: &self.zone,
            ready: self.ready,
            unschedulable: self.unschedulable,
            excluded: self.excluded,
            addresses: self.own_addresses(),
            weight: self.weight,
            maintenance: self.maintenance,
        })
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Every address in `status.addresses`, those of type InternalIP first.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Those of type InternalIP, or all if there is none.
    #[must_use]
    pub fn own_addresses(&self) -> &[Address] {
        match self.internal {
            0 => &self.addresses,
            internal => self.addresses.get(..internal).unwrap_or_default(),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Wire {
    metadata: Option<Metadata<OfNode, Marks<OfNode>>>,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Spec {
    unschedulable: Option<bool>,
    taints: Option<Vec<Taint>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Taint {
    key: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    conditions: Option<Vec<Condition>>,
    addresses: Option<Vec<NodeAddress>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct NodeAddress {
    #[serde(rename = "type")]
    kind: Option<String>,
    address: Option<String>,
}

impl super::Wire for Wire {
    fn check(self) -> Result<Object, Refusal> {
        let mut metadata = self.metadata.unwrap_or_default();
        let spec = self.spec.unwrap_or_default();
        let status = self.status.unwrap_or_default();
        let mut notes = Vec::new();
        let annotations = metadata.annotations();
        let taints = spec.taints.unwrap_or_default();
        let (addresses, internal) = addresses(&status.addresses.unwrap_or_default());
        Ok(Object::Node(Node {
            name: metadata.name()?,
            zone: metadata.labels.as_mut().and_then(|labels| labels.take(ZONE)).unwrap_or_default(),
            excluded: metadata.labels.as_mut().is_some_and(|labels| labels.take(EXCLUDED).is_some()),
            ready: Condition::ready(&status.conditions).is_some_and(Condition::is_true),
            unschedulable: spec.unschedulable.unwrap_or_default()
                || taints.iter().any(|taint| taint.key.as_deref() == Some(TAINT_UNSCHEDULABLE)),
            addresses,
            internal,
            weight: annotations.weight(&mut notes),
            maintenance: annotations.maintenance(&mut notes),
            notes,
        }))
    }
}

/// The addresses, InternalIP first, and how many those are. Host names stand in the same list and are skipped.
fn addresses(wire: &[NodeAddress]) -> (Vec<Address>, usize) {
    let of = |internal: bool| {
        wire.iter()
            .filter(move |address| (address.kind.as_deref() == Some("InternalIP")) == internal)
            .filter_map(|address| Address::parse(address.address.as_deref()?))
    };
    let mut addresses: Vec<Address> = of(true).collect();
    let internal = addresses.len();
    addresses.extend(of(false));
    (addresses, internal)
}
