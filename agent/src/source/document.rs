//! Documents in a stream of text, one object at a time, however long the stream is.
//!
//! A document, or an item of a list, is taken from the stream as a piece of text, decoded and dropped. So a
//! broken piece costs that piece, and memory is that of the largest piece, not of the file.

mod json;
mod yaml;

use evenkeel_core::Kind;
use std::fmt;
use std::io::{self, BufRead};

use super::{Key, Wanted};
use crate::decode::{self, Announced, Object};

/// The largest piece of text that is read. An API server stores objects of at most about 1.5 MiB.
const PIECE_BYTES_MAX: usize = 16 << 20;

/// How text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// YAML, documents separated by `---`.
    Yaml,
    /// JSON: one value, several, or one a line.
    Json,
}

impl Format {
    /// By the ending of a file's name; `None` if it says nothing.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" | "ndjson" => Some(Self::Json),
            _ => None,
        }
    }

    /// By how it begins: a brace and a quote make JSON, whatever the file's name ends in. YAML's own way of braces
    /// (`{kind: Service}`) is YAML, which is slower and has bounds that a long list would meet.
    fn of_content(reader: &mut impl BufRead) -> io::Result<Self> {
        let mut bytes = reader.fill_buf()?.iter().filter(|byte| !byte.is_ascii_whitespace());
        Ok(match (bytes.next(), bytes.next()) {
            (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{' | b']')) => Self::Json,
            _ => Self::Yaml,
        })
    }
}

/// Where a piece stands. All count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The document in the file; documents without content do not count.
    pub document: u64,
    /// The item, if the document is a list; 0 if it is none.
    pub item: u64,
    /// The line in the file; 0 if it is not known.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document {}", self.document)?;
        if self.item > 0 {
            write!(f, ", item {}", self.item)?;
        }
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        Ok(())
    }
}

/// What a piece turned out to be.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly every one is an object, and none is kept")]
pub(super) enum Found {
    Object(Object, Place),
    /// Nothing that is wanted: its kind.
    Other(String),
    Broken {
        place: Place,
        what: String,
        object: Option<Key>,
    },
}

impl Found {
    fn broken(place: Place, what: impl Into<String>) -> Self {
        Self::Broken { place, what: what.into(), object: None }
    }

    /// An object that was decoded, or the reason why not, at the line on which reading stopped.
    fn decoded(result: Result<Object, decode::Error>, place: Place) -> Self {
        match result {
            Ok(object) => Self::Object(object, place),
            Err(error) => Self::Broken {
                place: Place {
                    line: place.line + error.line().map_or(0, |line| line.saturating_sub(1)),
                    ..place
                },
                what: error.to_string(),
                object: error.object().map(|(kind, namespace, name)| Key::new(kind, namespace, name)),
            },
        }
    }
}

/// Reads a stream to its end and says what it found. Only a stream that cannot be read is an error.
pub(super) fn read(
    mut reader: impl BufRead,
    format: Option<Format>,
    wanted: Wanted,
    found: &mut dyn FnMut(Found),
) -> io::Result<()> {
    let format = match format {
        Some(Format::Json) => Format::Json,
        Some(Format::Yaml) | None => Format::of_content(&mut reader)?,
    };
    match format {
        Format::Yaml => yaml::read(reader, wanted, found),
        Format::Json => json::read(reader, wanted, found),
    }
}

/// What the list around an item says about the kind of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    /// There is none: the piece stands for itself.
    Nothing,
    /// A list that has not said yet what it is.
    Unread,
    /// A list of this kind; `None` if each item must say its own.
    List(Option<Kind>),
}

/// What to do with a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Decode(Kind),
    /// Not wanted.
    Skip,
    /// Its list must say first what it is.
    Wait,
    /// Nobody says what it is.
    Unknown,
}

/// What to do with a piece that says this about itself.
fn judge(api_version: &str, kind: &str, around: Around, wanted: Wanted) -> Verdict {
    let kind = match (kind.is_empty(), around) {
        (false, _) => match Announced::from_type(api_version, kind) {
            Announced::One(kind) => kind,
            Announced::List(_) | Announced::Other => return Verdict::Skip,
        },
        (true, Around::List(Some(kind))) => kind,
        (true, Around::Unread) => return Verdict::Wait,
        (true, Around::List(None) | Around::Nothing) => return Verdict::Unknown,
    };
    if wanted.wants(kind) { Verdict::Decode(kind) } else { Verdict::Skip }
}

/// What is expected of a piece of which nobody says what it is.
const KIND_EXPECTED: &str = "kind: expected the kind of a Kubernetes object, found none";

#[cfg(test)]
mod tests;
