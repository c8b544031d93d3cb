use super::{
    AccEcnConfig, AckConfig, AckPolicy, BufferConfig, Clock, Config, EcnConfig, ExtensionConfig,
    Growth, GrowthConfig, OptionUse, RecoveryConfig, ReductionBase, RtoConfig, RtoFloor, RtoRule,
    RttSampling, SendConfig, TimerConfig, WindowConfig,
};
use crate::cc::{self, ControllerFactory, Cubic, HyStart};
use alloc::sync::Arc;
use windlass_base::Span;

/// A named set of options: the TCP of a time and place.
///
/// Segments of 1460 bytes; with smaller or larger ones `window.initial` of `rfc5681` is 4 or 2.
///
/// | option | ns2-reno | rfc2581 | rfc3465 | rfc5681 | linux |
/// |---|---|---|---|---|---|
/// | `window.initial` | 1 | 2 | 2 | 3 | 10 |
/// | `window.initial_ssthresh` | None | None | None | None | None |
/// | `window.limit` | None | None | None | None | None |
/// | `window.least` | 1 | 1 | 1 | 1 | 2 |
/// | `window.reduction_base` | Window | FlightSize | FlightSize | FlightSize | Window |
/// | `window.whole_segment_cuts` | true | false | false | false | true |
/// | `window.idle_restart` | false | true | true | true | true |
/// | `growth.credit` | PerAck | PerAck | PerByte (limit 2) | PerByte (limit 1) | PerByte (no limit) |
/// | `growth.avoidance_credit` | None | None | None | None | None |
/// | `growth.whole_segments` | false | false | false | false | false |
/// | `growth.cwnd_validation` | false | false | false | true | true |
/// | `growth.validates_by_round` | false | false | false | false | false |
/// | `growth.rate_limited_increase` | false | false | false | false | false |
/// | `growth.newly_delivered` | false | false | false | false | false |
/// | `growth.limited_slow_start` | None | None | None | None | None |
/// | `recovery.limited_transmit` | false | false | true | true | true |
/// | `recovery.rack` | false | false | false | false | true |
/// | `recovery.tail_loss_probe` | false | false | false | false | true |
/// | `recovery.prr` | false | false | false | false | true |
/// | `recovery.undo` | false | false | false | false | false |
/// | `recovery.frto` | false | false | false | false | false |
/// | `recovery.repeated_fast_retransmit` | true | false | false | false | false |
/// | `recovery.hold_ssthresh_on_repeated_timeout` | false | false | false | true | true |
/// | `timers.clock` | tick 10ms | tick 1ns | tick 1ns | tick 1ns | tick 1ns |
/// | `timers.rtt_sampling` | OncePerRoundTrip | OncePerRoundTrip | OncePerRoundTrip | OncePerRoundTrip | EverySegment |
/// | `timers.rto` | initial 6s, min 0s, max 64s, of Rto, by Rfc6298 | initial 3s, min 1s, max 64s, of Rto, by Rfc6298 | initial 3s, min 1s, max 64s, of Rto, by Rfc6298 | initial 1s, min 1s, max 60s, of Rto, by Rfc6298 | initial 1s, min 200ms, max 120s, of Variance, by Rfc6298 |
/// | `timers.max_retries` | 15 | 15 | 15 | 15 | 15 |
/// | `timers.max_syn_retries` | 6 | 6 | 6 | 6 | 6 |
/// | `timers.linear_syn_timeouts` | 0 | 0 | 0 | 0 | 0 |
/// | `timers.keep_alive` | None | None | None | None | None |
/// | `timers.time_wait` | 60s | 60s | 60s | 60s | 60s |
/// | `ecn.enabled` | false | false | false | false | false |
/// | `ecn.fallback` | true | true | true | true | true |
/// | `ecn.echo` | UntilCwr | UntilCwr | UntilCwr | UntilCwr | UntilCwr |
/// | `ecn.echo_acks` | 1 | 1 | 1 | 1 | 1 |
/// | `ecn.on_retransmit` | true | false | false | false | false |
/// | `ecn.cut_after_timeout` | true | false | false | false | false |
/// | `ecn.abe` | false | false | false | false | false |
/// | `ecn.prr` | false | false | false | false | false |
/// | `ecn.hold_after_cut` | false | false | false | false | true |
/// | `accecn.option` | AfterChange | AfterChange | AfterChange | AfterChange | AfterChange |
/// | `accecn.option_losses` | 3 | 3 | 3 | 3 | 3 |
/// | `accecn.ect_on_all` | false | false | false | false | false |
/// | `accecn.wraps_by_ack_ratio` | false | false | false | false | false |
/// | `acks.policy` | Immediate | Delayed (max 200ms) | Delayed (max 200ms) | Delayed (max 200ms) | Delayed (max 40ms) |
/// | `acks.marks_at_once` | false | false | false | false | true |
/// | `acks.delays_fin` | false | false | false | false | false |
/// | `sending.nagle` | false | true | true | true | true |
/// | `sending.nagle_spares_first` | false | false | false | false | false |
/// | `sending.pacing` | false | false | false | false | false |
/// | `sending.push_when_held_back` | false | false | false | false | false |
/// | `extensions.window_scaling` | true | true | true | true | true |
/// | `extensions.timestamps` | false | false | false | true | true |
/// | `extensions.sack` | false | false | true | true | true |
/// | `buffers.send` | 4194304 | 4194304 | 4194304 | 4194304 | 4194304 |
/// | `buffers.receive` | 4194304 | 4194304 | 4194304 | 4194304 | 4194304 |
/// | `Cubic::hystart` | Off | Off | Off | Off | Rfc9406 |
///
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// The Reno of ns-2.1b5, which Hamann 1999 used: 10 ms clock, no minimum RTO, windows in whole
    /// packets, one ACK per packet, initial window 1.
    Ns2Reno,
    /// RFC 2581 and RFC 2988 (1999): initial window 2, delayed ACKs, growth per ACK.
    Rfc2581,
    /// RFC 2581 with appropriate byte counting, L = 2 (RFC 3465), and SACK.
    Rfc3465,
    /// RFC 5681, 6298, 6582, 6675, 7323: the standards of today.
    Rfc5681,
    /// A current Linux kernel: initial window 10, minimum RTO 200 ms, byte counting without a limit,
    /// RACK-TLP (RFC 8985), PRR (RFC 9937). HyStart++ (RFC 9406) replaces Linux's HyStart.
    /// [`Config::as_linux_host`] has the rest of a Linux host.
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

    /// The profile with that name.
    pub fn by_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// The profile's options, for segments of `mss` payload bytes.
    pub fn config(self, mss: u16, congestion: Arc<dyn ControllerFactory>) -> Config {
        let rfc5681 = rfc5681(mss, congestion);
        match self {
            Profile::Ns2Reno => rfc5681.with(ns2_reno),
            Profile::Rfc2581 => rfc5681.with(rfc2581),
            Profile::Rfc3465 => rfc5681.with(rfc2581).with(rfc3465),
            Profile::Rfc5681 => rfc5681,
            Profile::Linux => rfc5681.with(linux),
        }
    }

    /// The controller with that name and this profile's parameters; `None` for a name that is not
    /// in [`cc::NAMES`]. Only CUBIC's parameters depend on the profile ([`Profile::cubic`]).
    pub fn controller(self, name: &str) -> Option<Arc<dyn ControllerFactory>> {
        match name {
            "cubic" => Some(Arc::new(self.cubic())),
            _ => cc::by_name(name),
        }
    }

    /// CUBIC with this profile's parameters: HyStart++ for `Linux`, the defaults for the others.
    pub fn cubic(self) -> Cubic {
        let hystart = if self == Profile::Linux { HyStart::Rfc9406 } else { HyStart::Off };
        Cubic { hystart, ..Cubic::default() }
    }

    /// The name of the controller that this profile's systems use unless configured otherwise.
    pub fn default_controller(self) -> &'static str {
        match self {
            Profile::Ns2Reno | Profile::Rfc2581 | Profile::Rfc3465 => "reno",
            Profile::Rfc5681 => "newreno",
            Profile::Linux => "cubic",
        }
    }
}

