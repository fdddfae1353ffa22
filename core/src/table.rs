//! Rows found by number or by key, in lent memory.
//!
//! Buckets are chains through the rows, so that a table can be filled to its last row and needs no marks for what
//! was deleted. A row keeps its number for as long as it is in use; numbers decide nothing that can be seen from
//! outside.
//!
//! Access is total: a number that names no row reads as the empty row and writes to nowhere. Nothing here can
//! panic, and nothing outside has to unwrap.

use core::marker::PhantomData;

/// "No row", in a link or as an answer.
pub(crate) const NONE: u32 = 0x7fff_ffff;
/// Set in `next` of a row that is not in use.
const VACANT: u32 = 0x8000_0000;

/// The number of a row; a type for each table, so that two cannot be mixed up.
pub trait Id: Copy + PartialEq + core::fmt::Debug {
    /// From a row number.
    fn from_row(row: u32) -> Self;
    /// To a row number.
    fn row(self) -> u32;
}

/// Declares the number types of tables.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(unreachable_pub, reason = "some tables are private")]
        pub struct $name(pub(crate) u32);

        #[allow(dead_code, unreachable_pub, reason = "not every table is public, or asked everything")]
        impl $name {
            /// Names no row.
            pub const NONE: Self = Self(crate::table::NONE);

            /// Names no row.
            pub(crate) const fn is_none(self) -> bool {
                self.0 == crate::table::NONE
            }

            /// Names a row.
            pub(crate) const fn is_some(self) -> bool {
                !self.is_none()
            }
        }

        impl crate::table::Id for $name {
            fn from_row(row: u32) -> Self {
                Self(row)
            }
            fn row(self) -> u32 {
                self.0
            }
        }
    )*};
}
pub(crate) use ids;

/// What a table holds.
pub trait Entry: Copy {
    /// The number of such a row.
    type Id: Id;
    /// What an unused row holds, and what a number that names no row reads as.
    const EMPTY: Self;
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row<V> {
    /// In a [`Table`]: the next row of the same bucket. If not in use: with [`VACANT`], the next such row.
    next: u32,
    value: V,
}

impl<V: Entry> Row<V> {
    /// An unused row: what lent memory must be filled with.
    pub const EMPTY: Self = Self { next: VACANT | NONE, value: V::EMPTY };
}

impl<V: Entry> Default for Row<V> {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Rows found by number. As many as the memory it was lent has room for; every one can be used.
#[derive(Debug)]
pub struct Pool<'m, V: Entry> {
    rows: &'m mut [Row<V>],
    /// Their number, as it is asked for all the time.
    capacity: u32,
    /// First row of the list of rows that were used before.
    free: u32,
    /// Rows from here on were never used.
    fresh: u32,
    count: u32,
    /// Where reads and writes of no row go.
    nowhere: V,
    id: PhantomData<V::Id>,
}

impl<'m, V: Entry> Pool<'m, V> {
    /// A pool of these rows, which must all be [`Row::EMPTY`]. Rows past 2^31 - 2 are not used.
    pub fn new(rows: &'m mut [Row<V>]) -> Self {
        let capacity = u32::try_from(rows.len()).unwrap_or(NONE).min(NONE);
        Self { rows, capacity, free: NONE, fresh: 0, count: 0, nowhere: V::EMPTY, id: PhantomData }
    }

    /// Rows there are.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Rows in use.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// No row is in use.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Rows that were ever in use: a pool that these are moved to must have as many.
    pub fn ever_used(&self) -> u32 {
        self.fresh
    }

    /// Rows that can still be inserted.
    pub fn room(&self) -> u32 {
        self.capacity.wrapping_sub(self.count)
    }

    /// Takes a row into use, or `None` if all are.
    pub fn insert(&mut self, value: V) -> Option<V::Id> {
        let at = if self.free != NONE {
            let at = self.free;
            self.free = self.rows.get(at as usize)?.next & !VACANT;
            at
        } else if self.fresh < self.capacity {
            let at = self.fresh;
            self.fresh = self.fresh.wrapping_add(1);
            at
        } else {
            return None;
        };
        *self.rows.get_mut(at as usize)? = Row { next: NONE, value };
        self.count = self.count.wrapping_add(1);
        Some(V::Id::from_row(at))
    }

