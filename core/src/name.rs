//! Names of objects: what may be a key, and a part of a path in the API.
//!
//! Only what would do harm further on is refused. Whether a name is a proper DNS label is for the API server to
//! say; it has changed its mind before, and objects older than a rule stay.

use crate::bounds::{NAME_BYTES_MAX, NAMESPACE_BYTES_MAX};

/// May be `metadata.name`.
#[must_use]
pub fn is_name(text: &str) -> bool {
    is_path_part(text) && text.len() <= NAME_BYTES_MAX
}

/// May be `metadata.namespace`.
#[must_use]
pub fn is_namespace(text: &str) -> bool {
    is_path_part(text) && text.len() <= NAMESPACE_BYTES_MAX
}

/// "namespace/name" must come apart again where it was joined, and a name must not break the line of a log.
fn is_path_part(text: &str) -> bool {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let odd = |byte: &u8| *byte == b'/' || byte.is_ascii_control();
    !text.is_empty() && !words.iter().any(has_odd) && !rest.iter().any(odd)
}

/// Eight bytes at a time: one below 0x20, a slash, or 0x7f.
fn has_odd(word: &[u8; 8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let word = u64::from_ne_bytes(*word);
    // A byte below `limit` borrows into its top bit, if that was not set before.
    let below = |word: u64, limit: u8| {
        word.wrapping_sub(ONES.wrapping_mul(u64::from(limit))) & !word & ONES.wrapping_mul(0x80)
    };
    let slash = below(word ^ ONES.wrapping_mul(u64::from(b'/')), 1);
    let delete = below(word ^ ONES.wrapping_mul(0x7f), 1);
    below(word, 0x20) | slash | delete != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_api_are_names() {
        for name in ["web", "web-7d9f8.v2", "system:node:a", "10.0.0.1", &"n".repeat(253)] {
            assert!(is_name(name), "{name}");
        }
        assert!(is_namespace("kube-system"));
        assert!(is_namespace(&"n".repeat(63)));
    }

    #[test]
    fn what_could_not_be_taken_apart_again_is_no_name() {
        let long = ["eight/by", "control\u{1f}", "delete\u{7f}..", "and-then/some"];
        for name in ["", "shop/web", "/", "web\n", "web\0", "\u{7f}", &"n".repeat(254)].iter().chain(&long) {
            assert!(!is_name(name), "{name:?}");
        }
        assert!(!is_namespace(""));
        assert!(!is_namespace("a/b"));
        assert!(!is_namespace(&"n".repeat(64)));
    }
}
