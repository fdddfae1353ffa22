//! When the change happened that a write, or a row of the dataplane, is the answer to.
//!
//! Who writes endpoints says in an annotation when the cause was ([`Tracker`]); who applies them subtracts that
//! from the present ([`sample`]). Only two moments are on record in the API: when a Service was made, and when a
//! Pod's readiness last changed. So a change of a selector, of labels, or a deletion has no trigger time.

use crate::error::{Error, Limit};
use crate::table::{Entry, Row, Table, hash_of, ids};
use crate::text::{Domain, TextId, Texts};
use crate::time::Timestamp;

/// A Pod's time as it was remembered and as it is now; [`Timestamp::NONE`] for one that was, or is, not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the type's sentence says it")]
pub struct Times {
    pub remembered: Timestamp,
    pub current: Timestamp,
}

impl Times {
    /// Only what moved forward has a time: what went, or jumped back, changed at a moment that nobody wrote down.
    fn moved(self) -> Option<Timestamp> {
        (self.current > self.remembered).then_some(self.current)
    }
}

/// The trigger time of a Service that is computed anew: the earliest moment that is news, [`Timestamp::NONE`] if
/// nothing is. `remembered` is the Service's own time of last computation, `None` on the first: then all is news,
/// and the answer is when the Service was made, whatever its Pods say.
#[must_use]
pub fn first_cause(
    remembered: Option<Timestamp>,
    created: Timestamp,
    pods: impl IntoIterator<Item = Times>,
) -> Timestamp {
    let Some(remembered) = remembered else {
        return created;
    };
    let service = Times { remembered, current: created }.moved();
    pods.into_iter().filter_map(Times::moved).chain(service).min().unwrap_or(Timestamp::NONE)
}

/// How long a change took to reach the dataplane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Nanoseconds; 0 if skewed.
    pub nanos: u64,
    /// It was applied before it happened: the clocks of two machines disagree.
    pub skewed: bool,
}

/// The latency of what was triggered then and is applied `now`. There is none for what has no trigger time, nor for
/// what was triggered before we `started`: how long we did not run is not our latency (k/k#100861).
#[must_use]
pub fn sample(trigger: Timestamp, started: Timestamp, now: Timestamp) -> Option<Latency> {
    if trigger.is_none() || trigger < started {
        return None;
    }
    Some(Latency { nanos: now.since(trigger), skewed: now < trigger })
}

ids!(
    /// The number of a Service of a [`Tracker`].
    ServiceId,
    /// The number of a Pod's time of a [`Tracker`].
    PodId,
);

/// What is remembered of a Service.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRow {
    /// "namespace/name".
    name: TextId,
    created: Timestamp,
    /// First of its Pods' rows.
    pods: PodId,
}

impl Entry for ServiceRow {
    type Id = ServiceId;
    const EMPTY: Self = Self { name: TextId::NONE, created: Timestamp::NONE, pods: PodId::NONE };
}

/// What is remembered of a Pod, as an endpoint of one Service.
#[derive(Clone, Copy, Debug)]
pub struct PodRow {
    service: ServiceId,
    name: TextId,
    /// Between two computations `remembered` is a time and `current` is none. While one is under way, a row
    /// without `remembered` is new, and a row without `current` will be forgotten.
    remembered: Timestamp,
    current: Timestamp,
    next: PodId,
}

impl Entry for PodRow {
    type Id = PodId;
    const EMPTY: Self = Self {
        service: ServiceId::NONE,
        name: TextId::NONE,
        remembered: Timestamp::NONE,
        current: Timestamp::NONE,
        next: PodId::NONE,
    };
}

/// Remembers the times of each Service and its Pods, and says what has moved since. One for each controller that
/// writes.
#[derive(Debug)]
pub struct Tracker<'m> {
    services: Table<'m, ServiceRow>,
    pods: Table<'m, PodRow>,
    texts: Texts<'m>,
    seed: u64,
}