fn rfc5681(mss: u16, congestion: Arc<dyn ControllerFactory>) -> Config {
    Config {
        congestion,
        mss,
        window: WindowConfig { initial: initial_window_rfc5681(mss), ..WindowConfig::default() },
        growth: GrowthConfig::default(),
        recovery: RecoveryConfig::default(),
        timers: TimerConfig::default(),
        ecn: EcnConfig::default(),
        accecn: AccEcnConfig::default(),
        acks: AckConfig::default(),
        sending: SendConfig::default(),
        extensions: ExtensionConfig::default(),
        buffers: BufferConfig::default(),
    }
}

/// RFC 5681 §3.1: two to four segments, depending on the segment size.
fn initial_window_rfc5681(mss: u16) -> u32 {
    match mss {
        0..=1095 => 4,
        1096..=2190 => 3,
        _ => 2,
    }
}

fn ns2_reno(c: &mut Config) {
    c.window.initial = 1;
    c.window.reduction_base = ReductionBase::Window;
    c.window.whole_segment_cuts = true;
    c.window.idle_restart = false;
    c.growth.credit = Growth::PerAck;
    c.growth.cwnd_validation = false;
    c.recovery.limited_transmit = false;
    c.recovery.repeated_fast_retransmit = true;
    c.recovery.hold_ssthresh_on_repeated_timeout = false;
    c.timers.clock = Clock { tick: Span::from_millis(10), phase: Span::ZERO };
    c.timers.rto.initial = Span::from_secs(6);
    c.timers.rto.min = Span::ZERO;
    c.timers.rto.max = Span::from_secs(64);
    c.ecn.on_retransmit = true;
    c.ecn.cut_after_timeout = true;
    c.extensions.timestamps = false;
    c.extensions.sack = false;
    c.acks.policy = AckPolicy::Immediate;
    c.sending.nagle = false;
}

