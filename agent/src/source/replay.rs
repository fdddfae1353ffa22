//! A recording of watch events, played again. `docs/recording.md` describes the format.
//!
//! One JSON value a line. The first may be a header, `{"evenkeel":"recording","version":1}`; the others are
//! events as an API server sends them, with the time of their arrival:
//!
//! ```json
//! {"time":"2026-11-02T10:00:05.25Z","type":"MODIFIED","object":{"apiVersion":"v1","kind":"Service"}}
//! ```
//!
//! `ADDED` and `MODIFIED` apply the object, `DELETED` takes it away, `BOOKMARK` and `ERROR` change nothing.
//! `RELIST` (`"kind"`, `"items"`) says all there is of one kind; `SEAL` ends what belongs together, as does a pause
//! of more than 100 ms in recorded time, and the end. What comes before the first seal is the first list.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use evenkeel_core::Kind;
use evenkeel_core::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::document::Place;
use super::files::STDIN;
use super::{Broken, Event, Key, Wanted};
use crate::decode::{Announced, Object, Type};

/// A pause longer than this ends what belongs together.
pub const QUIET_NS: u64 = 100_000_000;
/// The version of the format that is read.
const VERSION: u64 = 1;

/// One line of a recording.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    evenkeel: Option<std::borrow::Cow<'a, str>>,
    #[serde(default)]
    version: Option<u64>,
    #[serde(borrow, default)]
    time: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default, rename = "type")]
    kind_of_event: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    kind: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

/// What a line says.
struct Moment {
    time: Option<Timestamp>,
    events: Vec<Event>,
    /// For whoever plays step by step.
    text: String,
}

/// A recording that is being read.
pub struct Recording {
    path: PathBuf,
    lines: io::Lines<Box<dyn BufRead + Send>>,
    line: u64,
    wanted: Wanted,
    /// The next line, already read, since its time tells how long the pause before it is.
    next: Option<Moment>,
    /// The last time that was recorded.
    now: Option<Timestamp>,
    /// By kind, in the order of [`Kind::ALL`]: a list of it has been given.
    listed: [bool; 4],
    begun: bool,
    sealed_once: bool,
    ended: bool,
}

/// One step of a recording.
#[derive(Debug)]
pub struct Step {
    /// How long after the step before, in recorded time.
    pub pause_ns: u64,
    /// What happened.
    pub events: Vec<Event>,
    /// In a few words.
    pub text: String,
}

