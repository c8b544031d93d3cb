//! Which packets the wire of a path loses: at random, in bursts, or by ordinals.

use crate::config::Loss;
use crate::frame::Frame;
use crate::listed_loss::ListedLoss;
use windlass_base::Rng;
use windlass_link_model::BurstLoss;

/// The state of a loss model.
#[derive(Clone, Debug)]
pub(crate) enum LossModel {
    None,
    Random(f64),
    Bursts(BurstLoss),
    Listed(ListedLoss),
}

impl LossModel {
    pub(crate) fn new(loss: &Loss) -> LossModel {
        match loss {
            Loss::None => LossModel::None,
            Loss::Random(probability) => LossModel::Random(*probability),
            Loss::GilbertElliott(model) => LossModel::Bursts(BurstLoss::new(*model)),
            Loss::Listed(listed) => LossModel::Listed(ListedLoss::new(listed.clone())),
        }
    }

    /// Whether the wire loses this packet. Call it for every packet that enters the wire.
    pub(crate) fn takes(&mut self, frame: &Frame, rng: &mut Rng) -> bool {
        match self {
            LossModel::None => false,
            LossModel::Random(probability) => rng.chance(*probability),
            LossModel::Bursts(bursts) => bursts.takes(rng),
            LossModel::Listed(listed) => listed.takes(frame),
        }
    }
}
