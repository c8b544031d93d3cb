use crate::scenario::decode::{At, Context};
use crate::scenario::keys::{
    AckKeys, ControllerKeys, EchoKeys, GrowthKeys, ReceiverKeys, ReductionKeys, TcpKeys,
};
use crate::scenario::units::{Bytes, Segments, Window};
use std::sync::Arc;
use windlass_base::Span;
use windlass_tcp::Profile;
use windlass_tcp::cc::{self, ControllerFactory};
use windlass_tcp::config::{AckPolicy, Clock, Config, EcnEcho, Growth, ReductionBase, RtoConfig};

/// The options of a flow's two ends.
pub(super) struct Options {
    pub sender: Config,
    pub receiver: Config,
    pub handshake: bool,
}

/// The profile's options with the file's put over them.
pub(super) fn options(keys: &TcpKeys, context: &mut Context) -> Option<Options> {
    let profile = keys.profile.unwrap_or(Profile::Rfc5681);
    let mss = keys.mss.map_or(1460, |mss| mss.0);
    let controller = controller(keys.controller.as_ref(), profile, context)?;
    let mut config = profile.config(mss, controller);
    windows(&mut config, keys, context);
    congestion(&mut config, keys);
    timers(&mut config, keys, context);
    extensions(&mut config, keys, context);
    let receiver = receiver(config.clone(), keys.receiver.as_ref(), context);
    let handshake = keys.handshake.unwrap_or(profile != Profile::Ns2Reno);
    Some(Options { sender: config, receiver, handshake })
}

/// Overwrites an option that the file gives.
fn set<T>(option: &mut T, key: Option<T>) {
    if let Some(value) = key {
        *option = value;
    }
}

fn controller(
    keys: Option<&At<ControllerKeys>>,
    profile: Profile,
    context: &mut Context,
) -> Option<Arc<dyn ControllerFactory>> {
    let name = match keys.map(|keys| &keys.value) {
        Some(ControllerKeys::NewEcn(new_ecn)) => {
            let mut factory = cc::NewEcn::default();
            set(&mut factory.alpha_wnd, new_ecn.alpha_wnd);
            set(&mut factory.alpha_slp, new_ecn.alpha_slp);
            set(&mut factory.beta, new_ecn.beta);
            return Some(Arc::new(factory));
        }
        Some(ControllerKeys::Tahoe(_)) => "tahoe",
        Some(ControllerKeys::Reno(_)) => "reno",
        Some(ControllerKeys::NewReno(_)) => "newreno",
        Some(ControllerKeys::Vegas(_)) => "vegas",
        Some(ControllerKeys::Cubic(_)) => "cubic",
        Some(ControllerKeys::None(_)) => "none",
        None => default_controller(profile),
    };
    let factory = cc::by_name(name);
    if let (None, Some(keys)) = (&factory, keys) {
        context.wrong_at(&keys.spot, format!("this build has no controller {name:?}"));
    }
    factory
}

fn default_controller(profile: Profile) -> &'static str {
    match profile {
        Profile::Ns2Reno | Profile::Rfc2581 | Profile::Rfc3465 => "reno",
        Profile::Rfc5681 => "newreno",
        Profile::Linux => "cubic",
    }
}

fn windows(config: &mut Config, keys: &TcpKeys, context: &mut Context) {
    segments(&mut config.initial_window, keys.initial_window.as_ref(), context);
    let mss = u64::from(config.mss);
    let mut window = |key: &Option<At<Window>>| {
        let At { value, spot } = key.as_ref()?;
        let bytes = match value {
            Window::Segments(segments) => segments.saturating_mul(mss),
            Window::Bytes(bytes) => *bytes,
        };
        if bytes < mss {
            context.wrong_at(spot, format!("expected at least one segment ({mss} bytes)"));
        }
        Some(bytes)
    };
    config.window_limit = window(&keys.window_limit).or(config.window_limit);
    config.initial_ssthresh = window(&keys.initial_ssthresh).or(config.initial_ssthresh);
}

