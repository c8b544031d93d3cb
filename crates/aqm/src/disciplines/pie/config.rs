//! Settings of PIE.

use crate::error::{check_positive, check_probability};
use crate::{ConfigError, Limit};
use windlass_base::Span;

/// Settings of [`Pie`](super::Pie).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct PieConfig {
    /// The maximum length. Default: 1000 packets.
    pub limit: Limit,
    /// The queueing delay that PIE controls towards: QDELAY_REF. Default: 15 ms.
    pub target: Span,
    /// Time between updates of the probability: T_UPDATE. Default: 15 ms.
    pub update_interval: Span,
    /// Weight of the distance from the target, per second. Default: 0.125.
    pub alpha: f64,
    /// Weight of the change since the last update, per second. Default: 1.25.
    pub beta: f64,
    /// How long PIE lets a burst pass after a time without congestion: MAX_BURST. Default: 150 ms.
    pub max_burst: Span,
    /// PIE drops nothing while at most twice this many bytes wait: MEAN_PKTSIZE.
    /// Default: 1024.
    pub mean_packet_bytes: u32,
    /// ECN-capable packets are marked, not dropped, while the probability is no higher than this
    /// (mark_ecnth, RFC 8033 §5.1); `None` never marks. Default: 0.1.
    pub mark_up_to: Option<f64>,
    /// Keeps drops from coming too close together or too far apart (RFC 8033 §5.4). Default: true.
    pub derandomize: bool,
}

impl Default for PieConfig {
    fn default() -> Self {
        PieConfig {
            limit: Limit::Packets(1000),
            target: Span::from_millis(15),
            update_interval: Span::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Span::from_millis(150),
            mean_packet_bytes: 1024,
            mark_up_to: Some(0.1),
            derandomize: true,
        }
    }
}

impl PieConfig {
    /// Checks that limit, spans and weights are above zero.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        check_positive(self.target.as_secs_f64(), "PIE's target")?;
        check_positive(self.update_interval.as_secs_f64(), "PIE's update interval")?;
        check_positive(self.alpha, "PIE's alpha")?;
        check_positive(self.beta, "PIE's beta")?;
        self.mark_up_to.map_or(Ok(()), |most| check_probability(most, "PIE's marking threshold"))
    }

    /// Whether it may mark ECN-capable packets.
    pub(crate) fn can_mark(&self) -> bool {
        self.mark_up_to.is_some()
    }
}
