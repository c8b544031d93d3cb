//! Draws the TCP options of both ends.

use super::{Opening, pick, spread};
use std::sync::Arc;
use windlass_base::{Rng, Span};
use windlass_tcp::cc::{self, Cubic, HyStart};
use windlass_tcp::config::{
    AckPolicy, Clock, EcnEcho, Growth, KeepAlive, ReductionBase, RtoConfig,
};
use windlass_tcp::{Config, Profile};

/// Options take at most this much of a segment once agreed, and no MSS is below 48.
const LEAST_MSS: u64 = 36;

/// Payload bytes that `sender` gets into a segment, at least, when buffers are what limits it.
pub(crate) fn unit(configs: &[Config; 2], sender: usize) -> u64 {
    let (from, to) = (&configs[sender], &configs[1 - sender]);
    let mss = u64::from(from.mss.min(to.mss)).saturating_sub(12).max(LEAST_MSS);
    // The receiver opens its window by half its buffer at least (RFC 9293 §3.8.6.2.2).
    mss.min(from.buffers.send).min((to.buffers.receive / 2).max(1))
}

/// Options for both ends, and whether their CUBIC has HyStart. Without a handshake both ends offer
/// the same TCP options.
pub(super) fn draw_pair(rng: &mut Rng, opening: Opening) -> ([Config; 2], [bool; 2]) {
    let (a, hystart_a) = draw(rng);
    let (mut b, hystart_b) = draw(rng);
    if opening == Opening::Established {
        b.ecn.enabled = a.ecn.enabled;
        b.extensions = a.extensions;
    }
    ([a, b], [hystart_a, hystart_b])
}

fn draw(rng: &mut Rng) -> (Config, bool) {
    let mss = match rng.below(4) {
        0 => pick(rng, &[48, 88, 536, 1000, 8960, 9000]),
        1 => spread(rng, 48, 9000) as u16,
        _ => 1460,
    };
    let name = pick(rng, &cc::NAMES);
    let controller = cc::by_name(name).unwrap_or_else(|| unreachable!("NAMES are known"));
    let profile = pick(rng, &Profile::ALL);
    let mut config = profile.config(mss, controller);
    let mut hystart = profile == Profile::Linux;
    draw_features(rng, &mut config, &mut hystart);
    draw_buffers(rng, &mut config);
    draw_windows(rng, &mut config);
    draw_timers(rng, &mut config);
    (config, hystart)
}

/// Draws the options of both ends. Each group has a stream of random numbers of its own, so that another group
/// leaves the draws of the older ones as they were.
pub(super) fn draw_all_options(seed: u64, configs: &mut [Config; 2], hystart: [bool; 2]) {
    let mut group = |stream, draw: fn(&mut Rng, &mut Config)| {
        let mut rng = Rng::fork(seed, stream);
        configs.iter_mut().for_each(|config| draw(&mut rng, config));
    };
    group(2, draw_options);
    group(3, draw_linux_options);
    group(7, draw_window_rules);
    let mut rng = Rng::fork(seed, 5);
    for (config, hystart) in configs.iter_mut().zip(hystart) {
        draw_cubic_options(&mut rng, config, hystart);
    }
}

/// Options that no profile has on, each on by a coin of its own. Their stream is their own too: what a
/// seed draws beside them does not change with them.
fn draw_options(rng: &mut Rng, config: &mut Config) {
    for option in [&mut config.sending.pacing, &mut config.recovery.undo, &mut config.recovery.frto]
    {
        *option = rng.chance(0.4);
    }
    if rng.chance(0.1) {
        let limit = pick(rng, &[1, 2, u32::MAX]);
        config.growth.avoidance_credit =
            Some(pick(rng, &[Growth::PerAck, Growth::PerByte { limit }]));
    }
}

/// The same, of a stream that came later.
fn draw_linux_options(rng: &mut Rng, config: &mut Config) {
    for option in [&mut config.growth.whole_segments, &mut config.sending.push_when_held_back] {
        *option = rng.chance(0.4);
    }
    if rng.chance(0.3) {
        config.acks.policy = AckPolicy::Linux { max: Span::from_micros(spread(rng, 100, 500_000)) };
    }
}

