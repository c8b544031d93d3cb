//! Settings of CoDel, and those of them that FQ-CoDel has for its flows.

use crate::error::check_positive;
use crate::{ConfigError, Limit};
use windlass_base::Span;

/// Parameters of CoDel, alone and within FQ-CoDel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CoDelParams {
    /// Sojourn time that a standing queue may cause. Default: 5 ms (RFC 8289 §4.3).
    pub target: Span,
    /// How long the sojourn time must stay above target before the first drop; about a worst-case
    /// RTT. Default: 100 ms (RFC 8289 §4.2).
    pub interval: Span,
    /// The size of the link's largest packet. CoDel does not drop while no more than this waits behind
    /// a packet. Default: 1514 bytes.
    pub max_packet_bytes: u32,
    /// Mark ECN-capable packets instead of dropping them. Default: true.
    pub ecn: bool,
}

impl Default for CoDelParams {
    fn default() -> Self {
        CoDelParams {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            max_packet_bytes: 1514,
            ecn: true,
        }
    }
}

impl CoDelParams {
    /// Checks that the spans are not zero.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive(self.target.as_secs_f64(), "CoDel's target")?;
        check_positive(self.interval.as_secs_f64(), "CoDel's interval")
    }
}

/// Settings of [`CoDel`](super::CoDel).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// The maximum length. Default: 1000 packets.
    pub limit: Limit,
    /// Target, interval and ECN.
    pub params: CoDelParams,
}

impl Default for CoDelConfig {
    fn default() -> Self {
        CoDelConfig { limit: Limit::Packets(1000), params: CoDelParams::default() }
    }
}

impl CoDelConfig {
    /// Checks that no limit and no span is zero.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        self.params.validate()
    }

    /// Whether it may mark ECN-capable packets.
    pub(crate) fn can_mark(&self) -> bool {
        self.params.ecn
    }
}
