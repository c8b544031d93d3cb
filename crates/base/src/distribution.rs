//! The distribution of many spans of time, in bounded memory.

use crate::Span;
use alloc::boxed::Box;

/// Buckets in a doubling of the value, as a power of two: 64.
const PRECISION_BITS: u32 = 6;
/// The least difference that buckets show, as a power of two: 64 ns.
const UNIT_BITS: u32 = 6;
const UNIT_NS: u64 = 1 << UNIT_BITS;
/// Below it, 4 us, buckets are one unit wide.
const LINEAR_NS: u64 = UNIT_NS << PRECISION_BITS;
/// From there on, 275 s, spans have no bucket of their own: quantiles count them as the longest below.
const LONGEST_BITS: u32 = 38;
const BUCKETS: usize = ((LONGEST_BITS - UNIT_BITS - PRECISION_BITS + 1) << PRECISION_BITS) as usize;

/// Counts spans of time in buckets whose width is at most 1/64 of their value. A quantile is therefore
/// within 1/128 (0.8 %) of the exact one, or within 64 ns, up to 275 s. Mean and maximum are exact.
///
/// The buckets are allocated once, 7 KiB; recording allocates nothing. Two sketches of parts are merged
/// into one of the whole, with the same result as if the whole had been recorded at once.
///
/// The buckets are those of HdrHistogram (Gil Tene). The crate of this name needs the standard library.
///
/// ```
/// use windlass_base::{Sketch, Span};
///
/// let mut delays = Sketch::default();
/// (1..=1000).for_each(|ms| delays.record(Span::from_millis(ms)));
/// let exact = Span::from_millis(950).as_secs_f64();
/// let found = delays.quantile(950).expect("samples").as_secs_f64();
/// assert!((found - exact).abs() <= exact / 128.0);
/// assert_eq!(delays.max(), Some(Span::from_secs(1)));
/// ```
#[derive(Clone, Debug)]
pub struct Sketch {
    counts: Box<[u32; BUCKETS]>,
    sum_ns: u128,
    max_ns: u64,
}

/// Mean, quantiles and maximum of the samples of a [`Sketch`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// The mean, rounded down to the nanosecond.
    pub mean: Span,
    /// The median.
    pub p50: Span,
    /// 90 % of the samples are not above.
    pub p90: Span,
    /// 95 %.
    pub p95: Span,
    /// 99 %.
    pub p99: Span,
    /// 99.9 %.
    pub p99_9: Span,
    /// The longest, exact.
    pub max: Span,
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch { counts: Box::new([0; BUCKETS]), sum_ns: 0, max_ns: 0 }
    }
}

impl Sketch {
    /// Counts a sample.
    #[inline]
    pub fn record(&mut self, sample: Span) {
        let nanos = sample.as_nanos();
        count(&mut self.counts[bucket_of(nanos)]);
        self.sum_ns += u128::from(nanos);
        if nanos > self.max_ns {
            self.max_ns = nanos;
        }
    }

    /// Adds the samples of another sketch.
    pub fn merge(&mut self, other: &Sketch) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count = count.saturating_add(*more);
        }
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The number of samples. A bucket counts 4,294,967,295 at most.
    pub fn count(&self) -> u64 {
        self.used().iter().map(|count| u64::from(*count)).sum()
    }

    /// The buckets up to that of the longest sample.
    fn used(&self) -> &[u32] {
        &self.counts[..=bucket_of(self.max_ns)]
    }

    /// The longest sample; `None` without samples.
    pub fn max(&self) -> Option<Span> {
        (self.count() > 0).then(|| Span::from_nanos(self.max_ns))
    }

    /// The smallest value that so many samples of a thousand do not exceed, within 1/128: 500 is the
    /// median, 999 the quantile of 99.9 %. `None` without samples.
    pub fn quantile(&self, per_mille: u32) -> Option<Span> {
        let count = self.count();
        (count > 0).then(|| {
            let [value] = self.values_at([rank(count, per_mille)]);
            value
        })
    }

    /// Mean, quantiles and maximum; `None` without samples.
    pub fn distribution(&self) -> Option<Distribution> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let [p50, p90, p95, p99, p99_9] =
            self.values_at([500, 900, 950, 990, 999].map(|per_mille| rank(count, per_mille)));
        let mean = self.sum_ns / u128::from(count);
        Some(Distribution {
            mean: Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)),
            p50,
            p90,
            p95,
            p99,
            p99_9,
            max: Span::from_nanos(self.max_ns),
        })
    }

    /// The values of the samples at these ranks, counted from 1 in order of size. Later ranks must not be
    /// smaller, so that one pass over the buckets finds them all.
    fn values_at<const N: usize>(&self, ranks: [u64; N]) -> [Span; N] {
        let mut buckets = self.used().iter().map(|count| u64::from(*count)).enumerate();
        let (mut bucket, mut up_to) = (0, 0);
        ranks.map(|rank| {
            while up_to < rank
                && let Some((next, count)) = buckets.next()
            {
                (bucket, up_to) = (next, up_to + count);
            }
            Span::from_nanos(value_of(bucket).min(self.max_ns))
        })
    }
}

