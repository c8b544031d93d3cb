//! The options of a connection: what RFCs leave open and what the papers vary.
//!
//! A [`Profile`] gives a complete [`Config`]; the table there lists the values of every profile.
//! Change what an experiment varies:
//!
//! ```
//! use windlass_tcp::Profile;
//!
//! let profile = Profile::Linux;
//! let cubic = profile.controller("cubic").expect("a name from cc::NAMES");
//! let config = profile.config(1460, cubic).with(|c| {
//!     c.ecn.enabled = true;
//!     c.window.initial = 4;
//! });
//! assert!(config.recovery.rack);
//! ```

mod groups;
mod profile;
#[cfg(test)]
mod tests;

pub use crate::ecn_echo::EcnEcho;
pub use groups::{
    AccEcnConfig, AckConfig, BufferConfig, EcnConfig, ExtensionConfig, GrowthConfig, MAX_SSTHRESH,
    RecoveryConfig, SendConfig, TimerConfig, WindowConfig,
};
pub use profile::Profile;

use crate::cc::ControllerFactory;
use alloc::sync::Arc;
use windlass_base::Span;

/// The options of a connection, fixed when the connection is made.
///
/// Take one from [`Profile::config`] and change fields, directly or with [`Config::with`]. The
/// default of each group is that of [`Profile::Rfc5681`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The congestion controller.
    pub congestion: Arc<dyn ControllerFactory>,
    /// Largest payload in bytes of a segment that this end sends or announces. Options are not
    /// subtracted (RFC 6691).
    pub mss: u16,
    /// The size of the sender's window: at the beginning, after a reduction, after idle time.
    pub window: WindowConfig,
    /// The growth of the sender's window.
    pub growth: GrowthConfig,
    /// Detection and repair of losses.
    pub recovery: RecoveryConfig,
    /// The clock, the retransmission timer, retries, keep-alive, TIME-WAIT.
    pub timers: TimerConfig,
    /// Explicit Congestion Notification (RFC 3168).
    pub ecn: EcnConfig,
    /// Accurate ECN (RFC 9768).
    pub accecn: AccEcnConfig,
    /// The receiver's acknowledgments.
    pub acks: AckConfig,
    /// When data leaves.
    pub sending: SendConfig,
    /// The TCP options that this end offers.
    pub extensions: ExtensionConfig,
    /// Buffer sizes.
    pub buffers: BufferConfig,
}

impl Config {
    /// These options, changed by `change`.
    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Config {
        change(&mut self);
        self
    }

    /// Whether connections pace their data: by option, or because their controller does.
    pub(crate) fn paces(&self) -> bool {
        self.sending.pacing || self.congestion.paces()
    }
}

/// The clock that a connection sees.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Granularity: RTT samples are whole multiples of this span, at least one. Not zero; 1 ns for
    /// a clock as fine as the carrier's.
    pub tick: Span,
    /// Time from this clock's last tick before the carrier's origin to that origin; less than a
    /// tick.
    pub phase: Span,
}

/// The retransmission timer (RFC 6298).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// RTO before the first RTT sample.
    pub initial: Span,
    /// Lower bound. Two clock ticks are a lower bound as well.
    pub min: Span,
    /// Upper bound.
    pub max: Span,
    /// Whether `min` bounds the whole RTO or only its variance term.
    pub min_of: RtoFloor,
    /// How the RTO follows from RTT samples and timeouts.
    pub rule: RtoRule,
}

/// How the RTO follows from RTT samples and timeouts.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum RtoRule {
    /// SRTT + 4 RTTVAR, doubled at each timeout (RFC 6298).
    #[default]
    Rfc6298,
    /// Footnotes 1 and 2 of Lee 2009 as printed, for experiments on what they do. SRTT has an eighth
    /// of its old value and seven eighths of the sample, RTO is 2 SRTT, and a timeout raises it to
    /// 64 s at least. [`RtoFloor`] has no meaning then.
    Lee2009,
}

impl RtoRule {
    /// Every rule.
    pub const ALL: [RtoRule; 2] = [RtoRule::Rfc6298, RtoRule::Lee2009];

    /// The name on the command line and in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            RtoRule::Rfc6298 => "rfc6298",
            RtoRule::Lee2009 => "lee2009",
        }
    }
}

/// Whether [`RtoConfig::min`] bounds the whole RTO or only its variance term.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The whole RTO (RFC 6298 §2.4).
    Rto,
    /// The variance term, which is added to SRTT (Linux). On a path whose RTT is close to `min`, a
    /// growing queue then does not cause a timeout.
    Variance,
}

/// Which segments give RTT samples.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// One segment per round trip (RFC 6298 §3).
    OncePerRoundTrip,
    /// Every segment (RFC 7323 §4.1; Linux).
    EverySegment,
}

/// The segments that carry the AccECN option. The SYN-ACK, the last ACK of the handshake and the first data do whenever
/// any do (RFC 9768 §3.2.3.2.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum OptionUse {
    /// No segment.
    Never,
    /// Those after a counter of the option has changed, with the fields that have ever changed, in the shorter order. No
    /// retransmission has one (RFC 9768 §3.2.3.3).
    AfterChange,
    /// All, as in Linux: with all fields that find room, ECT(1) first, and once an option of the peer has arrived.
    /// RFC 9768 §3.2.3.2.3 has it that an end sends options whether or not it gets any.
    Always,
}

/// How much an ACK of new data counts for when the window grows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Growth {
    /// One segment, however few bytes it acknowledges (RFC 2581).
    PerAck,
    /// The bytes acknowledged, at most `limit` segments (RFC 3465). RFC 5681 has a limit of 1.
    PerByte {
        /// RFC 3465's L, in segments.
        limit: u32,
    },
}

/// The window that a reduction starts from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ReductionBase {
    /// The window in force, including inflation and limit.
    Window,
    /// FlightSize, the data sent and not acknowledged (RFC 5681 §3.1), at most cwnd.
    FlightSize,
}

/// When a receiver acknowledges data that arrives in order. Any other data is acknowledged at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AckPolicy {
    /// Every segment at once.
    Immediate,
    /// Every second full segment, or after a delay (RFC 9293 §3.8.6.3).
    Delayed {
        /// The longest delay.
        max: Span,
    },
    /// As Linux: like `Delayed`, with four exceptions. If a segment carries PSH or is less than full,
    /// the receiver acknowledges it once the application has read all data. The first segments of a
    /// connection, and those after a duplicate, are acknowledged at once; with
    /// [`AckConfig::marks_at_once`] two segments from a mark on that begins an ECN echo. Segments that the carrier
    /// passes in together are acknowledged once, so the sender should
    /// [count bytes](Growth::PerByte).
    Linux {
        /// The longest delay.
        max: Span,
    },
    /// Every segment at once, by several ACKs with ascending numbers (ACK division; Normann 2011).
    Split {
        /// Number of ACKs for one segment.
        parts: u32,
    },
}

impl AckPolicy {
    /// Whether the receiver acknowledges segments that arrive together one after the other, as if
    /// the carrier polled after each. RFC 5681 §4.2: it should not leave more than two full segments
    /// without an ACK. Linux acknowledges such a batch once, and its senders count bytes.
    pub(crate) fn acknowledges_within_batches(self) -> bool {
        !matches!(self, AckPolicy::Linux { .. })
    }
}

/// Probes on an idle connection (RFC 9293 §3.8.4).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Idle time before the first probe.
    pub idle: Span,
    /// Time between probes.
    pub interval: Span,
    /// Unanswered probes before the connection fails.
    pub probes: u32,
}
