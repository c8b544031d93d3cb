//! Which packets the wire of a path loses: at random, in bursts, or by ordinals.

use crate::config::{GilbertElliott, Loss};
use crate::frame::Frame;
use crate::listed_loss::ListedLoss;
use windlass_base::Rng;

/// The state of a loss model.
#[derive(Clone, Debug)]
pub(crate) enum LossModel {
    None,
    Random(f64),
    GilbertElliott { config: GilbertElliott, bad: bool },
    Listed(ListedLoss),
}

impl LossModel {
    pub(crate) fn new(loss: &Loss) -> LossModel {
        match loss {
            Loss::None => LossModel::None,
            Loss::Random(probability) => LossModel::Random(*probability),
            Loss::GilbertElliott(config) => {
                LossModel::GilbertElliott { config: *config, bad: false }
            }
            Loss::Listed(listed) => LossModel::Listed(ListedLoss::new(listed.clone())),
        }
    }

    /// Whether the wire loses this packet. Call it for every packet that enters the wire.
    pub(crate) fn takes(&mut self, frame: &Frame, rng: &mut Rng) -> bool {
        match self {
            LossModel::None => false,
            LossModel::Random(probability) => rng.chance(*probability),
            LossModel::GilbertElliott { config, bad } => {
                let (loss, change) = match bad {
                    false => (config.loss_good, config.good_to_bad),
                    true => (config.loss_bad, config.bad_to_good),
                };
                // Elliott 1963: the present state decides, and may change before the next packet.
                let lost = rng.chance(loss);
                *bad ^= rng.chance(change);
                lost
            }
            LossModel::Listed(listed) => listed.takes(frame),
        }
    }
}
