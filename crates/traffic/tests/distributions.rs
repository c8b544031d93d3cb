//! Every generator against its own distribution, with fixed seeds.

mod common;

use common::{mean_and_error, to_cdf};
use std::sync::Arc;
use windlass_base::Rng;
use windlass_traffic::{EmpiricalCdf, Sizes};

/// Kolmogorov: the distance times the square root of the number of draws is above this with a
/// probability of 1 %.
const ONE_PERCENT: f64 = 1.628;
const DRAWS: usize = 100_000;

fn all() -> Vec<Sizes> {
    vec![
        Sizes::Uniform { min: 5, max: 12 },
        Sizes::Uniform { min: 100, max: 1_000_000 },
        Sizes::Exponential { mean: 1000.0 },
        Sizes::Pareto { shape: 1.2, minimum: 4000.0, maximum: None },
        Sizes::Pareto { shape: 0.8, minimum: 100.0, maximum: Some(1e7) },
        Sizes::Pareto { shape: 1.0, minimum: 100.0, maximum: Some(1e7) },
        Sizes::Pareto { shape: 3.5, minimum: 1e6, maximum: None },
        Sizes::LogNormal { median: 8000.0, sigma: 1.4 },
        Sizes::Empirical(Arc::new(EmpiricalCdf::web_search())),
        Sizes::Empirical(Arc::new(EmpiricalCdf::data_mining())),
    ]
}

/// Draws of a seed.
fn draws(sizes: &Sizes, seed: u64, count: usize) -> Vec<u64> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| sizes.draw(&mut rng)).collect()
}

/// The Kolmogorov-Smirnov distance times the square root of the number of draws. A size is rounded, so
/// that at most x bytes are drawn where the distribution has less than x + 0.5.
fn statistic(drawn: &[u64], sizes: &Sizes) -> f64 {
    to_cdf(drawn, |bytes| sizes.cdf(bytes as f64 + 0.5)) * (drawn.len() as f64).sqrt()
}

#[test]
fn draws_follow_their_distribution() {
    for (seed, sizes) in (1..).zip(all()) {
        let found = statistic(&draws(&sizes, seed, DRAWS), &sizes);
        assert!(found < ONE_PERCENT, "{sizes:?}: {found}");
    }
}

#[test]
fn the_test_tells_distributions_apart() {
    let drawn = draws(&Sizes::Exponential { mean: 1000.0 }, 1, DRAWS);
    let found = statistic(&drawn, &Sizes::Exponential { mean: 1025.0 });
    assert!(found > 1.5 * ONE_PERCENT, "a mean that is wrong by 2.5 %: {found}");
}

/// At each point of a table the number of draws up to it is binomial.
#[test]
fn draws_of_a_table_keep_its_points() {
    for (seed, table) in [(11, EmpiricalCdf::web_search()), (12, EmpiricalCdf::data_mining())] {
        let drawn = draws(&Sizes::Empirical(Arc::new(table.clone())), seed, DRAWS);
        for &(bytes, probability) in table.points() {
            let up_to = drawn.iter().filter(|size| **size as f64 <= bytes).count() as f64;
            let error = (probability * (1.0 - probability) / DRAWS as f64).sqrt();
            let found = up_to / DRAWS as f64;
            assert!((found - probability).abs() <= 3.5 * error + 1e-4, "{bytes}: {found}");
        }
    }
}

#[test]
fn means_are_within_their_standard_errors() {
    for (seed, sizes) in (21..).zip(all()) {
        // Its variance is infinite: see below.
        if matches!(sizes, Sizes::Pareto { shape: 1.2, .. }) {
            continue;
        }
        let drawn = draws(&sizes, seed, DRAWS);
        let (mean, error) = mean_and_error(drawn.iter().map(|bytes| *bytes as f64));
        assert!((mean - sizes.mean()).abs() < 3.5 * error, "{sizes:?}: {mean} +- {error}");
    }
}

/// The mean of a Pareto distribution with a shape near 1 hardly converges. The mean of the sizes, each
/// cut at the 99.9th percentile, does, and its expectation is that of the bounded distribution for the
/// sizes below.
#[test]
fn a_heavy_tail_has_the_mean_of_its_body() {
    let (shape, minimum) = (1.2, 4000.0);
    let sizes = Sizes::Pareto { shape, minimum, maximum: None };
    let cut = sizes.quantile(0.999);
    let body = Sizes::Pareto { shape, minimum, maximum: Some(cut) };
    let expected = 0.999 * body.mean() + 0.001 * cut;
    let drawn = draws(&sizes, 31, DRAWS);
    let (mean, error) = mean_and_error(drawn.iter().map(|bytes| (*bytes as f64).min(cut)));
    assert!((mean - expected).abs() < 3.5 * error, "{mean} +- {error}, expected {expected}");
    assert!((sizes.mean() - 24_000.0).abs() < 1e-9, "shape times minimum over shape - 1");
}

#[test]
fn quantile_and_distribution_are_inverse() {
    for sizes in all().iter().filter(|sizes| !matches!(sizes, Sizes::Uniform { .. })) {
        for step in 1..1000 {
            let u = f64::from(step) / 1000.0;
            let back = sizes.cdf(sizes.quantile(u));
            assert!((back - u).abs() < 1e-9, "{sizes:?}: {u} gives {back}");
        }
    }
}
