//! Bytes from outside, as the values that an interface takes.

use evenkeel_core::address::Address;
use evenkeel_core::port::Protocol;
use evenkeel_core::time::Timestamp;

pub struct Input<'a> {
    rest: &'a [u8],
}

/// Names that come again, so that objects meet.
const NAMES: [&str; 6] = ["web", "db", "node-a", "node-b", "zone-1", "shop"];

impl<'a> Input<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte; 0 after the last one.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// One of `0..bound`.
    pub fn below(&mut self, bound: u8) -> u8 {
        self.byte().checked_rem(bound).unwrap_or(0)
    }

    pub fn number(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    pub fn wide(&mut self) -> u64 {
        u64::from_le_bytes(core::array::from_fn(|_| self.byte()))
    }

    pub fn time(&mut self) -> Timestamp {
        Timestamp::from_nanos(self.wide())
    }

    /// The text of the next bytes, as far as they are text.
    pub fn text(&mut self) -> &'a str {
        let length = usize::from(self.byte()).min(self.rest.len());
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else { return "" };
        self.rest = rest;
        match core::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => bytes
                .get(..error.valid_up_to())
                .and_then(|valid| core::str::from_utf8(valid).ok())
                .unwrap_or(""),
        }
    }

    pub fn name(&mut self) -> &'a str {
        let choice = self.below(8);
        match NAMES.get(usize::from(choice)) {
            Some(name) => name,
            None => self.text(),
        }
    }

    pub fn address(&mut self) -> Address {
        match self.below(4) {
            0 => Address::v6(core::array::from_fn(|_| self.byte())),
            1 => Address::parse(self.text()).unwrap_or_default(),
            _ => Address::v4([192, 0, 2, self.below(8)]),
        }
    }

    pub fn protocol(&mut self) -> Protocol {
        match self.below(4) {
            0 => Protocol::Udp,
            1 => Protocol::Sctp,
            _ => Protocol::Tcp,
        }
    }
}
