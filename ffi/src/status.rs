//! How a call ended, and why something is as it is.

use core::ffi::{CStr, c_char};

use evenkeel_core::error::{Error, Limit};
use evenkeel_core::reason::Reason;
use evenkeel_core::snapshot::Refused;

/// How a call ended: 0 and above is no failure, below is one. A call that failed has changed nothing, but that an object which
/// was refused is marked as stale. Numbers are never used again for something else.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_status {
    /// Done.
    Ok = 0,
    /// There is nothing more, or nothing new.
    Done = 1,
    /// Some source has not been listed yet: nothing is published.
    Waiting = 2,
    /// An argument cannot be meant: NULL or misaligned, of a size that no release has, a number out of range, a reserved field
    /// that is not zero, text that is no UTF-8 or holds a zero byte, a name or list over its bound, memory that holds no
    /// cluster. Repeating the call does not help.
    Invalid = -1,
    /// No such object, cursor or generation.
    NotFound = -2,
    /// The memory is too small: the function that tells the size says how much it must be.
    MemoryTooSmall = -3,
    /// This cursor was left behind: drop everything and call ek_cluster_cursor_resync().
    Stale = -4,
    /// Another release wrote this image: take the state anew.
    Version = -5,
    /// This is no image, or something in it was overwritten.
    Damaged = -6,
    /// Raise services_max and move. For this one and the next fourteen, ek_cluster_usage() says to what.
    FullServices = -16,
    /// Raise ports_max and move.
    FullPorts = -17,
    /// Raise slices_max and move.
    FullSlices = -18,
    /// Raise endpoints_max and move.
    FullEndpoints = -19,
    /// Raise vips_max and move.
    FullVips = -20,
    /// Raise pods_max and move.
    FullPods = -21,
    /// Raise pod_ports_max and move.
    FullPodPorts = -22,
    /// Raise labels_max and move.
    FullLabels = -23,
    /// Raise selectors_max and move.
    FullSelectors = -24,
    /// Raise nodes_max and move.
    FullNodes = -25,
    /// Raise places_max and move.
    FullPlaces = -26,
    /// Raise triggers_max and move.
    FullTriggers = -27,
    /// Raise texts_max and move.
    FullTexts = -28,
    /// Raise text_bytes_max and move.
    FullTextBytes = -29,
    /// Raise cursors_max and move.
    FullCursors = -30,
}

/// The limits, in the order of struct ek_limits.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_limit {
    /// services_max
    Services = 0,
    /// endpoints_max
    Endpoints = 1,
    /// nodes_max
    Nodes = 2,
    /// pods_max
    Pods = 3,
    /// ports_max
    Ports = 4,
    /// slices_max
    Slices = 5,
    /// vips_max
    Vips = 6,
    /// pod_ports_max
    PodPorts = 7,
    /// labels_max
    Labels = 8,
    /// selectors_max
    Selectors = 9,
    /// places_max
    Places = 10,
    /// triggers_max
    Triggers = 11,
    /// texts_max
    Texts = 12,
    /// text_bytes_max
    TextBytes = 13,
    /// cursors_max
    Cursors = 14,
}

/// Core's limits by the numbers of [`ek_limit`].
pub(crate) const LIMITS: [Limit; 15] = [
    Limit::Services,
    Limit::Endpoints,
    Limit::Nodes,
    Limit::Pods,
    Limit::Ports,
    Limit::Slices,
    Limit::Vips,
    Limit::PodPorts,
    Limit::Labels,
    Limit::Selectors,
    Limit::Places,
    Limit::Triggers,
    Limit::Texts,
    Limit::TextBytes,
    Limit::Cursors,
];

impl From<Limit> for ek_status {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Services => Self::FullServices,
            Limit::Ports => Self::FullPorts,
            Limit::Slices => Self::FullSlices,
            Limit::Endpoints => Self::FullEndpoints,
            Limit::Vips => Self::FullVips,
            Limit::Pods => Self::FullPods,
            Limit::PodPorts => Self::FullPodPorts,
            Limit::Labels => Self::FullLabels,
            Limit::Selectors => Self::FullSelectors,
            Limit::Nodes => Self::FullNodes,
            Limit::Places => Self::FullPlaces,
            Limit::Triggers => Self::FullTriggers,
            Limit::Texts => Self::FullTexts,
            Limit::TextBytes => Self::FullTextBytes,
            Limit::Cursors => Self::FullCursors,
        }
    }
}