impl<'m> Tracker<'m> {
    /// A tracker that remembers nothing yet. A Pod takes a row for each Service that selects it; while a Service
    /// is computed, its Pods that went still have theirs. Rows come with an index as long as they are.
    pub fn new(
        services: (&'m mut [Row<ServiceRow>], &'m mut [u32]),
        pods: (&'m mut [Row<PodRow>], &'m mut [u32]),
        texts: Texts<'m>,
        seed: u64,
    ) -> Self {
        Self { services: Table::new(services.0, services.1), pods: Table::new(pods.0, pods.1), texts, seed }
    }

    /// The trigger time of what will be written for this Service now; [`Timestamp::NONE`] if there is none, and an
    /// older one must not be left standing. `pods` are all that the selector chooses, ready or not, each with the
    /// time of its condition Ready. What is given here is what the next call compares with.
    ///
    /// [`Error::Full`] names the first limit that does not do: Services, Pods, Texts or TextBytes.
    pub fn compute<'p>(
        &mut self,
        namespace: &str,
        name: &str,
        created: Timestamp,
        pods: impl IntoIterator<Item = (&'p str, Timestamp)>,
    ) -> Result<Timestamp, Error> {
        let found = self.find(namespace, name);
        let id = match found {
            Some(id) => id,
            None => self.insert(namespace, name)?,
        };
        let mut shortage = None;
        for (name, time) in pods {
            if !time.is_none() {
                shortage = self.stage(id, name, time, shortage);
            }
        }
        if let Some(shortage) = shortage {
            self.settle(id, |pod| pod.remembered);
            if found.is_none() {
                self.remove(id);
            }
            return Err(shortage.error());
        }
        let remembered = found.map(|id| self.services.at(id).created);
        let trigger = first_cause(remembered, created, self.changes(id));
        self.services.at_mut(id).created = created;
        self.settle(id, |pod| pod.current);
        Ok(trigger)
    }

    /// Forgets the Service: one of the same name will be a new one.
    pub fn delete(&mut self, namespace: &str, name: &str) {
        if let Some(id) = self.find(namespace, name) {
            self.settle(id, |_| Timestamp::NONE);
            self.remove(id);
        }
    }

    /// Services and Pods that are remembered.
    #[must_use]
    pub fn usage(&self) -> (u32, u32) {
        (self.services.len(), self.pods.len())
    }

    fn service_hash(&self, name: TextId) -> u32 {
        hash_of(self.seed, name.0.into(), 0)
    }

    fn pod_hash(&self, service: ServiceId, name: TextId) -> u32 {
        hash_of(self.seed, name.0.into(), u64::from(service.0).wrapping_add(1))
    }

    fn find(&self, namespace: &str, name: &str) -> Option<ServiceId> {
        let name = self.texts.find_parts(Domain::Plain, &[namespace.as_bytes(), name.as_bytes()])?;
        self.services.find(self.service_hash(name), |service| service.name == name)
    }

    fn insert(&mut self, namespace: &str, name: &str) -> Result<ServiceId, Error> {
        let length = namespace.len().saturating_add(1).saturating_add(name.len());
        let Some(name) = self.texts.intern_parts(Domain::Plain, &[namespace.as_bytes(), name.as_bytes()])
        else {
            return Err(Shortage::of_text(&self.texts, length).error());
        };
        let id = self.services.insert(self.service_hash(name), ServiceRow { name, ..ServiceRow::EMPTY });
        id.ok_or_else(|| {
            self.texts.release(name);
            Shortage { limit: Limit::Services, capacity: self.services.capacity(), missing: 1 }.error()
        })
    }

    fn remove(&mut self, id: ServiceId) {
        let name = self.services.at(id).name;
        self.services.remove(self.service_hash(name), id);
        self.texts.release(name);
    }

