//! The repository checks itself: what a reviewer would otherwise have to look for by eye.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_tests::markdown;

const LINES_MAX: usize = 700;

/// Files that may be longer, each with its reason.
const LONG: [(&str, &str); 0] = [];

/// Words that say a concept was not found yet.
const NAMELESS: [&str; 9] =
    ["util", "utils", "common", "helper", "helpers", "types", "manager", "misc", "mod"];

/// What must not be left behind in sources. Spelled apart, since this file is searched too.
const LEFT_OVER: [&str; 6] = [
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("dbg", "!("),
    concat!("TO", "DO"),
];

/// What belongs to one machine or one workplace and not to the project.
const FOREIGN: [&str; 13] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("cla", "ude"),
    concat!("anth", "ropic"),
    concat!("open", "ai"),
    concat!("chat", "gpt"),
    concat!("language", " model"),
    concat!("ai ", "assistant"),
    concat!("ai-", "generated"),
    concat!("this ", "session"),
    concat!("co-auth", "ored-by"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Every file of the repository that people write, as a path from its top.
fn files() -> Vec<PathBuf> {
    fn walk(folder: &Path, top: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a readable folder").filter_map(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if name.starts_with(".git") && name != ".github" || name == "target" || name == "node_modules" {
                continue;
            }
            if path.is_dir() {
                walk(&path, top, found);
            } else {
                found.push(path.strip_prefix(top).expect("below the top").to_owned());
            }
        }
    }
    let (top, mut found) = (root(), Vec::new());
    walk(&top, &top, &mut found);
    found.sort();
    found
}

fn ends_with(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|have| have == end)
}

fn sources() -> Vec<PathBuf> {
    files().into_iter().filter(|path| ends_with(path, "rs")).collect()
}

/// Text of a file; nothing for what is no text.
fn text(path: &Path) -> String {
    String::from_utf8(fs::read(root().join(path)).expect("a readable file")).unwrap_or_default()
}

fn none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

#[test]
fn no_source_file_is_too_long_to_read() {
    let mut long = Vec::new();
    for path in sources() {
        let lines = text(&path).lines().count();
        let excepted = LONG.iter().any(|(name, _)| Path::new(name) == path);
        match (lines > LINES_MAX, excepted) {
            (true, false) => long.push(format!("{}: {lines} lines", path.display())),
            (false, true) => long.push(format!("{}: no longer an exception", path.display())),
            _ => {}
        }
    }
    none("longer than a file should be", &long);
}

#[test]
fn nothing_unfinished_is_left_in_the_sources() {
    let mut found = Vec::new();
    for path in sources() {
        for (number, line) in text(&path).lines().enumerate() {
            for mark in LEFT_OVER.iter().filter(|mark| line.contains(**mark)) {
                found.push(format!("{}:{}: {mark}", path.display(), number + 1));
            }
        }
    }
    for path in files() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.contains(".tmp") || name.ends_with(".orig") || name.ends_with(".rej") || name.ends_with('~') {
            found.push(format!("{}: a temporary file", path.display()));
        }
    }
    none("left over", &found);
}

