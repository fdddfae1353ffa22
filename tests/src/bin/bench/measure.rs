//! How a time is taken: whole rounds of CPU time, the best and the middle one of them.

use crate::clock::{allocated, cpu_ns};

/// The shortest round that is long against the clock's own cost and its resolution.
const ROUND_NS: u64 = 20_000_000;

/// What one operation costs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    /// CPU nanoseconds of one operation, one value a round.
    rounds: Vec<f64>,
    /// Calls of the allocator in all rounds.
    pub(crate) allocations: u64,
    /// How often the operation was done.
    operations: u64,
}

impl Cost {
    /// Of the best round: what the work costs when nothing disturbs it.
    pub(crate) fn best(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// Repeats `operation` (which is told how often it ran before) for some more rounds.
    pub(crate) fn measure(&mut self, rounds: usize, mut operation: impl FnMut(u64)) {
        let mut done = self.operations;
        let mut round = |count: u64| {
            let start = cpu_ns();
            for _ in 0..count {
                operation(done);
                done += 1;
            }
            cpu_ns() - start
        };
        // Warm-up, and how many make a round.
        let mut count = 1;
        let mut took = round(1);
        while took < ROUND_NS && count < 1 << 24 {
            count *= 2;
            took = round(count);
        }
        let (before, _) = allocated();
        let times: [u64; 64] = std::array::from_fn(|at| if at < rounds { round(count) } else { 0 });
        let (after, _) = allocated();
        self.allocations += after - before;
        self.operations = done;
        self.rounds.extend(times.iter().take(rounds).map(|ns| *ns as f64 / count as f64));
    }
}