/// How windows grow and shrink, of another stream that came later.
fn draw_window_rules(rng: &mut Rng, config: &mut Config) {
    for option in [
        &mut config.growth.rate_limited_increase,
        &mut config.ecn.abe,
        &mut config.ecn.prr,
        &mut config.acks.marks_at_once,
    ] {
        *option = rng.chance(0.2);
    }
}

/// CUBIC's options, from a stream of their own. Other controllers ignore the draw.
fn draw_cubic_options(rng: &mut Rng, config: &mut Config, hystart: bool) {
    let trains = rng.chance(0.4);
    let as_linux = rng.chance(0.4);
    let hystart = match (hystart, trains) {
        (false, _) => HyStart::Off,
        (true, false) => HyStart::Rfc9406,
        (true, true) => HyStart::AckTrains,
    };
    set_cubic(config, hystart, as_linux);
}

/// AccECN (RFC 9768) at one end or both, from a stream of its own. Without a handshake both have it or neither.
pub(super) fn draw_accurate(rng: &mut Rng, opening: Opening, configs: &mut [Config; 2]) {
    if !rng.chance(0.3) {
        return;
    }
    let alone = rng.chance(0.2).then(|| usize::from(rng.chance(0.5)));
    let alone = alone.filter(|_| opening != Opening::Established);
    for (index, config) in configs.iter_mut().enumerate() {
        if alone.is_none_or(|alone| alone == index) {
            config.ecn.enabled = true;
            config.ecn.echo = EcnEcho::Accurate;
        }
    }
}

/// Whether an end asks for AccECN.
pub(crate) fn is_accurate(config: &Config) -> bool {
    config.ecn.enabled && config.ecn.echo == EcnEcho::Accurate
}

/// If the controller is CUBIC: with these options.
fn set_cubic(config: &mut Config, hystart: HyStart, as_linux: bool) {
    if config.congestion.name() == "cubic" {
        let mut cubic = Cubic::default();
        cubic.hystart = hystart;
        cubic.as_linux = as_linux;
        config.congestion = Arc::new(cubic);
    }
}

/// Turns on the options of ToU, beside those on which both ends have to agree.
pub(super) fn modernise(config: &mut Config) {
    let linux = Profile::Linux.config(config.mss, Arc::clone(&config.congestion));
    *config = linux.with(|c| {
        c.window.initial = config.window.initial;
        c.window.initial_ssthresh = config.window.initial_ssthresh;
        c.window.limit = config.window.limit;
        c.ecn.enabled = config.ecn.enabled;
        c.ecn.echo = config.ecn.echo;
        c.timers.clock = config.timers.clock;
        c.timers.rto = RtoConfig { min_of: c.timers.rto.min_of, ..config.timers.rto };
        c.timers.max_retries = config.timers.max_retries;
        c.timers.max_syn_retries = config.timers.max_syn_retries;
        c.buffers.send = config.buffers.send;
        c.buffers.receive = config.buffers.receive;
        c.sending.nagle = config.sending.nagle;
        c.timers.keep_alive = config.timers.keep_alive;
        c.timers.time_wait = config.timers.time_wait;
        c.sending.pacing = true;
        c.recovery.undo = true;
        c.recovery.frto = true;
        c.growth.whole_segments = true;
        c.sending.push_when_held_back = true;
        c.acks.policy = AckPolicy::Linux { max: Span::from_millis(40) };
    });
    set_cubic(config, HyStart::AckTrains, true);
}

/// More in flight than an unscaled window announces, from the first round trip on.
pub(super) fn fatten(rng: &mut Rng, config: &mut Config) {
    config.mss = rng.between(1000, 9000) as u16;
    config.extensions.window_scaling = true;
    config.window.limit = None;
    config.window.initial = rng.between(20, 64) as u32;
    config.buffers.send = rng.between(100_000, 300_000);
    config.buffers.receive = rng.between(100_000, 1 << 20);
}

/// One override in three.
fn vary(rng: &mut Rng, option: &mut bool) {
    if rng.chance(0.3) {
        *option = rng.chance(0.5);
    }
}