fn rfc2581(c: &mut Config) {
    c.window.initial = 2;
    c.growth.credit = Growth::PerAck;
    c.growth.cwnd_validation = false;
    c.recovery.limited_transmit = false;
    c.recovery.hold_ssthresh_on_repeated_timeout = false;
    c.timers.rto.initial = Span::from_secs(3);
    c.timers.rto.max = Span::from_secs(64);
    c.extensions.timestamps = false;
    c.extensions.sack = false;
}

/// On top of [`rfc2581`].
fn rfc3465(c: &mut Config) {
    c.growth.credit = Growth::PerByte { limit: 2 };
    c.extensions.sack = true;
    c.recovery.limited_transmit = true;
}

impl Config {
    /// These options, of [`Profile::Linux`], with everything else that a Linux 7.3 host does by itself: how it
    /// acknowledges, repairs, negotiates and holds segments back. The profile leaves it off, because simulations need
    /// none of it and measurements with the profile would change.
    #[must_use]
    pub fn as_linux_host(self) -> Config {
        self.with(linux_host)
    }
}

fn linux_host(c: &mut Config) {
    c.growth.newly_delivered = true;
    c.growth.validates_by_round = true;
    c.recovery.undo = true;
    c.recovery.frto = true;
    c.timers.linear_syn_timeouts = 4;
    c.ecn.prr = true;
    c.accecn.option = OptionUse::Always;
    c.accecn.option_losses = 2;
    c.accecn.ect_on_all = true;
    c.accecn.wraps_by_ack_ratio = true;
    c.acks.policy = AckPolicy::Linux { max: Span::from_millis(40) };
    c.acks.delays_fin = true;
    c.sending.nagle_spares_first = true;
}

fn linux(c: &mut Config) {
    c.window.initial = 10;
    c.window.least = 2;
    c.window.reduction_base = ReductionBase::Window;
    // Linux counts cwnd and ssthresh in whole segments.
    c.window.whole_segment_cuts = true;
    c.growth.credit = Growth::PerByte { limit: u32::MAX };
    c.recovery.rack = true;
    c.recovery.tail_loss_probe = true;
    c.recovery.prr = true;
    c.timers.rtt_sampling = RttSampling::EverySegment;
    c.timers.rto = RtoConfig {
        initial: Span::from_secs(1),
        min: Span::from_millis(200),
        max: Span::from_secs(120),
        min_of: RtoFloor::Variance,
        rule: RtoRule::Rfc6298,
    };
    c.ecn.hold_after_cut = true;
    c.acks.policy = AckPolicy::Delayed { max: Span::from_millis(40) };
    c.acks.marks_at_once = true;
}
