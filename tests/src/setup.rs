//! Clusters for tests: what a scenario or a vector asks for, with ample room unless it asks for little.

use std::collections::BTreeMap;

use evenkeel_core::address::{Address, Family};
use evenkeel_core::error::Limit;
use evenkeel_core::limits::{Backends, Config, Limits, Source};
use evenkeel_core::storage::BYTES_PER_ROW;
use evenkeel_core::time::Timestamp;
use serde::Deserialize;

/// What is wanted of a cluster, as owned values that a scenario can spell.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Setup {
    /// Name of the node that the view is for.
    pub node: String,
    /// `slices`, `pods` or `overlay`.
    pub endpoints: Endpoints,
    /// `endpoints` or `nodes`.
    pub backends: Kind,
    /// The sum of the weights of a set; 0 for plain weights.
    pub weight_range: u16,
    /// Whose Services are wanted; empty for those without the label.
    pub service_proxy_name: String,
    /// Addresses on which node ports are served.
    pub node_port_addresses: Vec<String>,
    /// The families that are wanted; empty for both.
    pub families: Vec<String>,
    /// Trigger times before this are not measured.
    pub started: Option<String>,
    /// Keep which Pod an endpoint is.
    pub keep_pods: bool,
    /// Limits that differ from the ample ones, by name.
    pub limits: BTreeMap<String, u32>,
}

/// Where endpoints come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "as in core")]
pub enum Endpoints {
    #[default]
    Slices,
    Pods,
    Overlay,
}

/// What a backend is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "as in core")]
pub enum Kind {
    #[default]
    Endpoints,
    Nodes,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            node: "node-a".to_owned(),
            endpoints: Endpoints::default(),
            backends: Kind::default(),
            weight_range: 0,
            service_proxy_name: String::new(),
            node_port_addresses: Vec::new(),
            families: Vec::new(),
            started: None,
            keep_pods: false,
            limits: BTreeMap::new(),
        }
    }
}

impl Setup {
    /// Runs `test` with the configuration that this spells.
    ///
    /// # Panics
    /// An address, a family or a time that cannot be read.
    pub fn with_config<T>(&self, test: impl FnOnce(&Config<'_>) -> T) -> T {
        let addresses: Vec<_> =
            self.node_port_addresses.iter().map(|text| Address::parse(text).expect("an address")).collect();
        let families: Vec<_> =
            self.families.iter().map(|text| Family::parse(text).expect("a family")).collect();
        let started = self.started.as_deref().map(|text| Timestamp::parse(text).expect("a time"));
        test(&Config {
            node: &self.node,
            source: match self.endpoints {
                Endpoints::Slices => Source::Slices,
                Endpoints::Pods => Source::Pods,
                Endpoints::Overlay => Source::Overlay,
            },
            backends: match self.backends {
                Kind::Endpoints => Backends::Endpoints,
                Kind::Nodes => Backends::Nodes,
            },
            weight_range: self.weight_range,
            service_proxy_name: &self.service_proxy_name,
            node_port_addresses: &addresses,
            families: &families,
            started: started.unwrap_or(Timestamp::NONE),
            keep_pods: self.keep_pods,
        })
    }

    /// The limits that this asks for.
    ///
    /// # Panics
    /// A limit of a name that there is not.
    #[must_use]
    pub fn limits(&self) -> Limits {
        changed(room(), &self.limits)
    }
}

/// Room for whatever a single test holds.
#[must_use]
pub const fn room() -> Limits {
    Limits::for_cluster(128, 2_000, 64).with_pods(1_500)
}

/// A limit by its name.
#[must_use]
pub fn limit(name: &str) -> Option<Limit> {
    BYTES_PER_ROW.into_iter().map(|(limit, _)| limit).find(|limit| limit.name() == name)
}

/// Limits with some of them changed, by name.
///
/// # Panics
/// A limit of a name that there is not.
#[must_use]
pub fn changed(mut limits: Limits, by_name: &BTreeMap<String, u32>) -> Limits {
    for (name, value) in by_name {
        limits.set(limit(name).unwrap_or_else(|| panic!("no limit {name}")), *value);
    }
    limits
}
