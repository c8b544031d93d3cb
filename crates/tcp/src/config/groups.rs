//! The groups of a [`Config`](super::Config). The defaults are those of
//! [`Profile::Rfc5681`](super::Profile::Rfc5681).

use super::{
    AckPolicy, Clock, EcnEcho, Growth, KeepAlive, OptionUse, ReductionBase, RtoConfig, RtoFloor,
    RtoRule, RttSampling,
};
use windlass_base::Span;

/// The size of the sender's window: at the beginning, after a reduction, after idle time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WindowConfig {
    /// Initial window in segments.
    pub initial: u32,
    /// Initial slow start threshold in bytes; `None` for no threshold.
    pub initial_ssthresh: Option<u64>,
    /// Upper limit in bytes of the data in flight, in addition to cwnd and the peer's window.
    pub limit: Option<u64>,
    /// Smallest window in segments after a fast retransmit or an ECN echo. RFC 9438 §4.6 allows one
    /// segment after an echo; Linux uses two.
    pub least: u32,
    /// The window that a reduction starts from.
    pub reduction_base: ReductionBase,
    /// A reduction leaves a whole number of segments.
    pub whole_segment_cuts: bool,
    /// After an idle RTO the window restarts at the initial window (RFC 5681 §4.1).
    pub idle_restart: bool,
}

impl Default for WindowConfig {
    fn default() -> WindowConfig {
        WindowConfig {
            initial: 3,
            initial_ssthresh: None,
            limit: None,
            least: 1,
            reduction_base: ReductionBase::FlightSize,
            whole_segment_cuts: false,
            idle_restart: true,
        }
    }
}

/// The growth of the sender's window.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrowthConfig {
    /// How much an ACK counts for.
    pub credit: Growth,
    /// How much an ACK counts for in congestion avoidance; `None`: as `credit`. With a different
    /// value an experiment studies ACK division in one phase alone (Normann 2011, Table 2.1).
    pub avoidance_credit: Option<Growth>,
    /// In congestion avoidance cwnd grows in steps of a whole segment, once enough data was
    /// acknowledged for it (RFC 3465 §2.1; Linux).
    pub whole_segments: bool,
    /// cwnd grows only while it limits the sender: the aim of RFC 7661 in its simplest form.
    pub cwnd_validation: bool,
    /// With `cwnd_validation`: cwnd counts as the limit for a round trip in which it was full once, and in slow start
    /// while it is less than twice the largest flight of the round (Linux: `tcp_is_cwnd_limited`). Otherwise each ACK is
    /// judged by the flight before it.
    pub validates_by_round: bool,
    /// cwnd grows at most to the value that the ACKs of the largest flight since its last reduction give it: twice that
    /// flight in slow start, a round trip's growth above it in congestion avoidance (draft-ietf-ccwg-ratelimited-increase,
    /// "Rate-Limited Increase"). It takes the place of `cwnd_validation`.
    pub rate_limited_increase: bool,
    /// An ACK counts for the data that it delivers: SACKed data counted when it was SACKed, and without SACK a segment
    /// with each duplicate ACK (Linux). Otherwise for all that it acknowledges (RFC 5681 §3.1).
    pub newly_delivered: bool,
    /// Limited Slow Start (RFC 3742): its max_ssthresh in segments, above which slow start adds at most half of it in
    /// a round trip; `None` for standard slow start. The RFC recommends [`MAX_SSTHRESH`]. Controllers with a slow
    /// start of their own (Prague, BBR) ignore it.
    pub limited_slow_start: Option<u32>,
}

/// The max_ssthresh that RFC 3742 section 2 recommends for Limited Slow Start, in segments.
pub const MAX_SSTHRESH: u32 = 100;

impl Default for GrowthConfig {
    fn default() -> GrowthConfig {
        GrowthConfig {
            credit: Growth::PerByte { limit: 1 },
            avoidance_credit: None,
            whole_segments: false,
            cwnd_validation: true,
            validates_by_round: false,
            rate_limited_increase: false,
            newly_delivered: false,
            limited_slow_start: None,
        }
    }
}