impl Recording {
    /// Opens a recording; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or its header names a version that is not known.
    pub fn open(path: &Path, wanted: Wanted) -> io::Result<Self> {
        let reader: Box<dyn BufRead + Send> = if path.as_os_str() == STDIN {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(File::open(path)?))
        };
        let mut recording = Self {
            path: path.to_owned(),
            lines: reader.lines(),
            line: 0,
            wanted,
            next: None,
            now: None,
            listed: [false; 4],
            begun: false,
            sealed_once: false,
            ended: false,
        };
        recording.next = recording.read()?;
        Ok(recording)
    }

    /// The time of the first event, if it has one.
    #[must_use]
    pub fn begins(&self) -> Option<Timestamp> {
        self.next.as_ref().and_then(|moment| moment.time)
    }

    /// The last time that was recorded.
    #[must_use]
    pub const fn now(&self) -> Option<Timestamp> {
        self.now
    }

    /// The next step; `None` at the end. The last one is a seal.
    ///
    /// # Errors
    /// The file cannot be read on.
    pub fn step(&mut self) -> io::Result<Option<Step>> {
        if self.ended {
            return Ok(None);
        }
        let mut events = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            events.extend(Kind::ALL.map(Event::RelistBegin));
        }
        let Some(moment) = self.next.take() else {
            self.ended = true;
            self.seal(&mut events);
            return Ok(Some(Step { pause_ns: 0, events, text: "end of the recording".to_owned() }));
        };
        let pause_ns = match (self.now, moment.time) {
            (Some(before), Some(now)) => now.since(before),
            _ => 0,
        };
        if pause_ns > QUIET_NS {
            self.seal(&mut events);
        }
        self.now = moment.time.or(self.now);
        for event in moment.events {
            match event {
                Event::Seal(_) => self.seal(&mut events),
                Event::RelistEnd(kind) => {
                    self.listed[kind as usize] = true;
                    events.push(Event::RelistEnd(kind));
                }
                other => events.push(other),
            }
        }
        self.next = self.read()?;
        Ok(Some(Step { pause_ns, events, text: moment.text }))
    }

    /// A kind of which there was no list until the first seal has been listed by its events.
    fn seal(&mut self, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.sealed_once, true) {
            for (kind, listed) in Kind::ALL.into_iter().zip(self.listed) {
                if !listed {
                    events.push(Event::RelistEnd(kind));
                }
            }
        }
        events.push(Event::Seal(self.now));
    }

    fn read(&mut self) -> io::Result<Option<Moment>> {
        loop {
            let Some(text) = self.lines.next() else { return Ok(None) };
            self.line += 1;
            let text = match text {
                Ok(text) if text.trim().is_empty() => continue,
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Ok(Some(self.broken("expected UTF-8 text", None)));
                }
                Err(error) => return Err(error),
            };
            let line: Line<'_> = match serde_json::from_str(&text) {
                Ok(line) => line,
                Err(error) => {
                    let what =
                        format!("expected an event in JSON: {}", crate::decode::without_position(&error));
                    return Ok(Some(self.broken(what, None)));
                }
            };
            if line.evenkeel.is_some() {
                match line.version {
                    Some(VERSION) => continue,
                    version => {
                        let found = version.map_or("none".to_owned(), |version| version.to_string());
                        let what = format!("expected version {VERSION} of the format, found {found}");
                        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                    }
                }
            }
            return Ok(Some(self.moment(&line)));
        }
    }

    fn moment(&self, line: &Line<'_>) -> Moment {
        let time = line.time.as_deref().and_then(Timestamp::parse);
        if let (Some(text), None) = (&line.time, time) {
            return self.broken(
                format!("time: expected a time such as 2026-11-02T10:00:05.25Z, found {text:?}"),
                None,
            );
        }
        let kind_of_event = line.kind_of_event.as_deref().unwrap_or_default();
        let mut events = Vec::new();
        let mut text = kind_of_event.to_owned();
        match kind_of_event {
            "ADDED" | "MODIFIED" | "DELETED" => {
                let Some(object) = line.object else {
                    return self.broken("object: expected an object, found none", time);
                };
                let event = self.object(object, None);
                if let Event::Apply(object) = &event {
                    text = format!("{text} {}", Key::of(object));
                }
                events.push(match event {
                    Event::Apply(object) if kind_of_event == "DELETED" => Event::Delete(Key::of(&object)),
                    // What cannot be decoded is gone all the same, if its name can be read.
                    Event::Broken(Broken { object: Some(key), .. }) if kind_of_event == "DELETED" => {
                        Event::Delete(key)
                    }
                    event => event,
                });
            }
            "RELIST" => {
                let kind = line.kind.as_deref().unwrap_or_default();
                let Announced::One(kind) = Announced::from_type("", kind) else {
                    return self.broken(
                        format!("kind: expected Service, EndpointSlice, Pod or Node, found {kind:?}"),
                        time,
                    );
                };
                text = format!("{text} {}", kind.text());
                events.push(Event::RelistBegin(kind));
                if self.wanted.wants(kind) {
                    events.extend(line.items.iter().flatten().map(|item| self.object(item, Some(kind))));
                }
                events.push(Event::RelistEnd(kind));
            }
            "SEAL" => events.push(Event::Seal(None)),
            "BOOKMARK" | "ERROR" => {}
            other => {
                return self.broken(
                    format!("type: expected ADDED, MODIFIED, DELETED, BOOKMARK, ERROR, RELIST or SEAL, found {other:?}"),
                    time,
                );
            }
        }
        Moment { time, events, text }
    }

    fn object(&self, text: &RawValue, of_list: Option<Kind>) -> Event {
        let Ok(Type { api_version, kind }) = serde_json::from_str(text.get()) else {
            return self.broken_event("object: expected a Kubernetes object", None);
        };
        let kind = kind.unwrap_or_default();
        let kind = match (Announced::from_type(&api_version.unwrap_or_default(), &kind), of_list) {
            (Announced::One(kind), _) if self.wanted.wants(kind) => kind,
            (_, Some(of_list)) if kind.is_empty() => of_list,
            _ => return Event::Other(kind.into_owned()),
        };
        match Object::from_json(kind, text.get()) {
            Ok(object) => Event::Apply(object),
            Err(error) => {
                let key = error.object().map(|(kind, namespace, name)| Key::new(kind, namespace, name));
                self.broken_event(error.to_string(), key)
            }
        }
    }

    fn broken_event(&self, what: impl Into<String>, object: Option<Key>) -> Event {
        let place = Place { document: self.line, item: 0, line: self.line };
        Event::Broken(Broken { file: self.path.display().to_string(), place, what: what.into(), object })
    }

    fn broken(&self, what: impl Into<String>, time: Option<Timestamp>) -> Moment {
        Moment { time, events: vec![self.broken_event(what, None)], text: "a broken line".to_owned() }
    }
}

#[cfg(test)]
mod tests;
