//! Which endpoints of a Service port this node may send traffic to.
//!
//! Ready endpoints are usable, as far as hints allow. When there is none, those still serving while they
//! terminate are: a roll-out must not look like an outage. The Local policy asks the same of the endpoints on
//! this node. (`kube-proxy topology`, CategorizeEndpoints; KEP-1669, KEP-2086.)

use crate::reason::Reason;
use crate::topology::{self, Mode};

/// What is known of one endpoint, as far as the choice depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts(pub(crate) u16);

#[allow(missing_docs, reason = "each is a condition, a place or a hint, named as elsewhere")]
impl Facts {
    pub const NONE: Self = Self(0);
    /// Some source has it.
    pub const PRESENT: Self = Self(1);
    pub const READY: Self = Self(1 << 1);
    pub const SERVING: Self = Self(1 << 2);
    pub const TERMINATING: Self = Self(1 << 3);
    /// It is on this node.
    pub const LOCAL: Self = Self(1 << 4);
    pub const NODE_HINTED: Self = Self(1 << 5);
    pub const NAMES_NODE: Self = Self(1 << 6);
    pub const ZONE_HINTED: Self = Self(1 << 7);
    pub const NAMES_ZONE: Self = Self(1 << 8);
    /// Not to be counted: the local Pod speaks for it.
    pub const REPLACED: Self = Self(1 << 9);

    /// All of `other` hold.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `self`, and `other` if the condition holds.
    #[must_use]
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.with(other) } else { self }
    }

    /// `self` without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Some source has it and no Pod speaks for it.
    #[must_use]
    pub const fn counts(self) -> bool {
        self.has(Self::PRESENT) && !self.has(Self::REPLACED)
    }

    /// Serving while it terminates.
    #[must_use]
    pub const fn is_draining(self) -> bool {
        self.has(Self(Self::SERVING.0 | Self::TERMINATING.0))
    }
}

/// How many endpoints of a port have a property. Each address and port counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in Facts")]
pub struct Counts {
    pub total: u32,
    pub ready: u32,
    /// Serving and terminating.
    pub draining: u32,
    pub local_ready: u32,
    pub local_draining: u32,
    /// Of the ready ones: with node hints, with a node hint for us, and the same for zones.
    pub node_hinted: u32,
    pub names_node: u32,
    pub zone_hinted: u32,
    pub names_zone: u32,
}

impl Counts {
    /// No endpoints.
    pub const NONE: Self = Self {
        total: 0,
        ready: 0,
        draining: 0,
        local_ready: 0,
        local_draining: 0,
        node_hinted: 0,
        names_node: 0,
        zone_hinted: 0,
        names_zone: 0,
    };

    /// Counts one endpoint in.
    pub fn add(&mut self, facts: Facts) {
        self.each(facts, |count| *count = count.saturating_add(1));
    }

    /// Counts one endpoint out, with the facts it was counted in with.
    pub fn subtract(&mut self, facts: Facts) {
        self.each(facts, |count| *count = count.saturating_sub(1));
    }

    fn each(&mut self, facts: Facts, change: impl Fn(&mut u32)) {
        if !facts.counts() {
            return;
        }
        change(&mut self.total);
        if facts.is_draining() {
            change(&mut self.draining);
            if facts.has(Facts::LOCAL) {
                change(&mut self.local_draining);
            }
        }
        if !facts.has(Facts::READY) {
            return;
        }
        change(&mut self.ready);
        for (fact, count) in [
            (Facts::LOCAL, &mut self.local_ready),
            (Facts::NODE_HINTED, &mut self.node_hinted),
            (Facts::NAMES_NODE, &mut self.names_node),
            (Facts::ZONE_HINTED, &mut self.zone_hinted),
            (Facts::NAMES_ZONE, &mut self.names_zone),
        ] {
            if facts.has(fact) {
                change(count);
            }
        }
    }
}

/// Which of its two sets a port needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Some VIP goes to any endpoint. Also with the external policy Local: what comes from this node itself does.
    pub cluster: bool,
    /// Some VIP goes to endpoints on this node only.
    pub local: bool,
}

/// From which endpoints a set is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum From {
    /// The set is empty, or not needed.
    #[default]
    Nothing,
    /// Ready ones.
    Ready,
    /// Those serving while they terminate, since none is ready.
    Draining,
}

/// What was decided for a port: enough to tell of each endpoint whether it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usable {
    /// Which hints are used, in the Cluster set.
    pub mode: Mode,
    /// The Cluster set.
    pub cluster: From,
    /// The Local set.
    pub local: From,
    /// There is an endpoint somewhere that could be used: a flow without one is dropped, else refused.
    pub any: bool,
}

impl Usable {
    /// Decides. Constant cost, whatever the number of endpoints.
    #[must_use]
    pub const fn decide(counts: &Counts, needs: Needs) -> Self {
        let nothing = Self { mode: Mode::Anywhere, cluster: From::Nothing, local: From::Nothing, any: false };
        if counts.total == 0 {
            return nothing;
        }
        let somewhere = if counts.ready > 0 {
            From::Ready
        } else if counts.draining > 0 {
            From::Draining
        } else {
            From::Nothing
        };
        let any = !matches!(somewhere, From::Nothing);
        let mode = if needs.cluster { topology::mode(counts) } else { Mode::Anywhere };
        let cluster = if needs.cluster { somewhere } else { From::Nothing };
        let local = if !needs.local {
            From::Nothing
        } else if counts.local_ready > 0 {
            From::Ready
        } else if counts.local_draining > 0 {
            From::Draining
        } else {
            From::Nothing
        };
        Self { mode, cluster, local, any: any && (needs.cluster || needs.local) }
    }

