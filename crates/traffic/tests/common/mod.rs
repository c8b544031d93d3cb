//! Statistics of draws.

/// The greatest distance of whole numbers from the distribution `cdf`, which has the probability of at
/// most so much.
pub(crate) fn to_cdf(drawn: &[u64], cdf: impl Fn(u64) -> f64) -> f64 {
    let mut sorted = drawn.to_vec();
    sorted.sort_unstable();
    let count = sorted.len() as f64;
    let mut farthest: f64 = 0.0;
    let mut below = 0;
    for equal in sorted.chunk_by(|a, b| a == b) {
        let value = equal[0];
        let up_to = below + equal.len();
        let before = value.checked_sub(1).map_or(0.0, &cdf);
        farthest = farthest.max((before - below as f64 / count).abs());
        farthest = farthest.max((cdf(value) - up_to as f64 / count).abs());
        below = up_to;
    }
    farthest
}

/// The mean, and its standard error.
pub(crate) fn mean_and_error(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}
