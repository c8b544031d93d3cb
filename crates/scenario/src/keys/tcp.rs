//! The keys of a TCP connection, for `[defaults]` and for each flow.
//! [`resolve::tcp`](crate::resolve) puts them over the profile.

use crate::controllers::ControllerKind;
use crate::units::{Mss, NoSettingsKeys, ProfileName, RtoRuleName, Segments, Window};
use windlass_base::Span;
use windlass_keys::{Bytes, Located, Positive, choice, keys, words};

keys! {
    /// Options of a TCP connection. The profile sets the others.
    struct TcpKeys {
        /// The set of options to start from. Default: linux; rfc5681 in version 1.
        profile: Option<ProfileName>,
        /// The congestion controller. Default: cubic with profile linux, reno with ns2-reno,
        /// rfc2581 and rfc3465, newreno with rfc5681.
        controller: Option<Located<ControllerKind>>,
        /// Payload bytes of a full segment. Default: 1460.
        mss: Option<Mss>,
        /// Offer and take ECN.
        ecn: Option<bool>,
        /// Initial window.
        initial_window: Option<Located<Segments>>,
        /// Initial slow start threshold.
        initial_ssthresh: Option<Located<Window>>,
        /// A limit of the window beside cwnd and the receiver's.
        window_limit: Option<Located<Window>>,
        /// The amount that an ACK adds to the window: one segment, or by the bytes it acknowledges.
        growth: Option<GrowthKeys>,
        /// The same in congestion avoidance. Default: as `growth`.
        avoidance_growth: Option<GrowthKeys>,
        /// The base of a window reduction: cwnd or FlightSize.
        reduction_base: Option<ReductionKeys>,
        /// Windows after a cut are whole segments.
        whole_segment_cuts: Option<bool>,
        /// In congestion avoidance cwnd grows by whole segments (RFC 3465 section 2.1; Linux).
        whole_segment_growth: Option<bool>,
        /// cwnd grows only while it is what limits the sender.
        cwnd_validation: Option<bool>,
        /// cwnd grows at most to what the ACKs of the largest flight since its last reduction give it
        /// (draft-ietf-ccwg-ratelimited-increase); takes the place of `cwnd_validation`. Default: false.
        rate_limited_increase: Option<bool>,
        /// Limited Slow Start (RFC 3742): above `max_ssthresh` slow start adds at most half of it in a round trip.
        /// Default: false.
        limited_slow_start: Option<bool>,
        /// With `limited_slow_start`: the window above which it is limited. Default: 100 segments.
        max_ssthresh: Option<Located<Segments>>,
        /// After an idle RTO the window restarts at the initial window (RFC 5681 section 4.1).
        idle_restart: Option<bool>,
        /// New segments on the first two duplicate ACKs (RFC 3042).
        limited_transmit: Option<bool>,
        /// With SACK: time tells of losses and not a count of duplicate ACKs (RACK, RFC 8985).
        rack: Option<bool>,
        /// With `rack`: a probe after two round trips without an ACK (TLP, RFC 8985).
        tail_loss_probe: Option<bool>,
        /// With SACK: in fast recovery the window comes down within a round trip (PRR, RFC 9937).
        prr: Option<bool>,
        /// CUBIC leaves its first slow start when the RTT grows (HyStart++, RFC 9406).
        hystart: Option<bool>,
        /// With `hystart`: by trains of ACKs and by the path's RTT, as Linux.
        hystart_trains: Option<bool>,
        /// CUBIC grows as Linux's where that is not RFC 9438.
        cubic_as_linux: Option<bool>,
        /// A cut is taken back if what was sent again had not been lost, as timestamps (RFC 3522) or DSACK
        /// (RFC 3708) tell.
        undo: Option<bool>,
        /// After a timeout two ACKs tell whether data is lost or late (F-RTO, RFC 5682).
        frto: Option<bool>,
        /// Segments that the window allows are spread over the round trip, the initial window
        /// excepted.
        pacing: Option<bool>,
        /// A fast retransmit inside the window of an earlier one cuts again.
        repeated_fast_retransmit: Option<bool>,
        /// ssthresh stays when the same segment times out again.
        hold_ssthresh_on_repeated_timeout: Option<bool>,
        /// RTT samples are whole numbers of this.
        clock_tick: Option<Located<Span>>,
        /// How long before time zero the clock ticked last; less than a tick.
        clock_phase: Option<Located<Span>>,
        /// RTO before the first sample.
        initial_rto: Option<Span>,
        /// Lower bound of the RTO.
        min_rto: Option<Located<Span>>,
        /// How the RTO follows from RTT samples and timeouts. Default: rfc6298.
        rto_rule: Option<RtoRuleName>,
        /// Upper bound of the RTO.
        max_rto: Option<Located<Span>>,
        /// Retransmissions of a segment before the connection fails.
        max_retries: Option<u32>,
        /// Retransmissions of a SYN before the connection fails.
        max_syn_retries: Option<u32>,
        /// Both ends ask for AccECN (RFC 9768), and with it for ECN. A receiver with an `echo` has classic ECN alone.
        accecn: Option<bool>,
        /// A SYN sent again asks for ECN no more; with `accecn` the second one does.
        ecn_fallback: Option<bool>,
        /// Retransmissions are ECT as well.
        ecn_on_retransmit: Option<bool>,
        /// An ECN echo reduces the window less than a loss: to 0.8 with Reno and NewReno, to 0.85 with CUBIC (ABE, RFC
        /// 8511). Default: false.
        ecn_abe: Option<bool>,
        /// With `prr`: after an ECN echo, too, the window comes down within a round trip (Linux). Default: false.
        ecn_prr: Option<bool>,
        /// Acknowledge data with CE or CWR at once.
        ack_marks_at_once: Option<bool>,
        /// An ECN echo after a timeout cuts again even within the same window.
        ecn_after_timeout: Option<bool>,
        /// The last segment that cwnd has room for carries PSH.
        push_when_held_back: Option<bool>,
        /// Offer window scaling (RFC 7323).
        window_scaling: Option<bool>,
        /// Offer timestamps (RFC 7323).
        timestamps: Option<bool>,
        /// Offer SACK (RFC 2018) and recover by it (RFC 6675).
        sack: Option<bool>,
        /// Hold small segments back while data is in flight.
        nagle: Option<bool>,
        /// Bytes written and not yet acknowledged.
        send_buffer: Option<Located<Bytes>>,
        /// Three-way handshake; without it both ends start established. Default: false with
        /// profile ns2-reno, else true.
        handshake: Option<bool>,
        /// The receiving end.
        receiver: Option<ReceiverKeys>,
    }
}

