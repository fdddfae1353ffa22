//! Names and other texts, each kept once and counted.
//!
//! Rows of tables hold numbers; what the numbers name stands here. A text is an immutable run of bytes: a
//! name, "namespace/name", a pair of a label, a set of hints, a list of source ranges. Blocks of freed texts
//! are used again by size; when no block fits but the free bytes would do, the pool is packed once.

use crate::table::{Entry, Id, NONE, Row, Table, hash_bytes, ids, same, upper};

ids!(
    /// The number of a text.
    TextId
);

/// Bytes come in blocks of a multiple of this.
const GRANULE: u32 = 16;
/// Owner (4 bytes) and granules (4 bytes) before the text of each block.
const HEADER: u32 = 8;
/// Free blocks of 1 to 30 granules have a list each; larger ones share the last.
const CLASSES: usize = 32;

/// What a text is. The same bytes in two domains are two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Anything that is looked up by nobody but through its number.
    Plain,
    /// Names of rows of one table each: the text knows its row.
    Service,
    /// "namespace/name".
    Slice,
    /// "namespace/name".
    Pod,
    /// A Node's name.
    Node,
    /// "node/zone".
    Place,
    /// "namespace/key/value".
    Selector,
}

/// What is known of a text.
#[derive(Clone, Copy, Debug)]
pub struct TextRow {
    /// First byte of its block, in granules.
    block: u32,
    refs: u32,
    hash: u32,
    /// The row that it names, in the table of its domain.
    owner: u32,
    len: u16,
    /// Bytes before its first slash, if it has parts.
    split: u16,
    domain: Domain,
}

impl Entry for TextRow {
    type Id = TextId;
    const EMPTY: Self =
        Self { block: 0, refs: 0, hash: 0, owner: NONE, len: 0, split: 0, domain: Domain::Plain };
}

/// The pool. [`TextId::NONE`] reads as the empty text, which is never stored.
#[derive(Debug)]
pub struct Texts<'m> {
    rows: Table<'m, TextRow>,
    bytes: &'m mut [u8],
    /// Granules from here on were never used, or not since the last packing.
    fresh: u32,
    /// Free granules before `fresh`.
    scattered: u32,
    free: [u32; CLASSES],
    seed: u64,
}

impl<'m> Texts<'m> {
    /// A pool in this memory.
    pub fn new(rows: &'m mut [Row<TextRow>], index: &'m mut [u32], bytes: &'m mut [u8], seed: u64) -> Self {
        Self { rows: Table::new(rows, index), bytes, fresh: 0, scattered: 0, free: [NONE; CLASSES], seed }
    }

