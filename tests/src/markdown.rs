//! Links and headings of a Markdown page, as far as this repository's pages use them.

use std::collections::BTreeSet;

/// Targets of `[text](target)`, outside of code.
#[must_use]
pub fn links(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(page) {
        let plain = without_code(line);
        for (at, _) in plain.match_indices("](") {
            let target = &plain[at + 2..];
            let end = target.find([')', ' ']).unwrap_or(target.len());
            links.push(target[..end].to_owned());
        }
    }
    links
}

/// What `#anchor` may name: the headings in lower case, spaces as hyphens, without punctuation.
#[must_use]
pub fn anchors(page: &str) -> BTreeSet<String> {
    prose(page)
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim())
        .map(|heading| {
            heading
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

/// Lines outside of fenced code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_in_prose_and_not_in_code() {
        let page = "[a](b.md#c) and `[x](y)`\n```\n[n](o)\n```\n![p](q.png \"title\")";
        assert_eq!(links(page), ["b.md#c", "q.png"]);
    }

    #[test]
    fn headings_become_anchors() {
        assert!(anchors("# What it is, and `why`\n```\n# no\n```").contains("what-it-is-and-why"));
        assert_eq!(anchors("# a\n```\n# no\n```").len(), 1);
    }
}
