use crate::error::check_positive;
use crate::{ConfigError, Limit};
use windlass_base::Span;

/// What CoDel goes by, alone and within FQ-CoDel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CoDelParams {
    /// Waiting time that a standing queue may cost. Default: 5 ms (RFC 8289 §4.3).
    pub target: Span,
    /// How long the waiting time must stay above target before the first drop; about a worst-case
    /// RTT. Default: 100 ms (RFC 8289 §4.2).
    pub interval: Span,
    /// The largest packet of the link: with no more than this behind a packet, it is not dropped.
    /// Default: 1514 bytes.
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
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive(self.target.as_secs_f64(), "CoDel's target")?;
        check_positive(self.interval.as_secs_f64(), "CoDel's interval")
    }
}

/// Settings of [`CoDel`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// The most that may wait. Default: 1000 packets.
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
    /// Checks that nothing is zero that must not be.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        self.params.validate()
    }
}
