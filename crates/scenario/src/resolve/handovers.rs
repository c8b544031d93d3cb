//! Handovers of a link: changes of its rate and delay at the same time, perhaps with an interruption. They
//! become steps and outages.

use crate::keys::{DelayKeys, HandoverKeys, PathKeys, RateKeys};
use crate::registry::Context;
use windlass_base::{BitRate, Span};
use windlass_keys::Located;
use windlass_link_model::{Outage, RateOverTime, Steps};

/// Checks what the handovers of a link say together, and with the link itself.
pub(super) fn check(path: &PathKeys, context: &mut Context) {
    let mut last = Span::ZERO;
    for Located { value: handover, location } in &path.handovers {
        if handover.at <= last {
            let message = "expected a time above zero, and later than the handover before";
            context.wrong_at(location, message.into());
        }
        last = handover.at;
        if let Some(message) = fault(path, handover) {
            context.wrong_at(location, message.into());
        }
    }
}

fn fault(path: &PathKeys, handover: &HandoverKeys) -> Option<&'static str> {
    let back = handover.back.as_ref();
    let changes_rate = handover.rate.is_some() || back.is_some_and(|back| back.rate.is_some());
    let changes_delay = handover.delay.is_some() || back.is_some_and(|back| back.delay.is_some());
    let own = path.back.as_ref();
    let rates = [path.rate.as_ref(), own.and_then(|back| back.rate.as_ref())];
    let delays = [Some(&path.delay), own.and_then(|back| back.delay.as_ref())];
    let fixed_rate = rates.iter().flatten().all(|rate| matches!(rate, RateKeys::Fixed(_)));
    let fixed_delay = delays.iter().flatten().all(|delay| matches!(delay, DelayKeys::Fixed(_)));
    if !changes_rate && !changes_delay && handover.interruption.is_none() {
        Some("expected a `rate`, a `delay` or an `interruption`")
    } else if handover.interruption.is_some_and(Span::is_zero) {
        Some("expected an interruption that lasts longer than zero")
    } else if changes_rate && (path.rate.is_none() || !fixed_rate) {
        Some("a handover's `rate` goes with a fixed `rate` of the link")
    } else if changes_delay && !fixed_delay {
        Some("a handover's `delay` goes with a fixed `delay` of the link")
    } else {
        None
    }
}

/// The forward rate with its changes.
pub(super) fn forward_rate(path: &PathKeys) -> Option<RateKeys> {
    rate(path, path.rate.as_ref()?, |handover| handover.rate)
}

/// The rate of the way back, with its changes.
pub(super) fn backward_rate(path: &PathKeys) -> Option<RateKeys> {
    let own = path.back.as_ref().and_then(|back| back.rate.as_ref());
    rate(path, own.or(path.rate.as_ref())?, |handover| {
        let back = handover.back.as_ref().and_then(|back| back.rate);
        // A rate of its own changes only where a handover says so.
        back.or(handover.rate.filter(|_| own.is_none()))
    })
}

fn rate(
    path: &PathKeys,
    base: &RateKeys,
    change: impl Fn(&HandoverKeys) -> Option<BitRate>,
) -> Option<RateKeys> {
    let RateKeys::Fixed(first) = base else { return Some(base.clone()) };
    let steps = steps(path, Some(*first), |handover| change(handover).map(Some));
    Some(
        steps.map_or(RateKeys::Fixed(*first), |steps| {
            RateKeys::OverTime(RateOverTime::Steps(steps))
        }),
    )
}

/// The forward delay, which is `fixed` unless it changes over time.
pub(super) fn forward_delay(path: &PathKeys, fixed: Span) -> DelayKeys {
    delay(path, &path.delay, fixed, |handover| handover.delay)
}

/// The delay of the way back; without one of its own it is `fixed` unless it changes over time.
pub(super) fn backward_delay(path: &PathKeys, fixed: Span) -> DelayKeys {
    let own = path.back.as_ref().and_then(|back| back.delay.as_ref());
    let fixed = own.map_or(fixed, DelayKeys::least);
    delay(path, own.unwrap_or(&path.delay), fixed, |handover| {
        let back = handover.back.as_ref().and_then(|back| back.delay);
        back.or(handover.delay.filter(|_| own.is_none()))
    })
}

fn delay(
    path: &PathKeys,
    base: &DelayKeys,
    fixed: Span,
    change: impl Fn(&HandoverKeys) -> Option<Span>,
) -> DelayKeys {
    let DelayKeys::Fixed(_) = base else { return base.clone() };
    steps(path, fixed, change).map_or(DelayKeys::Fixed(fixed), DelayKeys::OverTime)
}

/// `first` and its changes; `None` if there are none, or their times do not ascend.
fn steps<T: Copy>(
    path: &PathKeys,
    first: T,
    change: impl Fn(&HandoverKeys) -> Option<T>,
) -> Option<Steps<T>> {
    let handovers = path.handovers.iter().map(|handover| &handover.value);
    let changes = handovers.filter_map(|handover| Some((handover.at, change(handover)?)));
    let steps: Vec<(Span, T)> = std::iter::once((Span::ZERO, first)).chain(changes).collect();
    if steps.len() > 1 { Steps::new(steps, None).ok() } else { None }
}

/// The interruptions, which are the same both ways.
pub(super) fn interruptions(path: &PathKeys) -> impl Iterator<Item = Outage> + '_ {
    path.handovers.iter().filter_map(|handover| {
        let HandoverKeys { at, interruption, lose, .. } = handover.value;
        Some(Outage { at, lasts: interruption?, every: None, lose: lose.unwrap_or(false) })
    })
}