impl From<Error> for ek_status {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::NotFound,
            Error::Full { limit, .. } => limit.into(),
            Error::Stale => Self::Stale,
            Error::TooSmall { .. } => Self::MemoryTooSmall,
            _ => Self::Invalid,
        }
    }
}

impl From<Refused> for ek_status {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Version(_) => Self::Version,
            Refused::Truncated { .. } => Self::MemoryTooSmall,
            _ => Self::Damaged,
        }
    }
}

/// What a function answers.
pub(crate) type Answer<T = ek_status> = Result<T, ek_status>;

/// As C is told: it makes no difference where the status comes from.
pub(crate) fn status(answer: impl FnOnce() -> Answer) -> ek_status {
    match answer() {
        Ok(status) | Err(status) => status,
    }
}

/// A text for people, which ends with a zero byte and lives for ever. A number that is no status has one too.
#[unsafe(no_mangle)]
pub extern "C" fn ek_status_text(status: i32) -> *const c_char {
    macro_rules! texts {
        ($($name:ident: $text:literal,)*) => {
            match status {
                $(at if at == ek_status::$name as i32 => $text,)*
                _ => c"no status of this release",
            }
        };
    }
    texts! {
        Ok: c"ok",
        Done: c"nothing more",
        Waiting: c"a source has not been listed yet",
        Invalid: c"an argument that cannot be meant",
        NotFound: c"not found",
        MemoryTooSmall: c"the memory is too small",
        Stale: c"the cursor was left behind: resync it",
        Version: c"an image of another release",
        Damaged: c"no image, or a damaged one",
        FullServices: c"services_max is too small",
        FullPorts: c"ports_max is too small",
        FullSlices: c"slices_max is too small",
        FullEndpoints: c"endpoints_max is too small",
        FullVips: c"vips_max is too small",
        FullPods: c"pods_max is too small",
        FullPodPorts: c"pod_ports_max is too small",
        FullLabels: c"labels_max is too small",
        FullSelectors: c"selectors_max is too small",
        FullNodes: c"nodes_max is too small",
        FullPlaces: c"places_max is too small",
        FullTriggers: c"triggers_max is too small",
        FullTexts: c"texts_max is too small",
        FullTextBytes: c"text_bytes_max is too small",
        FullCursors: c"cursors_max is too small",
    }
    .as_ptr()
}

