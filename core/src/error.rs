//! What can go wrong, in terms of what the caller can do about it.

/// Why a verb did not do what it was asked. A verb that fails has changed nothing.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The object cannot be meant: the field says where.
    Invalid(Field),
    /// No such object, cursor or generation.
    NotFound,
    /// A table is full: raise the limit to at least `needed` and move to larger memory.
    Full {
        /// Which limit to raise.
        limit: Limit,
        /// The smallest value with which this call would have had room.
        needed: u32,
    },
    /// This cursor waited so long that removed rows had to be forgotten: take the whole state anew.
    Stale,
    /// The memory lent for an answer is too small: call again with this much.
    TooSmall {
        /// Bytes with which this call would have had room.
        needed: usize,
    },
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Invalid(field) => write!(f, "invalid value in {}", field.path()),
            Self::NotFound => f.write_str("not found"),
            Self::Full { limit, needed } => write!(f, "{} is too small: {needed} needed", limit.name()),
            Self::Stale => f.write_str("the cursor was left behind: read the whole state anew"),
            Self::TooSmall { needed } => {
                write!(f, "the memory for the answer is too small: {needed} bytes needed")
            }
        }
    }
}

impl core::error::Error for Error {}

/// The part of an object that was refused.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `metadata.name`: empty, over 253 bytes, or with a slash.
    Name,
    /// `metadata.namespace`: empty, over 63 bytes, or with a slash.
    Namespace,
    /// A port number of 0 where a number must be.
    Port,
    /// A text over the bound that Kubernetes gives it.
    Text,
    /// More ports, endpoints or hints than an object may have.
    Count,
    /// The name of the node in the configuration.
    Node,
    /// The weight range in the configuration.
    WeightRange,
}

impl Field {
    /// The field as a reader of the manifest would look for it.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Name => "metadata.name",
            Self::Namespace => "metadata.namespace",
            Self::Port => "ports[].port",
            Self::Text => "a text over its bound",
            Self::Count => "the number of ports, endpoints, labels or hints",
            Self::Node => "the node's name",
            Self::WeightRange => "the weight range",
        }
    }
}

/// A limit of [`Limits`](crate::limits::Limits), by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the field of Limits with the same name")]
pub enum Limit {
    Services,
    Ports,
    Slices,
    Endpoints,
    Vips,
    Pods,
    PodPorts,
    Labels,
    Selectors,
    Nodes,
    Places,
    Triggers,
    Texts,
    TextBytes,
    Cursors,
}

impl Limit {
    /// The field of [`Limits`](crate::limits::Limits) to raise.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Services => "services_max",
            Self::Ports => "ports_max",
            Self::Slices => "slices_max",
            Self::Endpoints => "endpoints_max",
            Self::Vips => "vips_max",
            Self::Pods => "pods_max",
            Self::PodPorts => "pod_ports_max",
            Self::Labels => "labels_max",
            Self::Selectors => "selectors_max",
            Self::Nodes => "nodes_max",
            Self::Places => "places_max",
            Self::Triggers => "triggers_max",
            Self::Texts => "texts_max",
            Self::TextBytes => "text_bytes_max",
            Self::Cursors => "cursors_max",
        }
    }
}
