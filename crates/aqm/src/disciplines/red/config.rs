//! Settings of RED. [`adaptation`](super::adaptation) has those of its adaptive forms.

use super::adaptation::{Adaptation, AdaptiveConfig, SelfConfiguringConfig};
use crate::error::{check_positive, check_probability};
use crate::{ConfigError, EarlyAction, Limit};
use windlass_base::BitRate;

/// Unit of RED's average queue length, its thresholds and the count between marks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets, however large (Floyd and Jacobson's default).
    Packets,
    /// Bytes. The probability then also scales with the packet's size over the mean size, so that
    /// small packets are hit less often (Floyd and Jacobson 1993, section 4; RFC 7567 §4.4 advises
    /// against it).
    Bytes,
}

/// How RED spreads its marks over the arrivals, given the probability p of the average. `count` is
/// the number of arrivals since the last mark, the present one included.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Floyd's practice: none until count*p reaches 1, then p/(2 - count*p), surely from
    /// count*p = 2. Distances are uniform from 1/p to 2/p.
    Wait,
    /// The formula printed in Floyd and Jacobson 1993: p/(1 - count*p), surely from count*p = 1.
    /// Distances are uniform from 1 to 1/p.
    NoWait,
}

/// How a RED that marks treats arrivals while the average is above the range of early signals.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AboveMax {
    /// Every arrival is dropped, ECN-capable or not (RFC 3168 §7; the original RED).
    DropAll,
    /// ECN-capable packets are marked, the others dropped (Linux's `red ecn` without `harddrop`).
    MarkEct,
}

/// Settings of [`Red`](crate::Red).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct RedConfig {
    /// The most that may wait. Default: 100 packets.
    pub limit: Limit,
    /// The unit of `min` and `max`. Default: packets.
    pub unit: Unit,
    /// Lower threshold of the average, in `unit`. Default: 5 packets.
    pub min: f64,
    /// Upper threshold of the average, in `unit`. `None` means three times `min` (Floyd 1997,
    /// the default).
    pub max: Option<f64>,
    /// Weight of one sample in the average. `None` means 1 - exp(-1/C), C being the link's rate in
    /// mean packets a second (Floyd, Gummadi, Shenker 2001, section 5.2). Default: 0.002.
    pub weight: Option<f64>,
    /// Probability as the average reaches `max`, at first if it adapts. Default: 0.1.
    pub max_p: f64,
    /// Mean packet size in bytes, by which idle time and packet sizes are converted to packets.
    /// Default: 500, as in ns-2.
    pub mean_packet_bytes: u32,
    /// Action on packets chosen early. Default: mark.
    pub action: EarlyAction,
    /// Spacing of marks. Default: wait.
    pub spacing: Spacing,
    /// True: between `max` and twice `max` the probability goes on rising from `max_p` to 1. False:
    /// it jumps to 1 at `max`. Default: true, Floyd's advice of 2000; the original RED has false.
    pub gentle: bool,
    /// Treatment of arrivals while the average is `max` or more (gentle: twice `max`). Default:
    /// drop all. It makes no difference with [`EarlyAction::Drop`].
    pub above_max: AboveMax,
    /// How `max_p` moves at run time. Default: not at all.
    pub adaptation: Option<Adaptation>,
}

impl Default for RedConfig {
    fn default() -> Self {
        RedConfig {
            limit: Limit::Packets(100),
            unit: Unit::Packets,
            min: 5.0,
            max: None,
            weight: Some(0.002),
            max_p: 0.1,
            mean_packet_bytes: 500,
            action: EarlyAction::Mark,
            spacing: Spacing::Wait,
            gentle: true,
            above_max: AboveMax::DropAll,
            adaptation: None,
        }
    }
}

impl RedConfig {
    /// Adaptive RED as its authors recommend it (Floyd, Gummadi, Shenker 2001, section 5): weight
    /// from the link's rate, `max` three times `min`, gentle, `max_p` self-configuring.
    pub fn adaptive() -> RedConfig {
        let adaptation = Some(Adaptation::Floyd(AdaptiveConfig::default()));
        RedConfig { weight: None, adaptation, ..Self::default() }
    }

    /// Self-configuring RED (Feng, Kandlur, Saha, Shin 1999). Like the RED of its time it is not gentle.
    pub fn self_configuring() -> RedConfig {
        let adaptation = Some(Adaptation::Feng(SelfConfiguringConfig::default()));
        RedConfig { gentle: false, adaptation, ..Self::default() }
    }

    /// Checks the settings, except those that depend on the link's rate.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        let max = self.max_threshold();
        if !(self.min >= 0.0 && self.min < max && max.is_finite()) {
            return Err(ConfigError::Thresholds);
        }
        if self.weight.is_some_and(|weight| !(weight > 0.0 && weight <= 1.0)) {
            return Err(ConfigError::Weight);
        }
        check_probability(self.max_p, "max_p")?;
        check_positive(f64::from(self.mean_packet_bytes), "mean_packet_bytes")?;
        self.adaptation.map_or(Ok(()), |adaptation| adaptation.validate())
    }

    pub(super) fn max_threshold(&self) -> f64 {
        self.max.unwrap_or(3.0 * self.min)
    }

    /// Mean packets a second on the link: C in the papers.
    pub(super) fn packets_per_sec(&self, link: BitRate) -> f64 {
        link.bits_per_sec() as f64 / (8.0 * f64::from(self.mean_packet_bytes))
    }

    pub(super) fn resolved_weight(&self, link: Option<BitRate>) -> Result<f64, ConfigError> {
        match (self.weight, link) {
            (Some(weight), _) => Ok(weight),
            // 1 - exp(-1/C), a time constant of a second (Floyd et al. 2001, section 5.2).
            (None, Some(link)) => Ok(1.0 - libm::exp(-1.0 / self.packets_per_sec(link))),
            (None, None) => Err(ConfigError::NeedsLinkRate("the queue weight")),
        }
    }

    /// Whether it may mark ECN-capable packets.
    pub(crate) fn can_mark(&self) -> bool {
        self.action == EarlyAction::Mark
    }
}
