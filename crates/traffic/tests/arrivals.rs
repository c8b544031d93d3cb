//! Times of arrivals against theory, with fixed seeds, and properties of every source.

mod common;

use common::{mean_and_error, to_cdf};
use proptest::prelude::*;
use windlass_base::{Rng, Span};
use windlass_traffic::{Arrivals, OnOff, Process, Sizes};

const POISSON: Process = Process::Poisson { per_second: 50.0 };
const BURSTS: OnOff = OnOff {
    per_second: 200.0,
    on: Span::from_millis(500),
    off: Span::from_millis(1500),
    shape: 3.0,
};

/// The times of a source up to an end, in nanoseconds.
fn times(process: Process, seed: u64, until: Span) -> Vec<u64> {
    let arrivals = Arrivals::Drawn { process, sizes: Sizes::Fixed(1), count: None };
    let stream = arrivals.stream(Rng::new(seed)).map(|arrival| arrival.at);
    stream.take_while(|at| *at < until).map(Span::as_nanos).collect()
}

/// Variance over mean of the arrivals in windows of a second.
fn dispersion(times: &[u64], seconds: usize) -> f64 {
    let mut counts = vec![0.0; seconds];
    times.iter().for_each(|at| counts[(at / 1_000_000_000) as usize] += 1.0);
    let (mean, error) = mean_and_error(counts.into_iter());
    error * error * seconds as f64 / mean
}

#[test]
fn times_between_poisson_arrivals_are_exponential() {
    let times = times(POISSON, 1, Span::from_secs(2000));
    let gaps: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    let exponential = Sizes::Exponential { mean: 20e6 };
    let found = to_cdf(&gaps, |gap| exponential.cdf(gap as f64 + 0.5)) * (gaps.len() as f64).sqrt();
    assert!(found < 1.628, "{found}: at 1 %");
}

/// The index of dispersion of n independent Poisson counts has a standard deviation of sqrt(2 / n).
#[test]
fn poisson_counts_have_an_index_of_dispersion_of_one() {
    let times = times(POISSON, 2, Span::from_secs(10_000));
    let expected = 500_000.0_f64;
    assert!((times.len() as f64 - expected).abs() < 3.5 * expected.sqrt(), "{}", times.len());
    let found = dispersion(&times, 10_000);
    assert!((found - 1.0).abs() < 3.5 * (2.0_f64 / 10_000.0).sqrt(), "{found}");
}

#[test]
fn bursts_keep_their_mean_rate_and_vary_more_than_poisson() {
    let process = Process::ParetoOnOff(BURSTS);
    let seconds = 20_000;
    let times = times(process.clone(), 3, Span::from_secs(seconds as u64));
    let found = times.len() as f64 / seconds as f64;
    assert!((found / process.mean_rate() - 1.0).abs() < 0.02, "{found} a second");
    let dispersion = dispersion(&times, seconds);
    assert!(dispersion > 20.0, "{dispersion}");
}

/// In an on time arrivals are Poisson: the gaps that are no longer than the least off time, 1 s, are
/// exponential with a mean of 5 ms, but for the last of each on time.
#[test]
fn arrivals_of_an_on_time_are_poisson() {
    let times = times(Process::ParetoOnOff(BURSTS), 4, Span::from_secs(2000));
    let gaps: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    let (off, on): (Vec<u64>, Vec<u64>) = gaps.into_iter().partition(|gap| *gap > 1_000_000_000);
    assert!((900..1100).contains(&off.len()), "an off time every 2 s: {}", off.len());
    let (mean, error) = mean_and_error(on.iter().map(|gap| *gap as f64 / 1e6));
    // A gap that an on time ends is missing: one of a hundred, and rather a long one.
    assert!((mean - 5.0 * 0.99).abs() < 3.5 * error + 0.02, "{mean} ms +- {error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(128)))]

    #[test]
    fn every_source_is_in_order_and_ends_with_its_count(
        seed in any::<u64>(),
        bursts in any::<bool>(),
        per_second in 0.01_f64..1e6,
        on_ms in 100_u64..10_000,
        off_ms in 1_u64..10_000,
        shape in 1.05_f64..4.0,
        count in 0_u64..500,
    ) {
        let (on, off) = (Span::from_millis(on_ms), Span::from_millis(off_ms));
        let process = if bursts {
            Process::ParetoOnOff(OnOff { per_second, on, off, shape })
        } else {
            Process::Poisson { per_second }
        };
        let sizes = Sizes::Exponential { mean: 2.0 };
        let arrivals = Arrivals::Drawn { process, sizes, count: Some(count) };
        prop_assert_eq!(arrivals.validate(), Ok(()));
        let drawn: Vec<_> = arrivals.stream(Rng::new(seed)).collect();
        prop_assert_eq!(drawn.len() as u64, count);
        prop_assert!(drawn.is_sorted_by_key(|arrival| arrival.at));
        prop_assert!(drawn.iter().all(|arrival| arrival.bytes > 0));
    }
}
