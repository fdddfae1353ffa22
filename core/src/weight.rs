//! How much of the new flows each backend gets.
//!
//! Everything here is exact: whole numbers and fractions in lowest terms. Weights of one set add up to what was
//! asked for, and two nodes that know the same compute the same.

/// The weight of an endpoint from its three factors, each in hundredths: 100 if all are 100. Rounded, halves up. It
/// is 0 only if a factor is: whoever asked for a little did not ask for nothing.
#[must_use]
pub fn endpoint(node: u16, slice: u16, pod: u16) -> u16 {
    if (node, slice, pod) == (100, 100, 100) {
        return 100; // Most endpoints: nobody has said anything.
    }
    let product = u64::from(node).saturating_mul(slice.into()).saturating_mul(pod.into());
    at_least_one(product, 10_000)
}

/// The weight of a node from the sum of its endpoints' weights: their count if each is 100. Rounded, halves up; 0 only
/// if there is none, or all drain.
#[must_use]
pub fn node(endpoints_sum: u64) -> u16 {
    at_least_one(endpoints_sum, 100)
}

fn at_least_one(value: u64, unit: u64) -> u16 {
    if value == 0 {
        return 0;
    }
    let rounded = value.saturating_add(unit / 2).checked_div(unit).unwrap_or(0);
    u16::try_from(rounded).unwrap_or(u16::MAX).max(1)
}

/// A part of a whole, in lowest terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Share {
    /// 0 for no part.
    pub local: u32,
    /// 0 if there is no whole. Nothing of nothing is nothing, and not an error.
    pub total: u32,
}

impl Share {
    /// So many of so many.
    #[must_use]
    pub const fn new(local: u32, total: u32) -> Self {
        let (mut divisor, mut rest) = (local, total);
        while let Some(next) = divisor.checked_rem(rest) {
            (divisor, rest) = (rest, next);
        }
        match (local.checked_div(divisor), total.checked_div(divisor)) {
            (Some(local), Some(total)) => Self { local, total },
            _ => Self { local: 0, total: 0 },
        }
    }

    /// No part at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.local == 0
    }
}

/// What `weight` of `total` is of `range`: the whole part, and what is left over, in parts of `total`.
#[must_use]
pub fn floor_share(weight: u16, total: u64, range: u16) -> (u16, u32) {
    let wanted = u32::from(weight).saturating_mul(range.into());
    let (whole, rest) = match u32::try_from(total) {
        Ok(total) => (wanted.checked_div(total), wanted.checked_rem(total)),
        Err(_) => (Some(0), Some(wanted)),
    };
    (u16::try_from(whole.unwrap_or(0)).unwrap_or(u16::MAX), rest.unwrap_or(0))
}

/// Brings weights of any size to a sum of exactly `range`, by largest remainder; of equal remainders the earlier
/// backend gets more. A weight that is not 0 gets at least 1, taken from the others in proportion, so the smallest
/// backends get 1 and the rest share what is left. Where there are more backends than that, each gets 1, and the
/// sum is their number. If all weights are 0, all stay so.
///
/// There is no list: what is kept are the bounds that decide, found by halving. Give the weights to
/// [`Scale::new`], then one by one to [`Scale::give`], in the same order, which must be one that all nodes see.
/// `new` walks over them three times if all are equal, 52 times at the very most, and takes no memory.
///
/// ```
/// # use evenkeel_core::weight::Scale;
/// let weights = [50, 100, 0, 100];
/// let mut scale = Scale::new(weights.into_iter(), 256);
/// assert_eq!(weights.map(|weight| scale.give(weight)), [51, 103, 0, 102]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Weights below this get 1.
    floor: u32,
    /// What the others share, and the sum of their weights.
    range: u16,
    total: u64,
    /// Those with a remainder of more than this get 1 more.
    remainder: u32,
    /// And so many of those with exactly this one, the first ones.
    ties: u64,
}

