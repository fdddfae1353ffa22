//! One cluster, all comparisons.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use evenkeel_agent::decode::Object;
use evenkeel_core::limits::{Limits, Source};
use evenkeel_tests::feed::{decode, of_kind};
use serde_json::Value;

use crate::differences::{Case, row};
use crate::facts::{Comparison, Difference, View, compare_endpoints, compare_health, compare_views};
use crate::ours::{Arrival, answer as our_answer};
use crate::upstream::{Answer, Document, Slice, pod_endpoints, services_with_hints};

/// What came out of one cluster, or of many.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Node views compared: one for each node and source.
    pub(crate) views: u64,
    /// Service ports in those views.
    pub(crate) ports: u64,
    /// Service ports of Pod views that were left out, since hints are in force that only upstream's controller makes.
    pub(crate) hinted: u64,
    /// Lists of endpoints made of Pods that were compared.
    pub(crate) lists: u64,
    pub(crate) explained: BTreeMap<&'static str, u64>,
    pub(crate) unexplained: Vec<Difference>,
}

impl Verdict {
    /// Adds the counts of another; the differences themselves are for who asked.
    pub(crate) fn add(&mut self, other: &Self) {
        self.views += other.views;
        self.ports += other.ports;
        self.hinted += other.hinted;
        self.lists += other.lists;
        for (row, count) in &other.explained {
            *self.explained.entry(row).or_default() += count;
        }
    }

    fn sort_out(&mut self, case: &Case<'_>, found: Vec<Difference>) {
        for difference in found {
            match row(case, &difference) {
                Some(row) => *self.explained.entry(row).or_default() += 1,
                None => self.unexplained.push(difference),
            }
        }
    }
}

fn of_kinds<'v>(items: &'v [Value], kinds: &'static [&'static str]) -> impl Iterator<Item = &'v Value> {
    items.iter().filter(move |item| item["kind"].as_str().is_some_and(|kind| kinds.contains(&kind)))
}

fn decode_all<'v>(values: impl IntoIterator<Item = &'v Value>) -> Result<Vec<Object>> {
    values
        .into_iter()
        .map(|value| decode(value).map_err(|refused| anyhow::anyhow!("{refused}: {value}")))
        .collect()
}

/// Room for these slices, and for every Pod behind every port in both families. A generated cluster may have one
/// endpoint a slice.
fn limits(document: &Document, slices: &[Slice]) -> Result<Limits> {
    let length = |value: &Value| value.as_array().map_or(0, Vec::len);
    let pods = document.items.iter().filter(|item| item["kind"] == "Pod").count();
    let ports: usize = document.items.iter().map(|item| length(&item["spec"]["ports"])).sum();
    let in_slices: usize = slices.iter().map(|slice| slice.endpoints.len() * slice.ports.len()).sum();
    let endpoints = in_slices.max(pods * ports * 2);
    let mut limits = Limits::for_cluster(64, u32::try_from(endpoints)?, 16).with_pods(u32::try_from(pods)?);
    limits.slices_max = u32::try_from(slices.len())? + 1;
    limits.texts_max += limits.slices_max;
    limits.text_bytes_max += limits.slices_max * 64;
    Ok(limits)
}

/// A Service's namespace and name.
type Name = (String, String);

/// The Services whose Pods upstream's controller turns into slices.
fn with_selector(document: &Document) -> BTreeSet<Name> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let selects = |item: &&Value| item["spec"]["selector"].as_object().is_some_and(|pairs| !pairs.is_empty());
    document
        .items
        .iter()
        .filter(|item| item["kind"] == "Service" && item["spec"]["type"] != "ExternalName")
        .filter(selects)
        .map(|item| (text(&item["metadata"]["namespace"]), text(&item["metadata"]["name"])))
        .collect()
}

/// Compares everything that upstream said of this cluster with what we say of it.
///
/// # Errors
/// Upstream gave no answer, or we refuse an object or break the contract of changes.
pub(crate) fn judge(document: &Document, answer: Answer) -> Result<Verdict> {
    if !answer.error.is_empty() {
        bail!("upstream: {}", answer.error);
    }
    let slices: Vec<Slice> =
        answer.raw_endpoint_slices.iter().map(serde::Deserialize::deserialize).collect::<Result<_, _>>()?;
    // An informer's objects do not say their kind.
    let raw: Vec<Value> =
        answer.raw_endpoint_slices.iter().map(|slice| of_kind("EndpointSlice", slice)).collect();
    let from_slices = decode_all(of_kinds(&document.items, &["Node", "Service"]).chain(&raw))?;
    let from_pods = decode_all(of_kinds(&document.items, &["Node", "Service", "Pod"]))?;
    let selecting = with_selector(document);
    // What is left of deleted Services has no counterpart here.
    let mut upstream_lists = pod_endpoints(&slices);
    upstream_lists.retain(|key, _| selecting.contains(&(key.namespace.clone(), key.service.clone())));
    let limits = limits(document, &slices)?;
    let hinted = services_with_hints(&slices);

    let mut verdict = Verdict::default();
    for (number, proxy) in answer.proxies.into_iter().enumerate() {
        let arrival = Arrival::nth(number);
        let (node, zone) = (proxy.node_name.clone(), proxy.zone.clone());
        let health = proxy.health();
        let upstream = proxy.view();

        let ours = our_answer(&from_slices, &limits, &node, Source::Slices, arrival)?;
        let case = Case { document, slices: &slices, zone: &zone, ours: &ours.view, upstream: &upstream };
        let mut found = compare_views(Comparison::Slices, &node, &ours.view, &upstream);
        found.extend(compare_health(Comparison::Slices, &node, &ours.health, &health));
        verdict.sort_out(&case, found);
        verdict.views += 1;
        verdict.ports += upstream.len() as u64;

        let comparable = |view: &View| -> View {
            view.iter()
                .filter(|(key, _)| {
                    let name = (key.namespace.clone(), key.service.clone());
                    selecting.contains(&name) && !hinted.contains(&name)
                })
                .map(|(key, facts)| (key.clone(), facts.clone()))
                .collect()
        };
        let upstream_view = comparable(&upstream);
        let with_lists = verdict.lists == 0;
        let ours = our_answer(&from_pods, &limits, &node, Source::Pods, arrival)?;
        let our_view = comparable(&ours.view);
        let mut found = compare_views(Comparison::PodView, &node, &our_view, &upstream_view);
        if with_lists {
            found.extend(compare_endpoints(&node, &ours.endpoints, &upstream_lists));
        }
        let case = Case { document, slices: &slices, zone: &zone, ours: &our_view, upstream: &upstream_view };
        verdict.sort_out(&case, found);
        if with_lists {
            verdict.lists = upstream_lists.len() as u64;
        }
        verdict.views += 1;
        verdict.ports += upstream_view.len() as u64;
        let of_hinted =
            |key: &&crate::facts::PortKey| hinted.contains(&(key.namespace.clone(), key.service.clone()));
        verdict.hinted += upstream.keys().filter(of_hinted).count() as u64;
    }
    Ok(verdict)
}
