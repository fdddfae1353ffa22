//! Where objects come from: files that are followed, or a recording that is played.
//!
//! A source hands over events one by one, as it reads them; it holds no object longer than that.

pub mod document;
pub mod files;
pub mod replay;

use evenkeel_core::Kind;
use evenkeel_core::time::Timestamp;

use crate::decode::Object;
use document::Place;

/// Something that a source has found.
#[derive(Debug)]
pub enum Event {
    /// From here to [`Event::RelistEnd`] every object of the kind is given; what is not is gone.
    RelistBegin(Kind),
    /// The object is there, or has changed.
    Apply(Object),
    /// The object is gone.
    Delete(Key),
    /// All objects of the kind have been given.
    RelistEnd(Kind),
    /// A document that could not be used. The last good state of its object stays.
    Broken(Broken),
    /// An object of a kind that is not needed here.
    Other(String),
    /// Something worth telling that costs no object.
    Warning(String),
    /// What was given so far belongs together. The time, if the source has a clock of its own.
    Seal(Option<Timestamp>),
}

/// Whose name is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The object's kind.
    pub kind: Kind,
    /// `metadata.namespace`; empty for a Node.
    pub namespace: Box<str>,
    /// `metadata.name`.
    pub name: Box<str>,
}

impl Key {
    /// The key of an object of that name.
    #[must_use]
    pub fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }

    /// The key of this object.
    #[must_use]
    pub fn of(object: &Object) -> Self {
        Self::new(object.kind(), object.namespace(), object.name())
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {}{slash}{}", self.kind.text(), self.namespace, self.name)
    }
}

/// A document that could not be used: where it stands, and what was expected there.
#[derive(Debug)]
pub struct Broken {
    /// The file, as it was named.
    pub file: String,
    /// Where in the file.
    pub place: Place,
    /// What was expected.
    pub what: String,
    /// Whose object it would have been, if that could be read.
    pub object: Option<Key>,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.place, self.what)
    }
}

/// Which kinds somebody wants; the others are passed over without being decoded. Nodes are few.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Services.
    pub services: bool,
    /// EndpointSlices.
    pub slices: bool,
    /// Pods: they are many, and EndpointSlices speak for them.
    pub pods: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Self = Self { services: true, slices: true, pods: true };
    /// Nodes alone.
    pub const NODES: Self = Self { services: false, slices: false, pods: false };

    /// Whether objects of that kind are wanted.
    #[must_use]
    pub const fn wants(self, kind: Kind) -> bool {
        match kind {
            Kind::Node => true,
            Kind::Service => self.services,
            Kind::Slice => self.slices,
            Kind::Pod => self.pods,
        }
    }
}
