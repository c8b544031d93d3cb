//! TCP options of a flow: the profile, with the keys of the flow and of `[defaults]` over it.
//! [`flows`](super::flows) asks for them; [`controllers`] has the congestion
//! controllers.

use crate::controllers;
use crate::keys::{AckKeys, EchoKeys, GrowthKeys, ReceiverKeys, ReductionKeys, TcpKeys};
use crate::registry::Context;
use crate::units::{Segments, Window};
use windlass_base::Span;
use windlass_keys::{Bytes, Located, Positive};
use windlass_tcp::Profile;
use windlass_tcp::cc;
use windlass_tcp::config::{
    AckPolicy, Clock, Config, EcnEcho, Growth, MAX_SSTHRESH, ReductionBase, RtoConfig,
};

/// The options of a flow's two ends.
pub(super) struct Options {
    pub profile: Profile,
    pub sender: Config,
    pub receiver: Config,
    pub handshake: bool,
}

/// The profile's options with the file's put over them.
pub(super) fn options(keys: &TcpKeys, context: &mut Context) -> Option<Options> {
    // The reader names one where the file does not.
    let profile = keys.profile?.0;
    let mss = keys.mss.map_or(1460, |mss| mss.0);
    let chosen = keys.controller.as_ref();
    let controller = controllers::factory(chosen, profile, cubic(keys, profile), context)?;
    let mut config = profile.config(mss, controller);
    windows(&mut config, keys, context);
    limited_slow_start(&mut config, keys, context);
    congestion(&mut config, keys);
    timers(&mut config, keys, context);
    extensions(&mut config, keys, context);
    let receiver = receiver(config.clone(), keys.receiver.as_ref(), context);
    let handshake = keys.handshake.unwrap_or(profile != Profile::Ns2Reno);
    if !handshake && receiver.ecn.echo != EcnEcho::Accurate {
        // Nothing is negotiated: the ends have AccECN both or not at all.
        config.ecn.echo = receiver.ecn.echo;
    }
    Some(Options { profile, sender: config, receiver, handshake })
}

/// Overwrites an option that the file gives.
fn set<T>(option: &mut T, key: Option<T>) {
    if let Some(value) = key {
        *option = value;
    }
}

/// CUBIC with the options that the file gives beside the controller.
fn cubic(keys: &TcpKeys, profile: Profile) -> cc::Cubic {
    let mut cubic = profile.cubic();
    let on = keys.hystart.unwrap_or(cubic.hystart != cc::HyStart::Off);
    cubic.hystart = match (on, keys.hystart_trains.unwrap_or(false)) {
        (false, _) => cc::HyStart::Off,
        (true, false) => cc::HyStart::Rfc9406,
        (true, true) => cc::HyStart::AckTrains,
    };
    set(&mut cubic.as_linux, keys.cubic_as_linux);
    cubic
}

fn windows(config: &mut Config, keys: &TcpKeys, context: &mut Context) {
    segments(&mut config.window.initial, keys.initial_window.as_ref(), context);
    let mss = u64::from(config.mss);
    let mut window = |key: &Option<Located<Window>>| {
        let Located { value, location } = key.as_ref()?;
        let bytes = match value {
            Window::Segments(segments) => segments.saturating_mul(mss),
            Window::Bytes(bytes) => *bytes,
        };
        if bytes < mss {
            context.wrong_at(location, format!("expected at least one segment ({mss} bytes)"));
        }
        Some(bytes)
    };
    config.window.limit = window(&keys.window_limit).or(config.window.limit);
    config.window.initial_ssthresh =
        window(&keys.initial_ssthresh).or(config.window.initial_ssthresh);
}

fn limited_slow_start(config: &mut Config, keys: &TcpKeys, context: &mut Context) {
    let mut max_ssthresh = MAX_SSTHRESH;
    segments(&mut max_ssthresh, keys.max_ssthresh.as_ref(), context);
    config.growth.limited_slow_start =
        keys.limited_slow_start.unwrap_or(false).then_some(max_ssthresh);
}

fn segments(option: &mut u32, key: Option<&Located<Segments>>, context: &mut Context) {
    let Some(Located { value: Segments(segments), location }) = key else { return };
    match u32::try_from(*segments) {
        Ok(segments @ 1..) => *option = segments,
        _ => context.wrong_at(location, "expected from 1 to 4294967295 segments".into()),
    }
}

fn growth(keys: &GrowthKeys) -> Growth {
    match keys {
        GrowthKeys::PerAck(_) => Growth::PerAck,
        GrowthKeys::PerByte(keys) => {
            Growth::PerByte { limit: keys.limit.map_or(1, |limit| limit.0) }
        }
    }
}

