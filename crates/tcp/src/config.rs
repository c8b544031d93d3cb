//! What the papers vary and what RFCs leave open, fixed when a connection is made.

mod profile;

pub use profile::Profile;

use crate::cc::ControllerFactory;
use alloc::sync::Arc;
use windlass_base::Span;

/// The options of a connection. Start from a [`Profile`] and change what an experiment varies.
#[derive(Clone, Debug)]
pub struct Config {
    /// The congestion controller.
    pub congestion: Arc<dyn ControllerFactory>,

    /// Largest payload of a segment in bytes that this end sends or announces (RFC 6691: options
    /// not subtracted).
    pub mss: u16,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Initial slow start threshold in bytes; `None`: as high as it goes.
    pub initial_ssthresh: Option<u64>,
    /// A limit of this sender's window in bytes beside cwnd and the peer's window.
    pub window_limit: Option<u64>,
    /// What an ACK counts for in window growth.
    pub growth: Growth,
    /// The same in congestion avoidance, if it is something else there: to study ACK division in
    /// one phase alone (Normann 2011, Table 2.1).
    pub avoidance_growth: Option<Growth>,
    /// In congestion avoidance cwnd grows by whole segments, each once enough was acknowledged for it
    /// (RFC 3465 §2.1; Linux). What is less than a segment could not be sent; a window that has it
    /// comes later to the next, by half a segment each time.
    pub whole_segment_growth: bool,
    /// What a cut of the window starts from.
    pub reduction_base: ReductionBase,
    /// Windows after a cut are whole segments.
    pub whole_segment_cuts: bool,
    /// Fast retransmits and ECN echoes leave at least so many segments. RFC 9438 §4.6 allows one
    /// after an echo, Linux goes to two.
    pub least_window: u32,
    /// After a cut by an ECN echo cwnd does not grow until what was in flight is acknowledged
    /// (Linux's state CWR).
    pub hold_after_ecn_cut: bool,
    /// cwnd grows only while it is what limits the sender (RFC 7661's aim, in its simplest form).
    pub cwnd_validation: bool,
    /// After an idle RTO the window restarts at the initial window (RFC 5681 §4.1).
    pub idle_restart: bool,
    /// New segments on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// With SACK: time tells of losses and not a count of duplicate ACKs (RACK, RFC 8985 §6).
    pub rack: bool,
    /// With `rack`: after two round trips without an ACK the last segment, or a new one, goes out to
    /// show what is missing before it (TLP, RFC 8985 §7).
    pub tail_loss_probe: bool,
    /// With SACK: in fast recovery the window comes down within a round trip, as segments arrive, and
    /// not at once (PRR, RFC 9937). Linux does so after an ECN echo as well.
    pub prr: bool,
    /// CUBIC leaves its first slow start when the RTT grows (HyStart++, RFC 9406).
    pub hystart: bool,
    /// With `hystart`: CUBIC leaves slow start, and at once, when the ACKs of a round come in a train as
    /// long as the path or their least RTT is above the path's (HyStart as it was before RFC 9406; Linux).
    pub hystart_trains: bool,
    /// CUBIC grows as Linux's, by whole segments, also where that is not RFC 9438: until it knows of a
    /// loss, by a twentieth in a round trip at least; later by no more than 0.53 segments where Reno would
    /// grow faster, also above the window of the last cut (§4.3 has one segment there); and it aims at
    /// where the cubic will be after the least RTT, not after the smoothed one; and it works out its step
    /// once in 4 ms, and for the same window in 32 ms.
    pub cubic_as_linux: bool,
    /// A cut of the window is taken back if it turns out that what was sent again had not been lost:
    /// told by timestamps (Eifel, RFC 3522) or by DSACK (RFC 3708).
    pub undo: bool,
    /// After a timeout two ACKs tell whether what was in flight is lost or late, before more of it is
    /// sent again (F-RTO, RFC 5682); if it is late, the cut is taken back.
    pub frto: bool,
    /// What the window allows goes out over the round trip, in bursts of a millisecond, and not at
    /// once; the initial window excepted. Linux does so with the queue discipline fq.
    pub pacing: bool,
    /// A fast retransmit inside the window of an earlier one cuts again (ns-2's Reno), where RFC
    /// 6582 §3.2 step 1 forbids it.
    pub repeated_fast_retransmit: bool,
    /// ssthresh stays when the same segment times out again (RFC 5681 §3.1).
    pub hold_ssthresh_on_repeated_timeout: bool,

