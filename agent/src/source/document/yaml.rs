//! YAML: documents, and the items of a list, cut apart by their lines.
//!
//! A line that begins with `---` or `...` always ends a document, whatever stands before it (YAML 1.2, 9.1.2:
//! `c-forbidden`), so documents can be cut apart without being parsed, and a broken one costs no other. The same
//! holds for the items of a `List`: under a line `items:` in the first column, a dash in the column of the first
//! dash begins an item, since whatever belongs to an item is indented further. An anchor of one item is not
//! known in the next; nothing that writes Kubernetes lists uses any.

use std::io::{self, BufRead};

use super::{Around, Found, KIND_EXPECTED, PIECE_BYTES_MAX, Place, Verdict, judge};
use crate::decode::{self, Announced, Object};
use crate::source::Wanted;

pub(super) fn read(reader: impl BufRead, wanted: Wanted, found: &mut dyn FnMut(Found)) -> io::Result<()> {
    let mut scanner = Scanner { wanted, found, line: 0, documents: 0, header: Piece::default(), list: None };
    scanner.all(reader)
}

/// Text of one document or item, with the line on which it begins.
#[derive(Default)]
struct Piece {
    text: Vec<u8>,
    line: u64,
    /// There is more in it than blanks and comments.
    has_content: bool,
    too_large: bool,
}

impl Piece {
    fn push(&mut self, line: &[u8], number: u64) {
        if !self.has_content {
            if is_blank(line) {
                return;
            }
            self.text.clear();
            self.line = number;
            self.has_content = true;
        }
        if self.text.len() + line.len() > PIECE_BYTES_MAX {
            self.too_large = true;
        } else {
            self.text.extend_from_slice(line);
        }
    }

    /// Its text, or what is wrong with it and how many lines further.
    fn text(&self) -> Result<&str, (u64, String)> {
        if self.too_large {
            return Err((0, format!("expected at most {} MiB, found more", PIECE_BYTES_MAX >> 20)));
        }
        std::str::from_utf8(&self.text).map_err(|error| {
            let (good, bad) = self.text.split_at(error.valid_up_to());
            let lines = good.iter().filter(|byte| **byte == b'\n').count();
            let byte = bad.first().copied().unwrap_or_default();
            (lines as u64, format!("expected UTF-8 text, found the byte 0x{byte:02x}"))
        })
    }
}

/// The part of a document under `items:`.
struct List {
    around: Around,
    /// The line that was read last still belongs to it.
    is_open: bool,
    /// Column of the dashes, once there was one.
    indent: Option<usize>,
    item: Piece,
    items: u64,
    /// Items that do not say their kind, while the list has not said it either.
    waiting: Vec<(String, Place)>,
}

struct Scanner<'a> {
    wanted: Wanted,
    found: &'a mut dyn FnMut(Found),
    /// Lines read.
    line: u64,
    /// Documents begun.
    documents: u64,
    /// The document, without its items if it is a list.
    header: Piece,
    list: Option<List>,
}

