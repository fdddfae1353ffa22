//! What the caller lends and gives, checked and turned into references: the only place where that happens.
//!
//! Each function says what the caller of the C function promises on the contract page. What can be checked is checked
//! first: NULL, alignment, sizes, and that a length fits into memory.

use core::mem::MaybeUninit;

use evenkeel_core::name;

use crate::memory::{self, Head};
use crate::status::{Answer, ek_status};
use crate::value::ek_text;
use crate::cluster::ek_cluster;

/// A struct of integers and pointers without hidden padding: every pattern of bits is a value.
///
/// # Safety
/// It is as said.
pub(crate) unsafe trait Plain: Copy {
    /// Bytes of the first release that had it: fields that came later may be absent.
    const BYTES_MIN: usize = size_of::<Self>();
}

/// No release has a struct that is larger.
const BYTES_MAX: usize = 4096;

const fn usable<T>(at: *const T) -> Answer<()> {
    // Not `is_aligned`, which is not for constants yet; nor is this, but it is only called at run time.
    if at.is_null() { Err(ek_status::Invalid) } else { Ok(()) }
}

fn check<T>(at: *const T) -> Answer<()> {
    usable(at)?;
    if at.is_aligned() { Ok(()) } else { Err(ek_status::Invalid) }
}

fn check_array<T>(first: *const T, count: usize) -> Answer<()> {
    check(first)?;
    let bytes = size_of::<T>().checked_mul(count).filter(|bytes| *bytes <= isize::MAX.unsigned_abs());
    match bytes.and_then(|bytes| first.addr().checked_add(bytes)) {
        Some(_) => Ok(()),
        None => Err(ek_status::Invalid),
    }
}

/// So many values; NULL will do for none.
///
/// # Safety
/// The caller lends them.
pub(crate) unsafe fn slice<'a, T: Plain>(first: *const T, count: usize) -> Answer<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check_array(first, count)?;
    // SAFETY: checked as far as can be; the caller lends the rest, and any bits are a value.
    Ok(unsafe { core::slice::from_raw_parts(first, count) })
}

/// Room for so many values; NULL will do for none.
///
/// # Safety
/// The caller gives the memory of them for this call.
pub(crate) unsafe fn array<'a, T>(first: *mut T, count: usize) -> Answer<&'a mut [MaybeUninit<T>]> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_array(first, count)?;
    // SAFETY: checked as far as can be; the caller gives the rest, and what was not written needs no value.
    Ok(unsafe { core::slice::from_raw_parts_mut(first.cast(), count) })
}

/// Room for an answer.
///
/// # Safety
/// The caller gives the memory of it for this call.
pub(crate) unsafe fn out<'a, T>(to: *mut T) -> Answer<&'a mut MaybeUninit<T>> {
    check(to)?;
    // SAFETY: checked as far as can be; the caller gives the rest, and what was not written needs no value.
    Ok(unsafe { &mut *to.cast() })
}

/// Room for an answer, or NULL if it is not wanted.
///
/// # Safety
/// As [`out`].
pub(crate) unsafe fn out_if_wanted<'a, T>(to: *mut T) -> Answer<Option<&'a mut MaybeUninit<T>>> {
    if to.is_null() {
        return Ok(None);
    }
    // SAFETY: the same promise.
    unsafe { out(to) }.map(Some)
}

/// A struct that begins with its size, whatever release the caller was compiled for: fields that he does not know are 0.
///
/// # Safety
/// The caller lends as many bytes as the struct says it has.
pub(crate) unsafe fn read<T: Plain>(from: *const T) -> Answer<T> {
    check(from)?;
    // SAFETY: it is aligned as a struct whose first field is its size.
    let size = unsafe { from.cast::<u32>().read() } as usize;
    if size < T::BYTES_MIN || size > BYTES_MAX {
        return Err(ek_status::Invalid);
    }
    // SAFETY: the caller lends `size` bytes.
    let bytes = unsafe { core::slice::from_raw_parts(from.cast::<u8>(), size) };
    // What this release does not know must not be asked for.
    if bytes.iter().skip(size_of::<T>()).any(|byte| *byte != 0) {
        return Err(ek_status::Invalid);
    }
    let mut value = MaybeUninit::<T>::zeroed();
    let count = size.min(size_of::<T>());
    // SAFETY: both have so many bytes, and `value` is our own.
    unsafe { value.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(from.cast(), count) };
    // SAFETY: any bits are a value of a plain struct.
    Ok(unsafe { value.assume_init() })
}

