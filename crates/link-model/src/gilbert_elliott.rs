//! Losses in bursts: the model of Gilbert (1960) and Elliott (1963).

use windlass_base::Rng;

/// The two-state model of Gilbert and Elliott. A packet is lost with the probability of the present
/// state; then the state may change. The model starts in the good state.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability per packet that the good state ends.
    pub good_to_bad: f64,
    /// Probability per packet that the bad state ends: one over the mean length of a burst.
    pub bad_to_good: f64,
    /// Loss in the good state; Gilbert's model has 0.
    pub loss_good: f64,
    /// Loss in the bad state; the simple Gilbert model has 1.
    pub loss_bad: f64,
}

impl GilbertElliott {
    /// The share of packets that are lost in the long run, from 0 to 1.
    pub fn mean_loss(&self) -> f64 {
        let changes = self.good_to_bad + self.bad_to_good;
        // The chain is in the bad state for good_to_bad of every good_to_bad + bad_to_good packets. A
        // chain that never changes stays in the good state.
        let bad = if changes > 0.0 { self.good_to_bad / changes } else { 0.0 };
        (1.0 - bad) * self.loss_good + bad * self.loss_bad
    }
}

/// The state of a [`GilbertElliott`] model.
#[derive(Clone, Debug)]
pub struct BurstLoss {
    model: GilbertElliott,
    bad: bool,
}

impl BurstLoss {
    /// The model in its good state.
    pub fn new(model: GilbertElliott) -> BurstLoss {
        BurstLoss { model, bad: false }
    }

    /// True if the next packet is lost. Call it once for each packet, in order.
    pub fn takes(&mut self, rng: &mut Rng) -> bool {
        let (loss, change) = match self.bad {
            false => (self.model.loss_good, self.model.good_to_bad),
            true => (self.model.loss_bad, self.model.bad_to_good),
        };
        // Elliott 1963: the present state decides, and may change before the next packet.
        let lost = rng.chance(loss);
        self.bad ^= rng.chance(change);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 1_000_000;

    fn losses(model: GilbertElliott, seed: u64) -> Vec<bool> {
        let (mut bursts, mut rng) = (BurstLoss::new(model), Rng::new(seed));
        (0..PACKETS).map(|_| bursts.takes(&mut rng)).collect()
    }

    fn simple(good_to_bad: f64, bad_to_good: f64) -> GilbertElliott {
        GilbertElliott { good_to_bad, bad_to_good, loss_good: 0.0, loss_bad: 1.0 }
    }

    /// Four standard deviations of the mean of a two-state chain, whose autocorrelation is r = 1 - p - q:
    /// the variance of one packet times (1 + r) / (1 - r) over the number of packets.
    fn tolerance(model: &GilbertElliott) -> f64 {
        let mean = model.mean_loss();
        let r = 1.0 - model.good_to_bad - model.bad_to_good;
        4.0 * libm::sqrt(mean * (1.0 - mean) * (1.0 + r) / (1.0 - r) / PACKETS as f64)
    }

    #[test]
    fn the_mean_loss_is_that_of_the_chain() {
        let models = [
            (simple(0.01, 0.25), 0.01 / 0.26),
            (simple(0.002, 0.05), 0.002 / 0.052),
            (GilbertElliott { loss_good: 0.001, loss_bad: 0.4, ..simple(0.05, 0.2) }, 0.0808),
        ];
        for (seed, (model, expected)) in (1..).zip(models) {
            assert!((model.mean_loss() - expected).abs() < 1e-9, "{model:?}");
            let lost = losses(model, seed).iter().filter(|lost| **lost).count();
            let share = lost as f64 / PACKETS as f64;
            assert!((share - expected).abs() < tolerance(&model), "{share}, not {expected}");
        }
    }

    /// Where each packet of the bad state is lost and none of the good one, a burst has n packets with
    /// probability (1 - q)^(n - 1) q.
    #[test]
    fn the_length_of_a_burst_is_geometric() {
        let q = 0.25;
        let lost = losses(simple(0.01, q), 7);
        let bursts: Vec<usize> =
            lost.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
        let count = bursts.len() as f64;
        let mean = bursts.iter().sum::<usize>() as f64 / count;
        // The standard deviation of a geometric length is sqrt(1 - q) / q.
        let deviation = libm::sqrt(1.0 - q) / q / libm::sqrt(count);
        assert!((mean - 1.0 / q).abs() < 4.0 * deviation, "bursts of {mean} packets");
        // Lengths 1 to 11, and longer: the 0.999 quantile of chi-square with 11 degrees of freedom.
        let mut chi_square = 0.0;
        for n in 1..=12 {
            let longer = n == 12;
            let share = libm::pow(1.0 - q, (n - 1) as f64) * if longer { 1.0 } else { q };
            let seen = bursts.iter().filter(|len| **len == n || longer && **len > n).count();
            let expected = share * count;
            chi_square += (seen as f64 - expected) * (seen as f64 - expected) / expected;
        }
        assert!(chi_square < 31.26, "chi-square {chi_square}");
    }

    #[test]
    fn a_chain_that_never_changes_stays_good() {
        let model = simple(0.0, 0.0);
        assert_eq!(model.mean_loss(), 0.0);
        assert!(losses(model, 1).iter().all(|lost| !lost));
    }
}
