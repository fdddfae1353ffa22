//! JSON: values one after another, or one a line; the items of a list one by one.

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};

use super::{Around, Found, KIND_EXPECTED, Place, Verdict, judge};
use crate::decode::{self, Announced, Object, Type};
use crate::source::Wanted;

pub(super) fn read(reader: impl BufRead, wanted: Wanted, found: &mut dyn FnMut(Found)) -> io::Result<()> {
    let lines = Lines { ended: Cell::new(0), last: Cell::new(b'\n') };
    let mut reader = Counted { inner: reader, lines: &lines };
    let mut documents = 0;
    while reader.skip_blanks()? {
        documents += 1;
        let place = Place { document: documents, item: 0, line: lines.ended.get() + 1 };
        let mut document = Document { wanted, found, lines: &lines, place, items: 0, waiting: Vec::new() };
        let mut deserializer = serde_json::Deserializer::from_reader(&mut reader);
        let result = DeserializeSeed::deserialize(&mut document, &mut deserializer);
        let items = document.items;
        let Err(error) = result else { continue };
        if let Some(kind) = error.io_error_kind() {
            return Err(io::Error::from(kind));
        }
        let line = place.line + (error.line() as u64).saturating_sub(1);
        let item = if items > 0 { items + 1 } else { 0 };
        found(Found::broken(Place { item, line, ..place }, decode::plain(&decode::without_position(&error))));
        // Where this value would have ended nobody can tell; where the next one may begin, one can.
        if !reader.skip_to_line_with_brace()? {
            break;
        }
    }
    Ok(())
}

/// How far a reader has come.
struct Lines {
    ended: Cell<u64>,
    last: Cell<u8>,
}

/// Counts the lines that are read through it.
struct Counted<'l, R> {
    inner: R,
    lines: &'l Lines,
}

impl<R: BufRead> Counted<'_, R> {
    /// Whether anything follows.
    fn skip_blanks(&mut self) -> io::Result<bool> {
        loop {
            match self.inner.fill_buf()?.first().copied() {
                None => return Ok(false),
                // YAML's mark between documents may stand between values.
                Some(byte) if byte.is_ascii_whitespace() || byte == b'-' => self.advance(byte),
                // A byte order mark, at the very beginning.
                Some(0xef | 0xbb | 0xbf) if self.lines.ended.get() == 0 => self.inner.consume(1),
                Some(_) => return Ok(true),
            }
        }
    }

    /// Whether there is such a line.
    fn skip_to_line_with_brace(&mut self) -> io::Result<bool> {
        loop {
            match self.inner.fill_buf()?.first().copied() {
                None => return Ok(false),
                Some(b'{') if self.lines.last.get() == b'\n' => return Ok(true),
                Some(byte) => self.advance(byte),
            }
        }
    }

    fn advance(&mut self, byte: u8) {
        self.inner.consume(1);
        self.count(byte);
    }

    fn count(&self, byte: u8) {
        self.lines.last.set(byte);
        if byte == b'\n' {
            self.lines.ended.set(self.lines.ended.get() + 1);
        }
    }
}

impl<R: BufRead> Read for Counted<'_, R> {
    /// serde_json asks for one byte at a time, which here costs a look into a buffer.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (Some(byte), Some(place)) = (self.inner.fill_buf()?.first().copied(), buffer.first_mut()) else {
            return Ok(0);
        };
        *place = byte;
        self.advance(byte);
        Ok(1)
    }
}

/// One value: an object, a list of them, or an array.
struct Document<'a> {
    wanted: Wanted,
    found: &'a mut dyn FnMut(Found),
    lines: &'a Lines,
    place: Place,
    items: u64,
    /// Items that do not say their kind, while the list has not said it either.
    waiting: Vec<(Box<RawValue>, Place)>,
}

