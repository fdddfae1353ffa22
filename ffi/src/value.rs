//! The small values: texts, addresses, prefixes, moments.

use core::ffi::c_char;

use evenkeel_core::address::{Address, Family, Prefix};
use evenkeel_core::port::Protocol;
use evenkeel_core::time::Timestamp;

use crate::borrow::{self, Plain};
use crate::status::{Answer, ek_status, status};

/// A text: UTF-8, without a zero byte in it, and none is needed after it. All zero is the empty text.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ek_text {
    /// NULL will do if the length is 0.
    pub bytes: *const c_char,
    /// How many there are.
    pub length: usize,
}

// SAFETY: a pointer and a number, as large as each other.
unsafe impl Plain for ek_text {}
// SAFETY: an integer.
unsafe impl Plain for u8 {}

impl ek_text {
    pub(crate) const EMPTY: Self = Self { bytes: core::ptr::null(), length: 0 };

    /// A text of ours, for as long as it stands where it does.
    pub(crate) const fn from_str(text: &str) -> Self {
        if text.is_empty() {
            return Self::EMPTY;
        }
        Self { bytes: text.as_ptr().cast(), length: text.len() }
    }
}

/// Address families.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_family {
    /// None: a slice of host names, a Service that states no family.
    None = 0,
    /// IPv4
    Ipv4 = 4,
    /// IPv6
    Ipv6 = 6,
}

impl From<Family> for ek_family {
    fn from(family: Family) -> Self {
        match family {
            Family::V4 => Self::Ipv4,
            Family::V6 => Self::Ipv6,
        }
    }
}

/// A family, or none.
pub(crate) const fn family(number: u8) -> Answer<Option<Family>> {
    const V4: u8 = ek_family::Ipv4 as u8;
    const V6: u8 = ek_family::Ipv6 as u8;
    match number {
        0 => Ok(None),
        V4 => Ok(Some(Family::V4)),
        V6 => Ok(Some(Family::V6)),
        _ => Err(ek_status::Invalid),
    }
}

/// Protocols, by their numbers in IP headers.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ek_protocol {
    /// TCP; in what comes in, 0 stands for it too.
    Tcp = 6,
    /// UDP
    Udp = 17,
    /// SCTP
    Sctp = 132,
}

impl From<Protocol> for ek_protocol {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Tcp => Self::Tcp,
            Protocol::Udp => Self::Udp,
            Protocol::Sctp => Self::Sctp,
        }
    }
}

pub(crate) const fn protocol(number: u8) -> Answer<Protocol> {
    const TCP: u8 = ek_protocol::Tcp as u8;
    const UDP: u8 = ek_protocol::Udp as u8;
    const SCTP: u8 = ek_protocol::Sctp as u8;
    match number {
        0 | TCP => Ok(Protocol::Tcp),
        UDP => Ok(Protocol::Udp),
        SCTP => Ok(Protocol::Sctp),
        _ => Err(ek_status::Invalid),
    }
}

/// An IP address. One that is IPv4 written as IPv6 (::ffff:192.0.2.1) is taken as IPv4, as everywhere in Kubernetes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ek_address {
    /// In network order. IPv4: the first four; the others are 0.
    pub bytes: [u8; 16],
    /// enum ek_family
    pub family: u8,
    /// 0
    pub reserved: [u8; 3],
}

// SAFETY: bytes only.
unsafe impl Plain for ek_address {}

impl ek_address {
    pub(crate) const EMPTY: Self = Self { bytes: [0; 16], family: 0, reserved: [0; 3] };

    pub(crate) fn to_core(self) -> Answer<Address> {
        if self.reserved != [0; 3] {
            return Err(ek_status::Invalid);
        }
        match (family(self.family)?, self.bytes) {
            (Some(Family::V4), [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) => Ok(Address::v4([a, b, c, d])),
            (Some(Family::V6), octets) => Ok(Address::v6(octets)),
            _ => Err(ek_status::Invalid),
        }
    }
}

impl From<Address> for ek_address {
    fn from(address: Address) -> Self {
        let bytes = match address.v4_octets() {
            Some([a, b, c, d]) => [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            None => address.octets(),
        };
        Self { bytes, family: ek_family::from(address.family()) as u8, reserved: [0; 3] }
    }
}

/// Addresses that share their first bits.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ek_prefix {
    /// The first of them; in what comes in, any of them.
    pub address: ek_address,
    /// How many bits they share: at most 32 or 128.
    pub length: u8,
    /// 0
    pub reserved: [u8; 3],
}

// SAFETY: bytes only.
unsafe impl Plain for ek_prefix {}

impl ek_prefix {
    pub(crate) fn to_core(self) -> Answer<Prefix> {
        if self.reserved != [0; 3] {
            return Err(ek_status::Invalid);
        }
        Prefix::new(self.address.to_core()?, self.length).ok_or(ek_status::Invalid)
    }
}

impl From<Prefix> for ek_prefix {
    fn from(prefix: Prefix) -> Self {
        Self { address: prefix.address.into(), length: prefix.length, reserved: [0; 3] }
    }
}

/// Reads an address as the API server does: "192.0.2.1", "2001:db8::1".
///
/// EK_STATUS_INVALID: it is none. With a zone ("fe80::1%eth0") it is none either.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_address_parse(text: ek_text, out_address: *mut ek_address) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out(out_address) }?;
        // SAFETY: the contract page.
        let text = unsafe { borrow::text(text) }?;
        to.write(Address::parse(text).ok_or(ek_status::Invalid)?.into());
        Ok(ek_status::Ok)
    })
}

/// Reads a prefix as the API server does: "192.0.2.0/24", "2001:db8::/32". Bits after the length are dropped.
///
/// EK_STATUS_INVALID: it is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_prefix_parse(text: ek_text, out_prefix: *mut ek_prefix) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out(out_prefix) }?;
        // SAFETY: the contract page.
        let text = unsafe { borrow::text(text) }?;
        to.write(Prefix::parse(text).ok_or(ek_status::Invalid)?.into());
        Ok(ek_status::Ok)
    })
}

/// Reads a moment as Kubernetes writes it: "2024-03-01T10:00:00.25Z".
///
/// EK_STATUS_INVALID: it is none, or not between 1970 and July 2554.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_time_parse(text: ek_text, out_ns: *mut u64) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let to = unsafe { borrow::out(out_ns) }?;
        // SAFETY: the contract page.
        let text = unsafe { borrow::text(text) }?;
        to.write(Timestamp::parse(text).ok_or(ek_status::Invalid)?.nanos());
        Ok(ek_status::Ok)
    })
}

/// Writes an address as text with a zero byte at its end: at most EK_ADDRESS_TEXT_BYTES with it.
///
/// EK_STATUS_MEMORY_TOO_SMALL: it is longer; nothing was written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_address_text(address: *const ek_address, buffer: *mut c_char, size: usize) -> ek_status {
    status(|| {
        // SAFETY: the contract page.
        let [address] = (unsafe { borrow::slice(address, 1) }?) else { return Err(ek_status::Invalid) };
        // SAFETY: the contract page.
        let to = unsafe { borrow::array(buffer.cast::<u8>(), size) }?;
        let mut bytes = [0; 45];
        let text = address.to_core()?.text(&mut bytes).as_bytes();
        if to.len() <= text.len() {
            return Err(ek_status::MemoryTooSmall);
        }
        for (place, byte) in to.iter_mut().zip(text.iter().chain([&0])) {
            place.write(*byte);
        }
        Ok(ek_status::Ok)
    })
}

/// Bytes of the longest address as text, with the zero byte.
pub const EK_ADDRESS_TEXT_BYTES: usize = 46;
