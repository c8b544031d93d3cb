//! Loss and reordering between the ends of a channel.

use crate::model::{Loss, Reorder};
use windlass_base::{Rng, Span};
use windlass_link_model::BurstLoss;

/// The fate of a packet that has left its queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It arrives.
    Arrives,
    /// It arrives later by this time.
    ArrivesLate(Span),
    /// It does not arrive.
    Lost,
}

/// Draws the fate of each packet of a channel.
#[derive(Debug)]
pub(crate) struct Impairments {
    loss: Loss,
    reorder: Option<Reorder>,
    rng: Rng,
    /// Packets that have entered so far.
    entered: u64,
    /// Number of listed losses that have happened.
    listed: usize,
    /// The state of a loss in bursts.
    bursts: Option<BurstLoss>,
}

impl Impairments {
    /// `None` if no packet is ever lost or late.
    pub(crate) fn new(loss: Loss, reorder: Option<Reorder>, rng: Rng) -> Option<Impairments> {
        let perfect = loss == Loss::None && reorder.is_none();
        let bursts = match loss {
            Loss::GilbertElliott(model) => Some(BurstLoss::new(model)),
            _ => None,
        };
        (!perfect).then_some(Impairments { loss, reorder, rng, entered: 0, listed: 0, bursts })
    }

    pub(crate) fn fate(&mut self) -> Fate {
        self.entered += 1;
        if self.loses() {
            return Fate::Lost;
        }
        match self.reorder {
            Some(Reorder { probability, max_extra_delay }) if self.rng.chance(probability) => {
                let extra = self.rng.between(0, max_extra_delay.as_nanos());
                Fate::ArrivesLate(Span::from_nanos(extra))
            }
            _ => Fate::Arrives,
        }
    }

    fn loses(&mut self) -> bool {
        match &self.loss {
            Loss::None => false,
            Loss::Random { probability } => self.rng.chance(*probability),
            Loss::Listed { packets } => {
                let lost = packets.get(self.listed) == Some(&self.entered);
                self.listed += usize::from(lost);
                lost
            }
            Loss::GilbertElliott(_) => {
                self.bursts.as_mut().is_some_and(|bursts| bursts.takes(&mut self.rng))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::GilbertElliott;

    #[test]
    fn listed_losses_are_precisely_those_listed() {
        let loss = Loss::Listed { packets: vec![1, 4, 5] };
        let mut impairments = Impairments::new(loss, None, Rng::new(1)).expect("losses");
        let lost: Vec<u64> = (1..=10).filter(|_| impairments.fate() == Fate::Lost).collect();
        assert_eq!(lost, [1, 4, 5]);
    }

    #[test]
    fn random_losses_come_with_their_probability() {
        let loss = Loss::Random { probability: 0.1 };
        let mut impairments = Impairments::new(loss, None, Rng::new(1)).expect("losses");
        let lost = (0..100_000).filter(|_| impairments.fate() == Fate::Lost).count();
        assert!((9_700..10_300).contains(&lost), "{lost} of 100000 lost");
    }

    #[test]
    fn losses_come_in_bursts_of_the_models_length() {
        let model =
            GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.2, loss_good: 0.0, loss_bad: 1.0 };
        let loss = Loss::GilbertElliott(model);
        let mut impairments = Impairments::new(loss, None, Rng::new(1)).expect("losses");
        let lost: Vec<bool> = (0..200_000).map(|_| impairments.fate() == Fate::Lost).collect();
        let packets = lost.iter().filter(|lost| **lost).count() as f64;
        assert!((packets / 200_000.0 - model.mean_loss()).abs() < 0.003, "{packets} lost");
        let bursts = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).count() as f64;
        assert!((packets / bursts - 5.0).abs() < 0.4, "{packets} lost in {bursts} bursts");
    }

    #[test]
    fn late_packets_are_no_later_than_allowed() {
        let max_extra_delay = Span::from_millis(3);
        let reorder = Some(Reorder { probability: 0.5, max_extra_delay });
        let mut impairments =
            Impairments::new(Loss::None, reorder, Rng::new(1)).expect("late packets");
        let mut late = 0;
        for _ in 0..10_000 {
            if let Fate::ArrivesLate(extra) = impairments.fate() {
                assert!(extra <= max_extra_delay);
                late += 1;
            }
        }
        assert!((4_800..5_200).contains(&late), "{late} of 10000 late");
    }
}
