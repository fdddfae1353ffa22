//! The records of an image: what they hold, in the order of their bytes.
//!
//! Each record is stated once; how it is written and how it is read both follow from that.

use crate::address::{Address, Family};
use crate::change::{BackendState, VipKind, VipState};
use crate::port::Protocol;

/// What every image begins with.
pub(crate) const MAGIC: [u8; 8] = *b"evenkeel";
/// The layout that is written, and the only one that is read.
pub(crate) const VERSION: u32 = 1;
/// Where the checksum stands.
pub(crate) const CHECKSUM_AT: usize = 16;
/// A place or text that there is not.
pub(crate) const NONE: u32 = u32::MAX;

/// Bits of a VIP's flags.
pub(crate) mod vip {
    pub(crate) const LOCAL: u8 = 1;
    pub(crate) const MASQUERADE: u8 = 1 << 1;
    pub(crate) const SHORT_CIRCUIT: u8 = 1 << 2;
}

/// Bits of a backend's flags.
pub(crate) mod backend {
    pub(crate) const IN_CLUSTER: u8 = 1;
    pub(crate) const IN_LOCAL: u8 = 1 << 1;
    /// It is on the node that the image is for.
    pub(crate) const HERE: u8 = 1 << 2;
}

/// The parts of an image after its header, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Services,
    Ports,
    Vips,
    Ranges,
    Backends,
    Places,
    Text,
}

pub(crate) const SECTIONS: usize = 7;

/// Bytes of one record of each section.
const RECORD_BYTES: [usize; SECTIONS] =
    [Service::BYTES, Port::BYTES, Vip::BYTES, RANGE_BYTES, Backend::BYTES, Place::BYTES, 1];

/// An address of sixteen octets and the length of the prefix, as [`crate::change::Ranges`] reads them.
pub(crate) const RANGE_BYTES: usize = 17;

/// Where everything stands, which follows from how many there are of each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) sections: [Run; SECTIONS],
    /// Bytes of the whole image.
    pub(crate) size: u32,
}

impl Layout {
    /// `None` if numbers of 32 bits do not do.
    pub(crate) fn of(counts: [u32; SECTIONS]) -> Option<Self> {
        let mut sections = [Run { first: 0, count: 0 }; SECTIONS];
        let mut next = u64::try_from(Header::BYTES).ok()?;
        for ((section, count), bytes) in sections.iter_mut().zip(counts).zip(RECORD_BYTES) {
            *section = Run { first: u32::try_from(next).ok()?, count };
            let bytes = u64::from(count).checked_mul(u64::try_from(bytes).ok()?)?;
            next = next.checked_add(bytes)?.checked_next_multiple_of(8)?;
        }
        Some(Self { sections, size: u32::try_from(next).ok()? })
    }

    pub(crate) fn counts(sections: &[Run; SECTIONS]) -> [u32; SECTIONS] {
        sections.map(|section| section.count)
    }
}

/// Guards against damage, not against forgers. Each word takes part in a way that can be undone, so that a change
/// within one aligned word never goes unnoticed.
pub(crate) fn checksum(image: &[u8]) -> u64 {
    let (before, rest) = image.split_at_checked(CHECKSUM_AT).unwrap_or((image, &[]));
    let (_, after) = rest.split_at_checked(size_of::<u64>()).unwrap_or((&[], &[]));
    let words = before.as_chunks().0.iter().chain(after.as_chunks().0);
    words.fold(0x9e37_79b9_7f4a_7c15, |sum, word| {
        let sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x9fb2_1c65_1e98_df25);
        sum ^ sum >> 32
    })
}

/// A record as bytes, while they are put in one after another.
pub(crate) struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    fn put<const M: usize>(&mut self, field: [u8; M]) {
        if let Some(place) = self.bytes.get_mut(self.at..).and_then(|rest| rest.first_chunk_mut()) {
            *place = field;
        }
        self.at = self.at.saturating_add(M);
    }
}

/// The bytes of a record, taken one after another.
pub(crate) struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn take<const M: usize>(&mut self) -> [u8; M] {
        match self.0.split_first_chunk() {
            Some((field, rest)) => {
                self.0 = rest;
                *field
            }
            None => [0; M],
        }
    }
}