fn draw_features(rng: &mut Rng, config: &mut Config, hystart: &mut bool) {
    config.ecn.enabled = rng.chance(0.6);
    for option in [
        &mut config.extensions.sack,
        &mut config.extensions.timestamps,
        &mut config.extensions.window_scaling,
        &mut config.ecn.on_retransmit,
        &mut config.ecn.cut_after_timeout,
        &mut config.sending.nagle,
        &mut config.recovery.limited_transmit,
        &mut config.recovery.rack,
        &mut config.recovery.tail_loss_probe,
        &mut config.recovery.prr,
        hystart,
        &mut config.recovery.repeated_fast_retransmit,
        &mut config.recovery.hold_ssthresh_on_repeated_timeout,
    ] {
        vary(rng, option);
    }
    config.ecn.echo = pick(rng, &[EcnEcho::UntilCwr, EcnEcho::OncePerCe, EcnEcho::Dctcp]);
    if rng.chance(0.5) {
        config.acks.policy = match rng.below(4) {
            0 => AckPolicy::Immediate,
            1 => AckPolicy::Split { parts: spread(rng, 1, 64) as u32 },
            _ => AckPolicy::Delayed { max: Span::from_micros(spread(rng, 100, 500_000)) },
        };
    }
}

fn draw_buffers(rng: &mut Rng, config: &mut Config) {
    config.buffers.send = draw_buffer(rng);
    config.buffers.receive = draw_buffer(rng);
}

fn draw_buffer(rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0 => spread(rng, 1, 100),
        1 => spread(rng, 100, 4000),
        2 => pick(rng, &[65_535, 65_536, 131_071, 100_000]),
        3 => spread(rng, 65_536, 1 << 20),
        _ => spread(rng, 4000, 65_536),
    }
}

fn draw_windows(rng: &mut Rng, config: &mut Config) {
    for option in [
        &mut config.window.whole_segment_cuts,
        &mut config.growth.cwnd_validation,
        &mut config.window.idle_restart,
    ] {
        vary(rng, option);
    }
    if rng.chance(0.3) {
        config.window.initial = spread(rng, 1, 64) as u32;
    }
    if rng.chance(0.2) {
        config.window.initial_ssthresh = Some(spread(rng, 1, 100_000));
    }
    if rng.chance(0.15) {
        config.window.limit = Some(u64::from(config.mss) * spread(rng, 1, 40));
    }
    if rng.chance(0.3) {
        let limit = pick(rng, &[1, 2, 8, u32::MAX]);
        config.growth.credit = pick(rng, &[Growth::PerAck, Growth::PerByte { limit }]);
    }
    if rng.chance(0.3) {
        config.window.reduction_base =
            pick(rng, &[ReductionBase::Window, ReductionBase::FlightSize]);
    }
}

fn draw_timers(rng: &mut Rng, config: &mut Config) {
    if rng.chance(0.3) {
        let tick = Span::from_micros(pick(rng, &[1, 1000, 10_000, 100_000, 500_000]));
        let phase = Span::from_nanos(rng.below(tick.as_nanos()));
        config.timers.clock = Clock { tick, phase };
    }
    if rng.chance(0.3) {
        let initial = Span::from_millis(spread(rng, 200, 6000));
        let min = Span::from_millis(spread(rng, 10, 1000));
        config.timers.rto = RtoConfig {
            initial,
            min,
            max: Span::from_millis(spread(rng, 6000, 60_000)),
            ..config.timers.rto
        };
    }
    if rng.chance(0.3) {
        config.timers.max_retries = rng.between(3, 15) as u32;
        config.timers.max_syn_retries = rng.between(2, 8) as u32;
    }
    if rng.chance(0.15) {
        config.timers.keep_alive = Some(KeepAlive {
            idle: Span::from_millis(spread(rng, 100, 60_000)),
            interval: Span::from_millis(spread(rng, 100, 20_000)),
            probes: rng.between(1, 9) as u32,
        });
    }
    config.timers.time_wait = Span::from_millis(spread(rng, 5000, 60_000));
}
