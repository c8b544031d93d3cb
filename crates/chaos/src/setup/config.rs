use super::{Opening, pick, spread};
use std::sync::Arc;
use windlass_base::{Rng, Span};
use windlass_tcp::cc;
use windlass_tcp::config::{
    AckPolicy, Clock, EcnEcho, Growth, KeepAlive, ReductionBase, RtoConfig,
};
use windlass_tcp::{Config, Profile};

/// Options for both ends; without a handshake they offer the same.
pub(super) fn draw_pair(rng: &mut Rng, opening: Opening) -> [Config; 2] {
    let a = draw(rng);
    let mut b = draw(rng);
    if opening == Opening::Established {
        (b.ecn, b.sack) = (a.ecn, a.sack);
        (b.timestamps, b.window_scaling) = (a.timestamps, a.window_scaling);
    }
    [a, b]
}

fn draw(rng: &mut Rng) -> Config {
    let mss = match rng.below(4) {
        0 => pick(rng, &[48, 88, 536, 1000, 8960, 9000]),
        1 => spread(rng, 48, 9000) as u16,
        _ => 1460,
    };
    let name = pick(rng, &cc::NAMES);
    let controller = cc::by_name(name).unwrap_or_else(|| unreachable!("NAMES are known"));
    let mut config = pick(rng, &Profile::ALL).config(mss, controller);
    draw_features(rng, &mut config);
    draw_buffers(rng, &mut config);
    draw_windows(rng, &mut config);
    draw_timers(rng, &mut config);
    config
}

/// Options that no profile has on, each on by a coin of its own. Their stream is their own too: what a
/// seed draws beside them does not change with them.
pub(super) fn draw_options(rng: &mut Rng, config: &mut Config) {
    for option in [&mut config.pacing, &mut config.undo, &mut config.frto] {
        *option = rng.chance(0.4);
    }
    if rng.chance(0.1) {
        let limit = pick(rng, &[1, 2, u32::MAX]);
        config.avoidance_growth = Some(pick(rng, &[Growth::PerAck, Growth::PerByte { limit }]));
    }
}

/// The same, of a stream that came later.
pub(super) fn draw_linux_options(rng: &mut Rng, config: &mut Config) {
    for option in [&mut config.whole_segment_growth, &mut config.push_when_held_back] {
        *option = rng.chance(0.4);
    }
    if rng.chance(0.3) {
        config.ack_policy = AckPolicy::Linux { max: Span::from_micros(spread(rng, 100, 500_000)) };
    }
}

/// CUBIC's, of a stream that came later still.
pub(super) fn draw_cubic_options(rng: &mut Rng, config: &mut Config) {
    for option in [&mut config.hystart_trains, &mut config.cubic_as_linux] {
        *option = rng.chance(0.4);
    }
}

/// What ToU turns on, beside what both ends have to agree on for it.
pub(super) fn modernise(config: &mut Config) {
    let linux = Profile::Linux.config(config.mss, Arc::clone(&config.congestion));
    *config = Config {
        initial_window: config.initial_window,
        initial_ssthresh: config.initial_ssthresh,
        window_limit: config.window_limit,
        ecn: config.ecn,
        ecn_echo: config.ecn_echo,
        clock: config.clock,
        rto: RtoConfig { min_of: linux.rto.min_of, ..config.rto },
        max_retries: config.max_retries,
        max_syn_retries: config.max_syn_retries,
        send_buffer: config.send_buffer,
        receive_buffer: config.receive_buffer,
        nagle: config.nagle,
        keep_alive: config.keep_alive,
        time_wait: config.time_wait,
        pacing: true,
        undo: true,
        frto: true,
        hystart_trains: true,
        cubic_as_linux: true,
        whole_segment_growth: true,
        push_when_held_back: true,
        ack_policy: AckPolicy::Linux { max: Span::from_millis(40) },
        ..linux
    };
}

