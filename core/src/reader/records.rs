//! The wanted values of the object under way, one after another in lent memory.
//!
//! A record is a header of four bytes, its tag and the length of what follows, and then a value: bytes, or the records
//! of a list or object. Members stand in the order in which they came; of two under one tag the later counts.

use crate::address::{Address, Prefix};
use crate::time::Timestamp;

/// Bytes before each value.
pub(super) const HEADER_BYTES: usize = 4;
/// The length of a record has three bytes.
pub(super) const BYTES_MAX: usize = 0xff_ffff;
/// Marks the tag of what is null.
const ABSENT: u8 = 0x80;
/// What was begun where there was no room.
const NOWHERE: usize = usize::MAX;

/// Takes records.
#[derive(Debug)]
pub(super) struct Records<'m> {
    memory: &'m mut [u8],
    used: usize,
    /// What would be used if there were room for everything.
    wanted: usize,
    /// Where the member under way began, which goes if there is no room for all of it.
    member: usize,
    /// There was no room: the rest of the member is only counted.
    dropping: bool,
    full: bool,
}

impl<'m> Records<'m> {
    /// Uses at most [`BYTES_MAX`].
    pub(super) fn new(memory: &'m mut [u8]) -> Self {
        let length = memory.len().min(BYTES_MAX);
        let memory = memory.get_mut(..length).unwrap_or_default();
        Self { memory, used: 0, wanted: 0, member: 0, dropping: false, full: false }
    }

    /// Forgets all records from there on.
    pub(super) const fn truncate(&mut self, start: usize) {
        self.used = start;
        self.wanted = start;
        self.member = start;
        self.dropping = false;
        self.full = false;
    }

    /// Another member begins, for which there may be room again.
    pub(super) const fn begin_member(&mut self) {
        self.member = self.used;
        self.dropping = false;
    }

    /// Something did not find room.
    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    /// Bytes with which everything would have had room.
    pub(super) const fn wanted(&self) -> usize {
        self.wanted
    }

    /// Where the next record will begin.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// The records from there on.
    pub(super) fn from(&self, start: usize) -> Walk<'_> {
        Walk { rest: self.memory.get(start..self.used).unwrap_or(&[]) }
    }

    /// A list or object begins; where, for [`Records::end`].
    #[inline]
    pub(super) fn begin(&mut self, tag: u8) -> usize {
        let start = self.used;
        self.push(tag, &[]);
        if self.dropping { NOWHERE } else { start }
    }

    /// The list or object ends that began there.
    #[inline]
    pub(super) fn end(&mut self, start: usize) {
        let length = self.used.wrapping_sub(start).wrapping_sub(HEADER_BYTES);
        let room = self.memory.get_mut(start..self.used);
        if let Some(header) = room.and_then(|room| room.first_chunk_mut::<HEADER_BYTES>()) {
            let [tag, ..] = *header;
            *header = head(tag, length);
        }
    }

    /// A member is null.
    pub(super) fn absent(&mut self, tag: u8) {
        self.push(tag | ABSENT, &[]);
    }

    #[inline]
    pub(super) fn push(&mut self, tag: u8, value: &[u8]) {
        let bytes = value.len().wrapping_add(HEADER_BYTES);
        self.wanted = self.wanted.saturating_add(bytes);
        if self.dropping {
            return;
        }
        let room = self.memory.get_mut(self.used..).and_then(|room| room.get_mut(..bytes));
        let Some((header, place)) = room.and_then(|room| room.split_first_chunk_mut::<HEADER_BYTES>()) else {
            return self.drop_member();
        };
        *header = head(tag, value.len());
        copy(place, value);
        self.used = self.used.wrapping_add(bytes);
    }

    #[cold]
    const fn drop_member(&mut self) {
        self.used = self.member;
        self.dropping = true;
        self.full = true;
    }
}

/// The tag, then the length.
fn head(tag: u8, length: usize) -> [u8; HEADER_BYTES] {
    let [a, b, c, ..] = length.to_le_bytes();
    [tag, a, b, c]
}

/// Copies bytes into as many. Not `copy_from_slice`, which panics if the lengths differ.
#[inline]
pub(super) fn copy(to: &mut [u8], from: &[u8]) {
    let (to_words, to_rest) = to.as_chunks_mut::<8>();
    let (from_words, from_rest) = from.as_chunks::<8>();
    for (to, from) in to_words.iter_mut().zip(from_words) {
        *to = *from;
    }
    for (to, from) in to_rest.iter_mut().zip(from_rest) {
        *to = *from;
    }
}

/// Records, one after another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walk<'r> {
    rest: &'r [u8],
}

impl<'r> Iterator for Walk<'r> {
    type Item = Record<'r>;

    #[inline]
    fn next(&mut self) -> Option<Record<'r>> {
        let (&[tag, a, b, c], rest) = self.rest.split_first_chunk::<HEADER_BYTES>()?;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        let (value, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Record { tag: tag & !ABSENT, absent: tag & ABSENT != 0, value })
    }
}

impl Walk<'_> {
    /// How many there are.
    pub(super) fn length(self) -> usize {
        // Not `count`: where overflow is checked it could panic.
        self.fold(0usize, |length, _| length.saturating_add(1))
    }
}

/// A value that was staged. What is absent reads as the default of its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'r> {
    pub(super) tag: u8,
    /// It is null.
    pub(super) absent: bool,
    pub(super) value: &'r [u8],
}

impl<'r> Record<'r> {
    /// The records of a list or object.
    pub(super) const fn records(&self) -> Walk<'r> {
        Walk { rest: self.value }
    }

    #[inline]
    pub(super) fn text(&self) -> &'r str {
        core::str::from_utf8(self.value).unwrap_or("") // It was checked as it was taken.
    }

    /// A text that may be absent.
    pub(super) fn given(&self) -> Option<&'r str> {
        (!self.absent).then(|| self.text())
    }

    /// True or false; `default` if absent.
    pub(super) fn flag(&self, default: bool) -> bool {
        self.value.first().map_or(default, |byte| *byte != 0)
    }

    pub(super) fn number(&self) -> u32 {
        self.value.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    pub(super) fn port(&self) -> u16 {
        u16::try_from(self.number()).unwrap_or_default()
    }

    pub(super) fn moment(&self) -> Timestamp {
        Timestamp::from_nanos(self.value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    #[inline]
    pub(super) fn address(&self) -> Option<Address> {
        self.value.first_chunk().map(|octets| Address::v6(*octets))
    }

    pub(super) fn prefix(&self) -> Option<Prefix> {
        self.value.first_chunk().map(Prefix::from_bytes)
    }
}
