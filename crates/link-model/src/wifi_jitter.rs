//! Jitter of Wi-Fi on a crowded channel: draft-huitema-ccwg-c4-test-00, section 2.3.

use crate::Steps;
use windlass_base::{Rng, Span, Time};

/// A short interval, of collision avoidance and deferral.
const SHORT: Span = Span::from_millis(1);
/// An interval of retransmission.
const LONG: Span = Span::from_micros(7_500);
/// Retransmissions of a packet that has any, in the mean.
const RETRANSMISSIONS: u64 = 12;
/// No packet draws more intervals of a kind: the probability is below 1e-22.
const INTERVALS_MAX: u32 = 64;
/// exp(-1) and exp(-12): how likely a Poisson variable with these means is zero.
const NO_DEFERRAL: f64 = 1.0 / std::f64::consts::E;
const NO_RETRANSMISSION: f64 = 6.144_212_353_328_21e-6;

/// Additional delays of packets, as Wi-Fi networks that share a channel cause them.
///
/// For a target T, the draft's "average jitter", a packet is delayed by
///
/// ```text
/// N1 * 1 ms + N2 * 7.5 ms - (r if N1 >= 1)
/// ```
///
/// where N1 has a Poisson distribution with mean 1, r is uniform from 0 to 1 ms, and N2 is zero but for a
/// fraction x of the packets, for which it has a Poisson distribution with mean 12. Up to 1 ms of target x is
/// 0, from 91 ms on 1, and (T - 1 ms) / 90 ms in between.
///
/// The draft's formula does not have the mean T. Its first and last term together have
/// 1 ms - (1 - 1/e) / 2 ms = 0.684 ms, the second 90 ms times x. From 1 to 91 ms the mean is therefore
/// T - 0.316 ms, and 0.684 ms below.
///
/// A target of zero means no jitter at all, which the draft leaves open. The delays here are those of each
/// packet by itself. As on a real Wi-Fi link, packets then keep their order: one that draws less than those before
/// it arrives together with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WifiJitter {
    targets: Steps<Span>,
}

impl WifiJitter {
    /// No packet is delayed by more.
    pub const MAX: Span = Span::from_micros(8_500 * INTERVALS_MAX as u64);

    /// Jitter whose target may change over time.
    pub fn new(targets: Steps<Span>) -> WifiJitter {
        WifiJitter { targets }
    }

    /// The additional delay of a packet that is sent at `at`.
    pub fn draw(&self, at: Time, rng: &mut Rng) -> Span {
        let (target, _) = self.targets.at(at);
        if target.is_zero() {
            return Span::ZERO;
        }
        let deferrals = poisson(1.0, NO_DEFERRAL, rng);
        let avoidance = rng.below(SHORT.as_nanos());
        let early = if deferrals > 0 { Span::from_nanos(avoidance) } else { Span::ZERO };
        let retransmissions = if rng.chance(share_retransmitted(target)) {
            poisson(RETRANSMISSIONS as f64, NO_RETRANSMISSION, rng)
        } else {
            0
        };
        (SHORT * u64::from(deferrals)).saturating_sub(early) + LONG * u64::from(retransmissions)
    }
}

/// The draft's coefficient x.
fn share_retransmitted(target: Span) -> f64 {
    let above = target.saturating_sub(SHORT).as_nanos() as f64;
    (above / (LONG * RETRANSMISSIONS).as_nanos() as f64).min(1.0)
}

