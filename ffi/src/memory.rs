//! The caller's block, divided: the head of a cluster first, then the rows of each table.
//!
//! All pointer arithmetic is here. One arithmetic, [`Offset`], says where each part begins; [`Measure`] has no memory
//! and only counts, [`Carver`] makes the parts.

use core::ptr;

use evenkeel_core::Cluster;
use evenkeel_core::address::Prefix;
use evenkeel_core::cluster::rows::CursorRow;
use evenkeel_core::limits::Limits;
use evenkeel_core::storage::{BYTES_PER_ROW, Memory};
use evenkeel_core::table::{Entry, Row};

/// Every part begins at a multiple of this, as the block must.
pub(crate) const ALIGNMENT: usize = 16;

/// Source ranges that a Service may have: what core refuses more of.
pub(crate) const RANGES_MAX: usize = 250;

/// What stands at the beginning of a block. The words at both ends depend on where it stands, so that a block which was
/// overwritten or copied elsewhere is not taken for a cluster.
#[repr(C)]
pub(crate) struct Head {
    first: usize,
    /// Bytes of the block that are in use, this head included.
    pub(crate) bytes: usize,
    pub(crate) cluster: Cluster<'static>,
    /// For each limit, the most that a refused object would have needed; 0 if none was refused.
    pub(crate) needed: [u32; BYTES_PER_ROW.len()],
    /// Objects that could not be read, which core has not seen.
    pub(crate) invalid: u64,
    /// Source ranges of the VIP that was given last.
    pub(crate) ranges: [Prefix; RANGES_MAX],
    pub(crate) ranges_count: usize,
    last: usize,
}

const _: () = assert!(align_of::<Head>() <= ALIGNMENT);

/// "evenkeel", as far as a word reaches.
#[allow(clippy::cast_possible_truncation, reason = "the low half is as good on a 32-bit machine")]
const MAGIC: usize = 0x6c65_656b_6e65_7665_u64 as usize;

/// Where the next part begins, counted from the beginning of the block.
struct Offset(usize);

impl Offset {
    /// Room for so many values. Where they begin; `None` if no block could be so large.
    fn advance<T>(&mut self, count: usize) -> Option<usize> {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let begin = self.0.checked_next_multiple_of(ALIGNMENT)?;
        let end = begin.checked_add(size_of::<T>().checked_mul(count)?)?;
        self.0 = end;
        (end <= isize::MAX.unsigned_abs()).then_some(begin)
    }
}

/// Makes one part after another.
trait Parts {
    /// So many values, all like this one; `None` if there is no room.
    fn part<T: Copy>(&mut self, count: u32, value: T) -> Option<&'static mut [T]>;

    /// So many unused rows.
    fn rows<V: Entry>(&mut self, count: u32) -> Option<&'static mut [Row<V>]> {
        self.part(count, Row::EMPTY)
    }
}

/// How large the parts are together. The parts themselves are empty.
struct Measure(Offset);

impl Parts for Measure {
    fn part<T: Copy>(&mut self, count: u32, _: T) -> Option<&'static mut [T]> {
        self.0.advance::<T>(count as usize)?;
        Some(&mut [])
    }
}

/// Parts of a block.
struct Carver {
    block: *mut u8,
    bytes: usize,
    offset: Offset,
}

impl Carver {
    /// Where the next so many values stand; not written yet.
    fn carve<T>(&mut self, count: usize) -> Option<*mut T> {
        let begin = self.offset.advance::<T>(count)?;
        if self.offset.0 > self.bytes {
            return None;
        }
        // SAFETY: the part ends within the block, so it begins there too.
        Some(unsafe { self.block.add(begin) }.cast())
    }
}

impl Parts for Carver {
    fn part<T: Copy>(&mut self, count: u32, value: T) -> Option<&'static mut [T]> {
        let count = count as usize;
        let first = self.carve::<T>(count)?;
        for at in 0..count {
            // SAFETY: below `count`, so within the part.
            let place = unsafe { first.add(at) };
            // SAFETY: the part is aligned and ours to write: the caller gave the memory of the block.
            unsafe { place.write(value) };
        }
        // SAFETY: `count` values that were just written; no other part has them, since the offset only grows; and the
        // caller gave the memory for as long as the cluster is used.
        Some(unsafe { core::slice::from_raw_parts_mut(first, count) })
    }
}

