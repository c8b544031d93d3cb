//! The engine's options for a socket: the profile `linux`, what the host's variables change of it, and what the
//! program has set.

use super::controller::controller;
use super::socket::Options;
use super::sysctl::Settings;
use std::sync::Arc;
use windlass_base::Span;
use windlass_tcp::config::{EcnEcho, KeepAlive, OptionUse};
use windlass_tcp::{Config, Profile};

/// The value of `tcp_ecn_option` with which no loss ends the option.
const PERSISTENT: i64 = 3;

/// The send buffer of the engine: the host counts what the program may write, as Linux counts it.
const SEND_BUFFER: u64 = 1 << 40;

/// The end that opens a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// This end, by `connect`.
    Active,
    /// The other end: this one listens.
    Passive,
}

/// The options of a connection with segments of at most `mss` bytes.
pub(super) fn config(settings: &Settings, options: &Options, role: Role, mss: u16) -> Config {
    let name = options.controller.as_deref().unwrap_or(&settings.controller);
    let factory = controller(name).unwrap_or_else(|| Arc::new(Profile::Linux.cubic()));
    let mut config = Profile::Linux.config(mss, factory).as_linux_host();
    set_ecn(&mut config, settings, role);
    set_extensions(&mut config, settings);
    set_recovery(&mut config, settings);
    set_timers(&mut config, settings, options, role);
    config.window.idle_restart = settings.restart_after_idle != 0;
    config.sending.nagle = !options.nodelay;
    config.buffers.send = SEND_BUFFER;
    config.buffers.receive = options.window_scale_base(settings);
    config
}

fn set_ecn(config: &mut Config, settings: &Settings, role: Role) {
    let (enabled, accurate) = match (role, settings.ecn) {
        (_, 0) | (Role::Active, 2 | 5) => (false, false),
        (_, 3) | (Role::Passive, 4 | 5) => (true, true),
        _ => (true, false),
    };
    config.ecn.enabled = enabled;
    config.ecn.echo = if accurate { EcnEcho::Accurate } else { EcnEcho::UntilCwr };
    config.ecn.fallback = settings.ecn_fallback != 0;
    config.accecn.option = option_use(settings);
    if settings.ecn_option == PERSISTENT {
        config.accecn.option_losses = u8::MAX;
    }
}

/// The segments that carry the AccECN option.
pub(super) fn option_use(settings: &Settings) -> OptionUse {
    match settings.ecn_option {
        0 => OptionUse::Never,
        1 => OptionUse::AfterChange,
        _ => OptionUse::Always,
    }
}

fn set_extensions(config: &mut Config, settings: &Settings) {
    config.extensions.sack = settings.sack != 0;
    config.extensions.timestamps = settings.timestamps != 0;
    config.extensions.window_scaling = settings.window_scaling != 0;
}

fn set_recovery(config: &mut Config, settings: &Settings) {
    config.recovery.rack = settings.rack != 0;
    config.recovery.tail_loss_probe = settings.tail_probe != 0 && config.recovery.rack;
    config.recovery.frto = settings.frto != 0;
}

fn set_timers(config: &mut Config, settings: &Settings, options: &Options, role: Role) {
    let number = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    let seconds = |value: i64| Span::from_secs(value.unsigned_abs());
    let timers = &mut config.timers;
    timers.rto.min = Span::from_micros(settings.rto_min_us.unsigned_abs());
    timers.rto.max = Span::from_millis(settings.rto_max_ms.unsigned_abs());
    timers.max_retries = number(settings.retries);
    timers.linear_syn_timeouts = number(settings.linear_syn_timeouts);
    timers.max_syn_retries = match role {
        // Linux counts the timeouts without back-off beside those of `tcp_syn_retries`.
        Role::Active => {
            let backed_off = options.syn_retries.unwrap_or(number(settings.syn_retries));
            backed_off.saturating_add(timers.linear_syn_timeouts)
        }
        Role::Passive => options.syn_retries.unwrap_or(number(settings.synack_retries)),
    };
    timers.keep_alive = options.keep_alive.then(|| KeepAlive {
        idle: seconds(options.keep_idle_s.unwrap_or(settings.keepalive_s)),
        interval: seconds(options.keep_interval_s.unwrap_or(settings.keepalive_interval_s)),
        probes: number(options.keep_probes.unwrap_or(settings.keepalive_probes)),
    });
}
