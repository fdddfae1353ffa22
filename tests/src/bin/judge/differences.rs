//! The differences that are meant: each with the row of `docs/differences.md` that says why.

use crate::facts::{Comparison, Difference, PortFacts, View};
use crate::freedom::{Places, Sets, allowed, is_open, states_follow};
use crate::upstream::{Document, Slice, seen};

/// A difference with what surrounds it.
pub(crate) struct Case<'c> {
    pub(crate) document: &'c Document,
    pub(crate) slices: &'c [Slice],
    pub(crate) zone: &'c str,
    pub(crate) ours: &'c View,
    pub(crate) upstream: &'c View,
}

/// A row, and how a difference is known to be of its kind.
struct Rule {
    row: &'static str,
    explains: fn(&Case<'_>, &Difference) -> bool,
}

const RULES: [Rule; 2] = [
    Rule { row: "D-J1", explains: upstream_is_free },
    Rule { row: "D-J2", explains: service_is_being_deleted },
];

/// The row that explains a difference.
pub(crate) fn row(case: &Case<'_>, difference: &Difference) -> Option<&'static str> {
    RULES.iter().find(|rule| (rule.explains)(case, difference)).map(|rule| rule.row)
}

/// Two live endpoints have one address and port, upstream's answer depends on the order of a Go map, and ours
/// is one of those that it may give.
fn upstream_is_free(case: &Case<'_>, difference: &Difference) -> bool {
    let key = &difference.key;
    let places = match difference.comparison {
        Comparison::Slices => Places::Same,
        Comparison::PodEndpoints | Comparison::PodView => Places::Any,
    };
    if difference.fact == "health" {
        let ports = case.upstream.keys().filter(|port| {
            (&port.namespace, &port.service, port.family) == (&key.namespace, &key.service, key.family)
        });
        return ports.into_iter().any(|port| is_open(&seen(case.slices, port), places));
    }
    let (Some(ours), Some(upstream)) = (case.ours.get(key), case.upstream.get(key)) else { return false };
    let seen = seen(case.slices, key);
    if !is_open(&seen, places) || !same_otherwise(ours, upstream) || !states_follow(ours) {
        return false;
    }
    allowed(&seen, places, upstream, &difference.node, case.zone)
        .is_some_and(|answers| answers.contains(&Sets::of(ours)) && answers.contains(&Sets::of(upstream)))
}

/// Equal but for what follows from the choice of endpoints.
fn same_otherwise(ours: &PortFacts, upstream: &PortFacts) -> bool {
    let fixed = |facts: &PortFacts| {
        let vips = facts.vips.iter().cloned().map(|mut vip| {
            vip.state = "";
            vip
        });
        (facts.uses_cluster, facts.uses_local, facts.health_check_node_port, vips.collect::<Vec<_>>())
    };
    fixed(ours) == fixed(upstream)
}

/// Upstream's controller makes no new slice for a Service that is being deleted, so what Pods it has depends on
/// what was there before. We serve it as long as it exists.
fn service_is_being_deleted(case: &Case<'_>, difference: &Difference) -> bool {
    let nothing_is_missing = difference.upstream.as_array().is_some_and(Vec::is_empty);
    let possible = match difference.comparison {
        Comparison::Slices => false,
        Comparison::PodEndpoints => nothing_is_missing,
        Comparison::PodView => true,
    };
    possible
        && case.document.items.iter().any(|item| {
            let meta = &item["metadata"];
            item["kind"] == "Service"
                && meta["namespace"] == *difference.key.namespace
                && meta["name"] == *difference.key.service
                && !meta["deletionTimestamp"].is_null()
        })
}
