//! Runs cases from elsewhere and says of each how it came out.
//!
//! `cargo test -p evenkeel-tests --test vectors -- --nocapture [FILTER]` runs the cases whose suite, kind and
//! id contain every word of the filter. The folder is `EVENKEEL_VECTORS`, or the copy in `tests/vectors`; its
//! sub-folders are the suites. One line a case: `ok`, `FAILED` with both values, `differs` with the row of
//! `docs/differences.md` that says why, or `skipped` with the reason; then suite and id; then the totals.

#[path = "vectors/bugs.rs"]
mod bugs;
#[path = "vectors/k8s.rs"]
mod k8s;
#[path = "vectors/ravel.rs"]
mod ravel;
#[path = "vectors/steps.rs"]
mod steps;
#[path = "vectors/view.rs"]
mod view;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use evenkeel_tests::vector;
use serde_json::Value;

/// What runs a case.
type Run = fn(&Case) -> Verdict;

/// The suites, and what runs a case of each.
const SUITES: [(&str, Run); 4] =
    [("k8s", k8s::run), ("bugs", bugs::run), ("ravel", ravel::run), ("ktog", ktog)];

/// One case.
struct Case {
    /// Its name within the suite.
    id: String,
    /// The function or operation that it is about.
    kind: String,
    /// All of it.
    body: Value,
}

/// How a case came out.
enum Verdict {
    /// As it says.
    Ok,
    /// Not as it says.
    Failed { expected: String, actual: String },
    /// On purpose not as upstream does it; the row says why.
    Differs(&'static str),
    /// Not run.
    Skipped(String),
}

impl Verdict {
    /// What was expected against what came out, as JSON.
    fn compare(expected: &Value, actual: &Value) -> Self {
        if vector::has(actual, expected) {
            return Self::Ok;
        }
        Self::Failed { expected: expected.to_string(), actual: actual.to_string() }
    }

    /// Something that should not have happened at all.
    fn failed(expected: &str, actual: impl ToString) -> Self {
        Self::Failed { expected: expected.to_owned(), actual: actual.to_string() }
    }
}

/// Nothing turns Services into routes yet.
fn ktog(case: &Case) -> Verdict {
    Verdict::Skipped(format!("operation {}: nothing turns Services into routes yet", case.kind))
}

/// The cases of a file: a list, a list under `vectors`, or one.
fn cases(file: Value) -> Vec<Value> {
    match file {
        Value::Array(list) => list,
        Value::Object(mut fields) => match fields.remove("vectors") {
            Some(Value::Array(list)) => list,
            _ if fields.contains_key("id") => vec![Value::Object(fields)],
            // An index of other files.
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn case(body: Value) -> Case {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let id = text(&body["id"]).or_else(|| text(&body["name"])).unwrap_or_default();
    let kind =
        [&body["kind"], &body["op"], &body["input"]["op"]].into_iter().find_map(text).unwrap_or_default();
    Case { id, kind, body }
}

#[derive(Clone, Copy, Default)]
struct Totals {
    ok: usize,
    failed: usize,
    differs: usize,
    skipped: usize,
}

impl Totals {
    fn print(self, name: &str) {
        let Self { ok, failed, differs, skipped } = self;
        println!("{name}: {ok} ok, {differs} differ on purpose, {failed} failed, {skipped} skipped");
    }

    const fn add(&mut self, other: Self) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.differs += other.differs;
        self.skipped += other.skipped;
    }
}

/// Runs a suite and prints a line for each case.
fn suite(name: &str, run: Run, folder: &Path, filter: &[String]) -> Totals {
    let mut totals = Totals::default();
    for path in vector::files(&folder.join(name)) {
        let file = match vector::read(&path) {
            Ok(file) => file,
            Err(why) => {
                totals.failed += 1;
                println!("FAILED  {name} {}: {why}", path.file_stem().unwrap_or_default().to_string_lossy());
                continue;
            }
        };
        for case in cases(file).into_iter().map(case) {
            let label = format!("{name} {} {}", case.kind, case.id);
            if !filter.iter().all(|word| label.contains(word.as_str())) {
                continue;
            }
            let verdict = catch_unwind(AssertUnwindSafe(|| run(&case))).unwrap_or_else(|panic| {
                let message = panic.downcast_ref::<String>().cloned();
                let message = message.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                Verdict::failed("no panic", message.unwrap_or_else(|| "a panic".to_owned()))
            });
            let id = &case.id;
            match verdict {
                Verdict::Ok => {
                    totals.ok += 1;
                    println!("ok      {name} {id}");
                }
                Verdict::Failed { expected, actual } => {
                    totals.failed += 1;
                    println!("FAILED  {name} {id}: expected {expected}\n        but got {actual}");
                }
                Verdict::Differs(row) => {
                    totals.differs += 1;
                    println!("differs {name} {id}: {row}");
                }
                Verdict::Skipped(reason) => {
                    totals.skipped += 1;
                    println!("skipped {name} {id}: {reason}");
                }
            }
        }
    }
    totals
}

fn main() -> ExitCode {
    let start = Instant::now();
    // Whoever runs all tests passes flags for the usual test harness; only words are a filter here.
    let filter: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let folder = vector::folder();
    let mut overall = Totals::default();
    let mut suites = BTreeMap::new();
    for (name, run) in SUITES {
        let totals = suite(name, run, &folder, &filter);
        overall.add(totals);
        suites.insert(name, totals);
    }
    println!();
    for (name, totals) in suites {
        totals.print(name);
    }
    overall.print("all suites");
    let found = overall.ok + overall.differs + overall.failed + overall.skipped > 0 || !filter.is_empty();
    if !found {
        println!("no case in {}", folder.display());
    }
    let good = found && overall.failed == 0;
    println!(
        "\ntest result: {}. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out; finished in {:.2}s",
        if good { "ok" } else { "FAILED" },
        overall.ok + overall.differs,
        overall.failed,
        overall.skipped,
        start.elapsed().as_secs_f64(),
    );
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