    /// Gives a row back.
    pub fn remove(&mut self, id: V::Id) {
        if let Some(row) = self.rows.get_mut(id.row() as usize)
            && row.next & VACANT == 0
        {
            row.next = VACANT | self.free;
            row.value = V::EMPTY;
            self.free = id.row();
            self.count = self.count.wrapping_sub(1);
        }
    }

    /// The row; the empty one if there is none of this number.
    pub fn at(&self, id: V::Id) -> &V {
        self.rows.get(id.row() as usize).map_or(&self.nowhere, |row| &row.value)
    }

    /// The row, to be changed; what is written to a row that does not exist is lost.
    pub fn at_mut(&mut self, id: V::Id) -> &mut V {
        match self.rows.get_mut(id.row() as usize) {
            Some(row) => &mut row.value,
            None => {
                self.nowhere = V::EMPTY;
                &mut self.nowhere
            }
        }
    }

    /// The row is in use.
    pub fn contains(&self, id: V::Id) -> bool {
        self.rows.get(id.row() as usize).is_some_and(|row| row.next & VACANT == 0)
    }

    /// The first row in use from `from` on. Calling it with one more than the last answer visits all, in time
    /// that grows with the rows ever used.
    pub fn next_in_use(&self, from: u32) -> Option<V::Id> {
        let mut at = from;
        while at < self.fresh {
            if self.rows.get(at as usize)?.next & VACANT == 0 {
                return Some(V::Id::from_row(at));
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// All rows in use, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (V::Id, &V)> {
        self.rows
            .iter()
            .zip(0u32..self.fresh)
            .filter(|(row, _)| row.next & VACANT == 0)
            .map(|(row, at)| (V::Id::from_row(at), &row.value))
    }

    /// Copies every row into `to`, which must be empty and not smaller; numbers stay the same.
    pub fn copy_to(&self, to: &mut Pool<'_, V>) {
        for ((from, row), at) in self.rows.iter().zip(to.rows.iter_mut()).zip(0u32..self.fresh) {
            if from.next & VACANT == 0 {
                *row = Row { next: NONE, value: from.value };
                to.count = to.count.wrapping_add(1);
            } else {
                row.next = VACANT | to.free;
                to.free = at;
            }
        }
        to.fresh = self.fresh;
    }
}

/// Rows found by key: a hash and a question. The index is a slice of its own, since it is looked at far more often
/// than the rows, and should stay in the processor's cache when they do not.
#[derive(Debug)]
pub struct Table<'m, V: Entry> {
    pool: Pool<'m, V>,
    /// First row of each bucket.
    index: &'m mut [u32],
}

impl<'m, V: Entry> Table<'m, V> {
    /// A table in these rows, which must all be [`Row::EMPTY`], with an index that should be as long.
    pub fn new(rows: &'m mut [Row<V>], index: &'m mut [u32]) -> Self {
        index.fill(NONE);
        Self { pool: Pool::new(rows), index }
    }

    fn bucket(&self, hash: u32) -> usize {
        // Multiply and shift: any length will do, and the upper bits of the hash decide.
        let wide = u64::from(hash).wrapping_mul(self.index.len() as u64);
        usize::try_from(wide >> 32).unwrap_or(0)
    }

    /// The row of this hash that answers yes.
    pub fn find(&self, hash: u32, is: impl FnMut(&V) -> bool) -> Option<V::Id> {
        self.search(self.index.get(self.bucket(hash)).copied()?, is)
    }

    /// The next row of the bucket after `after` that answers yes; for keys that several rows may have.
    pub fn find_next(&self, after: V::Id, is: impl FnMut(&V) -> bool) -> Option<V::Id> {
        self.search(self.pool.rows.get(after.row() as usize)?.next, is)
    }

    fn search(&self, from: u32, mut is: impl FnMut(&V) -> bool) -> Option<V::Id> {
        let mut at = from;
        while let Some(row) = self.pool.rows.get(at as usize) {
            if is(&row.value) {
                return Some(V::Id::from_row(at));
            }
            at = row.next;
        }
        None
    }

    /// Takes a row into use, or `None` if all are.
    pub fn insert(&mut self, hash: u32, value: V) -> Option<V::Id> {
        let bucket = self.bucket(hash);
        let first = self.index.get_mut(bucket)?;
        let id = self.pool.insert(value)?;
        if let Some(row) = self.pool.rows.get_mut(id.row() as usize) {
            row.next = *first;
        }
        *first = id.row();
        Some(id)
    }