/// What a record consists of. Numbers are little-endian.
pub(crate) trait Field: Sized {
    const BYTES: usize;
    fn write<const N: usize>(self, to: &mut Writer<N>);
    fn read(from: &mut Reader<'_>) -> Self;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Field for $number {
            const BYTES: usize = size_of::<Self>();
            fn write<const N: usize>(self, to: &mut Writer<N>) {
                to.put(self.to_le_bytes());
            }
            fn read(from: &mut Reader<'_>) -> Self {
                Self::from_le_bytes(from.take())
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64);

impl<const M: usize> Field for [u8; M] {
    const BYTES: usize = M;
    fn write<const N: usize>(self, to: &mut Writer<N>) {
        to.put(self);
    }
    fn read(from: &mut Reader<'_>) -> Self {
        from.take()
    }
}

impl Field for Address {
    const BYTES: usize = 16;
    fn write<const N: usize>(self, to: &mut Writer<N>) {
        to.put(self.octets());
    }
    fn read(from: &mut Reader<'_>) -> Self {
        Self::v6(from.take())
    }
}

/// One byte for each word. The numbers are part of the format, whatever the order of the words in Rust; one that
/// is not here reads as the first word.
macro_rules! codes {
    ($($word:ident { $first_code:literal = $first:ident, $($code:literal = $value:ident),* })*) => {$(
        impl Field for $word {
            const BYTES: usize = 1;
            fn write<const N: usize>(self, to: &mut Writer<N>) {
                let code: u8 = match self {
                    Self::$first => $first_code,
                    $(Self::$value => $code,)*
                };
                code.write(to);
            }
            fn read(from: &mut Reader<'_>) -> Self {
                match u8::read(from) {
                    $($code => Self::$value,)*
                    _ => Self::$first,
                }
            }
        }
    )*};
}
codes! {
    Protocol { 0 = Tcp, 1 = Udp, 2 = Sctp }
    Family { 0 = V4, 1 = V6 }
    VipKind { 0 = ClusterIp, 1 = ExternalIp, 2 = LoadBalancer, 3 = NodePort }
    VipState { 0 = Serve, 1 = Reject, 2 = Drop }
    BackendState { 0 = Ready, 1 = Terminating, 2 = Draining }
}

/// Declares records: fields in the order of their bytes.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident: $bytes:literal { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name {
            $($(#[$field_doc])* pub(crate) $field: $kind,)*
        }

        impl $name {
            pub(crate) fn to_bytes(self) -> [u8; $bytes] {
                let mut writer = Writer { bytes: [0; $bytes], at: 0 };
                $(self.$field.write(&mut writer);)*
                writer.bytes
            }

            pub(crate) fn from_bytes(bytes: &[u8; $bytes]) -> Self {
                let mut reader = Reader(bytes);
                Self { $($field: <$kind>::read(&mut reader),)* }
            }
        }

        impl Field for $name {
            const BYTES: usize = $bytes;
            fn write<const N: usize>(self, to: &mut Writer<N>) {
                to.put(self.to_bytes());
            }
            fn read(from: &mut Reader<'_>) -> Self {
                Self::from_bytes(&from.take())
            }
        }

        // The stated size is the sum of the fields.
        const _: () = assert!($bytes == 0 $(+ <$kind as Field>::BYTES)*);
    )*};
}
records! {
    /// What stands before the sections.
    Header: 96 {
        magic: [u8; 8],
        version: u32,
        size: u32,
        checksum: u64,
        generation: u64,
        node: Text,
        services: Run,
        ports: Run,
        vips: Run,
        ranges: Run,
        backends: Run,
        places: Run,
        text: Run,
    }

    /// Where a section begins, in bytes from the image's first, and how many records it has. Or, inside a record:
    /// number of the first record of another section, and how many follow.
    Run: 8 {
        first: u32,
        count: u32,
    }

    /// A run of bytes in the text section.
    Text: 8 {
        first: u32,
        bytes: u16,
        /// Bytes of its first part; then a slash, then the other part. Of a text without parts: 0.
        split: u16,
    }

    Service: 16 {
        /// "namespace/name".
        name: Text,
        ports: Run,
    }

    Port: 32 {
        name: Text,
        vips: Run,
        backends: Run,
        service: u32,
        number: u16,
        protocol: Protocol,
        family: Family,
    }

    Vip: 40 {
        address: Address,
        port: u32,
        ranges: Run,
        affinity_seconds: u32,
        number: u16,
        health_check_node_port: u16,
        kind: VipKind,
        state: VipState,
        /// [`vip`].
        flags: u8,
        reserved: u8,
    }

    Backend: 40 {
        address: Address,
        port: u32,
        /// Or [`NONE`].
        place: u32,
        /// "uid/name"; empty if unknown.
        pod: Text,
        number: u16,
        cluster_weight: u16,
        local_weight: u16,
        state: BackendState,
        /// [`backend`].
        flags: u8,
    }

    Place: 8 {
        /// "node/zone"; either part may be empty.
        name: Text,
    }
}

impl Text {
    /// What is no text at all.
    pub(crate) const EMPTY: Self = Self { first: 0, bytes: 0, split: 0 };
}

impl Header {
    pub(crate) const fn sections(&self) -> [Run; SECTIONS] {
        [self.services, self.ports, self.vips, self.ranges, self.backends, self.places, self.text]
    }

    /// Where the header says where a section is.
    pub(crate) const fn section_at(section: Section) -> usize {
        (section as usize).saturating_mul(Run::BYTES).saturating_add(Self::BYTES - SECTIONS * Run::BYTES)
    }
}
