//! The annotations and labels that mean something to us: every key stands here and nowhere else.
//!
//! Ours are on the prefix `evenkeel.dev/`. A value that cannot be meant is ignored, counted and reported; it
//! never costs the object that carries it.

use evenkeel_core::time::Timestamp;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::marker::PhantomData;

use super::Note;

/// Factor of each backend, in hundredths; on a Node, a Pod or an EndpointSlice.
pub const WEIGHT: &str = "evenkeel.dev/weight";
/// Cilium 1.20 reads this one on EndpointSlices (cilium/cilium#46061), in the same unit; ours goes first.
pub const WEIGHT_CILIUM: &str = "service.cilium.io/weight";
/// Weight 0 until removed; on a Node, a Pod or a Service.
pub const MAINTENANCE: &str = "evenkeel.dev/maintenance";
/// When the change at the source of an EndpointSlice happened.
pub const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// Label of an EndpointSlice: whose endpoints these are.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Label of an EndpointSlice: its Service has no VIP.
pub const HEADLESS: &str = "service.kubernetes.io/headless";
/// Label of a Service and its EndpointSlices: another proxy's business.
pub const PROXY_NAME: &str = "service.kubernetes.io/service-proxy-name";
/// Label of a Node.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// Label of a Node: not wanted as a backend of load balancers.
pub const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// Key of the taint that a cordoned Node carries.
pub const TAINT_UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The weight of an object without the annotation.
pub const WEIGHT_DEFAULT: u16 = 100;

/// Which keys of a map of texts are wanted; the others are skipped as they are read.
pub(super) trait Wanted {
    const KEYS: &'static [&'static str];
}

#[derive(Default)]
pub(super) struct OfService;
impl Wanted for OfService {
    const KEYS: &'static [&'static str] = &[MAINTENANCE, PROXY_NAME];
}

#[derive(Default)]
pub(super) struct OfSlice;
impl Wanted for OfSlice {
    const KEYS: &'static [&'static str] =
        &[WEIGHT, WEIGHT_CILIUM, TRIGGER_TIME, SERVICE_NAME, HEADLESS, PROXY_NAME];
}

#[derive(Default)]
pub(super) struct OfPod;
impl Wanted for OfPod {
    const KEYS: &'static [&'static str] = &[WEIGHT, MAINTENANCE];
}

#[derive(Default)]
pub(super) struct OfNode;
impl Wanted for OfNode {
    const KEYS: &'static [&'static str] = &[WEIGHT, MAINTENANCE, ZONE, EXCLUDED];
}

/// Labels or annotations, as far as they are wanted.
#[derive(Default)]
pub(super) struct Marks<W> {
    found: Vec<(&'static str, String)>,
    wanted: PhantomData<W>,
}

impl<W: Wanted> Marks<W> {
    /// The value under `key`, moved out.
    pub(super) fn take(&mut self, key: &str) -> Option<String> {
        self.found.iter_mut().find(|(found, _)| *found == key).map(|(_, value)| std::mem::take(value))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.found.iter().find(|(found, _)| *found == key).map(|(_, value)| value.as_str())
    }

    /// [`WEIGHT`], else Cilium's, else 100.
    pub(super) fn weight(&self, notes: &mut Vec<Note>) -> u16 {
        for key in [WEIGHT, WEIGHT_CILIUM] {
            let Some(text) = self.get(key) else { continue };
            match text.parse() {
                // `parse` would take "+5", which nobody means.
                Ok(weight) if !text.starts_with('+') => return weight,
                _ => notes.push(Note::annotation(key, "a number from 0 to 65535", text)),
            }
        }
        WEIGHT_DEFAULT
    }

    /// [`MAINTENANCE`].
    pub(super) fn maintenance(&self, notes: &mut Vec<Note>) -> bool {
        match self.get(MAINTENANCE) {
            Some("true") => true,
            Some("false") | None => false,
            Some(text) => {
                notes.push(Note::annotation(MAINTENANCE, "\"true\" or \"false\"", text));
                false
            }
        }
    }

    /// [`TRIGGER_TIME`].
    pub(super) fn trigger(&self, notes: &mut Vec<Note>) -> Timestamp {
        let Some(text) = self.get(TRIGGER_TIME) else { return Timestamp::NONE };
        Timestamp::parse(text).unwrap_or_else(|| {
            notes.push(Note::annotation(TRIGGER_TIME, "a time such as 2026-11-02T10:00:05.25Z", text));
            Timestamp::NONE
        })
    }
}

impl<'de, W: Wanted> Deserialize<'de> for Marks<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMap<W>(PhantomData<W>);

        impl<'de, W: Wanted> Visitor<'de> for OfMap<W> {
            type Value = Marks<W>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found: Vec<(&'static str, String)> = Vec::new();
                while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    match W::KEYS.iter().find(|wanted| **wanted == key) {
                        None => {
                            map.next_value::<IgnoredAny>()?;
                        }
                        Some(wanted) => {
                            let value = map.next_value::<Option<String>>()?.unwrap_or_default();
                            found.retain(|(key, _)| key != wanted);
                            found.push((wanted, value));
                        }
                    }
                }
                Ok(Marks { found, wanted: PhantomData })
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Marks { found: Vec::new(), wanted: PhantomData })
            }
        }

        deserializer.deserialize_map(OfMap(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(json: &str) -> Marks<OfSlice> {
        serde_json::from_str(json).expect("a map of texts")
    }

    #[test]
    fn our_weight_goes_before_ciliums() {
        let both = marks(r#"{"service.cilium.io/weight":"7","evenkeel.dev/weight":"9","other":"x"}"#);
        assert_eq!(both.weight(&mut Vec::new()), 9);
        assert_eq!(marks(r#"{"service.cilium.io/weight":"7"}"#).weight(&mut Vec::new()), 7);
        assert_eq!(marks("{}").weight(&mut Vec::new()), 100);
    }

    #[test]
    fn a_weight_that_cannot_be_meant_is_ignored_and_noted() {
        for text in ["", "-1", "+1", "65536", "1.5", "heavy", " 5"] {
            let mut notes = Vec::new();
            let json = serde_json::json!({ WEIGHT: text }).to_string();
            assert_eq!(marks(&json).weight(&mut notes), 100, "{text}");
            assert_eq!(notes.len(), 1, "{text}");
        }
    }

    #[test]
    fn a_trigger_time_that_is_none_counts_as_absent() {
        let mut notes = Vec::new();
        let bad = marks(r#"{"endpoints.kubernetes.io/last-change-trigger-time":"yesterday"}"#);
        assert!(bad.trigger(&mut notes).is_none());
        assert_eq!(
            notes[0].to_string(),
            "metadata.annotations[endpoints.kubernetes.io/last-change-trigger-time]: ignored: \
             expected a time such as 2026-11-02T10:00:05.25Z, found \"yesterday\""
        );
    }
}