    /// Notes a Pod's time beside the remembered one. What there was no room for is counted, so that the error can
    /// say how much would have done.
    fn stage(
        &mut self,
        service: ServiceId,
        name: &str,
        time: Timestamp,
        shortage: Option<Shortage>,
    ) -> Option<Shortage> {
        let known = self.texts.find(name.as_bytes()).and_then(|name| {
            self.pods.find(self.pod_hash(service, name), |pod| pod.service == service && pod.name == name)
        });
        if let Some(known) = known {
            self.pods.at_mut(known).current = time;
            return shortage;
        }
        if let Some(shortage) = shortage {
            return Some(shortage.and(name.len()));
        }
        let Some(text) = self.texts.intern(name.as_bytes()) else {
            return Some(Shortage::of_text(&self.texts, name.len()));
        };
        let next = self.services.at(service).pods;
        let row = PodRow { service, name: text, remembered: Timestamp::NONE, current: time, next };
        let Some(id) = self.pods.insert(self.pod_hash(service, text), row) else {
            self.texts.release(text);
            return Some(Shortage { limit: Limit::Pods, capacity: self.pods.capacity(), missing: 1 });
        };
        self.services.at_mut(service).pods = id;
        None
    }

    /// Ends a computation: each Pod's time is what `time` says, and those without one are forgotten.
    fn settle(&mut self, service: ServiceId, time: impl Fn(&PodRow) -> Timestamp) {
        let mut kept = PodId::NONE;
        let mut at = self.services.at(service).pods;
        while at.is_some() {
            let pod = *self.pods.at(at);
            let time = time(&pod);
            if time.is_none() {
                self.pods.remove(self.pod_hash(service, pod.name), at);
                self.texts.release(pod.name);
            } else {
                *self.pods.at_mut(at) =
                    PodRow { remembered: time, current: Timestamp::NONE, next: kept, ..pod };
                kept = at;
            }
            at = pod.next;
        }
        self.services.at_mut(service).pods = kept;
    }

    fn changes(&self, service: ServiceId) -> impl Iterator<Item = Times> {
        let mut at = self.services.at(service).pods;
        core::iter::from_fn(move || {
            let pod = at.is_some().then(|| self.pods.at(at))?;
            at = pod.next;
            Some(Times { remembered: pod.remembered, current: pod.current })
        })
    }
}

/// What there is too little of, and how much more would have done.
#[derive(Clone, Copy)]
struct Shortage {
    limit: Limit,
    capacity: u32,
    missing: u32,
}

impl Shortage {
    /// Of rows or bytes, for a text of this length.
    fn of_text(texts: &Texts<'_>, length: usize) -> Self {
        let ((rows, bytes), (row_room, byte_room)) = (texts.capacity(), texts.room());
        if row_room == 0 {
            Self { limit: Limit::Texts, capacity: rows, missing: 1 }
        } else {
            let missing = Texts::cost(length).saturating_sub(byte_room);
            Self { limit: Limit::TextBytes, capacity: bytes, missing }
        }
    }

    /// One more Pod that has no row, with a name of this length.
    const fn and(mut self, length: usize) -> Self {
        let more = if matches!(self.limit, Limit::TextBytes) { Texts::cost(length) } else { 1 };
        self.missing = self.missing.saturating_add(more);
        self
    }

