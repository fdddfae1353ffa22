//! `metadata`, as far as it is needed: whose object this is, when it was made, and the marks on it.

use evenkeel_core::name::{is_name, is_namespace};
use evenkeel_core::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::annotation::{Marks, Wanted};
use super::{Note, Refusal};

/// kubectl puts what names no namespace here.
const NAMESPACE_DEFAULT: &str = "default";

/// Labels are `L`: those that are wanted, or all.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "W: Wanted, L: DeserializeOwned")]
pub(super) struct Metadata<W, L> {
    namespace: Option<String>,
    name: Option<String>,
    pub(super) uid: Option<String>,
    creation_timestamp: Option<String>,
    pub(super) deletion_timestamp: Option<String>,
    pub(super) labels: Option<L>,
    annotations: Option<Marks<W>>,
}

// Derived, it would ask the same of the two parameters.
impl<W, L> Default for Metadata<W, L> {
    fn default() -> Self {
        Self {
            namespace: None,
            name: None,
            uid: None,
            creation_timestamp: None,
            deletion_timestamp: None,
            labels: None,
            annotations: None,
        }
    }
}

impl<W: Wanted, L> Metadata<W, L> {
    pub(super) fn name(&mut self) -> Result<String, Refusal> {
        let name = self.name.take().unwrap_or_default();
        if is_name(&name) { Ok(name) } else { Err(Refusal::name("metadata.name", &name, 253)) }
    }

    pub(super) fn namespace(&mut self) -> Result<String, Refusal> {
        match self.namespace.take() {
            Some(namespace) if namespace.is_empty() => Ok(NAMESPACE_DEFAULT.to_owned()),
            None => Ok(NAMESPACE_DEFAULT.to_owned()),
            Some(namespace) if is_namespace(&namespace) => Ok(namespace),
            Some(namespace) => Err(Refusal::name("metadata.namespace", &namespace, 63)),
        }
    }

    pub(super) fn created(&self) -> Timestamp {
        self.creation_timestamp.as_deref().and_then(Timestamp::parse).unwrap_or(Timestamp::NONE)
    }

    pub(super) fn annotations(&mut self) -> Marks<W>
    where
        Marks<W>: Default,
    {
        self.annotations.take().unwrap_or_default()
    }
}

/// Which of the wanted values cannot be used, as far as an object without them can do without.
pub(super) fn parsed<T>(
    texts: Vec<String>,
    path: impl Fn(usize) -> String,
    expected: &'static str,
    notes: &mut Vec<Note>,
    read: impl Fn(&str) -> Option<T>,
) -> Vec<T> {
    let mut values = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        match read(text) {
            Some(value) => values.push(value),
            None => notes.push(Note::ignored(path(index), expected, text)),
        }
    }
    values
}
