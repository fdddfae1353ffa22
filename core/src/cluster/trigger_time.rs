//! Trigger times on the consumer's side: kept from the change at the source until the dataplane has the answer.
//!
//! One sample for each cause: a time that a slice carried before, or that is kept for the Service already, is not
//! another cause. Nothing is lost by a commit that fails, since only an acknowledgement releases what is kept.

use super::rows::{ServiceId, TriggerId, TriggerRow};
use super::{Cluster, Sample};
use crate::change::ServiceName;
use crate::time::Timestamp;
use crate::trigger;

impl Cluster<'_> {
    /// Keeps the time of a change of this Service.
    pub(super) fn add_trigger(&mut self, service: ServiceId, time: u64) {
        if time == 0 || time < self.settings.started {
            return;
        }
        let first = self.services.at(service).triggers;
        let mut at = first;
        while at.is_some() {
            let row = self.triggers.at(at);
            if row.time == time {
                return;
            }
            at = row.next;
        }
        let row = TriggerRow { service, time, generation: 0, next: first };
        match self.triggers.insert(row) {
            Some(id) => {
                self.services.at_mut(service).triggers = id;
                self.mark_dirty(service);
            }
            None => self.counters.triggers_dropped = self.counters.triggers_dropped.saturating_add(1),
        }
    }

    /// The Service's times belong to this generation now; without one they answer nothing and are forgotten.
    pub(super) fn seal_triggers(&mut self, service: ServiceId, generation: Option<u64>) {
        let mut at = self.services.at(service).triggers;
        self.services.at_mut(service).triggers = TriggerId::NONE;
        while at.is_some() {
            let next = self.triggers.at(at).next;
            match generation.filter(|_| self.has_primary()) {
                Some(generation) => {
                    let first = self.sealed_triggers;
                    let row = self.triggers.at_mut(at);
                    row.generation = generation;
                    row.next = first;
                    self.sealed_triggers = at;
                }
                None => self.triggers.remove(at),
            }
            at = next;
        }
    }

    /// The dataplane has everything up to this generation: one sample for each cause, oldest generation last.
    pub(super) fn release_triggers(
        &mut self,
        generation: u64,
        now: Timestamp,
        mut each: impl FnMut(Sample<'_>),
    ) {
        let mut at = self.sealed_triggers;
        let (mut kept_first, mut kept_last) = (TriggerId::NONE, TriggerId::NONE);
        while at.is_some() {
            let row = *self.triggers.at(at);
            if row.generation > generation {
                if kept_last.is_some() {
                    self.triggers.at_mut(kept_last).next = at;
                } else {
                    kept_first = at;
                }
                kept_last = at;
            } else {
                let started = Timestamp::from_nanos(self.settings.started);
                if let Some(latency) = trigger::sample(Timestamp::from_nanos(row.time), started, now) {
                    let (namespace, name) = self.texts.pair(self.services.at(row.service).name);
                    each(Sample {
                        service: ServiceName { namespace, name },
                        latency_ns: latency.nanos,
                        skewed: latency.skewed,
                    });
                }
                self.triggers.remove(at);
            }
            at = row.next;
        }
        if kept_last.is_some() {
            self.triggers.at_mut(kept_last).next = TriggerId::NONE;
        }
        self.sealed_triggers = kept_first;
    }
}