keys! {
    /// Options of the receiving end.
    struct ReceiverKeys {
        /// When it acknowledges.
        ack: Option<AckKeys>,
        /// Take ECN. Default: as the sender.
        ecn: Option<bool>,
        /// How it echoes CE, without AccECN.
        echo: Option<EchoKeys>,
        /// Number of ACKs that echo each CE, with once-per-ce. Default: 1.
        echo_acks: Option<Located<Positive>>,
        /// Bytes that may wait for the application: the largest window.
        buffer: Option<Located<Bytes>>,
    }
}

choice! {
    /// When a receiver acknowledges data in order.
    enum AckKeys as "a policy of acknowledging" {
        /// Every segment at once.
        Immediate(NoSettingsKeys) = "immediate",
        /// Every second segment, or after a while.
        Delayed(DelayedAckKeys) = "delayed",
        /// As `delayed`, but at once where PSH or a small segment ends something that the application
        /// has read, at the beginning, after duplicates and after marks.
        Linux(LinuxAckKeys) = "linux",
        /// Every segment by several ACKs.
        Split(SplitAckKeys) = "split",
    }
}

keys! {
    /// Settings of delayed ACKs.
    struct DelayedAckKeys {
        /// The longest delay. Default: 200ms.
        max: Option<Span>,
    }
}

keys! {
    /// Settings of Linux's ACKs.
    struct LinuxAckKeys {
        /// The longest delay. Default: 40ms.
        max: Option<Span>,
    }
}

keys! {
    /// Settings of ACK division.
    struct SplitAckKeys {
        /// How many ACKs a segment is answered by.
        parts: Positive,
    }
}

choice! {
    /// The amount that an ACK adds to the window.
    enum GrowthKeys as "a way of growth" {
        /// One segment, however little it acknowledges.
        PerAck(NoSettingsKeys) = "per-ack",
        /// The bytes acknowledged (RFC 3465).
        PerByte(PerByteKeys) = "per-byte",
    }
}

keys! {
    /// Settings of growth per byte.
    struct PerByteKeys {
        /// L: the most segments that one ACK counts for. Default: 1.
        limit: Option<Positive>,
    }
}

words! {
    /// The base of a window reduction.
    enum ReductionKeys as "what a cut starts from" {
        /// The window in force.
        Window = "window",
        /// Data sent and not acknowledged.
        FlightSize = "flight-size",
    }
}

words! {
    /// How a receiver answers CE.
    enum EchoKeys as "a way of echoing CE" {
        /// In every ACK until CWR (RFC 3168).
        UntilCwr = "until-cwr",
        /// In one ACK for each CE packet (New-ECN).
        OncePerCe = "once-per-ce",
        /// In the ACKs of packets with CE (DCTCP).
        Dctcp = "dctcp",
    }
}
