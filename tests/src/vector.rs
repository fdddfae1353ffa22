//! Vectors as files: the notations that stand for long lists, and how expected values are compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// The folder of the vectors: `EVENKEEL_VECTORS`, else the copy beside this package's sources.
#[must_use]
pub fn folder() -> PathBuf {
    std::env::var_os("EVENKEEL_VECTORS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors"), PathBuf::from)
}

/// The JSON files of a suite, by name; empty if the folder has no such suite.
#[must_use]
pub fn files(suite: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(suite) else { return Vec::new() };
    let mut files: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    files
}

/// A file with its generated lists written out.
///
/// # Errors
/// The file cannot be read, or is not JSON.
pub fn read(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    let value: Value = serde_json::from_str(&text).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(expand(value))
}

/// Writes out `{"$repeat": …}` in lists, and `xFrom` lists of generators as `x`.
#[must_use]
pub fn expand(value: Value) -> Value {
    match value {
        Value::Array(list) => Value::Array(list.into_iter().flat_map(expand_item).collect()),
        Value::Object(map) => expand_map(map),
        other => other,
    }
}

fn expand_item(item: Value) -> Vec<Value> {
    let Some(repeat) = item.get("$repeat") else { return vec![expand(item)] };
    let count = repeat["count"].as_u64().unwrap_or(0);
    let start = repeat["start"].as_u64().unwrap_or(1);
    (start..start + count).map(|i| expand(rewritten(&repeat["template"], &|text| printf(text, i)))).collect()
}

fn expand_map(map: Map<String, Value>) -> Value {
    let mut plain = Map::new();
    let mut generated = Vec::new();
    for (key, value) in map {
        match key.strip_suffix("From") {
            Some(name) if is_generators(&value) => generated.push((name.to_owned(), value)),
            _ => {
                plain.insert(key, expand(value));
            }
        }
    }
    for (name, generators) in generated {
        let items = generators.as_array().into_iter().flatten().flat_map(generate).map(expand);
        match plain.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(list) => list.extend(items),
            other => *other = items.collect(),
        }
    }
    Value::Object(plain)
}

/// `valueFrom` of a container's environment ends in `From` too, and generates nothing.
fn is_generators(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(|one| one.get("template").is_some()))
}

fn generate(generator: &Value) -> Vec<Value> {
    let number = |key: &str, default| generator.get(key).and_then(Value::as_i64).unwrap_or(default);
    let (first, count, step) = (number("first", 0), number("count", 0), number("step", 1));
    (0..count).map(|n| rewritten(&generator["template"], &|text| braces(text, first + n * step))).collect()
}

/// The same value with every text, keys too, rewritten.
fn rewritten(value: &Value, rewrite: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(rewrite(text)),
        Value::Array(list) => list.iter().map(|item| rewritten(item, rewrite)).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, item)| (rewrite(key), rewritten(item, rewrite))).collect())
        }
        other => other.clone(),
    }
}

/// `{i}` becomes the number, `{ip4:A.B.C.D}` the address so many further on.
fn braces(text: &str, i: i64) -> String {
    let mut out = text.replace("{i}", &i.to_string());
    while let Some(at) = out.find("{ip4:") {
        let Some(length) = out[at..].find('}') else { break };
        let base: u32 = out[at + 5..at + length].parse::<std::net::Ipv4Addr>().map_or(0, u32::from);
        let address = std::net::Ipv4Addr::from(base.wrapping_add(u32::try_from(i).unwrap_or(0)));
        out.replace_range(at..=at + length, &address.to_string());
    }
    out
}

/// The integer directives of `printf`: `%d`, `%x`, with a width and leading zeros.
fn printf(text: &str, i: u64) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, directive) = rest.split_at(at);
        out.push_str(before);
        let digits: String = directive[1..].chars().take_while(char::is_ascii_digit).collect();
        let width: usize = digits.parse().unwrap_or(0);
        let end = 1 + digits.len();
        match directive.as_bytes().get(end) {
            Some(b'd') => out.push_str(&padded(i.to_string(), &digits, width)),
            Some(b'x') => out.push_str(&padded(format!("{i:x}"), &digits, width)),
            _ => out.push_str(&directive[..end]),
        }
        rest = directive.get(end + 1..).unwrap_or("");
    }
    out + rest
}

fn padded(number: String, digits: &str, width: usize) -> String {
    let fill = if digits.starts_with('0') { "0" } else { " " };
    fill.repeat(width.saturating_sub(number.len())) + &number
}

/// Whether a value has everything that is expected of it: objects by the fields that are named, `null` for
/// absent, lists as sets of the same length.
#[must_use]
pub fn has(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (_, Value::Object(fields)) => {
            fields.iter().all(|(key, wanted)| has(actual.get(key).unwrap_or(&Value::Null), wanted))
        }
        (Value::Array(have), Value::Array(want)) => have.len() == want.len() && pairs_up(have, want),
        (Value::Null, Value::Array(want)) => want.is_empty(),
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}

/// Every expected item finds one of its own: augmenting paths, since one item may satisfy several.
fn pairs_up(have: &[Value], want: &[Value]) -> bool {
    fn place(
        want: usize,
        fits: &[Vec<usize>],
        seen: &mut [bool],
        taken: &mut BTreeMap<usize, usize>,
    ) -> bool {
        for &have in &fits[want] {
            if std::mem::replace(&mut seen[have], true) {
                continue;
            }
            let other = taken.get(&have).copied();
            if other.is_none_or(|other| place(other, fits, seen, taken)) {
                taken.insert(have, want);
                return true;
            }
        }
        false
    }
    let fits: Vec<Vec<usize>> =
        want.iter().map(|wanted| (0..have.len()).filter(|&i| has(&have[i], wanted)).collect()).collect();
    let mut taken = BTreeMap::new();
    (0..want.len()).all(|i| place(i, &fits, &mut vec![false; have.len()], &mut taken))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repeated_object_is_written_out_with_its_numbers() {
        let short = json!([{"$repeat": {"count": 2, "start": 9, "template": {"name": "w-%04d", "ip": "::%x"}}}, {"name": "x"}]);
        let long = json!([{"name": "w-0009", "ip": "::9"}, {"name": "w-0010", "ip": "::a"}, {"name": "x"}]);
        assert_eq!(expand(short), long);
    }

    #[test]
    fn generated_items_follow_those_that_are_given() {
        let short = json!({"pods": ["p"], "podsFrom": [{"first": 1, "count": 2, "step": 255, "template": {"{i}": "{ip4:10.0.0.0}"}}]});
        assert_eq!(expand(short), json!({"pods": ["p", {"1": "10.0.0.1"}, {"256": "10.0.1.0"}]}));
    }

    #[test]
    fn a_list_that_generates_nothing_keeps_its_name() {
        assert_eq!(
            expand(json!({"envFrom": [{"configMapRef": {}}]})),
            json!({"envFrom": [{"configMapRef": {}}]})
        );
    }

    #[test]
    fn only_the_named_fields_are_compared_and_lists_are_sets() {
        let actual = json!([{"ip": "a", "port": 1}, {"ip": "a", "port": 2}]);
        assert!(has(&actual, &json!([{"ip": "a"}, {"ip": "a", "port": 1, "nodeName": null}])));
        assert!(!has(&actual, &json!([{"ip": "a", "port": 1}, {"ip": "a", "port": 1}])));
        assert!(!has(&actual, &json!([{"ip": "a"}])));
    }
}
