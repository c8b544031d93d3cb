//! Settings of DualPI2.

use crate::error::{check_positive, check_probability};
use crate::{ConfigError, Limit};
use windlass_base::{Ecn, Span};

/// Settings of [`DualPi2`](super::DualPi2).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct DualPi2Config {
    /// The maximum length of both queues together. Default: 10,000 packets, as Linux.
    pub limit: Limit,
    /// The delay that the PI controller steers to. Default: 15 ms.
    pub target: Span,
    /// Time between updates of the base probability: Tupdate. Default: 16 ms.
    pub update_interval: Span,
    /// Weight of the distance from the target, per second. Default: 0.16.
    pub alpha: f64,
    /// Weight of the change since the last update, per second. Default: 3.2.
    pub beta: f64,
    /// The probability of a mark in the low-latency queue is at least this many times the base probability: k.
    /// Default: 2.
    pub coupling: f64,
    /// From when on every packet of the low-latency queue is marked. Default: 1 ms.
    pub step: Step,
    /// The step marks only packets that find this many packets in the low-latency queue. Default: 0.
    pub step_from_packets: u32,
    /// The packets of the low-latency queue. Default: ECT(1) and CE.
    pub low_latency: LowLatency,
    /// The share of the link that the classic queue has at least while both wait; at most 1. Default: 0.1.
    pub classic_share: f64,
    /// Neither queue drops or marks by probability while less than two packets of so many bytes wait in both.
    /// Default: 1500.
    pub mtu_bytes: u32,
    /// The reaction to an overload, which marks cannot end. Default: drop.
    pub overload: Overload,
    /// When a packet is chosen by probability. Default: at dequeue.
    pub decides: Decides,
}

/// The threshold above which the low-latency queue marks every packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A packet has waited longer than this.
    Time(Span),
    /// More packets than this wait behind it.
    Packets(u32),
}

/// The packets that go to the low-latency queue, by their codepoint.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LowLatency {
    /// ECT(1) and CE (RFC 9331 §4.1 and §5).
    Ect1,
    /// Every ECN-capable packet, as in a data centre whose ECN is all of DCTCP's kind.
    AnyEct,
}

impl LowLatency {
    pub(super) fn takes(self, ecn: Ecn) -> bool {
        match self {
            LowLatency::Ect1 => matches!(ecn, Ecn::Ect1 | Ecn::Ce),
            LowLatency::AnyEct => ecn.is_capable(),
        }
    }
}

/// The reaction to an overload: the base probability is so high that every packet of the low-latency queue would
/// be marked (RFC 9332 §4.2.3).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Overload {
    /// Packets of both queues are dropped with the classic probability, ECN-capable or not.
    Drop,
    /// ECN-capable packets are marked and never dropped, until the limit drops them.
    Overflow,
}

/// When a packet is chosen by probability.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Decides {
    /// Before it enters a queue.
    Enqueue,
    /// When it leaves: the signal is younger by the time in the queue.
    Dequeue,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        DualPi2Config {
            limit: Limit::Packets(10_000),
            target: Span::from_millis(15),
            update_interval: Span::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Step::Time(Span::from_millis(1)),
            step_from_packets: 0,
            low_latency: LowLatency::Ect1,
            classic_share: 0.1,
            mtu_bytes: 1500,
            overload: Overload::Drop,
            decides: Decides::Dequeue,
        }
    }
}

impl DualPi2Config {
    /// Checks that limit, spans and weights are above zero, and that the share is one.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        check_positive(self.target.as_secs_f64(), "DualPI2's target")?;
        check_positive(self.update_interval.as_secs_f64(), "DualPI2's update interval")?;
        check_positive(self.alpha, "DualPI2's alpha")?;
        check_positive(self.beta, "DualPI2's beta")?;
        check_positive(self.coupling, "DualPI2's coupling")?;
        check_positive(f64::from(self.mtu_bytes), "DualPI2's MTU")?;
        check_probability(self.classic_share, "DualPI2's classic share")
    }

    /// Whether it may mark ECN-capable packets.
    pub(crate) fn can_mark(&self) -> bool {
        true
    }
}