impl Scale {
    /// Decides how these weights are brought to this sum.
    #[must_use]
    pub fn new(weights: impl Iterator<Item = u16> + Clone, range: u16) -> Self {
        let weights = weights.filter(|weight| *weight > 0);
        let (mut count, mut total, mut least) = (0u64, 0u64, u16::MAX);
        for weight in weights.clone() {
            count = count.saturating_add(1);
            total = total.saturating_add(weight.into());
            least = least.min(weight);
        }
        if count >= range.into() {
            return Self { floor: u32::MAX, range: 0, total: 0, remainder: u32::MAX, ties: 0 };
        }
        let (floor, range, total) = if u64::from(least).saturating_mul(range.into()) >= total {
            (0, range, total)
        } else {
            set_smallest_aside(weights.clone(), range, total)
        };
        let others = weights.filter(|weight| u32::from(*weight) >= floor);
        let mut given = 0u64;
        for weight in others.clone() {
            given = given.saturating_add(floor_share(weight, total, range).0.into());
        }
        let remainders = others.map(|weight| floor_share(weight, total, range).1);
        let (remainder, ties) = largest(remainders, u64::from(range).saturating_sub(given));
        Self { floor, range, total, remainder, ties }
    }

    /// The next backend's weight, scaled.
    pub fn give(&mut self, weight: u16) -> u16 {
        if weight == 0 {
            return 0;
        }
        if u32::from(weight) < self.floor {
            return 1;
        }
        let (whole, remainder) = floor_share(weight, self.total, self.range);
        let tied = remainder == self.remainder && self.ties > 0;
        if tied {
            self.ties = self.ties.saturating_sub(1);
        }
        whole.saturating_add(u16::from(tied || remainder > self.remainder))
    }
}

/// The smallest floor such that, with 1 for each weight below it, the others come to 1 or more each; and what is
/// left for them. A floor that does stays enough when it is raised, since what is taken out then had its 1 anyway:
/// so halving finds it.
fn set_smallest_aside(weights: impl Iterator<Item = u16> + Clone, range: u16, total: u64) -> (u32, u16, u64) {
    let left = |floor: u32| {
        let (mut range, mut total) = (range, total);
        for weight in weights.clone().filter(|weight| u32::from(*weight) < floor) {
            range = range.saturating_sub(1);
            total = total.saturating_sub(weight.into());
        }
        (range, total)
    };
    // With the lowest, somebody is left with less than 1; with the highest, nobody is left.
    let (mut low, mut high) = (1u32, 0x1_0000u32);
    while high.saturating_sub(low) > 1 {
        let middle = low.saturating_add(high) / 2;
        let (range, total) = left(middle);
        if u64::from(middle).saturating_mul(range.into()) >= total {
            high = middle;
        } else {
            low = middle;
        }
    }
    let (range, total) = left(high);
    (high, range, total)
}

