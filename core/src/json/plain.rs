//! The part of a text that stands for itself, found eight bytes at a time.

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// The bytes before the first quote, backslash or control character; the rest; whether they are ASCII.
#[inline(always)]
pub(super) fn split(bytes: &[u8]) -> (&[u8], &[u8], bool) {
    let mut rest = bytes;
    let mut seen = 0u64;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let found = special(word);
        if found != 0 {
            // The lowest mark is the first byte; higher ones may be false, by a borrow.
            let zeros = found.trailing_zeros();
            // The bytes before the mark: as many bits, less the seven of its own byte.
            seen |= word & 1u64.wrapping_shl(zeros.wrapping_sub(7)).wrapping_sub(1);
            return cut(bytes, rest, zeros as usize / 8, seen);
        }
        seen |= word;
        rest = after;
    }
    let mut left = rest;
    while let Some((&byte, after)) = left.split_first() {
        if byte < b' ' || byte == b'"' || byte == b'\\' {
            break;
        }
        seen |= u64::from(byte);
        left = after;
    }
    cut(bytes, rest, rest.len().wrapping_sub(left.len()), seen)
}

/// Divides `bytes` after so many bytes of `rest`, which is the end of them.
#[inline(always)]
fn cut<'b>(bytes: &'b [u8], rest: &[u8], more: usize, seen: u64) -> (&'b [u8], &'b [u8], bool) {
    let length = bytes.len().wrapping_sub(rest.len()).wrapping_add(more);
    let (plain, rest) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
    (plain, rest, seen & HIGHS == 0)
}

/// Marks each byte that is a quote, a backslash or a control character, in its highest bit.
#[inline(always)]
const fn special(word: u64) -> u64 {
    let quote = word ^ ONES.wrapping_mul(b'"' as u64);
    let backslash = word ^ ONES.wrapping_mul(b'\\' as u64);
    let below = word.wrapping_sub(ONES.wrapping_mul(0x20)) & !word;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (below | quote | backslash) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_ends_a_text_or_does_not() {
        for length in 0..20 {
            for place in 0..length {
                for byte in 0..=255u8 {
                    let mut text = vec![b'a'; length];
                    text[place] = byte;
                    let ends = byte < 0x20 || byte == b'"' || byte == b'\\';
                    let (plain, rest, is_ascii) = split(&text);
                    let expected = text.split_at(if ends { place } else { length });
                    assert_eq!(((plain, rest), is_ascii), (expected, byte < 0x80), "{byte} at {place} of {length}");
                }
            }
        }
    }
}
