//! The zombie list of Stabilized RED, by which it estimates the number of flows.

use super::SredConfig;
use alloc::vec::Vec;
use windlass_base::Rng;

/// The zombie list: flows of recent packets, without their counts and times, which serve to find
/// misbehaving flows only.
#[derive(Clone, Debug)]
pub(super) struct Zombies {
    flows: Vec<u64>,
    size: usize,
    overwrite: f64,
    /// P(t): moving average of the comparisons that hit.
    hit_rate: f64,
    /// Weight of one comparison: `overwrite` over the list's size, by which the list forgets as well.
    weight: f64,
}

impl Zombies {
    /// An empty list. The paper does not say where P(t) begins: here with one flow, so that the first
    /// packets are not chosen as those of very many flows.
    pub(super) fn new(config: &SredConfig) -> Zombies {
        Zombies {
            flows: Vec::new(),
            size: config.zombies as usize,
            overwrite: config.overwrite,
            hit_rate: 1.0,
            weight: config.overwrite / f64::from(config.zombies),
        }
    }

    /// The mean share of comparisons that hit. Its inverse estimates the number of flows.
    pub(super) fn hit_rate(&self) -> f64 {
        self.hit_rate
    }

    /// A packet of `flow` arrives; true if the zombie that it is compared with has the same flow.
    pub(super) fn compare(&mut self, flow: u64, rng: &mut Rng) -> bool {
        if self.flows.len() < self.size {
            self.flows.push(flow);
            return false;
        }
        let zombie = rng.below(self.size as u64) as usize;
        let hit = self.flows[zombie] == flow;
        // Ott et al. 1999: a miss overwrites the zombie with probability p.
        if !hit && rng.chance(self.overwrite) {
            self.flows[zombie] = flow;
        }
        // P(t) = (1 - alpha) P(t - 1) + alpha Hit(t), with alpha = p / M for a list of M.
        self.hit_rate += self.weight * (f64::from(u8::from(hit)) - self.hit_rate);
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::{SredConfig, Zombies};
    use proptest::prelude::{ProptestConfig, prop, prop_assert, proptest};
    use std::vec;
    use windlass_base::Rng;

    /// The mean of the hit rate over the second half of 400,000 arrivals of flows with these shares.
    fn mean_hit_rate(shares: &[f64], seed: u64) -> f64 {
        let mut zombies = Zombies::new(&SredConfig::default());
        let mut rng = Rng::new(seed);
        let total: f64 = shares.iter().sum();
        let mut sum = 0.0;
        for n in 0..400_000 {
            let mut left = rng.uniform() * total;
            let flow = shares.iter().position(|share| {
                left -= share;
                left < 0.0
            });
            zombies.compare(flow.unwrap_or(0) as u64, &mut rng);
            if n >= 200_000 {
                sum += zombies.hit_rate();
            }
        }
        sum / 200_000.0
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(12)))]

        /// Ott, Lakshman, Wong 1999, section III: the inverse of the hit rate is the number of flows.
        #[test]
        fn the_inverse_hit_rate_is_the_number_of_equal_flows(flows in 2usize..200, seed: u64) {
            let ratio = mean_hit_rate(&vec![1.0; flows], seed) * flows as f64;
            // Hits are rare events: five standard deviations of their number.
            let tolerance = 5.0 / (200_000.0 / flows as f64).sqrt();
            prop_assert!((ratio - 1.0).abs() < tolerance, "{ratio}, {flows} flows");
        }

        /// The same section: with unequal flows the hit rate is the sum of the squares of their shares.
        #[test]
        fn the_hit_rate_is_the_sum_of_the_squared_shares(
            shares in prop::collection::vec(0.1..1.0f64, 2..30), seed: u64,
        ) {
            let total: f64 = shares.iter().sum();
            let expected: f64 = shares.iter().map(|share| (share / total) * (share / total)).sum();
            let ratio = mean_hit_rate(&shares, seed) / expected;
            prop_assert!((0.93..1.07).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn the_estimate_follows_a_change_of_the_flows() {
        let mut zombies = Zombies::new(&SredConfig::default());
        let mut rng = Rng::new(3);
        for (flows, expected) in [(100, 100.0), (10, 10.0)] {
            for n in 0..60_000u64 {
                zombies.compare(n % flows, &mut rng);
            }
            let estimate = 1.0 / zombies.hit_rate();
            assert!((0.6..1.6).contains(&(estimate / expected)), "{estimate} of {expected}");
        }
    }
}