    fn granules_max(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX) / GRANULE
    }

    /// Granules of a block for so many bytes of text.
    #[allow(clippy::cast_lossless, reason = "u32::from is not const")]
    const fn granules(len: u16) -> u32 {
        (len as u32).saturating_add(HEADER).saturating_add(GRANULE - 1) / GRANULE
    }

    /// Bytes that a text of this length takes from the pool.
    pub const fn cost(len: usize) -> u32 {
        #[allow(clippy::cast_possible_truncation, reason = "a longer text is refused")]
        let len = if len > 0xffff { 0xffff } else { len as u16 };
        Self::granules(len).saturating_mul(GRANULE)
    }

    /// Rows and bytes in use.
    pub fn usage(&self) -> (u32, u32) {
        (self.rows.len(), self.fresh.saturating_sub(self.scattered).saturating_mul(GRANULE))
    }

    /// Rows that were ever in use: a pool that these are moved to must have as many.
    pub fn rows_ever_used(&self) -> u32 {
        self.rows.ever_used()
    }

    /// Rows and bytes there are.
    pub fn capacity(&self) -> (u32, u32) {
        (self.rows.capacity(), self.granules_max().saturating_mul(GRANULE))
    }

    /// Rows and bytes that are left, packed or not.
    pub fn room(&self) -> (u32, u32) {
        let free = self.granules_max().saturating_sub(self.fresh).saturating_add(self.scattered);
        (self.rows.room(), free.saturating_mul(GRANULE))
    }

    fn hash(&self, domain: Domain, parts: &[&[u8]]) -> u32 {
        let mut hash = self.seed ^ domain as u64;
        for part in parts {
            hash = hash_bytes(hash, part);
        }
        upper(hash)
    }

    fn is(&self, row: &TextRow, hash: u32, domain: Domain, parts: &[&[u8]]) -> bool {
        if row.hash != hash || row.domain != domain {
            return false;
        }
        let text = self.slice(row);
        let mut at = 0usize;
        for part in parts {
            if at > 0 && text.get(at.wrapping_sub(1)) != Some(&b'/') {
                return false;
            }
            let end = at.saturating_add(part.len());
            if text.get(at..end) != Some(*part) {
                return false;
            }
            at = end.saturating_add(1);
        }
        at == text.len().saturating_add(1)
    }

    fn slice(&self, row: &TextRow) -> &[u8] {
        let start = (row.block as usize).saturating_mul(GRANULE as usize).saturating_add(HEADER as usize);
        self.bytes.get(start..start.saturating_add(row.len.into())).unwrap_or(&[])
    }

    /// The number of this text, if it is kept.
    pub fn find(&self, text: &[u8]) -> Option<TextId> {
        self.find_parts(Domain::Plain, &[text])
    }

    /// The number of "first/second/…", if it is kept.
    pub fn find_parts(&self, domain: Domain, parts: &[&[u8]]) -> Option<TextId> {
        let hash = self.hash(domain, parts);
        self.rows.find(hash, |row| self.is(row, hash, domain, parts))
    }

    /// The number of "first/second", or its hash, for [`Texts::insert`]. The same as with parts, which two of them are so
    /// often that it counts.
    #[inline]
    pub fn lookup_pair(&self, domain: Domain, first: &[u8], second: &[u8]) -> Result<TextId, u32> {
        let hash = upper(hash_bytes(hash_bytes(self.seed ^ domain as u64, first), second));
        let len = first.len().saturating_add(second.len()).saturating_add(1);
        let is = |row: &TextRow| {
            row.hash == hash
                && row.domain == domain
                && usize::from(row.split) == first.len()
                && usize::from(row.len) == len
                && matches!(
                    self.slice(row).split_at_checked(first.len()),
                    Some((left, [b'/', right @ ..])) if same(left, first) && same(right, second)
                )
        };
        self.rows.find(hash, is).ok_or(hash)
    }

    /// The row that "first/second" names, if it is kept.
    #[inline]
    pub fn owner_of_pair<I: Id>(&self, domain: Domain, first: &str, second: &str) -> Option<I> {
        let id = self.lookup_pair(domain, first.as_bytes(), second.as_bytes()).ok()?;
        Some(self.owner(id))
    }

    /// The same with any number of parts.
    pub fn lookup(&self, domain: Domain, parts: &[&[u8]]) -> Result<TextId, u32> {
        let hash = self.hash(domain, parts);
        self.rows.find(hash, |row| self.is(row, hash, domain, parts)).ok_or(hash)
    }

    /// The row that "first/second/…" names, if it is kept.
    pub fn find_owner<I: Id>(&self, domain: Domain, parts: &[&[u8]]) -> Option<I> {
        let id = self.find_parts(domain, parts)?;
        Some(I::from_row(self.rows.at(id).owner))
    }

    /// Says which row a text names.
    pub fn set_owner<I: Id>(&mut self, id: TextId, owner: I) {
        self.rows.at_mut(id).owner = owner.row();
    }

    /// The row that a text names.
    pub fn owner<I: Id>(&self, id: TextId) -> I {
        I::from_row(self.rows.at(id).owner)
    }

    /// Keeps this text once more; `None` if there is no room. The empty text is [`TextId::NONE`] and costs nothing.
    pub fn intern(&mut self, text: &[u8]) -> Option<TextId> {
        if text.is_empty() { Some(TextId::NONE) } else { self.intern_parts(Domain::Plain, &[text]) }
    }

    /// Keeps "first/second/…" once more.
    pub fn intern_parts(&mut self, domain: Domain, parts: &[&[u8]]) -> Option<TextId> {
        match self.lookup(domain, parts) {
            Ok(id) => {
                self.retain(id);
                Some(id)
            }
            Err(hash) => self.insert(hash, domain, parts),
        }
    }

    /// Keeps "first/second/…", which is not kept yet and has this hash.
    pub fn insert(&mut self, hash: u32, domain: Domain, parts: &[&[u8]]) -> Option<TextId> {
        let mut len = parts.len().saturating_sub(1);
        for part in parts {
            len = len.checked_add(part.len())?;
        }
        let len = u16::try_from(len).ok()?;
        if self.rows.room() == 0 {
            return None;
        }
        let granules = Self::granules(len);
        let block = self.allocate(granules)?;
        let split = parts.first().and_then(|part| u16::try_from(part.len()).ok()).unwrap_or(0);
        let row = TextRow { block, refs: 1, hash, owner: NONE, len, split, domain };
        let id = self.rows.insert(hash, row)?;
        self.write_header(block, id.0, granules);
        let start = (block as usize).saturating_mul(GRANULE as usize).saturating_add(HEADER as usize);
        let mut room = self.bytes.get_mut(start..start.saturating_add(len.into()))?;
        let mut first = true;
        for part in parts {
            if !first {
                let [slash, rest @ ..] = room else { break };
                *slash = b'/';
                room = rest;
            }
            first = false;
            let (here, rest) = room.split_at_mut_checked(part.len())?;
            copy(here, part);
            room = rest;
        }
        Some(id)
    }

    /// Counts one more holder.
    pub fn retain(&mut self, id: TextId) {
        if id.is_none() {
            return;
        }
        let row = self.rows.at_mut(id);
        row.refs = row.refs.saturating_add(1);
    }

    /// Counts one holder less; the last one gives the memory back.
    pub fn release(&mut self, id: TextId) {
        if id.is_none() {
            return;
        }
        let row = self.rows.at_mut(id);
        if row.refs > 1 {
            row.refs = row.refs.wrapping_sub(1);
            return;
        }
        let TextRow { block, len, hash, refs, .. } = *row;
        if refs == 1 {
            self.rows.remove(hash, id);
            self.give_back(block, Self::granules(len));
        }
    }

    /// The bytes; empty for [`TextId::NONE`].
    pub fn get(&self, id: TextId) -> &[u8] {
        self.slice(self.rows.at(id))
    }

    /// The text; empty for [`TextId::NONE`].
    pub fn str(&self, id: TextId) -> &str {
        core::str::from_utf8(self.get(id)).unwrap_or("")
    }

    /// Where a text stands against another; quick to say that it is the same.
    pub fn order(&self, id: TextId, other: &[u8]) -> core::cmp::Ordering {
        let text = self.get(id);
        if same(text, other) { core::cmp::Ordering::Equal } else { text.cmp(other) }
    }

    /// Both parts of "first/second".
    pub fn pair(&self, id: TextId) -> (&str, &str) {
        let row = self.rows.at(id);
        match self.slice(row).split_at_checked(row.split.into()) {
            Some((first, [b'/', second @ ..])) => {
                (core::str::from_utf8(first).unwrap_or(""), core::str::from_utf8(second).unwrap_or(""))
            }
            _ => ("", ""),
        }
    }

    /// Copies everything to a larger pool, packed; numbers stay the same.
    pub fn copy_to(&self, to: &mut Texts<'_>) {
        self.rows.copy_to(&mut to.rows, |row| row.hash);
        to.seed = self.seed;
        let mut next = 0;
        while let Some(id) = self.rows.next_in_use(next) {
            next = id.0.wrapping_add(1);
            let from = self.rows.at(id);
            let granules = Self::granules(from.len);
            let Some(block) = to.allocate(granules) else {
                return;
            };
            to.write_header(block, id.0, granules);
            to.rows.at_mut(id).block = block;
            let start = (block as usize).saturating_mul(GRANULE as usize).saturating_add(HEADER as usize);
            if let Some(room) = to.bytes.get_mut(start..start.saturating_add(from.len.into())) {
                copy(room, self.slice(from));
            }
        }
    }

    fn class(granules: u32) -> usize {
        (granules as usize).min(CLASSES - 1)
    }

    fn word(&self, granule: u32, offset: u32) -> u32 {
        let at = (granule as usize).saturating_mul(GRANULE as usize).saturating_add(offset as usize);
        let word = self.bytes.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
        word.map_or(NONE, |word| u32::from_le_bytes(*word))
    }

    fn set_word(&mut self, granule: u32, offset: u32, value: u32) {
        let at = (granule as usize).saturating_mul(GRANULE as usize).saturating_add(offset as usize);
        if let Some(word) = self.bytes.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut::<4>()) {
            *word = value.to_le_bytes();
        }
    }

    fn write_header(&mut self, block: u32, owner: u32, granules: u32) {
        self.set_word(block, 0, owner);
        self.set_word(block, 4, granules);
    }

    fn give_back(&mut self, block: u32, granules: u32) {
        let class = Self::class(granules);
        let next = self.free.get(class).copied().unwrap_or(NONE);
        self.write_header(block, NONE, granules);
        self.set_word(block, HEADER, next);
        if let Some(list) = self.free.get_mut(class) {
            *list = block;
            self.scattered = self.scattered.saturating_add(granules);
        }
    }

    fn allocate(&mut self, granules: u32) -> Option<u32> {
        if let Some(block) = self.take(Self::class(granules), granules) {
            return Some(block);
        }
        let end = self.fresh.checked_add(granules)?;
        if end <= self.granules_max() {
            let block = self.fresh;
            self.fresh = end;
            return Some(block);
        }
        for class in Self::class(granules).saturating_add(1)..CLASSES {
            if let Some(block) = self.take(class, granules) {
                return Some(block);
            }
        }
        if self.fresh.saturating_sub(self.scattered).checked_add(granules)? > self.granules_max() {
            return None;
        }
        self.pack();
        let block = self.fresh;
        self.fresh = self.fresh.checked_add(granules)?;
        Some(block)
    }

    /// The first block of a class, if it is large enough; what is left of it goes back.
    fn take(&mut self, class: usize, granules: u32) -> Option<u32> {
        let block = self.free.get(class).copied().filter(|block| *block != NONE)?;
        let size = self.word(block, 4);
        if size < granules {
            return None;
        }
        let next = self.word(block, HEADER);
        *self.free.get_mut(class)? = next;
        self.scattered = self.scattered.saturating_sub(size);
        if size > granules {
            self.give_back(block.saturating_add(granules), size.saturating_sub(granules));
        }
        Some(block)
    }

    /// Moves every block to the front. Costs the whole pool; happens only when it is nearly full and scattered.
    fn pack(&mut self) {
        let (mut from, mut to) = (0, 0);
        while from < self.fresh {
            let (owner, size) = (self.word(from, 0), self.word(from, 4));
            if size == 0 || size > self.fresh {
                break; // Cannot happen: every block has its size.
            }
            if owner != NONE {
                if from != to {
                    for word in 0..size.saturating_mul(GRANULE / 4) {
                        let offset = word.saturating_mul(4);
                        let value = self.word(from, offset);
                        self.set_word(to, offset, value);
                    }
                    self.rows.at_mut(TextId(owner)).block = to;
                }
                to = to.saturating_add(size);
            }
            from = from.saturating_add(size);
        }
        self.fresh = to;
        self.scattered = 0;
        self.free = [NONE; CLASSES];
    }
}