/// Detection and repair of losses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveryConfig {
    /// The first two duplicate ACKs each release a new segment (RFC 3042).
    pub limited_transmit: bool,
    /// With SACK: detect losses by time instead of by a count of duplicate ACKs (RACK, RFC 8985
    /// §6).
    pub rack: bool,
    /// With `rack`: after two round trips without an ACK, send the last segment again, or a new one,
    /// so that the ACK reveals losses before it (TLP, RFC 8985 §7).
    pub tail_loss_probe: bool,
    /// With SACK: reduce the window over a round trip in fast recovery, segment by segment, instead
    /// of at once (PRR, RFC 9937). An ECN echo during fast recovery counts as well; for every other
    /// echo see [`EcnConfig::prr`].
    pub prr: bool,
    /// Undo a reduction if the retransmitted data had not been lost. Timestamps (Eifel,
    /// RFC 3522) or DSACK (RFC 3708) show it.
    pub undo: bool,
    /// After a timeout, two ACKs decide whether the data in flight is lost or late before more of it
    /// is retransmitted (F-RTO, RFC 5682). If it is late, the reduction is undone.
    pub frto: bool,
    /// A fast retransmit within the window of an earlier one reduces the window again (ns-2's Reno).
    /// RFC 6582 §3.2 step 2 forbids it.
    pub repeated_fast_retransmit: bool,
    /// ssthresh stays the same if the same segment times out again (RFC 5681 §3.1).
    pub hold_ssthresh_on_repeated_timeout: bool,
}

impl Default for RecoveryConfig {
    fn default() -> RecoveryConfig {
        RecoveryConfig {
            limited_transmit: true,
            rack: false,
            tail_loss_probe: false,
            prr: false,
            undo: false,
            frto: false,
            repeated_fast_retransmit: false,
            hold_ssthresh_on_repeated_timeout: true,
        }
    }
}

/// The clock, the retransmission timer, retries, keep-alive, TIME-WAIT.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimerConfig {
    /// The connection's clock for RTT samples and timers.
    pub clock: Clock,
    /// Which segments give RTT samples. RACK times every segment, whatever this says.
    pub rtt_sampling: RttSampling,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Retransmissions of a segment before the connection fails (RFC 9293 §3.8.3, R2).
    pub max_retries: u32,
    /// Retransmissions of a SYN before the connection fails.
    pub max_syn_retries: u32,
    /// The first timeouts of a SYN, so many of them, do not double the RTO, as RFC 6298 §5.5 has it. Linux: 4
    /// (`net.ipv4.tcp_syn_linear_timeouts`).
    pub linear_syn_timeouts: u32,
    /// Probes on an idle connection; `None` for no probes.
    pub keep_alive: Option<KeepAlive>,
    /// Length of TIME-WAIT (2 MSL, RFC 9293 §3.4.2).
    pub time_wait: Span,
}

impl Default for TimerConfig {
    fn default() -> TimerConfig {
        TimerConfig {
            clock: Clock { tick: Span::from_nanos(1), phase: Span::ZERO },
            rtt_sampling: RttSampling::OncePerRoundTrip,
            rto: RtoConfig {
                initial: Span::from_secs(1),
                min: Span::from_secs(1),
                max: Span::from_secs(60),
                min_of: RtoFloor::Rto,
                rule: RtoRule::Rfc6298,
            },
            max_retries: 15,
            max_syn_retries: 6,
            linear_syn_timeouts: 0,
            keep_alive: None,
            time_wait: Span::from_secs(60),
        }
    }
}

/// Explicit Congestion Notification (RFC 3168).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EcnConfig {
    /// Offer ECN and accept the peer's offer (RFC 3168 §6.1.1).
    pub enabled: bool,
    /// A retransmitted SYN does not ask for ECN, because some middleboxes drop SYNs that do
    /// (RFC 3168 §6.1.1.1). With AccECN, an end whose SYN or SYN-ACK has arrived with another codepoint sends no ECT
    /// (RFC 9768 §3.2.2.3). Linux: `net.ipv4.tcp_ecn_fallback`.
    pub fallback: bool,
    /// How the receiver echoes CE.
    pub echo: EcnEcho,
    /// The number of ACKs that echo each CE, with [`EcnEcho::OncePerCe`]: more of them survive lost ACKs
    /// (Hamann 1999, footnote 13). 0 counts as 1.
    pub echo_acks: u8,
    /// Retransmissions are ECT too, and carry CWR if it is due. RFC 3168 §6.1.5 forbids it; ns-2
    /// does it.
    pub on_retransmit: bool,
    /// An ECN echo after a timeout reduces the window again, even within the same window of data
    /// (ns-2).
    pub cut_after_timeout: bool,
    /// An echo reduces the window less than a loss does: to 0.8 with Reno and NewReno, to 0.85 with CUBIC (ABE,
    /// RFC 8511). Other controllers have reductions of their own.
    pub abe: bool,
    /// With [`RecoveryConfig::prr`]: the window is reduced over a round trip after an ECN echo, too, as in Linux.
    pub prr: bool,
    /// After an ECN echo cwnd does not grow until the data in flight is acknowledged (Linux's state
    /// CWR).
    pub hold_after_cut: bool,
}