fn congestion(config: &mut Config, keys: &TcpKeys) {
    set(&mut config.growth.credit, keys.growth.as_ref().map(growth));
    config.growth.avoidance_credit = keys.avoidance_growth.as_ref().map(growth);
    let base = keys.reduction_base.map(|base| match base {
        ReductionKeys::Window => ReductionBase::Window,
        ReductionKeys::FlightSize => ReductionBase::FlightSize,
    });
    set(&mut config.window.reduction_base, base);
    set(&mut config.window.whole_segment_cuts, keys.whole_segment_cuts);
    set(&mut config.growth.whole_segments, keys.whole_segment_growth);
    set(&mut config.growth.cwnd_validation, keys.cwnd_validation);
    set(&mut config.growth.rate_limited_increase, keys.rate_limited_increase);
    set(&mut config.window.idle_restart, keys.idle_restart);
    set(&mut config.recovery.limited_transmit, keys.limited_transmit);
    set(&mut config.recovery.rack, keys.rack);
    set(&mut config.recovery.tail_loss_probe, keys.tail_loss_probe);
    set(&mut config.recovery.prr, keys.prr);
    set(&mut config.recovery.undo, keys.undo);
    set(&mut config.recovery.frto, keys.frto);
    set(&mut config.sending.pacing, keys.pacing);
    set(&mut config.recovery.repeated_fast_retransmit, keys.repeated_fast_retransmit);
    set(
        &mut config.recovery.hold_ssthresh_on_repeated_timeout,
        keys.hold_ssthresh_on_repeated_timeout,
    );
    if keys.accecn == Some(true) {
        (config.ecn.enabled, config.ecn.echo) = (true, EcnEcho::Accurate);
    }
    set(&mut config.ecn.enabled, keys.ecn);
    set(&mut config.ecn.fallback, keys.ecn_fallback);
    set(&mut config.ecn.on_retransmit, keys.ecn_on_retransmit);
    set(&mut config.ecn.abe, keys.ecn_abe);
    set(&mut config.ecn.prr, keys.ecn_prr);
    set(&mut config.acks.marks_at_once, keys.ack_marks_at_once);
    set(&mut config.ecn.cut_after_timeout, keys.ecn_after_timeout);
}

fn timers(config: &mut Config, keys: &TcpKeys, context: &mut Context) {
    let clock = &mut config.timers.clock;
    clock_key(&mut clock.tick, keys.clock_tick.as_ref(), context, |tick| {
        tick.is_zero().then(|| "expected a time above zero".into())
    });
    let Clock { tick, .. } = *clock;
    clock_key(&mut clock.phase, keys.clock_phase.as_ref(), context, |phase| {
        (phase >= tick).then(|| format!("expected less than a tick ({tick}), found {phase}"))
    });
    let rto = &mut config.timers.rto;
    set(&mut rto.initial, keys.initial_rto);
    set(&mut rto.rule, keys.rto_rule.map(|rule| rule.0));
    set(&mut rto.min, keys.min_rto.as_ref().map(|min| min.value));
    set(&mut rto.max, keys.max_rto.as_ref().map(|max| max.value));
    let RtoConfig { initial, min, max, .. } = *rto;
    if let Some(location) = keys.max_rto.as_ref().or(keys.min_rto.as_ref()).map(|key| &key.location)
        && (min > max || max.is_zero())
    {
        let message =
            format!("expected a minimum RTO not above the maximum, found {min} and {max}");
        context.wrong_at(location, message);
    }
    rto.initial = initial.min(max).max(min);
    set(&mut config.timers.max_retries, keys.max_retries);
    set(&mut config.timers.max_syn_retries, keys.max_syn_retries);
}

fn clock_key(
    option: &mut Span,
    key: Option<&Located<Span>>,
    context: &mut Context,
    fault: impl FnOnce(Span) -> Option<String>,
) {
    let Some(Located { value, location }) = key else { return };
    *option = *value;
    if let Some(message) = fault(*value) {
        context.wrong_at(location, message);
    }
}

fn extensions(config: &mut Config, keys: &TcpKeys, context: &mut Context) {
    set(&mut config.extensions.window_scaling, keys.window_scaling);
    set(&mut config.extensions.timestamps, keys.timestamps);
    set(&mut config.extensions.sack, keys.sack);
    set(&mut config.sending.nagle, keys.nagle);
    set(&mut config.sending.push_when_held_back, keys.push_when_held_back);
    set(&mut config.buffers.send, buffer(keys.send_buffer.as_ref(), config.mss, context));
}

/// The receiver has the sender's options, but for what is its own.
fn receiver(mut config: Config, keys: Option<&ReceiverKeys>, context: &mut Context) -> Config {
    let Some(keys) = keys else { return config };
    if let Some(ack) = &keys.ack {
        config.acks.policy = ack_policy(ack, config.acks.policy);
    }
    let echo = keys.echo.map(|echo| match echo {
        EchoKeys::UntilCwr => EcnEcho::UntilCwr,
        EchoKeys::OncePerCe => EcnEcho::OncePerCe,
        EchoKeys::Dctcp => EcnEcho::Dctcp,
    });
    set(&mut config.ecn.enabled, keys.ecn);
    set(&mut config.ecn.echo, echo);
    if let Some(Located { value: Positive(acks), location }) = &keys.echo_acks {
        match u8::try_from(*acks) {
            Ok(acks) => config.ecn.echo_acks = acks,
            Err(_) => context.wrong_at(location, "expected at most 255 ACKs".into()),
        }
    }
    set(&mut config.buffers.receive, buffer(keys.buffer.as_ref(), config.mss, context));
    config
}

/// A buffer holds a segment at least: with less the connection would never fill one.
fn buffer(key: Option<&Located<Bytes>>, mss: u16, context: &mut Context) -> Option<u64> {
    let Located { value: Bytes(bytes), location } = key?;
    if *bytes < u64::from(mss) {
        context.wrong_at(location, format!("expected at least one segment ({mss} bytes)"));
    }
    Some(*bytes)
}

fn ack_policy(keys: &AckKeys, profile: AckPolicy) -> AckPolicy {
    match (keys, profile) {
        (AckKeys::Immediate(_), _) => AckPolicy::Immediate,
        (AckKeys::Delayed(keys), AckPolicy::Delayed { max }) => {
            AckPolicy::Delayed { max: keys.max.unwrap_or(max) }
        }
        (AckKeys::Delayed(keys), _) => {
            AckPolicy::Delayed { max: keys.max.unwrap_or(Span::from_millis(200)) }
        }
        (AckKeys::Linux(keys), _) => {
            AckPolicy::Linux { max: keys.max.unwrap_or(Span::from_millis(40)) }
        }
        (AckKeys::Split(keys), _) => AckPolicy::Split { parts: keys.parts.0 },
    }
}