    /// Gives a row back. The hash must be that of its insertion.
    pub fn remove(&mut self, hash: u32, id: V::Id) {
        let bucket = self.bucket(hash);
        let Some(next) = self.pool.rows.get(id.row() as usize).map(|row| row.next) else {
            return;
        };
        let Some(first) = self.index.get_mut(bucket) else {
            return;
        };
        if *first == id.row() {
            *first = next;
        } else {
            let mut at = *first;
            loop {
                let Some(row) = self.pool.rows.get_mut(at as usize) else {
                    return;
                };
                if row.next == id.row() {
                    row.next = next;
                    break;
                }
                at = row.next;
            }
        }
        self.pool.remove(id);
    }

    /// Copies every row into `to`, which must be empty and not smaller; numbers stay the same.
    pub fn copy_to(&self, to: &mut Table<'_, V>, hash: impl Fn(&V) -> u32) {
        self.pool.copy_to(&mut to.pool);
        for (row, at) in self.pool.rows.iter().zip(0u32..self.pool.fresh) {
            if row.next & VACANT == 0 {
                let bucket = to.bucket(hash(&row.value));
                if let (Some(first), Some(row)) =
                    (to.index.get_mut(bucket), to.pool.rows.get_mut(at as usize))
                {
                    row.next = *first;
                    *first = at;
                }
            }
        }
    }
}

impl<'m, V: Entry> core::ops::Deref for Table<'m, V> {
    type Target = Pool<'m, V>;

    fn deref(&self) -> &Self::Target {
        &self.pool
    }
}

impl<V: Entry> Table<'_, V> {
    /// The row, to be changed; what is written to a row that does not exist is lost.
    pub fn at_mut(&mut self, id: V::Id) -> &mut V {
        self.pool.at_mut(id)
    }
}

/// Mixes two words into one: the upper and lower half of their product, folded.
pub(crate) const fn fold(a: u64, b: u64) -> u64 {
    #[allow(clippy::cast_lossless, reason = "u128::from is not const")]
    let wide = (a as u128).wrapping_mul(b as u128);
    #[allow(clippy::cast_possible_truncation, reason = "both halves are taken")]
    {
        (wide as u64) ^ ((wide >> 64) as u64)
    }
}

/// The upper half of a hash: what [`Table`] wants.
pub(crate) const fn upper(hash: u64) -> u32 {
    #[allow(clippy::cast_possible_truncation, reason = "the upper half is 32 bits wide")]
    {
        (hash >> 32) as u32
    }
}

const STIR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hash of two numbers.
pub(crate) const fn hash_of(seed: u64, a: u64, b: u64) -> u32 {
    upper(fold(fold(a ^ seed, STIR) ^ b, STIR ^ seed.rotate_left(32)))
}

/// Hash of bytes, eight at a time; the last eight overlap those before.
pub(crate) fn hash_bytes(seed: u64, bytes: &[u8]) -> u64 {
    let mut state = seed ^ (bytes.len() as u64);
    let last = if let Some(last) = bytes.last_chunk::<8>() {
        let (words, _) = bytes.as_chunks::<8>();
        for word in words {
            state = fold(state ^ u64::from_le_bytes(*word), STIR);
        }
        u64::from_le_bytes(*last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
    } else {
        bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    fold(state ^ last, STIR ^ seed.rotate_left(32))
}

/// Both are the same bytes. Names are short: a call to compare them would cost more than comparing them.
#[inline]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if let (Some(last_a), Some(last_b)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        let (words_a, _) = a.as_chunks::<8>();
        let (words_b, _) = b.as_chunks::<8>();
        let words = words_a.iter().zip(words_b);
        return last_a == last_b && words.fold(true, |same, (a, b)| same & (a == b));
    }
    if let (Some(last_a), Some(last_b)) = (a.last_chunk::<4>(), b.last_chunk::<4>()) {
        return last_a == last_b && a.first_chunk::<4>() == b.first_chunk::<4>();
    }
    a.iter().zip(b).fold(true, |same, (a, b)| same & (a == b))
}

#[cfg(test)]
mod tests;