/// Draws from a Poisson distribution by inversion; `none` is exp(-mean).
fn poisson(mean: f64, none: f64, rng: &mut Rng) -> u32 {
    let mut left = rng.uniform();
    let mut probability = none;
    let mut count = 0;
    while left >= probability && count < INTERVALS_MAX {
        left -= probability;
        count += 1;
        probability *= mean / f64::from(count);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn draws(target: Span, seed: u64) -> Vec<f64> {
        let (jitter, mut rng) = (WifiJitter::new(Steps::constant(target)), Rng::new(seed));
        (0..DRAWS).map(|_| jitter.draw(Time::ZERO, &mut rng).as_millis_f64()).collect()
    }

    fn poisson_probabilities(mean: f64, terms: u32) -> Vec<f64> {
        let log = |n: f64| n * libm::log(mean) - mean - libm::lgamma(n + 1.0);
        (0..terms).map(|n| libm::exp(log(f64::from(n)))).collect()
    }

    /// The probability of a delay up to `ms`, term by term from the draft's formula.
    fn distribution(x: f64, ms: f64, [first, second]: [&[f64]; 2]) -> f64 {
        let mut sum = 0.0;
        for (n1, first) in first.iter().enumerate() {
            for (n2, second) in second.iter().enumerate() {
                let none = if n2 == 0 { 1.0 - x } else { 0.0 };
                let most = n1 as f64 + 7.5 * n2 as f64;
                // `most` itself, or uniform from a millisecond less to `most`.
                let share = match n1 {
                    0 => f64::from(ms >= most),
                    _ => (ms - most + 1.0).clamp(0.0, 1.0),
                };
                sum += first * (none + x * second) * share;
            }
        }
        sum
    }

    /// Kolmogorov and Smirnov's test at the 0.999 quantile, 1.95 / sqrt(n).
    #[test]
    fn delays_are_distributed_as_the_formula_says() {
        let [first, second] = [poisson_probabilities(1.0, 20), poisson_probabilities(12.0, 50)];
        for (seed, target, x) in
            [(1, 1, 0.0), (2, 7, 6.0 / 90.0), (3, 12, 11.0 / 90.0), (4, 100, 1.0)]
        {
            let mut seen = draws(Span::from_millis(target), seed);
            seen.sort_by(f64::total_cmp);
            let difference = |step: u32| {
                // Half a nanosecond more: draws are whole ones.
                let ms = f64::from(step) * 0.25 + 0.000_000_5;
                let until = seen.partition_point(|delay| *delay <= ms) as f64 / DRAWS as f64;
                (until - distribution(x, ms, [&first, &second])).abs()
            };
            let most = (0..1_000).map(difference).fold(0.0, f64::max);
            assert!(most < 1.95 / libm::sqrt(DRAWS as f64), "target {target} ms: {most}");
        }
    }

    /// The mean is 0.684 ms up to a target of 1 ms, 0.316 ms below the target from there, and at most
    /// 90.684 ms.
    #[test]
    fn the_mean_is_that_of_the_formula() {
        let first = 0.5 + 0.5 / std::f64::consts::E;
        let means = [
            (0.2, first),
            (1.0, first),
            (7.0, 6.0 + first),
            (46.0, 45.0 + first),
            (91.0, 90.0 + first),
            (500.0, 90.0 + first),
        ];
        for (seed, (target, expected)) in (11..).zip(means) {
            let seen = draws(Span::from_secs_f64(target / 1e3), seed);
            let mean = seen.iter().sum::<f64>() / DRAWS as f64;
            let squares: f64 = seen.iter().map(|delay| (delay - mean) * (delay - mean)).sum();
            let error = libm::sqrt(squares) / DRAWS as f64;
            assert!((mean - expected).abs() < 4.0 * error, "{target}: {mean}, not {expected}");
        }
    }

    #[test]
    fn a_target_of_zero_is_no_jitter_and_targets_may_change() {
        let at = Span::from_secs;
        let targets = vec![(at(0), Span::ZERO), (at(1), Span::from_millis(91))];
        let jitter = WifiJitter::new(Steps::new(targets, None).expect("in order"));
        let mut rng = Rng::new(3);
        assert_eq!(jitter.draw(Time::ZERO, &mut rng), Span::ZERO);
        let late = |_| jitter.draw(Time::ZERO + at(1), &mut rng);
        let late: Vec<Span> = (0..100).map(late).collect();
        assert!(late.iter().any(|delay| *delay > Span::from_millis(60)));
        assert!(late.iter().all(|delay| *delay < WifiJitter::MAX));
    }
}
