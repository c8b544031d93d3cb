use super::{
    AckPolicy, Clock, Config, EcnEcho, Growth, ReductionBase, RtoConfig, RtoFloor, RttSampling,
};
use crate::cc::ControllerFactory;
use alloc::sync::Arc;
use windlass_base::Span;

/// A named set of options: the TCP of a time and place.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The Reno of ns-2.1b5, which Hamann 1999 used: 10 ms clock, no minimum RTO, windows in whole
    /// packets, one ACK a packet, initial window 1.
    Ns2Reno,
    /// RFC 2581 and RFC 2988 (1999): initial window 2, delayed ACK, growth per ACK.
    Rfc2581,
    /// RFC 2581 with appropriate byte counting, L = 2 (RFC 3465), and SACK.
    Rfc3465,
    /// RFC 5681, 6298, 6582, 6675, 7323: the standards of today.
    Rfc5681,
    /// What a current Linux kernel does: initial window 10, minimum RTO 200 ms, byte counting without
    /// a limit, RACK-TLP (RFC 8985), PRR (RFC 9937); HyStart++ (RFC 9406) in the place of its HyStart.
    Linux,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Profile; 5] =
        [Profile::Ns2Reno, Profile::Rfc2581, Profile::Rfc3465, Profile::Rfc5681, Profile::Linux];

    /// The name that scenario files use.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Ns2Reno => "ns2-reno",
            Profile::Rfc2581 => "rfc2581",
            Profile::Rfc3465 => "rfc3465",
            Profile::Rfc5681 => "rfc5681",
            Profile::Linux => "linux",
        }
    }

    /// The profile of that name.
    pub fn by_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// The profile's options, for segments of `mss` payload bytes.
    pub fn config(self, mss: u16, congestion: Arc<dyn ControllerFactory>) -> Config {
        let rfc5681 = rfc5681(mss, congestion);
        match self {
            Profile::Ns2Reno => ns2_reno(rfc5681),
            Profile::Rfc2581 => rfc2581(rfc5681),
            Profile::Rfc3465 => Config {
                growth: Growth::PerByte { limit: 2 },
                sack: true,
                limited_transmit: true,
                ..rfc2581(rfc5681)
            },
            Profile::Rfc5681 => rfc5681,
            Profile::Linux => linux(rfc5681),
        }
    }
}

fn rfc5681(mss: u16, congestion: Arc<dyn ControllerFactory>) -> Config {
    Config {
        congestion,
        mss,
        initial_window: initial_window_rfc5681(mss),
        initial_ssthresh: None,
        window_limit: None,
        growth: Growth::PerByte { limit: 1 },
        avoidance_growth: None,
        reduction_base: ReductionBase::FlightSize,
        whole_segment_cuts: false,
        whole_segment_growth: false,
        least_window: 1,
        hold_after_ecn_cut: false,
        cwnd_validation: true,
        idle_restart: true,
        limited_transmit: true,
        rack: false,
        tail_loss_probe: false,
        prr: false,
        hystart: false,
        hystart_trains: false,
        cubic_as_linux: false,
        undo: false,
        frto: false,
        pacing: false,
        repeated_fast_retransmit: false,
        hold_ssthresh_on_repeated_timeout: true,
        clock: Clock { tick: Span::from_nanos(1), phase: Span::ZERO },
        rtt_sampling: RttSampling::OncePerRoundTrip,
        rto: RtoConfig {
            initial: Span::from_secs(1),
            min: Span::from_secs(1),
            max: Span::from_secs(60),
            min_of: RtoFloor::Rto,
        },
        max_retries: 15,
        max_syn_retries: 6,
        ecn: false,
        ecn_fallback: true,
        ecn_echo: EcnEcho::UntilCwr,
        ecn_on_retransmit: false,
        ack_marks_at_once: false,
        ecn_after_timeout: false,
        push_when_held_back: false,
        window_scaling: true,
        timestamps: true,
        sack: true,
        ack_policy: AckPolicy::Delayed { max: Span::from_millis(200) },
        send_buffer: 4 << 20,
        receive_buffer: 4 << 20,
        nagle: true,
        keep_alive: None,
        time_wait: Span::from_secs(60),
    }
}

/// RFC 5681 §3.1: two to four segments, by the size of a segment.
fn initial_window_rfc5681(mss: u16) -> u32 {
    match mss {
        0..=1095 => 4,
        1096..=2190 => 3,
        _ => 2,
    }
}

fn ns2_reno(base: Config) -> Config {
    Config {
        initial_window: 1,
        growth: Growth::PerAck,
        reduction_base: ReductionBase::Window,
        whole_segment_cuts: true,
        cwnd_validation: false,
        idle_restart: false,
        limited_transmit: false,
        repeated_fast_retransmit: true,
        hold_ssthresh_on_repeated_timeout: false,
        clock: Clock { tick: Span::from_millis(10), phase: Span::ZERO },
        rto: RtoConfig {
            initial: Span::from_secs(6),
            min: Span::ZERO,
            max: Span::from_secs(64),
            ..base.rto
        },
        ecn_on_retransmit: true,
        ecn_after_timeout: true,
        window_scaling: true,
        timestamps: false,
        sack: false,
        ack_policy: AckPolicy::Immediate,
        nagle: false,
        ..base
    }
}

fn rfc2581(base: Config) -> Config {
    Config {
        initial_window: 2,
        growth: Growth::PerAck,
        limited_transmit: false,
        cwnd_validation: false,
        hold_ssthresh_on_repeated_timeout: false,
        rto: RtoConfig {
            initial: Span::from_secs(3),
            min: Span::from_secs(1),
            max: Span::from_secs(64),
            ..base.rto
        },
        timestamps: false,
        sack: false,
        ..base
    }
}

fn linux(base: Config) -> Config {
    Config {
        initial_window: 10,
        least_window: 2,
        hold_after_ecn_cut: true,
        rack: true,
        tail_loss_probe: true,
        prr: true,
        hystart: true,
        growth: Growth::PerByte { limit: u32::MAX },
        reduction_base: ReductionBase::Window,
        // Its cwnd and ssthresh are whole numbers of segments.
        whole_segment_cuts: true,
        rtt_sampling: RttSampling::EverySegment,
        rto: RtoConfig {
            initial: Span::from_secs(1),
            min: Span::from_millis(200),
            max: Span::from_secs(120),
            min_of: RtoFloor::Variance,
        },
        ack_marks_at_once: true,
        ack_policy: AckPolicy::Delayed { max: Span::from_millis(40) },
        ..base
    }
}
