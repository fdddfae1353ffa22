//! A scenario: a story of objects, and what a dataplane is told at each point of it.
//!
//! ```yaml
//! rule: A slice that goes takes only its own endpoints with it.
//! config: {node: node-a}
//! steps:
//!   - apply: [{kind: Service, …}, {kind: EndpointSlice, …}]
//!   - seal: 1
//!     changes:
//!       - vip shop/web:http/TCP 192.0.2.200:80 ClusterIP Cluster serve
//!       - backend shop/web:http/TCP 198.51.100.1:8080 cluster=100 ready
//!       - end shop/web
//! ```
//! Objects are whole Kubernetes objects, as `kubectl` would print them. What was applied before the first
//! `seal` is the first list of every kind, unless the first step says `begin`. At each `seal` the
//! primary cursor pulls what there is and acknowledges it; `changes` is what it pulled, line by line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::setup::Setup;

/// A file of `tests/scenarios`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// The rule that the story shows, as a sentence.
    pub rule: String,
    /// Where the rule comes from, or who was bitten.
    #[serde(default)]
    pub why: String,
    /// What is wanted of the cluster.
    #[serde(default)]
    pub config: Setup,
    /// Why this story can be told to core alone; empty if every door takes it.
    #[serde(default)]
    pub core_only: String,
    /// The story.
    pub steps: Vec<Step>,
}

/// One point of the story. What it does comes first, in the order of these fields; then what must be true.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// Kinds whose list begins here.
    pub begin: Vec<String>,
    /// Objects that appear or change.
    pub apply: Vec<Value>,
    /// Instead of going in, each is refused with this message.
    pub refused: Option<String>,
    /// What the cluster says to each: `changed`, `unchanged`, or the code of a reason.
    pub gives: Option<String>,
    /// Objects that go: `Service shop/web`, `Node node-a`.
    pub delete: Vec<String>,
    /// Objects whose newest version cannot be read.
    pub stale: Vec<String>,
    /// Complete lists, by kind.
    pub relist: BTreeMap<String, Vec<Value>>,
    /// Kinds whose list ends here.
    pub end: Vec<String>,
    /// Moves to memory with these limits changed.
    pub move_to: Option<BTreeMap<String, u32>>,
    /// Seals: the number of the generation, `waiting`, or `unchanged`.
    pub seal: Option<Sealed>,
    /// The time of the seal and of the acknowledgement after it.
    pub at: Option<String>,
    /// The primary cursor pulls, but what it pulled is not acknowledged.
    pub unacknowledged: bool,
    /// Another cursor, by name.
    pub cursor: Option<Cursor>,
    /// What was pulled at this step, in order.
    pub changes: Option<Vec<String>>,
    /// Every VIP and backend that a dataplane holds now.
    pub view: Option<Vec<String>>,
    /// Every VIP that it holds.
    pub vips: Option<Vec<String>>,
    /// Every backend that it holds.
    pub backends: Option<Vec<String>>,
    /// Lines that the explanation must have.
    pub explain: Vec<String>,
    /// Shares of Nodes, `shop/web:http/TCP node-a`, as fractions.
    pub shares: BTreeMap<String, String>,
    /// Counters that must have these values.
    pub counters: BTreeMap<String, u64>,
    /// What the acknowledgement measured, in seconds.
    pub samples: Option<Vec<f64>>,
}

/// What a seal gives.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Sealed {
    /// A new generation with this number.
    Generation(u64),
    /// `waiting` or `unchanged`.
    Word(String),
}

impl std::fmt::Display for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Generation(generation) => generation.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// What a cursor beside the primary one does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Cursor {
    /// It begins; it has nothing yet.
    Open(String),
    /// It pulls what it has not acknowledged.
    Pull(String),
    /// It acknowledges what it pulled.
    Ack(String),
    /// It is told that it was left behind.
    Stale(String),
    /// It drops what it has and begins again.
    Resync(String),
    /// It ends.
    Close(String),
}

/// The folder of the scenarios.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// Every scenario with the name of its file.
///
/// # Panics
/// The folder or one of its files cannot be read: a scenario that is not understood would be a rule that
/// nobody tests.
#[must_use]
pub fn all() -> Vec<(String, Scenario)> {
    let entries = std::fs::read_dir(folder()).expect("the folder of the scenarios");
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a readable scenario");
            let scenario = serde_saphyr::from_str(&text).unwrap_or_else(|why| panic!("{name}.yaml: {why}"));
            (name, scenario)
        })
        .collect()
}