    /// The connection's clock for RTT samples and timers.
    pub clock: Clock,
    /// Which segments are timed.
    pub rtt_sampling: RttSampling,
    /// Retransmission timer.
    pub rto: RtoConfig,
    /// Segments are sent once more at most this often before the connection fails (R2).
    pub max_retries: u32,
    /// SYNs likewise.
    pub max_syn_retries: u32,

    /// Offer and take ECN (RFC 3168 §6.1.1).
    pub ecn: bool,
    /// A SYN that is sent again asks for ECN no more, since there are middleboxes that drop those which
    /// do (RFC 3168 §6.1.1.1). Linux: `net.ipv4.tcp_ecn_fallback`.
    pub ecn_fallback: bool,
    /// How CE is echoed.
    pub ecn_echo: EcnEcho,
    /// Retransmissions are ECT as well, and carry CWR where it is due: RFC 3168 §6.1.5 forbids
    /// it, ns-2 does it.
    pub ecn_on_retransmit: bool,
    /// Data with CE or CWR is acknowledged at once, since the window of its sender may be too small
    /// for a second segment to follow (Linux).
    pub ack_marks_at_once: bool,
    /// An ECN echo after a timeout cuts again even within the same window (ns-2).
    pub ecn_after_timeout: bool,

    /// The last segment that the window has room for carries PSH, as if the application's data ended
    /// there: the receiver need not wait for more, which cannot come before its ACK (Linux sets it at
    /// the end of each write and of what half the peer's window takes).
    pub push_when_held_back: bool,

    /// Offer window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offer SACK (RFC 2018), repair losses by RFC 6675, report duplicates (RFC 2883).
    pub sack: bool,

    /// When the receiver acknowledges.
    pub ack_policy: AckPolicy,
    /// Bytes that the application may have written and the peer not yet acknowledged.
    pub send_buffer: u64,
    /// Bytes that may wait for the application; the largest window announced.
    pub receive_buffer: u64,
    /// Hold small segments back while data is in flight (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Probes on an idle connection.
    pub keep_alive: Option<KeepAlive>,
    /// How long TIME-WAIT lasts (2 MSL, RFC 9293 §3.4.2).
    pub time_wait: Span,
}

/// The clock that a connection sees.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// RTT samples are whole numbers of this span, at least one. Not zero; 1 ns for a clock as
    /// fine as the carrier's.
    pub tick: Span,
    /// How long before the carrier's origin this clock ticked last, less than a tick.
    pub phase: Span,
}

/// The retransmission timer (RFC 6298).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Before the first sample.
    pub initial: Span,
    /// Lower bound. Two clock ticks are one as well.
    pub min: Span,
    /// Upper bound.
    pub max: Span,
    /// What `min` bounds.
    pub min_of: RtoFloor,
}

/// What the minimum of the retransmission timer is a minimum of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The whole RTO (RFC 6298 §2.4).
    Rto,
    /// What is added to SRTT for its variance (Linux): on a path with an RTT near `min`, a queue
    /// that fills does not look like a loss.
    Variance,
}

/// Which segments are timed for RTT samples.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// One in a round trip (RFC 6298 §3).
    OncePerRoundTrip,
    /// All of them (RFC 7323 §4.1; Linux).
    EverySegment,
}

/// What an ACK of new data counts for when the window grows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Growth {
    /// One segment, however little it acknowledges (RFC 2581).
    PerAck,
    /// The bytes acknowledged, at most `limit` segments (RFC 3465's L; RFC 5681 is 1).
    PerByte {
        /// L, in segments.
        limit: u32,
    },
}

/// What a cut of the window starts from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ReductionBase {
    /// The window in force, inflation and limit included.
    Window,
    /// FlightSize: data sent and not acknowledged (RFC 5681 §3.1), as far as cwnd covers it.
    FlightSize,
}

/// How a receiver answers CE (RFC 3168 §6.1.3, Hamann 1999, §3.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// ECE in every ACK from a CE until a CWR arrives.
    UntilCwr,
    /// ECE in one ACK for each CE packet; where several came before an ACK, in that one.
    OncePerCe,
}

/// When a receiver acknowledges data in order. Anything else is acknowledged at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every segment at once.
    Immediate,
    /// Every second full segment, or after a while (RFC 9293 §3.8.6.3).
    Delayed {
        /// The longest delay.
        max: Span,
    },
    /// As `Delayed`; but data that nothing more is to follow for now, by PSH or because it is less
    /// than a full segment, is acknowledged once the application has taken all, and the first
    /// segments, and those after a duplicate, at once (Linux).
    Linux {
        /// The longest delay.
        max: Span,
    },
    /// Every segment at once, by several ACKs of ascending numbers (ACK division, Normann 2011).
    Split {
        /// How many ACKs a segment is answered by.
        parts: u32,
    },
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