    const fn error(self) -> Error {
        Error::Full { limit: self.limit, needed: self.capacity.saturating_add(self.missing) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const SECOND: u64 = 1_000_000_000;
    const NONE: Timestamp = Timestamp::NONE;
    const T0: Timestamp = Timestamp::from_nanos(1_000 * SECOND);
    const T1: Timestamp = Timestamp::from_nanos(1_001 * SECOND);
    const T2: Timestamp = Timestamp::from_nanos(1_002 * SECOND);
    const T3: Timestamp = Timestamp::from_nanos(1_003 * SECOND);
    const T4: Timestamp = Timestamp::from_nanos(1_004 * SECOND);
    const T5: Timestamp = Timestamp::from_nanos(1_005 * SECOND);

    /// Computes "shop/web", made at T0, for each list of Pods in turn.
    #[track_caller]
    fn check<const N: usize>(steps: [(&[(&str, Timestamp)], Timestamp); N]) {
        let (mut services, mut pods) = (([Row::EMPTY; 4], [0; 4]), ([Row::EMPTY; 16], [0; 16]));
        let (mut rows, mut index, mut bytes) = ([Row::EMPTY; 20], [0; 20], [0; 1024]);
        let texts = Texts::new(&mut rows, &mut index, &mut bytes, 1);
        let services = (&mut services.0[..], &mut services.1[..]);
        let mut tracker = Tracker::new(services, (&mut pods.0, &mut pods.1), texts, 1);
        for (at, (pods, want)) in steps.into_iter().enumerate() {
            assert_eq!(tracker.compute("shop", "web", T0, pods.iter().copied()), Ok(want), "step {at}");
        }
    }

    #[test]
    fn the_first_time_is_when_the_service_was_made() {
        check([(&[], T0)]);
        check([(&[("a", T1), ("b", T5)], T0)]);
    }

    #[test]
    fn without_news_there_is_no_time() {
        check([(&[("a", T1), ("b", T2)], T0), (&[("a", T1), ("b", T2)], NONE)]);
    }

    #[test]
    fn of_several_changes_the_first_counts() {
        check([(&[], T0), (&[("a", T2), ("b", T1)], T1)]);
        check([(&[("a", T1), ("b", T2), ("c", T3)], T0), (&[("a", T5), ("b", T4), ("c", T3)], T4)]);
    }

    #[test]
    fn a_deletion_has_no_time_and_a_pod_that_comes_back_is_new() {
        check([(&[("a", T1), ("b", T2)], T0), (&[("a", T1)], NONE), (&[("a", T1), ("b", T2)], T2)]);
    }

    #[test]
    fn a_time_that_jumps_back_is_no_news_but_is_remembered() {
        check([(&[("a", T3)], T0), (&[("a", T1)], NONE), (&[("a", T2)], T2)]);
    }

    #[test]
    fn a_pod_without_a_time_is_forgotten() {
        check([(&[("a", T3)], T0), (&[("a", NONE)], NONE), (&[("a", T3)], T3)]);
    }

    #[test]
    fn a_service_made_anew_is_news() {
        let pods = || [Times { remembered: T1, current: T1 }];
        assert_eq!(first_cause(Some(T0), T4, pods()), T4);
        assert_eq!(first_cause(Some(T4), T0, pods()), NONE);
        assert_eq!(first_cause(Some(NONE), NONE, pods()), NONE);
        assert_eq!(first_cause(None, NONE, [Times { remembered: NONE, current: T1 }]), NONE);
    }

    #[test]
    fn a_deleted_service_is_forgotten_with_its_pods() {
        let (mut services, mut pods) = (([Row::EMPTY; 4], [0; 4]), ([Row::EMPTY; 4], [0; 4]));
        let (mut rows, mut index, mut bytes) = ([Row::EMPTY; 8], [0; 8], [0; 256]);
        let texts = Texts::new(&mut rows, &mut index, &mut bytes, 1);
        let services = (&mut services.0[..], &mut services.1[..]);
        let mut tracker = Tracker::new(services, (&mut pods.0, &mut pods.1), texts, 1);
        assert_eq!(tracker.compute("shop", "web", T0, [("a", T1)]), Ok(T0));
        assert_eq!(tracker.compute("shop", "db", T2, [("a", T1)]), Ok(T2));
        assert_eq!(tracker.usage(), (2, 2));
        tracker.delete("shop", "web");
        tracker.delete("shop", "unheard-of");
        assert_eq!(tracker.usage(), (1, 1));
        assert_eq!(tracker.compute("shop", "web", T3, [("a", T1)]), Ok(T3));
        assert_eq!(tracker.compute("shop", "db", T2, [("a", T1)]), Ok(NONE));
        tracker.delete("shop", "web");
        tracker.delete("shop", "db");
        assert_eq!((tracker.usage(), tracker.texts.usage()), ((0, 0), (0, 0)));
    }

    #[test]
    fn a_full_table_is_named_and_nothing_is_remembered() {
        let (mut services, mut pods) = (([Row::EMPTY; 1], [0; 1]), ([Row::EMPTY; 2], [0; 2]));
        let (mut rows, mut index, mut bytes) = ([Row::EMPTY; 8], [0; 8], [0; 128]);
        let texts = Texts::new(&mut rows, &mut index, &mut bytes, 1);
        let services = (&mut services.0[..], &mut services.1[..]);
        let mut tracker = Tracker::new(services, (&mut pods.0, &mut pods.1), texts, 1);
        let full = |limit, needed| Err(Error::Full { limit, needed });
        assert_eq!(
            tracker.compute("shop", "web", T0, [("a", T1), ("b", T1), ("c", T1), ("d", T1)]),
            full(Limit::Pods, 4)
        );
        assert_eq!((tracker.usage(), tracker.texts.usage()), ((0, 0), (0, 0)));
        assert_eq!(tracker.compute("shop", "web", T0, [("a", T1)]), Ok(T0));
        assert_eq!(tracker.compute("shop", "db", T0, []), full(Limit::Services, 2));
        assert_eq!(
            tracker.compute("shop", "web", T0, [("a", T2), ("b", T3), ("c", T3)]),
            full(Limit::Pods, 3)
        );
        assert_eq!(tracker.usage(), (1, 1));
        assert_eq!(tracker.compute("shop", "web", T0, [("a", T2)]), Ok(T2));
        let long = "n".repeat(100);
        assert_eq!(
            tracker.compute("shop", "web", T0, [("a", T3), (long.as_str(), T3)]),
            full(Limit::TextBytes, 144)
        );
        assert_eq!(tracker.compute("shop", "web", T0, [("a", T3)]), Ok(T3));
    }

    /// Random Services, Pods and times, against the algorithm as it is told, with maps.
    #[test]
    fn random_times_are_answered_as_with_maps() {
        let (mut services, mut pods) = (([Row::EMPTY; 3], [0; 3]), ([Row::EMPTY; 12], [0; 12]));
        let (mut rows, mut index, mut bytes) = ([Row::EMPTY; 11], [0; 11], [0; 512]);
        let texts = Texts::new(&mut rows, &mut index, &mut bytes, 1);
        let services = (&mut services.0[..], &mut services.1[..]);
        let mut tracker = Tracker::new(services, (&mut pods.0, &mut pods.1), texts, 7);
        let mut model: BTreeMap<String, (Timestamp, BTreeMap<String, Timestamp>)> = BTreeMap::new();
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut refused = 0;
        for _ in 0..20_000 {
            let name = format!("s{}", random(4));
            if random(10) == 0 {
                tracker.delete("shop", &name);
                model.remove(&name);
                continue;
            }
            let created = Timestamp::from_nanos(random(4));
            let pods: BTreeMap<String, Timestamp> = (0..random(7))
                .map(|_| (format!("p{}", random(8)), Timestamp::from_nanos(random(6))))
                .collect();
            let got = tracker.compute(
                "shop",
                &name,
                created,
                pods.iter().map(|(name, time)| (name.as_str(), *time)),
            );
            let Ok(got) = got else {
                refused += 1;
                continue;
            };
            let with_time: BTreeMap<String, Timestamp> =
                pods.into_iter().filter(|(_, time)| !time.is_none()).collect();
            let old = model.insert(name, (created, with_time.clone()));
            let want = match old {
                None => created,
                Some((old_created, old)) => {
                    let mut moved: Vec<Timestamp> = with_time
                        .iter()
                        .filter(|(name, time)| **time > old.get(*name).copied().unwrap_or_default())
                        .map(|(_, time)| *time)
                        .collect();
                    moved.extend((created > old_created).then_some(created));
                    moved.into_iter().min().unwrap_or_default()
                }
            };
            assert_eq!(got, want);
            let pods: usize = model.values().map(|(_, pods)| pods.len()).sum();
            assert_eq!(tracker.usage(), (model.len() as u32, pods as u32));
        }
        assert!((100..10_000).contains(&refused), "{refused} of 20,000 were refused");
    }

    #[test]
    fn what_was_triggered_before_the_start_is_not_measured() {
        assert_eq!(sample(T0, T1, T5), None);
        assert_eq!(sample(NONE, NONE, T5), None);
        assert_eq!(sample(T1, T1, T2), Some(Latency { nanos: SECOND, skewed: false }));
        assert_eq!(sample(T2, T1, T2), Some(Latency { nanos: 0, skewed: false }));
    }

    #[test]
    fn applied_before_triggered_is_zero_and_says_so() {
        assert_eq!(sample(T3, T1, T2), Some(Latency { nanos: 0, skewed: true }));
    }
}