impl Distribution {
    /// The figures in milliseconds, with the names that they have in JSON.
    pub fn named_ms(&self) -> [(&'static str, f64); 7] {
        [
            ("mean", self.mean),
            ("p50", self.p50),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p99_9", self.p99_9),
            ("max", self.max),
        ]
        .map(|(name, span)| (name, span.as_millis_f64()))
    }
}

/// The place of a quantile among `count` samples, from 1.
fn rank(count: u64, per_mille: u32) -> u64 {
    let place = (u128::from(count) * u128::from(per_mille)).div_ceil(1000);
    u64::try_from(place).unwrap_or(count).clamp(1, count)
}

/// Counts a sample, unless the bucket is full.
#[inline]
fn count(bucket: &mut u32) {
    if let Some(count) = bucket.checked_add(1) {
        *bucket = count;
    }
}

/// The number of a span's bucket: one for each 64 ns up to 8 us, then 64 in each doubling. Spans beyond the
/// last are in the last.
#[inline]
const fn bucket_of(nanos: u64) -> usize {
    let bucket = match nanos < LINEAR_NS {
        true => nanos >> UNIT_BITS,
        false => float_prefix(nanos) - float_prefix(LINEAR_NS) + (1 << PRECISION_BITS),
    };
    // The index needs no other check.
    if bucket < BUCKETS as u64 { bucket as usize } else { BUCKETS - 1 }
}

/// The exponent of a span's nanoseconds as a float, and the first bits of the fraction: the number of its
/// doubling and of its 64th in it, in four instructions. Spans from 2^63 ns are above all others.
#[inline]
const fn float_prefix(nanos: u64) -> u64 {
    // A number with a sign takes one instruction to be made one with a fraction, not eight.
    (nanos.cast_signed() as f64).to_bits() >> (f64::MANTISSA_DIGITS - 1 - PRECISION_BITS)
}

/// The value that stands for a bucket, in nanoseconds: its middle, or its beginning where it is one unit
/// wide, so that no delay is no delay.
fn value_of(bucket: usize) -> u64 {
    let shift = (bucket >> PRECISION_BITS).saturating_sub(1);
    let lowest = ((bucket - (shift << PRECISION_BITS)) as u64) << shift;
    (lowest + (1 << shift) / 2) * UNIT_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use alloc::vec::Vec;

    /// The sample at the place of a quantile in sorted order.
    fn exact(sorted: &[u64], per_mille: u32) -> u64 {
        sorted[rank(sorted.len() as u64, per_mille) as usize - 1]
    }

    fn sketch(samples: &[u64]) -> Sketch {
        let mut sketch = Sketch::default();
        samples.iter().for_each(|nanos| sketch.record(Span::from_nanos(*nanos)));
        sketch
    }

    #[test]
    fn quantiles_of_any_magnitude_are_within_a_128th_of_the_exact_ones_or_a_unit() {
        let mut rng = Rng::new(7);
        for magnitude in 1..38 {
            let most = 1u64 << magnitude;
            let mut samples: Vec<u64> = (0..999).map(|_| rng.below(most)).collect();
            let sketch = sketch(&samples);
            samples.sort_unstable();
            for per_mille in [0, 1, 500, 900, 950, 990, 999, 1000] {
                let exact = exact(&samples, per_mille);
                let found = sketch.quantile(per_mille).expect("samples").as_nanos();
                let error = found.abs_diff(exact);
                assert!(
                    error * 128 <= exact || error < UNIT_NS,
                    "{per_mille} of {most}: {found}, not {exact}"
                );
            }
        }
    }

    #[test]
    fn each_bucket_begins_where_the_one_before_ends() {
        for nanos in (0..100_000).chain((17..38).flat_map(|bits| (1 << bits) - 3..(1 << bits) + 3))
        {
            let step = bucket_of(nanos + 1) - bucket_of(nanos);
            assert!(step <= 1, "{nanos} and the next are {step} apart");
            assert_eq!(bucket_of(value_of(bucket_of(nanos))), bucket_of(nanos), "{nanos}");
        }
        assert_eq!(BUCKETS, 1728);
    }

    #[test]
    fn a_merged_sketch_is_that_of_all_samples() {
        let all: Vec<u64> = (0..500).map(|n| n * n * 1000).collect();
        let mut merged = sketch(&all[..100]);
        merged.merge(&sketch(&all[100..]));
        assert_eq!(merged.distribution(), sketch(&all).distribution());
        assert_eq!(merged.count(), 500);
    }

    #[test]
    fn mean_and_maximum_are_exact_beyond_the_last_bucket_too() {
        let hour = 3_600_000_000_000;
        let mut sketch = sketch(&[hour, u64::MAX]);
        sketch.record(Span::ZERO);
        let distribution = sketch.distribution().expect("samples");
        let sum = u128::from(u64::MAX) + u128::from(hour);
        assert_eq!(u128::from(distribution.mean.as_nanos()), sum / 3);
        assert_eq!(distribution.max, Span::from_nanos(u64::MAX));
        assert_eq!(sketch.quantile(333), Some(Span::ZERO));
        assert!(distribution.p50 >= Span::from_secs(272), "the last bucket: {distribution:?}");
    }

    #[test]
    fn a_full_bucket_stays_full() {
        let mut sketch = sketch(&[0, 1_000_000]);
        sketch.counts[0] = u32::MAX - 1;
        (0..3).for_each(|_| sketch.record(Span::ZERO));
        assert_eq!(sketch.count(), u64::from(u32::MAX) + 1);
        assert_eq!(sketch.quantile(999), Some(Span::ZERO));
    }

    #[test]
    fn no_samples_have_no_distribution() {
        let none = Sketch::default();
        assert_eq!((none.distribution(), none.quantile(500), none.max()), (None, None, None));
    }
}