fn copy(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::fold;

    #[test]
    fn a_text_is_kept_once_and_gone_with_its_last_holder() {
        let (mut rows, mut index, mut bytes) = ([Row::EMPTY; 4], [0; 4], [0; 256]);
        let mut texts = Texts::new(&mut rows, &mut index, &mut bytes, 1);
        let web = texts.intern(b"web").unwrap();
        assert_eq!(texts.intern(b"web"), Some(web));
        texts.release(web);
        assert_eq!(texts.str(web), "web");
        texts.release(web);
        assert_eq!(texts.find(b"web"), None);
        assert_eq!(texts.usage(), (0, 0));
    }

    #[test]
    fn a_pair_reads_as_both_parts() {
        let (mut rows, mut index, mut bytes) = ([Row::EMPTY; 4], [0; 4], [0; 256]);
        let mut texts = Texts::new(&mut rows, &mut index, &mut bytes, 1);
        let id = texts.intern_parts(Domain::Plain, &[b"shop", b"web"]).unwrap();
        assert_eq!(texts.pair(id), ("shop", "web"));
        assert_eq!(texts.find_parts(Domain::Plain, &[b"shop", b"web"]), Some(id));
        assert_eq!(texts.find_parts(Domain::Plain, &[b"sho", b"pweb"]), None);
    }

    #[test]
    fn a_scattered_pool_is_packed_rather_than_called_full() {
        let (mut rows, mut index, mut bytes) = ([Row::EMPTY; 64], [0; 64], [0; 640]);
        let mut texts = Texts::new(&mut rows, &mut index, &mut bytes, 1);
        let names: Vec<String> = (0..20).map(|n| format!("a-name-of-20-bytes{n:02}")).collect();
        let ids: Vec<TextId> = names.iter().map(|name| texts.intern(name.as_bytes()).unwrap()).collect();
        assert_eq!(texts.intern(b"one more of twenty--"), None);
        for id in ids.iter().step_by(2) {
            texts.release(*id);
        }
        let long = [b'x'; 200];
        let id = texts.intern(&long).unwrap();
        assert_eq!(texts.get(id), long);
        for (name, id) in names.iter().zip(&ids).skip(1).step_by(2) {
            assert_eq!(texts.str(*id), name);
        }
    }

    #[test]
    fn random_texts_come_and_go_like_in_a_standard_map() {
        let (mut rows, mut index, mut bytes) = ([Row::EMPTY; 200], [0; 200], [0; 4096]);
        let mut texts = Texts::new(&mut rows, &mut index, &mut bytes, 3);
        let mut held: Vec<(String, TextId)> = Vec::new();
        let mut state = 5u64;
        for _ in 0..20_000 {
            state = fold(state.wrapping_add(0x9e37_79b9_7f4a_7c15), 0xbf58_476d_1ce4_e5b9);
            let pick = usize::try_from(state >> 40).unwrap();
            if state.is_multiple_of(2) {
                let text = format!("{:x}", state >> 52).repeat(pick % 40 + 1);
                if let Some(id) = texts.intern(text.as_bytes()) {
                    held.push((text, id));
                }
            } else if !held.is_empty() {
                let (_, id) = held.swap_remove(pick % held.len());
                texts.release(id);
            }
        }
        for (text, id) in &held {
            assert_eq!(texts.str(*id), text);
        }
        let (mut rows, mut index, mut bytes) = ([Row::EMPTY; 300], [0; 300], [0; 8192]);
        let mut moved = Texts::new(&mut rows, &mut index, &mut bytes, 0);
        texts.copy_to(&mut moved);
        for (text, id) in held.drain(..) {
            assert_eq!(moved.str(id), text);
            moved.release(id);
        }
        assert_eq!(moved.usage(), (0, 0));
    }
}