impl Document<'_> {
    fn item(&mut self, text: Box<RawValue>, around: Around) {
        self.items += 1;
        // The item's last byte was the last one read.
        let line = (self.lines.ended.get() + 1).saturating_sub(line_ends(text.get()));
        let place = Place { item: self.items, line, ..self.place };
        self.piece(text, place, around);
    }

    fn piece(&mut self, text: Box<RawValue>, place: Place, around: Around) {
        let Ok(Type { api_version, kind }) = serde_json::from_str(text.get()) else {
            (self.found)(Found::broken(place, "expected a Kubernetes object"));
            return;
        };
        match judge(
            &api_version.unwrap_or_default(),
            kind.as_deref().unwrap_or_default(),
            around,
            self.wanted,
        ) {
            Verdict::Decode(kind) => (self.found)(Found::decoded(Object::from_json(kind, text.get()), place)),
            Verdict::Skip => (self.found)(Found::Other(kind.unwrap_or_default().into_owned())),
            Verdict::Wait => self.waiting.push((text, place)),
            Verdict::Unknown => (self.found)(Found::broken(place, KIND_EXPECTED)),
        }
    }

    /// A document that has `items`, once all of it has been read.
    fn end_list(&mut self, api_version: &str, kind: &str) {
        let around = match Announced::from_type(api_version, kind) {
            Announced::List(of) => Around::List(of),
            _ => {
                (self.found)(Found::broken(self.place, format!("kind: expected List, found {kind:?}")));
                Around::List(None)
            }
        };
        for (text, place) in std::mem::take(&mut self.waiting) {
            self.piece(text, place, around);
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object, or a list of them")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut api_version, mut kind) = (String::new(), String::new());
        let mut has_items = false;
        // The members of what turns out to be one object.
        let mut members = String::from("{");
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "items" if kind.is_empty() || is_list(&api_version, &kind) => {
                    has_items = true;
                    let around = match Announced::from_type(&api_version, &kind) {
                        Announced::List(of) => Around::List(of),
                        _ => Around::Unread,
                    };
                    map.next_value_seed(Items { document: self, around })?;
                    continue;
                }
                "kind" => kind = map.next_value::<Option<String>>()?.unwrap_or_default(),
                "apiVersion" => api_version = map.next_value::<Option<String>>()?.unwrap_or_default(),
                _ => {
                    let value: Box<RawValue> = map.next_value()?;
                    if members.len() > 1 {
                        members.push(',');
                    }
                    members.push_str(&serde_json::to_string(&key).map_err(A::Error::custom)?);
                    members.push(':');
                    // On the lines where it stands in the stream, so that a refusal can name them.
                    let value_lines = line_ends(value.get());
                    let begins = self.lines.ended.get() + 1 - value_lines;
                    let missing = (begins - self.place.line).saturating_sub(line_ends(&members));
                    members.extend(std::iter::repeat_n('\n', usize::try_from(missing).unwrap_or_default()));
                    members.push_str(value.get());
                }
            }
        }
        if has_items || is_list(&api_version, &kind) {
            self.end_list(&api_version, &kind);
            return Ok(());
        }
        members.push('}');
        match judge(&api_version, &kind, Around::Nothing, self.wanted) {
            Verdict::Decode(kind) => {
                (self.found)(Found::decoded(Object::from_json(kind, &members), self.place));
            }
            Verdict::Skip => (self.found)(Found::Other(kind)),
            Verdict::Wait | Verdict::Unknown => (self.found)(Found::broken(self.place, KIND_EXPECTED)),
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        Items { document: self, around: Around::List(None) }.visit_seq(list)
    }
}

fn line_ends(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

fn is_list(api_version: &str, kind: &str) -> bool {
    matches!(Announced::from_type(api_version, kind), Announced::List(_))
}

/// The value of `items`.
struct Items<'d, 'a> {
    document: &'d mut Document<'a>,
    around: Around,
}

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Kubernetes objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(item) = list.next_element::<Box<RawValue>>()? {
            self.document.item(item, self.around);
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// The items of a list that is already in memory; their lines are not known.
pub(super) fn take_list(list: &Value, place: Place, wanted: Wanted, found: &mut dyn FnMut(Found)) {
    let text = |value: &Value, key| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let around = match Announced::from_type(&text(list, "apiVersion"), &text(list, "kind")) {
        Announced::List(of) => Around::List(of),
        _ => Around::List(None),
    };
    let items = list.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (index, item) in items.iter().enumerate() {
        let place = Place { item: index as u64 + 1, ..place };
        let kind = text(item, "kind");
        match judge(&text(item, "apiVersion"), &kind, around, wanted) {
            Verdict::Decode(kind) => found(Found::decoded(Object::from_json(kind, &item.to_string()), place)),
            Verdict::Skip => found(Found::Other(kind)),
            Verdict::Wait | Verdict::Unknown => found(Found::broken(place, KIND_EXPECTED)),
        }
    }
}