impl Scanner<'_> {
    fn all(&mut self, mut reader: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if read_line(&mut reader, &mut line)? == 0 {
                self.end_document();
                return Ok(());
            }
            self.line += 1;
            if self.line == 1 && line.starts_with(b"\xef\xbb\xbf") {
                line.drain(..3); // a byte order mark
            }
            match Marker::of(&line) {
                Some(Marker::Begin) => {
                    self.end_document();
                    line[..3].fill(b' '); // the document may begin on the same line
                    self.push(&line);
                }
                Some(Marker::End) => self.end_document(),
                Some(Marker::Directive) if !self.header.has_content && self.list.is_none() => {}
                _ => self.push(&line),
            }
        }
    }

    fn push(&mut self, line: &[u8]) {
        if self.list.as_ref().is_some_and(|list| list.is_over(line)) {
            self.end_item();
            // What follows is the document's own again; the list stays, for those that wait.
            if let Some(list) = &mut self.list {
                list.is_open = false;
            }
        }
        if self.list.as_ref().is_some_and(|list| list.is_open) {
            self.push_to_list(line);
        } else if self.list.is_none() && is_items(line) && self.may_be_list() {
            if !self.header.has_content {
                self.documents += 1;
            }
            self.list = Some(List {
                around: self.around(),
                is_open: true,
                indent: None,
                item: Piece::default(),
                items: 0,
                waiting: Vec::new(),
            });
        } else {
            let had_content = self.header.has_content || self.list.is_some();
            self.header.push(line, self.line);
            if !had_content && self.header.has_content {
                self.documents += 1;
            }
        }
    }

    fn push_to_list(&mut self, line: &[u8]) {
        let begins = self.list.as_ref().is_some_and(|list| list.begins_item(line));
        if begins {
            self.end_item();
        }
        let Some(list) = &mut self.list else { return };
        if !begins {
            list.item.push(line, self.line);
            return;
        }
        let dash = indent(line);
        list.indent = Some(dash);
        list.items += 1;
        let mut line = line.to_vec();
        line[dash] = b' ';
        list.item.push(&line, self.line);
    }

    /// The lines so far do not say that the document is something else.
    fn may_be_list(&self) -> bool {
        match self.header.text().ok().and_then(scan_type) {
            Some(Type { kind: Some(kind), api_version }) => {
                matches!(Announced::from_type(api_version.unwrap_or_default(), kind), Announced::List(_))
            }
            _ => true,
        }
    }

    fn around(&self) -> Around {
        match self.header.text().ok().and_then(scan_type) {
            Some(Type { kind: Some(kind), api_version }) => {
                match Announced::from_type(api_version.unwrap_or_default(), kind) {
                    Announced::List(of) => Around::List(of),
                    _ => Around::List(None),
                }
            }
            _ => Around::Unread,
        }
    }

    fn end_item(&mut self) {
        let Some(list) = &mut self.list else { return };
        let item = std::mem::take(&mut list.item);
        if item.has_content {
            let place = Place { document: self.documents, item: list.items, line: item.line };
            let around = list.around;
            self.take_piece(&item, place, around);
        }
        // The buffer is used again.
        if let Some(list) = &mut self.list {
            list.item = Piece { has_content: false, too_large: false, ..item };
        }
    }

    fn end_document(&mut self) {
        self.end_item();
        let header = std::mem::take(&mut self.header);
        let place = Place { document: self.documents, item: 0, line: header.line };
        match self.list.take() {
            None if header.has_content => self.take_piece(&header, place, Around::Nothing),
            None => {}
            Some(list) => {
                self.header = header;
                let around = self.around();
                if around == Around::Unread {
                    let place = Place { line: self.header.line, ..place };
                    (self.found)(Found::broken(place, "kind: expected List, found none"));
                }
                let of = match around {
                    Around::List(of) => of,
                    _ => None,
                };
                for (text, place) in list.waiting {
                    self.take_text(&text, place, Around::List(of));
                }
            }
        }
        self.header = Piece::default();
    }

    fn take_piece(&mut self, piece: &Piece, place: Place, around: Around) {
        match piece.text() {
            Ok(text) => self.take_text(text, place, around),
            Err((lines, what)) => {
                (self.found)(Found::broken(Place { line: place.line + lines, ..place }, what));
            }
        }
    }

    fn take_text(&mut self, text: &str, place: Place, around: Around) {
        // Nearly every piece says its type on two plain lines; only another is parsed for it.
        let owned;
        let (api_version, kind) = match scan_type(text) {
            Some(Type { api_version, kind: Some(kind) }) => (api_version.unwrap_or_default(), kind),
            _ => match decode::from_yaml::<OwnedType>(text) {
                Ok(read) => {
                    owned = read;
                    (
                        owned.api_version.as_deref().unwrap_or_default(),
                        owned.kind.as_deref().unwrap_or_default(),
                    )
                }
                Err(error) => {
                    let lines = error.location().map_or(0, |location| location.line().saturating_sub(1));
                    let place = Place { line: place.line + lines, ..place };
                    (self.found)(Found::broken(place, decode::plain(&decode::yaml_message(&error))));
                    return;
                }
            },
        };
        match judge(api_version, kind, around, self.wanted) {
            Verdict::Decode(kind) => (self.found)(Found::decoded(Object::from_yaml(kind, text), place)),
            Verdict::Skip if around == Around::Nothing && is_list(api_version, kind) => {
                self.take_flow_list(text, place);
            }
            Verdict::Skip => (self.found)(Found::Other(kind.to_owned())),
            Verdict::Wait => {
                if let Some(list) = &mut self.list {
                    list.waiting.push((text.to_owned(), place));
                }
            }
            Verdict::Unknown => (self.found)(Found::broken(place, KIND_EXPECTED)),
        }
    }

    /// A list that is not laid out in lines (`items: [{...}]`), or has none. It is small, or somebody's joke.
    fn take_flow_list(&mut self, text: &str, place: Place) {
        match decode::from_yaml::<serde_json::Value>(text) {
            Ok(list) => super::json::take_list(&list, place, self.wanted, self.found),
            Err(error) => {
                let lines = error.location().map_or(0, |location| location.line().saturating_sub(1));
                let place = Place { line: place.line + lines, ..place };
                (self.found)(Found::broken(place, decode::plain(&decode::yaml_message(&error))));
            }
        }
    }
}