/// The tables, in the order in which they stand.
fn tables(parts: &mut impl Parts, limits: &Limits) -> Option<Memory<'static>> {
    Some(Memory {
        services: parts.rows(limits.services_max)?,
        ports: parts.rows(limits.ports_max)?,
        slices: parts.rows(limits.slices_max)?,
        endpoints: parts.rows(limits.endpoints_max)?,
        endpoints_index: parts.part(limits.endpoints_max, 0)?,
        vips: parts.rows(limits.vips_max)?,
        vips_index: parts.part(limits.vips_max, 0)?,
        pods: parts.rows(limits.pods_max)?,
        pod_ports: parts.rows(limits.pod_ports_max)?,
        labels: parts.rows(limits.labels_max)?,
        selectors: parts.rows(limits.selectors_max)?,
        nodes: parts.rows(limits.nodes_max)?,
        places: parts.rows(limits.places_max)?,
        triggers: parts.rows(limits.triggers_max)?,
        texts: parts.rows(limits.texts_max)?,
        texts_index: parts.part(limits.texts_max, 0)?,
        text_bytes: parts.part(limits.text_bytes_max, 0)?,
        cursors: parts.part(limits.cursors_max, CursorRow::EMPTY)?,
    })
}

/// Bytes of a block for these limits; `None` if no block could be so large.
pub(crate) fn size(limits: &Limits) -> Option<usize> {
    let mut measure = Measure(Offset(0));
    measure.0.advance::<Head>(1)?;
    tables(&mut measure, limits)?;
    measure.0.0.checked_next_multiple_of(ALIGNMENT)
}

/// A block that was looked at, and found large enough and in the right place.
pub(crate) struct Block {
    at: *mut u8,
    bytes: usize,
}

impl Block {
    /// `None` if it is nowhere, not aligned, or smaller than it must be.
    ///
    /// # Safety
    /// The caller gives the memory of `bytes` bytes at `at`.
    pub(crate) unsafe fn new(at: *mut u8, bytes: usize) -> Option<Self> {
        let is_aligned = at.addr().is_multiple_of(ALIGNMENT);
        let has_end = at.addr().checked_add(bytes).is_some() && bytes <= isize::MAX.unsigned_abs();
        (!at.is_null() && is_aligned && has_end).then_some(Self { at, bytes })
    }

    /// Shares no byte with what a head uses.
    pub(crate) fn is_apart_from(&self, head: &Head) -> bool {
        let other = ptr::from_ref(head).addr();
        let (end, other_end) = (self.at.addr().saturating_add(self.bytes), other.saturating_add(head.bytes));
        end <= other || other_end <= self.at.addr()
    }

    /// Divides it and puts a cluster into its head. `None` if it is too small, and then nothing was written.
    pub(crate) fn place<E>(
        &self,
        limits: &Limits,
        make: impl FnOnce(Memory<'static>) -> Result<Cluster<'static>, E>,
    ) -> Option<Result<*mut Head, E>> {
        let bytes = size(limits).filter(|bytes| *bytes <= self.bytes)?;
        let mut carver = Carver { block: self.at, bytes, offset: Offset(0) };
        let head = carver.carve::<Head>(1)?;
        // SAFETY: the head is the first part of the block, aligned and ours to write.
        unsafe { (&raw mut (*head).first).write(0) }; // What stood here is no cluster any more.
        let memory = tables(&mut carver, limits)?;
        let cluster = match make(memory) {
            Ok(cluster) => cluster,
            Err(error) => return Some(Err(error)),
        };
        let value = Head {
            first: mark(head),
            bytes,
            cluster,
            needed: [0; BYTES_PER_ROW.len()],
            invalid: 0,
            ranges: [Prefix::default(); RANGES_MAX],
            ranges_count: 0,
            last: !mark(head),
        };
        // SAFETY: as above.
        unsafe { head.write(value) };
        Some(Ok(head))
    }
}

/// What the first word of a head at this place must be.
fn mark(head: *const Head) -> usize {
    MAGIC ^ head.addr()
}

/// A head stands here, as far as can be told.
///
/// # Safety
/// `head` is null, or points to memory that can be read and is as large as a head.
pub(crate) unsafe fn is_head(head: *const Head) -> bool {
    if head.is_null() || !head.addr().is_multiple_of(ALIGNMENT) {
        return false;
    }
    // SAFETY: the caller promises that it can be read.
    let first = unsafe { (&raw const (*head).first).read() };
    // SAFETY: the same.
    let last = unsafe { (&raw const (*head).last).read() };
    first == mark(head) && last == !mark(head)
}
