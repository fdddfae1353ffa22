//! Where upstream leaves the answer open: two live endpoints with one address and port.
//!
//! kube-proxy walks slices in the order of a Go map. Of endpoints with the same address and port the last one
//! that is not terminating wins; if all are terminating, the first. Within a slice the order is fixed, so each
//! slice has one candidate; which of them it is, is open, and the view is one of several. This is kube-proxy's categorising once more, in the plainest form, for each
//! choice there is.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{PortFacts, Set};
use crate::upstream::{Seen, state};

/// Above this many choices the question is given up; the seeds used so far stay far below.
const CHOICES_MAX: usize = 1 << 14;

/// The part of the facts that depends on the choice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sets {
    has_any: bool,
    cluster: Set,
    local: Set,
    all: BTreeSet<String>,
}

impl Sets {
    pub(crate) fn of(facts: &PortFacts) -> Self {
        Self {
            has_any: facts.has_any_endpoints,
            cluster: facts.cluster.clone(),
            local: facts.local.clone(),
            all: facts.all_reachable.clone(),
        }
    }
}

/// Where in a slice an endpoint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// Both sides read the same slices.
    Same,
    /// Upstream's controller dealt Pods to slices in the order of a Go map too; ours were not dealt.
    Any,
}

/// The candidates of each address and port: more than one where upstream's choice is open and matters.
fn candidates(seen: &[Seen], places: Places) -> Vec<Vec<&Seen>> {
    let mut by_key: BTreeMap<&str, Vec<&Seen>> = BTreeMap::new();
    for endpoint in seen {
        by_key.entry(&endpoint.key).or_default().push(endpoint);
    }
    for list in by_key.values_mut() {
        let any_live = list.iter().any(|e| !e.terminating);
        let mut candidates: Vec<&Seen> = Vec::new();
        for endpoint in list.drain(..) {
            if any_live && endpoint.terminating {
                continue;
            }
            let same_slice =
                |candidate: &&mut &Seen| places == Places::Same && candidate.slice == endpoint.slice;
            match candidates.iter_mut().find(same_slice) {
                Some(earlier) if any_live => *earlier = endpoint,
                Some(_) => {}
                None => candidates.push(endpoint),
            }
        }
        for candidate in candidates {
            if !list.iter().any(|e| e.says() == candidate.says()) {
                list.push(candidate);
            }
        }
    }
    by_key.into_values().collect()
}

/// Every answer that upstream may give for a port with these endpoints. `None` if there are too many.
pub(crate) fn allowed(
    seen: &[Seen],
    places: Places,
    facts: &PortFacts,
    node: &str,
    zone: &str,
) -> Option<BTreeSet<Sets>> {
    let candidates = candidates(seen, places);
    let choices = candidates.iter().try_fold(1_usize, |n, list| n.checked_mul(list.len()))?;
    if choices > CHOICES_MAX {
        return None;
    }
    let mut answers = BTreeSet::new();
    for choice in 0..choices {
        let mut rest = choice;
        let chosen: Vec<&Seen> = candidates
            .iter()
            .map(|list| {
                let one = list[rest % list.len()];
                rest /= list.len();
                one
            })
            .collect();
        answers.insert(categorize(&chosen, facts.uses_cluster, facts.uses_local, node, zone));
    }
    Some(answers)
}

/// There is a duplicate among them whose choice is open.
pub(crate) fn is_open(seen: &[Seen], places: Places) -> bool {
    candidates(seen, places).iter().any(|list| list.len() > 1)
}

enum Mode {
    All,
    Node,
    Zone,
}

fn categorize(endpoints: &[&Seen], uses_cluster: bool, uses_local: bool, node: &str, zone: &str) -> Sets {
    let keys = |filter: &dyn Fn(&Seen) -> bool| -> BTreeSet<String> {
        endpoints.iter().filter(|e| filter(e)).map(|e| e.key.clone()).collect()
    };
    let drains = |e: &Seen| e.serving && e.terminating;
    let here = |e: &Seen| e.node == node && !node.is_empty();
    let mut cluster = BTreeSet::new();
    if uses_cluster {
        let mode = mode(endpoints, node, zone);
        cluster = keys(&|e| {
            e.ready
                && match mode {
                    Mode::All => true,
                    Mode::Node => e.node_hints.iter().any(|hint| hint == node),
                    Mode::Zone => e.zone_hints.iter().any(|hint| hint == zone),
                }
        });
        if cluster.is_empty() {
            cluster = keys(&drains);
        }
    }
    let mut has_any = !cluster.is_empty();
    let mut local = BTreeSet::new();
    if uses_local {
        has_any |= endpoints.iter().any(|e| e.ready || drains(e));
        local = keys(&|e| here(e) && e.ready);
        if local.is_empty() {
            local = keys(&|e| here(e) && drains(e));
        }
    }
    Sets {
        has_any,
        all: cluster.union(&local).cloned().collect(),
        cluster: uses_cluster.then_some(cluster),
        local: uses_local.then_some(local),
    }
}

fn mode(endpoints: &[&Seen], node: &str, zone: &str) -> Mode {
    let ready = || endpoints.iter().filter(|e| e.ready);
    let used = |hints: &dyn Fn(&Seen) -> Vec<String>, name: &str| {
        ready().all(|e| !hints(e).is_empty()) && ready().any(|e| hints(e).iter().any(|hint| hint == name))
    };
    if used(&|e| e.node_hints.clone(), node) {
        Mode::Node
    } else if used(&|e| e.zone_hints.clone(), zone) {
        Mode::Zone
    } else {
        Mode::All
    }
}

/// The VIPs' states follow from the sets; this says whether a view's own sets and states agree.
pub(crate) fn states_follow(facts: &PortFacts) -> bool {
    facts.vips.iter().all(|vip| {
        let used = if vip.policy == "Local" { facts.local.as_ref() } else { facts.cluster.as_ref() };
        vip.state == state(facts.has_any_endpoints, used)
    })
}