/// More in flight than an unscaled window announces, from the first round trip on.
pub(super) fn fatten(rng: &mut Rng, config: &mut Config) {
    config.mss = rng.between(1000, 9000) as u16;
    config.window_scaling = true;
    config.window_limit = None;
    config.initial_window = rng.between(20, 64) as u32;
    config.send_buffer = rng.between(100_000, 300_000);
    config.receive_buffer = rng.between(100_000, 1 << 20);
}

/// One override in three.
fn vary(rng: &mut Rng, option: &mut bool) {
    if rng.chance(0.3) {
        *option = rng.chance(0.5);
    }
}

fn draw_features(rng: &mut Rng, config: &mut Config) {
    config.ecn = rng.chance(0.6);
    for option in [
        &mut config.sack,
        &mut config.timestamps,
        &mut config.window_scaling,
        &mut config.ecn_on_retransmit,
        &mut config.ecn_after_timeout,
        &mut config.nagle,
        &mut config.limited_transmit,
        &mut config.rack,
        &mut config.tail_loss_probe,
        &mut config.prr,
        &mut config.hystart,
        &mut config.repeated_fast_retransmit,
        &mut config.hold_ssthresh_on_repeated_timeout,
    ] {
        vary(rng, option);
    }
    config.ecn_echo = pick(rng, &[EcnEcho::UntilCwr, EcnEcho::OncePerCe]);
    if rng.chance(0.5) {
        config.ack_policy = match rng.below(4) {
            0 => AckPolicy::Immediate,
            1 => AckPolicy::Split { parts: spread(rng, 1, 64) as u32 },
            _ => AckPolicy::Delayed { max: Span::from_micros(spread(rng, 100, 500_000)) },
        };
    }
}

fn draw_buffers(rng: &mut Rng, config: &mut Config) {
    config.send_buffer = draw_buffer(rng);
    config.receive_buffer = draw_buffer(rng);
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
    for option in
        [&mut config.whole_segment_cuts, &mut config.cwnd_validation, &mut config.idle_restart]
    {
        vary(rng, option);
    }
    if rng.chance(0.3) {
        config.initial_window = spread(rng, 1, 64) as u32;
    }
    if rng.chance(0.2) {
        config.initial_ssthresh = Some(spread(rng, 1, 100_000));
    }
    if rng.chance(0.15) {
        config.window_limit = Some(u64::from(config.mss) * spread(rng, 1, 40));
    }
    if rng.chance(0.3) {
        let limit = pick(rng, &[1, 2, 8, u32::MAX]);
        config.growth = pick(rng, &[Growth::PerAck, Growth::PerByte { limit }]);
    }
    if rng.chance(0.3) {
        config.reduction_base = pick(rng, &[ReductionBase::Window, ReductionBase::FlightSize]);
    }
}

fn draw_timers(rng: &mut Rng, config: &mut Config) {
    if rng.chance(0.3) {
        let tick = Span::from_micros(pick(rng, &[1, 1000, 10_000, 100_000, 500_000]));
        let phase = Span::from_nanos(rng.below(tick.as_nanos()));
        config.clock = Clock { tick, phase };
    }
    if rng.chance(0.3) {
        let initial = Span::from_millis(spread(rng, 200, 6000));
        let min = Span::from_millis(spread(rng, 10, 1000));
        config.rto = RtoConfig {
            initial,
            min,
            max: Span::from_millis(spread(rng, 6000, 60_000)),
            ..config.rto
        };
    }
    if rng.chance(0.3) {
        config.max_retries = rng.between(3, 15) as u32;
        config.max_syn_retries = rng.between(2, 8) as u32;
    }
    if rng.chance(0.15) {
        config.keep_alive = Some(KeepAlive {
            idle: Span::from_millis(spread(rng, 100, 60_000)),
            interval: Span::from_millis(spread(rng, 100, 20_000)),
            probes: rng.between(1, 9) as u32,
        });
    }
    config.time_wait = Span::from_millis(spread(rng, 5000, 60_000));
}
