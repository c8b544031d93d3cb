use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers: xoshiro256++ seeded by SplitMix64.
///
/// The same seed gives the same numbers in every version and on every machine. The distributions
/// are therefore implemented here instead of taken from a library.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// An independent stream for part `part` of a run: draws of one part do not affect those of
    /// another.
    pub fn fork(seed: u64, part: u64) -> Rng {
        let mixed = Xoshiro256PlusPlus::seed_from_u64(part).next_u64();
        Rng::new(seed ^ mixed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [0, `bound`); 0 for a bound of 0. The bias of at most `bound` / 2^64 is accepted.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in [`low`, `high`], both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high);
        low + self.below((high - low).saturating_add(1))
    }

    /// True with probability `p`; draws nothing for a probability of zero.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.uniform() < p
    }

    /// Exponentially distributed with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stream is part of the format: these numbers may never change.
    #[test]
    fn the_stream_is_fixed() {
        let mut rng = Rng::new(1);
        assert_eq!([rng.bits(), rng.bits()], [14971601782005023387, 13781649495232077965]);
        assert_eq!(Rng::new(1).below(1000), 811);
    }

    #[test]
    fn forks_differ_from_each_other_and_from_their_seed() {
        let mut draws = [Rng::new(7).bits(), Rng::fork(7, 0).bits(), Rng::fork(7, 1).bits()];
        draws.sort_unstable();
        assert!(draws[0] != draws[1] && draws[1] != draws[2]);
    }

    #[test]
    fn draws_keep_their_ranges() {
        let mut rng = Rng::new(3);
        for _ in 0..10_000 {
            assert!((0.0..1.0).contains(&rng.uniform()));
            assert!(rng.below(7) < 7);
            assert!((3..=5).contains(&rng.between(3, 5)));
            assert!(rng.exponential(2.0) >= 0.0);
        }
        assert_eq!(rng.below(0), 0);
    }
}