/// Room for a struct of the size that the caller knows.
pub(crate) struct Place<T: Plain> {
    to: *mut T,
    size: usize,
}

/// Room for a struct, whatever release the caller was compiled for.
///
/// # Safety
/// The caller gives the memory of `size` bytes for as long as the place is used.
pub(crate) unsafe fn place<T: Plain>(to: *mut T, size: usize) -> Answer<Place<T>> {
    check(to)?;
    if size < T::BYTES_MIN || size > BYTES_MAX { Err(ek_status::Invalid) } else { Ok(Place { to, size }) }
}

impl<T: Plain> Place<T> {
    /// Writes as much as the caller knows of; what only he knows of is 0.
    pub(crate) fn fill(self, value: &T) {
        let (bytes, known) = (self.to.cast::<u8>(), self.size.min(size_of::<T>()));
        // SAFETY: the place has `size` bytes, the value at least as many as are copied, and it is our own.
        unsafe { bytes.copy_from_nonoverlapping(core::ptr::from_ref(value).cast(), known) };
        // SAFETY: `known` is not over `size`.
        let rest = unsafe { bytes.add(known) };
        // SAFETY: what is left of the place.
        unsafe { rest.write_bytes(0, self.size.saturating_sub(known)) };
    }
}

/// A text. NULL is an empty one. A zero byte in it is a length that was not meant.
///
/// # Safety
/// The caller lends the bytes.
pub(crate) unsafe fn text<'a>(text: ek_text) -> Answer<&'a str> {
    // SAFETY: the same promise.
    let bytes: &[u8] = unsafe { slice(text.bytes.cast(), text.length) }?;
    if bytes.contains(&0) {
        return Err(ek_status::Invalid);
    }
    core::str::from_utf8(bytes).map_err(|_| ek_status::Invalid)
}

/// A text that may be absent, which is another thing than empty.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn text_if_any<'a>(text: ek_text) -> Answer<Option<&'a str>> {
    // SAFETY: the same promise.
    let read = unsafe { self::text(text) }?;
    Ok((!text.bytes.is_null()).then_some(read))
}

/// A text that can be the name of an object.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn name<'a>(text: ek_text) -> Answer<&'a str> {
    // SAFETY: the same promise.
    let text = unsafe { self::text(text) }?;
    if name::is_name(text) { Ok(text) } else { Err(ek_status::Invalid) }
}

/// Namespace and name of an object.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn names<'a>(in_namespace: ek_text, name: ek_text) -> Answer<(&'a str, &'a str)> {
    // SAFETY: the same promise.
    let namespace = unsafe { text(in_namespace) }?;
    // SAFETY: the same promise.
    let name = unsafe { self::name(name) }?;
    if name::is_namespace(namespace) { Ok((namespace, name)) } else { Err(ek_status::Invalid) }
}

/// A cluster that is only read.
///
/// # Safety
/// The pointer comes from [`ek_cluster_init`](crate::cluster::ek_cluster_init) or is NULL, and no other thread
/// changes the cluster meanwhile.
pub(crate) unsafe fn cluster<'a>(cluster: *const ek_cluster) -> Answer<&'a Head> {
    let head = cluster.cast::<Head>();
    // SAFETY: the same promise.
    if !unsafe { memory::is_head(head) } {
        return Err(ek_status::Invalid);
    }
    // SAFETY: a head stands there, and the caller promises that nobody changes it.
    Ok(unsafe { &*head })
}

/// A cluster that is changed.
///
/// # Safety
/// As [`cluster`], and no other thread reads it either.
pub(crate) unsafe fn cluster_mut<'a>(cluster: *mut ek_cluster) -> Answer<&'a mut Head> {
    let head = cluster.cast::<Head>();
    // SAFETY: the same promise.
    if !unsafe { memory::is_head(head) } {
        return Err(ek_status::Invalid);
    }
    // SAFETY: a head stands there, and the caller promises that nobody else has it.
    Ok(unsafe { &mut *head })
}