impl Default for EcnConfig {
    fn default() -> EcnConfig {
        EcnConfig {
            enabled: false,
            fallback: true,
            echo: EcnEcho::UntilCwr,
            echo_acks: 1,
            on_retransmit: false,
            cut_after_timeout: false,
            abe: false,
            prr: false,
            hold_after_cut: false,
        }
    }
}

/// Accurate ECN (RFC 9768), with [`EcnEcho::Accurate`]: what the RFC leaves to implementations.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccEcnConfig {
    /// The segments that carry the option.
    pub option: OptionUse,
    /// So many losses in a row of segments with the option, as far as repeated data shows them, end its use
    /// (RFC 9768 §3.2.3.2.2). Linux: 2. 0 counts as 1.
    pub option_losses: u8,
    /// Pure ACKs, FINs, probes and retransmissions are ECN-capable like data, as RFC 8311 §4.3 permits to experiments
    /// and Linux does. SYNs and SYN-ACKs are not.
    pub ect_on_all: bool,
    /// An ACK of many segments whose ACE field may have wrapped is taken not to have, if the peer acknowledges more than
    /// four segments at a time on average (Linux). Without it, it has wrapped as often as it can have (RFC 9768
    /// §3.2.2.5.2).
    pub wraps_by_ack_ratio: bool,
}

impl Default for AccEcnConfig {
    fn default() -> AccEcnConfig {
        AccEcnConfig {
            option: OptionUse::AfterChange,
            option_losses: 3,
            ect_on_all: false,
            wraps_by_ack_ratio: false,
        }
    }
}

/// The receiver's acknowledgments.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AckConfig {
    /// When the receiver acknowledges.
    pub policy: AckPolicy,
    /// Data with CE or CWR is acknowledged at once, because the sender's window may be too small for
    /// a second segment to follow. [`AckPolicy::Linux`] says which.
    pub marks_at_once: bool,
    /// With [`AckPolicy::Linux`]: the ACK of the peer's FIN waits as that of data does, if data has arrived before. The
    /// application is likely to close, too, and its FIN carries the ACK.
    pub delays_fin: bool,
}

impl Default for AckConfig {
    fn default() -> AckConfig {
        AckConfig {
            policy: AckPolicy::Delayed { max: Span::from_millis(200) },
            marks_at_once: false,
            delays_fin: false,
        }
    }
}

/// When data leaves.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendConfig {
    /// Hold small segments back while data is in flight (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// With `nagle`: hold them back only while another small one is in flight (Minshall's variant, which Linux has).
    pub nagle_spares_first: bool,
    /// Spread the window over the round trip in bursts of a millisecond, except for the initial
    /// window. Linux does this with the queue discipline fq.
    pub pacing: bool,
    /// The last segment that the window admits carries PSH, as if the application's data ended
    /// there. The receiver then does not wait for more data, which could not arrive before its ACK.
    /// Linux sets PSH at the end of each write and after half the peer's window.
    pub push_when_held_back: bool,
}

impl Default for SendConfig {
    fn default() -> SendConfig {
        SendConfig {
            nagle: true,
            nagle_spares_first: false,
            pacing: false,
            push_when_held_back: false,
        }
    }
}

/// The TCP options that this end offers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionConfig {
    /// Window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// SACK (RFC 2018), with loss recovery by RFC 6675 and reports of duplicates (RFC 2883).
    pub sack: bool,
}

impl Default for ExtensionConfig {
    fn default() -> ExtensionConfig {
        ExtensionConfig { window_scaling: true, timestamps: true, sack: true }
    }
}

/// Buffer sizes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferConfig {
    /// Bytes that the application may have written and the peer not yet acknowledged.
    pub send: u64,
    /// Bytes that may wait for the application: the largest window announced.
    pub receive: u64,
}

impl Default for BufferConfig {
    fn default() -> BufferConfig {
        BufferConfig { send: 4 << 20, receive: 4 << 20 }
    }
}
