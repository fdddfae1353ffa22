//! From a cluster that differs to the smallest part of it that still does.

use serde_json::Value;

use crate::upstream::Document;

/// Each question costs upstream a few milliseconds.
const QUESTIONS_MAX: usize = 2_000;

/// Leaves out whole objects, then parts of objects, as long as `differs` says yes to the rest.
pub(crate) fn smallest(document: &Document, mut differs: impl FnMut(&Document) -> bool) -> Document {
    let mut best = document.clone();
    let mut left = QUESTIONS_MAX;
    let mut ask = |candidate: &Document| {
        left = left.saturating_sub(1);
        left > 0 && differs(candidate)
    };
    loop {
        let before = size(&best);
        drop_objects(&mut best, &mut ask);
        drop_parts(&mut best, &mut ask);
        if size(&best) == before {
            return best;
        }
    }
}

fn size(document: &Document) -> usize {
    document.items.iter().map(|item| item.to_string().len()).sum()
}

/// Runs of objects, half of them first, then shorter and shorter ones.
fn drop_objects(best: &mut Document, differs: &mut impl FnMut(&Document) -> bool) {
    let mut run = best.items.len().div_ceil(2);
    while run > 0 {
        let mut at = 0;
        while at < best.items.len() {
            let mut candidate = best.clone();
            candidate.items.drain(at..(at + run).min(best.items.len()));
            if differs(&candidate) {
                *best = candidate;
            } else {
                at += run;
            }
        }
        run /= 2;
    }
}

#[derive(Clone, Debug)]
enum Step {
    Key(String),
    At(usize),
}

/// Members and elements, outer ones before what is in them.
fn drop_parts(best: &mut Document, differs: &mut impl FnMut(&Document) -> bool) {
    for index in 0..best.items.len() {
        let mut tried = 0;
        loop {
            let mut paths = Vec::new();
            collect(&best.items[index], &mut Vec::new(), &mut paths);
            let Some(path) = paths.get(tried) else { break };
            let mut candidate = best.clone();
            remove(&mut candidate.items[index], path);
            if differs(&candidate) {
                *best = candidate;
            } else {
                tried += 1;
            }
        }
    }
}

/// Without these an object is no longer one that an API server would hold, and differences mean nothing.
const KEPT: [&str; 19] = [
    "addressType",
    "addresses",
    "apiVersion",
    "clusterIP",
    "clusterIPs",
    "containerPort",
    "ip",
    "ipFamilies",
    "kind",
    "metadata",
    "name",
    "namespace",
    "podIP",
    "port",
    "protocol",
    "spec",
    "targetPort",
    "type",
    "uid",
];

fn collect(value: &Value, path: &mut Vec<Step>, paths: &mut Vec<Vec<Step>>) {
    let mut visit = |step: Step, part: &Value, removable: bool| {
        path.push(step);
        if removable {
            paths.push(path.clone());
        }
        collect(part, path, paths);
        path.pop();
    };
    match value {
        Value::Object(members) => {
            // Less of a selector would select more.
            for (key, part) in members.iter().filter(|(key, _)| *key != "selector") {
                visit(Step::Key(key.clone()), part, !KEPT.contains(&key.as_str()));
            }
        }
        Value::Array(parts) => {
            // A list that must not go keeps its elements too: they belong together.
            for (at, part) in parts.iter().enumerate().filter(|(_, part)| part.is_object()) {
                visit(Step::At(at), part, true);
            }
        }
        _ => {}
    }
}

fn remove(value: &mut Value, path: &[Step]) {
    let Some((last, above)) = path.split_last() else { return };
    let mut holder = value;
    for step in above {
        holder = match step {
            Step::Key(key) => &mut holder[key.as_str()],
            Step::At(at) => &mut holder[*at],
        };
    }
    match (last, holder) {
        (Step::Key(key), Value::Object(members)) => {
            members.remove(key);
        }
        (Step::At(at), Value::Array(parts)) => {
            parts.remove(*at);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_makes_no_difference_goes() {
        let document = Document {
            node_name: "node-a".into(),
            all_nodes: true,
            max_endpoints_per_slice: 100,
            items: vec![
                json!({"kind": "Node", "metadata": {"name": "node-a", "labels": {"zone": "zone-1"}}}),
                json!({"kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web", "tier": "x"}}}),
                json!({"kind": "Pod", "metadata": {"name": "db"}, "status": {"podIPs": [{"ip": "192.0.2.1"}]}}),
            ],
        };
        let small =
            smallest(&document, |d| d.items.iter().any(|item| item["metadata"]["labels"]["app"] == "web"));
        assert_eq!(
            small.items,
            [json!({"kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}}})]
        );
    }
}