/// The `count` largest of these, said as a bound: all above it, and so many that are equal to it.
fn largest(values: impl Iterator<Item = u32> + Clone, count: u64) -> (u32, u64) {
    if count == 0 {
        return (u32::MAX, 0);
    }
    let (mut low, mut high) = (u32::MAX, 0u32);
    for value in values.clone() {
        low = low.min(value);
        high = high.max(value);
    }
    // At least `count` values are `low` or more, and fewer than that are more than `high`. Both are values that occur,
    // so that few different ones need few rounds.
    let mut above_high = 0u64;
    while low < high {
        let middle = low.saturating_add(high.saturating_sub(low) / 2);
        let (mut above, mut next_up, mut next_down) = (0u64, high, low);
        for value in values.clone() {
            if value > middle {
                above = above.saturating_add(1);
                next_up = next_up.min(value);
            } else {
                next_down = next_down.max(value);
            }
        }
        if above >= count {
            low = next_up;
        } else {
            (high, above_high) = (next_down, above);
        }
    }
    (low, count.saturating_sub(above_high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_has_a_hundred_times_its_factors() {
        assert_eq!(endpoint(100, 100, 100), 100);
        assert_eq!(endpoint(50, 100, 100), 50);
        assert_eq!(endpoint(50, 200, 300), 300);
        assert_eq!(endpoint(50, 50, 2), 1); // 0.5
        assert_eq!(endpoint(50, 50, 98), 25); // 24.5
        assert_eq!(endpoint(50, 50, 97), 24); // 24.25
    }

    #[test]
    fn only_a_factor_of_zero_makes_zero() {
        assert_eq!(endpoint(0, 100, 65_535), 0);
        assert_eq!(endpoint(100, 0, 100), 0);
        assert_eq!(endpoint(100, 100, 0), 0);
        assert_eq!(endpoint(1, 1, 1), 1);
        assert_eq!(endpoint(65_535, 65_535, 65_535), 65_535);
    }

    #[test]
    fn a_node_counts_its_endpoints() {
        assert_eq!([0, 1, 49, 100, 149, 150, 300].map(node), [0, 1, 1, 1, 1, 2, 3]);
        assert_eq!([6_553_500, 6_553_600, u64::MAX].map(node), [65_535; 3]);
    }

    #[test]
    fn a_share_is_in_lowest_terms_and_nothing_of_nothing_is_nothing() {
        let share = |local, total| {
            let share = Share::new(local, total);
            (share.local, share.total)
        };
        assert_eq!(share(2, 6), (1, 3));
        assert_eq!(share(6, 6), (1, 1));
        assert_eq!(share(0, 6), (0, 1));
        assert_eq!(share(0, 0), (0, 0));
        assert_eq!(share(u32::MAX, u32::MAX - 1), (u32::MAX, u32::MAX - 1));
        assert!(Share::new(0, 0).is_zero() && Share::new(0, 6).is_zero() && !Share::new(1, 6).is_zero());
    }

    fn scaled(weights: &[u16], range: u16) -> Vec<u16> {
        let mut scale = Scale::new(weights.iter().copied(), range);
        weights.iter().map(|weight| scale.give(*weight)).collect()
    }

    #[test]
    fn weights_add_up_to_the_range() {
        assert_eq!(scaled(&[100, 100, 100], 100), [34, 33, 33]);
        assert_eq!(scaled(&[100, 100], 65_535), [32_768, 32_767]);
        assert_eq!(scaled(&[1, 2, 3], 600), [100, 200, 300]);
        assert_eq!(scaled(&[7], 256), [256]);
        assert_eq!(scaled(&[1, 5, 5], 10), [1, 5, 4]); // Of 0.9, 4.5 and 4.5.
    }

    #[test]
    fn zero_stays_zero() {
        assert_eq!(scaled(&[0, 100, 0], 256), [0, 256, 0]);
        assert_eq!(scaled(&[0, 0], 256), [0, 0]);
        assert_eq!(scaled(&[], 256), []);
    }

    #[test]
    fn the_smallest_still_get_one() {
        assert_eq!(scaled(&[1, 65_535], 100), [1, 99]);
        assert_eq!(scaled(&[1, 1, 1000, 1000], 100), [1, 1, 49, 49]);
        assert_eq!(scaled(&[100; 5], 3), [1; 5]);
        assert_eq!(scaled(&[1, 1_000], 2), [1, 1]);
        assert_eq!(scaled(&[0, 9, 9], 0), [0, 1, 1]);
    }

    /// As one would say it: the smallest that would get less than 1 are set aside with 1, one by one; of the rest each
    /// gets its whole part, and those with the largest remainders one more.
    fn told(weights: &[u16], range: u16) -> Vec<u16> {
        let mut order: Vec<usize> = (0..weights.len()).filter(|at| weights[*at] > 0).collect();
        let mut out = vec![0; weights.len()];
        order.sort_by_key(|at| weights[*at]);
        if order.len() >= usize::from(range) {
            order.iter().for_each(|at| out[*at] = 1);
            return out;
        }
        let (mut range, mut total) =
            (u128::from(range), order.iter().map(|at| u128::from(weights[*at])).sum::<u128>());
        while let Some(at) = order.first().copied().filter(|at| u128::from(weights[*at]) * range < total) {
            out[at] = 1;
            range -= 1;
            total -= u128::from(weights[at]);
            order.remove(0);
        }
        order.iter().for_each(|at| out[*at] = (u128::from(weights[*at]) * range / total) as u16);
        order.sort_by_key(|at| (std::cmp::Reverse(u128::from(weights[*at]) * range % total), *at));
        let left = range - order.iter().map(|at| u128::from(out[*at])).sum::<u128>();
        order.iter().take(left as usize).for_each(|at| out[*at] += 1);
        out
    }

    #[test]
    fn random_weights_are_scaled_as_told() {
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) % below
        };
        for _ in 0..30_000 {
            let size = 1 << random(17);
            let count_max = [5, 40, 400][random(3) as usize];
            let weights: Vec<u16> =
                (0..random(count_max)).map(|_| (random(size) >> random(16)) as u16).collect();
            let range_max = 1 << (1 + random(16));
            let range = random(range_max) as u16;
            let got = scaled(&weights, range);
            assert_eq!(got, told(&weights, range), "{weights:?} to {range}");
            let sum: u64 = got.iter().map(|weight| u64::from(*weight)).sum();
            let backends = weights.iter().filter(|weight| **weight > 0).count() as u64;
            assert_eq!(sum, if backends == 0 { 0 } else { backends.max(range.into()) });
        }
    }
}