    /// Hints allow this endpoint.
    #[must_use]
    pub const fn allows(self, facts: Facts) -> bool {
        match self.mode {
            Mode::Anywhere => true,
            Mode::Node => facts.has(Facts::NAMES_NODE),
            Mode::Zone => facts.has(Facts::NAMES_ZONE),
        }
    }

    /// The endpoint is in the Cluster set.
    #[must_use]
    pub const fn in_cluster(self, facts: Facts) -> bool {
        facts.counts()
            && match self.cluster {
                From::Nothing => false,
                From::Ready => facts.has(Facts::READY) && self.allows(facts),
                From::Draining => facts.is_draining(),
            }
    }

    /// The endpoint is in the Local set.
    #[must_use]
    pub const fn in_local(self, facts: Facts) -> bool {
        facts.counts()
            && facts.has(Facts::LOCAL)
            && match self.local {
                From::Nothing => false,
                From::Ready => facts.has(Facts::READY),
                From::Draining => facts.is_draining(),
            }
    }

    /// In no set, but it keeps the flows it has: serving while it terminates, and within this node's reach.
    #[must_use]
    pub const fn lingers(self, facts: Facts, needs: Needs) -> bool {
        facts.counts()
            && facts.is_draining()
            && (needs.cluster || (needs.local && facts.has(Facts::LOCAL)))
            && !self.in_cluster(facts)
            && !self.in_local(facts)
    }

    /// Why this endpoint is in, or out.
    #[must_use]
    pub const fn reason(self, facts: Facts, needs: Needs) -> Reason {
        if facts.has(Facts::REPLACED) {
            Reason::ReplacedByPod
        } else if self.in_cluster(facts) || self.in_local(facts) {
            if facts.has(Facts::READY) { Reason::Ready } else { Reason::TerminatingFallback }
        } else if !facts.has(Facts::READY) {
            if !facts.has(Facts::TERMINATING) {
                Reason::NotReady
            } else if facts.has(Facts::SERVING) {
                Reason::Terminating
            } else {
                Reason::NotServing
            }
        } else if needs.cluster {
            Reason::OtherTopology
        } else {
            Reason::NotLocal
        }
    }

    /// Six bits, to be compared and kept in a row.
    #[must_use]
    pub(crate) const fn bits(self) -> u16 {
        (self.mode as u16) | (self.cluster as u16) << 2 | (self.local as u16) << 4 | (self.any as u16) << 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Needs = Needs { cluster: true, local: true };
    const CLUSTER: Needs = Needs { cluster: true, local: false };
    const LOCAL: Needs = Needs { cluster: false, local: true };

    const READY: Facts = Facts(Facts::PRESENT.0 | Facts::READY.0 | Facts::SERVING.0);
    const DRAINING: Facts = Facts(Facts::PRESENT.0 | Facts::SERVING.0 | Facts::TERMINATING.0);
    const UNREADY: Facts = Facts::PRESENT;
    const HERE: Facts = Facts::LOCAL;

    /// The sets of these endpoints, as positions.
    fn sets(endpoints: &[Facts], needs: Needs) -> (Vec<usize>, Vec<usize>, bool) {
        let mut counts = Counts::NONE;
        endpoints.iter().for_each(|facts| counts.add(*facts));
        let usable = Usable::decide(&counts, needs);
        let which =
            |is: &dyn Fn(Facts) -> bool| (0..endpoints.len()).filter(|at| is(endpoints[*at])).collect();
        (which(&|facts| usable.in_cluster(facts)), which(&|facts| usable.in_local(facts)), usable.any)
    }

    #[test]
    fn ready_ones_are_used_and_others_are_not() {
        assert_eq!(sets(&[READY, UNREADY, DRAINING], CLUSTER), (vec![0], vec![], true));
    }

    #[test]
    fn terminating_ones_are_used_when_nothing_else_is_left() {
        assert_eq!(sets(&[UNREADY, DRAINING], CLUSTER), (vec![1], vec![], true));
    }

    #[test]
    fn a_local_terminating_one_is_used_although_others_elsewhere_are_ready() {
        assert_eq!(sets(&[READY, DRAINING.with(HERE)], BOTH), (vec![0], vec![1], true));
    }

    #[test]
    fn an_empty_local_set_is_not_no_endpoints() {
        assert_eq!(sets(&[READY], LOCAL), (vec![], vec![], true));
        assert_eq!(sets(&[UNREADY.with(HERE)], LOCAL), (vec![], vec![], false));
    }

    #[test]
    fn ready_while_terminating_counts_as_ready() {
        let both = READY.with(Facts::TERMINATING);
        assert_eq!(sets(&[both, DRAINING], CLUSTER), (vec![0], vec![], true));
    }

    #[test]
    fn zone_hints_choose_and_the_fallback_ignores_them() {
        let near = READY.with(Facts::ZONE_HINTED).with(Facts::NAMES_ZONE);
        let far = READY.with(Facts::ZONE_HINTED);
        assert_eq!(sets(&[near, far], CLUSTER), (vec![0], vec![], true));
        let gone = DRAINING.with(Facts::ZONE_HINTED);
        assert_eq!(sets(&[gone], CLUSTER), (vec![0], vec![], true));
    }

    #[test]
    fn what_was_counted_in_can_be_counted_out() {
        let mut counts = Counts::NONE;
        let all = [READY.with(HERE), DRAINING, UNREADY, READY.with(Facts::ZONE_HINTED)];
        all.iter().for_each(|facts| counts.add(*facts));
        all.iter().for_each(|facts| counts.subtract(*facts));
        assert_eq!(counts, Counts::NONE);
    }
}