/// Why a Service, a port, a VIP or an endpoint is in or out, and what became of an object that was applied.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_reason {
    /// None of these: a reason that a later release knows.
    Unknown = 0,
    /// Of an object: something that matters here is different now.
    Changed = 1,
    /// Of an object: it says what was known already.
    Unchanged = 2,
    /// Served.
    Served = 3,
    /// Only slices speak of this Service; it has not been seen itself.
    ServiceUnknown = 4,
    /// clusterIP is None or empty.
    Headless = 5,
    /// type ExternalName.
    ExternalName = 6,
    /// The label service-proxy-name gives it to another proxy.
    OtherProxy = 7,
    /// The Service has no address of this family.
    NoAddressOfFamily = 8,
    /// This family is not wanted here.
    FamilyNotWanted = 9,
    /// The Service has no port of this name and protocol.
    PortUnknown = 10,
    /// Another Service has the same address, port and protocol, and the older claim.
    VipTaken = 11,
    /// No endpoint anywhere: clients are refused.
    NoEndpoints = 12,
    /// The policy is Local, and no usable endpoint is on this node.
    NoLocalEndpoints = 13,
    /// Ready and chosen.
    Ready = 14,
    /// Chosen although terminating: nothing else is left.
    TerminatingFallback = 15,
    /// Not ready.
    NotReady = 16,
    /// Terminating, while others are ready.
    Terminating = 17,
    /// Terminating, and no longer serving.
    NotServing = 18,
    /// Hints keep this node's flows nearer.
    OtherTopology = 19,
    /// The policy is Local, and it is on another node.
    NotLocal = 20,
    /// The same address and port stands in another slice, with the better claim.
    Duplicate = 21,
    /// The local Pod's own address and readiness are used instead.
    ReplacedByPod = 22,
    /// It should be on this node, and no Pod here has this uid.
    PodGone = 23,
    /// Weight 0: no new flows.
    Drained = 24,
    /// Hints are used: nodes.
    HintsNode = 25,
    /// Hints are used: zones.
    HintsZone = 26,
    /// There are no ready endpoints whose hints could be asked.
    HintsNoReady = 27,
    /// An endpoint without hints makes all hints void.
    HintsIncomplete = 28,
    /// No hint names this node or its zone.
    HintsElsewhere = 29,
    /// No endpoint has hints.
    HintsAbsent = 30,
    /// The Pod's Node is not known, so its zone cannot be told.
    NodeUnknown = 31,
    /// The Pod has ended.
    PodTerminal = 32,
    /// The Pod has no address of this family.
    PodNoAddress = 33,
    /// The Pod has no port of the target's name and protocol.
    PodNoPort = 34,
    /// Endpoints are not read from such objects here.
    NotASource = 35,
    /// The slice names no Service.
    SliceWithoutService = 36,
    /// The slice holds host names, not addresses.
    SliceFqdn = 37,
    /// The slice is of a headless Service.
    SliceHeadless = 38,
    /// The last version was refused; this is the last good one.
    Stale = 39,
}

/// The bytes of a text and a zero.
const fn terminated<const N: usize>(text: &str) -> [u8; N] {
    let (mut bytes, mut rest) = ([0; N], text.as_bytes());
    let mut places = bytes.as_mut_slice();
    while let (Some((place, more)), Some((byte, after))) = (places.split_first_mut(), rest.split_first()) {
        *place = *byte;
        (places, rest) = (more, after);
    }
    bytes
}

/// A text of core as a text of C, made by the compiler.
macro_rules! c_text {
    ($text:expr) => {{
        const TEXT: &str = $text;
        static BYTES: [u8; TEXT.len().saturating_add(1)] = terminated(TEXT);
        CStr::from_bytes_until_nul(&BYTES).unwrap_or(c"")
    }};
}

macro_rules! reasons {
    ($($name:ident)*) => {
        impl From<Reason> for ek_reason {
            fn from(reason: Reason) -> Self {
                match reason {
                    $(Reason::$name => Self::$name,)*
                    _ => Self::Unknown,
                }
            }
        }

        /// Its code and its sentence.
        fn reason_texts(reason: u32) -> (&'static CStr, &'static CStr) {
            match reason {
                $(at if at == ek_reason::$name as u32 => {
                    (c_text!(Reason::$name.code()), c_text!(Reason::$name.text()))
                })*
                at if at == ek_reason::Changed as u32 => (c"changed", c"something that matters here is different now"),
                at if at == ek_reason::Unchanged as u32 => (c"unchanged", c"it says what was known already"),
                _ => (c"unknown", c"a reason that this release does not know"),
            }
        }
    };
}

reasons! {
    Served ServiceUnknown Headless ExternalName OtherProxy NoAddressOfFamily FamilyNotWanted PortUnknown VipTaken
    NoEndpoints NoLocalEndpoints Ready TerminatingFallback NotReady Terminating NotServing OtherTopology NotLocal
    Duplicate ReplacedByPod PodGone Drained HintsNode HintsZone HintsNoReady HintsIncomplete HintsElsewhere HintsAbsent
    NodeUnknown PodTerminal PodNoAddress PodNoPort NotASource SliceWithoutService SliceFqdn SliceHeadless Stale
}

/// A short stable name, for programs: "no-endpoints". It ends with a zero byte and lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn ek_reason_code(reason: u32) -> *const c_char {
    reason_texts(reason).0.as_ptr()
}

/// One sentence, for people. It ends with a zero byte and lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn ek_reason_text(reason: u32) -> *const c_char {
    reason_texts(reason).1.as_ptr()
}