fn segments(option: &mut u32, key: Option<&At<Segments>>, context: &mut Context) {
    let Some(At { value: Segments(segments), spot }) = key else { return };
    match u32::try_from(*segments) {
        Ok(segments @ 1..) => *option = segments,
        _ => context.wrong_at(spot, "expected from 1 to 4294967295 segments".into()),
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
    set(&mut config.growth, keys.growth.as_ref().map(growth));
    config.avoidance_growth = keys.avoidance_growth.as_ref().map(growth);
    let base = keys.reduction_base.map(|base| match base {
        ReductionKeys::Window => ReductionBase::Window,
        ReductionKeys::FlightSize => ReductionBase::FlightSize,
    });
    set(&mut config.reduction_base, base);
    set(&mut config.whole_segment_cuts, keys.whole_segment_cuts);
    set(&mut config.whole_segment_growth, keys.whole_segment_growth);
    set(&mut config.cwnd_validation, keys.cwnd_validation);
    set(&mut config.idle_restart, keys.idle_restart);
    set(&mut config.limited_transmit, keys.limited_transmit);
    set(&mut config.rack, keys.rack);
    set(&mut config.tail_loss_probe, keys.tail_loss_probe);
    set(&mut config.prr, keys.prr);
    set(&mut config.hystart, keys.hystart);
    set(&mut config.hystart_trains, keys.hystart_trains);
    set(&mut config.cubic_as_linux, keys.cubic_as_linux);
    set(&mut config.undo, keys.undo);
    set(&mut config.frto, keys.frto);
    set(&mut config.pacing, keys.pacing);
    set(&mut config.repeated_fast_retransmit, keys.repeated_fast_retransmit);
    set(&mut config.hold_ssthresh_on_repeated_timeout, keys.hold_ssthresh_on_repeated_timeout);
    set(&mut config.ecn, keys.ecn);
    set(&mut config.ecn_fallback, keys.ecn_fallback);
    set(&mut config.ecn_on_retransmit, keys.ecn_on_retransmit);
    set(&mut config.ack_marks_at_once, keys.ack_marks_at_once);
    set(&mut config.ecn_after_timeout, keys.ecn_after_timeout);
}

fn timers(config: &mut Config, keys: &TcpKeys, context: &mut Context) {
    let clock = &mut config.clock;
    clock_key(&mut clock.tick, keys.clock_tick.as_ref(), context, |tick| {
        tick.is_zero().then(|| "expected a time above zero".into())
    });
    let Clock { tick, .. } = *clock;
    clock_key(&mut clock.phase, keys.clock_phase.as_ref(), context, |phase| {
        (phase >= tick).then(|| format!("expected less than a tick ({tick}), found {phase}"))
    });
    let rto = &mut config.rto;
    set(&mut rto.initial, keys.initial_rto);
    set(&mut rto.min, keys.min_rto.as_ref().map(|min| min.value));
    set(&mut rto.max, keys.max_rto.as_ref().map(|max| max.value));
    let RtoConfig { initial, min, max, .. } = *rto;
    if let Some(spot) = keys.max_rto.as_ref().or(keys.min_rto.as_ref()).map(|key| &key.spot)
        && (min > max || max.is_zero())
    {
        let message =
            format!("expected a minimum RTO not above the maximum, found {min} and {max}");
        context.wrong_at(spot, message);
    }
    rto.initial = initial.min(max).max(min);
    set(&mut config.max_retries, keys.max_retries);
    set(&mut config.max_syn_retries, keys.max_syn_retries);
}

fn clock_key(
    option: &mut Span,
    key: Option<&At<Span>>,
    context: &mut Context,
    fault: impl FnOnce(Span) -> Option<String>,
) {
    let Some(At { value, spot }) = key else { return };
    *option = *value;
    if let Some(message) = fault(*value) {
        context.wrong_at(spot, message);
    }
}

fn extensions(config: &mut Config, keys: &TcpKeys, context: &mut Context) {
    set(&mut config.window_scaling, keys.window_scaling);
    set(&mut config.timestamps, keys.timestamps);
    set(&mut config.sack, keys.sack);
    set(&mut config.nagle, keys.nagle);
    set(&mut config.push_when_held_back, keys.push_when_held_back);
    set(&mut config.send_buffer, buffer(keys.send_buffer.as_ref(), config.mss, context));
}

/// The receiver has the sender's options, but for what is its own.
fn receiver(mut config: Config, keys: Option<&ReceiverKeys>, context: &mut Context) -> Config {
    let Some(keys) = keys else { return config };
    if let Some(ack) = &keys.ack {
        config.ack_policy = ack_policy(ack, config.ack_policy);
    }
    let echo = keys.echo.map(|echo| match echo {
        EchoKeys::UntilCwr => EcnEcho::UntilCwr,
        EchoKeys::OncePerCe => EcnEcho::OncePerCe,
    });
    set(&mut config.ecn, keys.ecn);
    set(&mut config.ecn_echo, echo);
    set(&mut config.receive_buffer, buffer(keys.buffer.as_ref(), config.mss, context));
    config
}

/// A buffer holds a segment at least: with less the connection would never fill one.
fn buffer(key: Option<&At<Bytes>>, mss: u16, context: &mut Context) -> Option<u64> {
    let At { value: Bytes(bytes), spot } = key?;
    if *bytes < u64::from(mss) {
        context.wrong_at(spot, format!("expected at least one segment ({mss} bytes)"));
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