#[test]
fn every_module_is_named_for_a_concept() {
    let nameless = |name: &str| NAMELESS.contains(&name);
    let mut found = Vec::new();
    for path in sources() {
        let parts = path.iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").to_owned());
        found.extend(parts.filter(|part| nameless(part)).map(|part| format!("{}: {part}", path.display())));
        for line in text(&path).lines() {
            if module(line).is_some_and(|name| nameless(&name)) {
                found.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    none("names of concepts that were not found yet", &found);
}

#[test]
fn nothing_of_one_machine_or_workplace_is_in_the_repository() {
    let mut found = Vec::new();
    for path in files() {
        for (number, line) in text(&path).to_lowercase().lines().enumerate() {
            for word in FOREIGN.iter().filter(|word| line.contains(&word.to_lowercase())) {
                found.push(format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    none("foreign to the project", &found);
}

/// The name in `mod name;` or `mod name {`.
fn module(line: &str) -> Option<String> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    let name = line.strip_prefix("mod ")?;
    let end = name.find([';', ' '])?;
    Some(name[..end].to_owned())
}

/// Follows the modules of a file as the compiler does.
fn follow(file: &Path, is_root: bool, reached: &mut BTreeSet<PathBuf>) {
    if !root().join(file).is_file() || !reached.insert(file.to_owned()) {
        return;
    }
    let parent = file.parent().unwrap_or_else(|| Path::new(""));
    let beside =
        if is_root || file.ends_with("mod.rs") { parent.to_owned() } else { file.with_extension("") };
    let mut given = None;
    for line in text(file).lines().map(str::trim) {
        if let Some(path) = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            given = Some(parent.join(path));
        } else if let Some(name) = module(line).filter(|_| line.ends_with(';')) {
            let path = given.take().unwrap_or_else(|| beside.join(format!("{name}.rs")));
            follow(&path, false, reached);
            follow(&beside.join(&name).join("mod.rs"), false, reached);
        }
    }
}

#[test]
fn every_source_file_is_compiled() {
    let mut reached = BTreeSet::new();
    let all: Vec<_> = sources();
    for path in &all {
        let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
        let is_root = matches!(
            parts.as_slice(),
            [.., "src", "lib.rs" | "main.rs"]
                | [.., "build.rs"]
                | [.., "src", "bin", _]
                | [.., "src", "bin", _, "main.rs"]
                | [_, "tests" | "examples" | "benches", _]
                | [_, "tests" | "examples" | "benches", _, "main.rs"]
                | [.., "fuzz_targets", _]
        );
        if is_root {
            follow(path, true, &mut reached);
        }
    }
    // The Rust example stands by itself, in a folder of its own.
    let stray = all.iter().filter(|path| !path.starts_with("examples") && !reached.contains(*path));
    none("no `mod` leads to", &stray.map(|path| path.display().to_string()).collect::<Vec<_>>());
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for path in files().into_iter().filter(|path| ends_with(path, "md")) {
        let page = text(&path);
        for link in markdown::links(&page) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name("").join(file) };
            if !root().join(&target).exists() {
                broken.push(format!("{}: {link}", path.display()));
            } else if !anchor.is_empty() && !markdown::anchors(&text(&target)).contains(anchor) {
                broken.push(format!("{}: {link} (no such heading)", path.display()));
            }
        }
    }
    none("links without a target", &broken);
}

/// Row numbers of `docs/differences.md`, as they are cited: `D-`, a letter, a number.
fn rows(text: &str) -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for (at, mark) in text.match_indices("D-") {
        let rest = &text[at + mark.len()..];
        let letters = rest.chars().take_while(char::is_ascii_uppercase).count();
        let digits = rest.chars().skip(letters).take_while(char::is_ascii_digit).count();
        if letters > 0 && digits > 0 && !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) {
            rows.insert(text[at..at + 2 + letters + digits].to_owned());
        }
    }
    rows
}

#[test]
fn every_difference_that_a_test_cites_is_explained_and_cited() {
    let page = text(Path::new("docs/differences.md"));
    let explained: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .filter_map(|row| rows(row.split('|').next().unwrap_or("")).into_iter().next())
        .collect();
    let mut cited = BTreeSet::new();
    for path in files() {
        if path.starts_with("tests")
            && (ends_with(&path, "rs") || ends_with(&path, "yaml") || ends_with(&path, "go"))
        {
            cited.extend(rows(&text(&path)));
        }
    }
    assert!(!explained.is_empty(), "docs/differences.md has no rows");
    none("cited, but not in docs/differences.md", &cited.difference(&explained).cloned().collect::<Vec<_>>());
    none(
        "in docs/differences.md, but no test cites it",
        &explained.difference(&cited).cloned().collect::<Vec<_>>(),
    );
}

#[test]
fn every_limit_is_documented() {
    let limits: Vec<_> =
        evenkeel_core::storage::BYTES_PER_ROW.iter().map(|(limit, _)| limit.name()).collect();
    assert!(limits.contains(&"services_max"));
    let pages: String = files()
        .iter()
        .filter(|path| ends_with(path, "md") && (path.starts_with("docs") || path.iter().count() == 1))
        .map(|path| text(path))
        .collect();
    let flag = |name: &str| format!("--{}", name.replace('_', "-"));
    let missing =
        limits.iter().filter(|name| !pages.contains(&format!("`{name}`")) && !pages.contains(&flag(name)));
    none("limits that no document names", &missing.map(ToString::to_string).collect::<Vec<_>>());
}

#[test]
fn both_licences_are_there_and_every_package_names_them() {
    assert!(text(Path::new("LICENSE-APACHE")).contains("Apache License"));
    assert!(text(Path::new("LICENSE-MIT")).contains("MIT License"));
    assert!(text(Path::new("Cargo.toml")).contains("license = \"Apache-2.0 OR MIT\""));
    for path in files().iter().filter(|path| path.ends_with("Cargo.toml") && path.iter().count() == 2) {
        assert!(text(path).contains("license.workspace = true"), "{}", path.display());
    }
}

#[test]
fn the_changelog_says_what_is_not_released_yet() {
    let page = text(Path::new("CHANGELOG.md"));
    let mut parts = page.split("\n## ").skip(1);
    let newest = parts.find(|part| part.starts_with("Unreleased") || part.starts_with("[Unreleased]"));
    let newest = newest.expect("a part \"Unreleased\"");
    assert!(
        newest.lines().any(|line| line.trim() == "### C API"),
        "changes of the C API have a heading of their own"
    );
}