fn is_list(api_version: &str, kind: &str) -> bool {
    matches!(Announced::from_type(api_version, kind), Announced::List(_))
}

impl List {
    fn begins_item(&self, line: &[u8]) -> bool {
        let column = indent(line);
        let dash = line.get(column) == Some(&b'-');
        let apart = line.get(column + 1).is_none_or(|byte| byte.is_ascii_whitespace());
        dash && apart && self.indent.is_none_or(|indent| indent == column)
    }

    /// A line in or before the column of the dashes that is neither a dash nor blank.
    fn is_over(&self, line: &[u8]) -> bool {
        let dashes = self.indent.unwrap_or_default();
        self.is_open && !is_blank(line) && indent(line) <= dashes && !self.begins_item(line)
    }
}

/// A line that stands between documents.
enum Marker {
    Begin,
    End,
    Directive,
}

impl Marker {
    fn of(line: &[u8]) -> Option<Self> {
        let apart = line.get(3).is_none_or(|byte| byte.is_ascii_whitespace());
        match line {
            [b'-', b'-', b'-', ..] if apart => Some(Self::Begin),
            [b'.', b'.', b'.', ..] if apart => Some(Self::End),
            [b'%', ..] => Some(Self::Directive),
            _ => None,
        }
    }
}

/// Reads a line with its end. A line without end is cut: it cannot be an object.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let limit = PIECE_BYTES_MAX as u64 + 1;
    io::Read::take(reader, limit).read_until(b'\n', line)
}

fn indent(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

fn is_blank(line: &[u8]) -> bool {
    match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None | Some(b'#') => true,
        Some(_) => false,
    }
}

fn is_items(line: &[u8]) -> bool {
    line.strip_prefix(b"items:").is_some_and(is_blank)
}

#[derive(serde::Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct OwnedType {
    api_version: Option<String>,
    kind: Option<String>,
}

struct Type<'a> {
    api_version: Option<&'a str>,
    kind: Option<&'a str>,
}

/// `apiVersion` and `kind` where they stand on lines of their own in the first column that is used, as plain or
/// quoted text; `None` as soon as there is doubt.
fn scan_type(text: &str) -> Option<Type<'_>> {
    let mut lines = text.lines().filter(|line| !is_blank(line.as_bytes()));
    let first = lines.next()?;
    let column = indent(first.as_bytes());
    let mut found = Type { api_version: None, kind: None };
    for line in std::iter::once(first).chain(lines) {
        if indent(line.as_bytes()) != column {
            continue;
        }
        let line = &line[column..];
        for (key, place) in [("apiVersion:", &mut found.api_version), ("kind:", &mut found.kind)] {
            if let Some(value) = line.strip_prefix(key) {
                *place = Some(plain(value)?);
            }
        }
    }
    Some(found)
}

/// A scalar on the rest of a line.
fn plain(value: &str) -> Option<&str> {
    let value = value.split_once(" #").map_or(value, |(value, _)| value).trim();
    let inner = match value.as_bytes() {
        [quote @ (b'"' | b'\''), .., end] if quote == end && value.len() > 1 => &value[1..value.len() - 1],
        _ => value,
    };
    let is_word = inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./-".contains(&byte));
    (is_word && !inner.is_empty()).then_some(inner)
}
