//! How long a connection may take over a path that works.

use crate::setup::{AppSetup, Close, EndSetup, PathSetup, Setup, unit};
use windlass_base::{Span, Time};
use windlass_tcp::Config;
use windlass_tcp::config::AckPolicy;

/// The instant by which the connection must be over. From calm on: a few of the longest timeouts for
/// what got lost before, then round trips.
pub(crate) fn deadline(setup: &Setup) -> Time {
    let rto_max = setup.ends.iter().map(|end| longest_rto(&end.config)).fold(Span::ZERO, Span::max);
    let flight = setup.paths().fold(Span::ZERO, |sum, path| sum + path.longest_delay());
    let mut bound = setup.calm + rto_max * 8 + flight * 8;
    for sender in 0..2 {
        let from = &setup.ends[sender].app;
        bound += pauses(&setup.ends[sender])
            + round_trip(setup) * steps(setup, sender)
            + reading(from, &setup.ends[1 - sender])
            + turns(setup, sender)
            + pacing(setup, sender);
        let config = &setup.ends[sender].config;
        bound += config.timers.time_wait
            + config.timers.keep_alive.map_or(Span::ZERO, |probing| probing.idle);
    }
    bound
}

/// Each message waits for the one before it; its last write and its last read may be small.
fn turns(setup: &Setup, sender: usize) -> Span {
    let [from, to] = [sender, 1 - sender].map(|end| &setup.ends[end].app);
    let Some(turns) = from.turns else { return Span::ZERO };
    let each = round_trip(setup) * 2 + from.write_gap + to.read_gap.unwrap_or_default();
    each * turns.count
}

/// A controller that paces by the rates that it measured learns no higher one from little data: after a bad
/// time each of its pauses may be as long as the pacer allows, which is the largest RTO.
fn pacing(setup: &Setup, sender: usize) -> Span {
    let config = &setup.ends[sender].config;
    let pauses = if config.congestion.paces() { steps(setup, sender) } else { 0 };
    longest_rto(config) * pauses
}

fn steps(setup: &Setup, sender: usize) -> u64 {
    let app = &setup.ends[sender].app;
    let configs = [setup.ends[0].config.clone(), setup.ends[1].config.clone()];
    // A split ACK opens the window by little, a write ends a segment.
    2 * (app.total / unit(&configs, sender) + app.total / app.write.0) + 20
}

/// The longest that a packet and its answer may take, ACK delays included.
pub(crate) fn longest_round_trip(setup: &Setup) -> Span {
    let path = setup.paths().fold(Span::ZERO, |sum, path| sum + path.longest_delay());
    let ends = setup.ends.iter().fold(Span::ZERO, |sum, end| {
        sum + ack_delay(&end.config) + end.coalesce.unwrap_or_default()
    });
    path + ends
}

fn round_trip(setup: &Setup) -> Span {
    let path = setup.paths().fold(Span::ZERO, |sum, path| sum + path.delay_at(setup.calm));
    let ends = setup.ends.iter().fold(Span::ZERO, |sum, end| {
        sum + ack_delay(&end.config) + end.coalesce.unwrap_or_default()
    });
    path + ends
}

pub(crate) fn ack_delay(config: &Config) -> Span {
    match config.acks.policy {
        AckPolicy::Delayed { max } | AckPolicy::Linux { max } => max,
        _ => Span::ZERO,
    }
}

/// The engine's bounds: the maximum, but never below two ticks; 3 s after a lost SYN.
pub(crate) fn longest_rto(config: &Config) -> Span {
    config.timers.rto.max.max(config.timers.clock.tick * 2)
}

/// The path loses and delays nothing that a retransmission timer could mistake for a loss.
pub(crate) fn nothing_to_resend(setup: &Setup) -> bool {
    let slowest = round_trip(setup) + Span::from_millis(1);
    setup.paths().all(PathSetup::is_clean)
        && setup.ends.iter().all(|end| {
            let rto = &end.config.timers.rto;
            slowest < rto.min && slowest < rto.initial && slowest < rto.max
        })
}

/// Sum of the pauses that the application makes by its own plan.
fn pauses(end: &EndSetup) -> Span {
    let app = &end.app;
    let close = match app.close {
        Close::WithLastWrite => Span::ZERO,
        Close::After(span) => span,
    };
    // A write takes no more than the buffer holds.
    let writes = app.total / app.write.0.min(end.config.buffers.send.max(1)) + 1;
    app.read_stall + close + app.write_gap * writes
}

fn reading(from: &AppSetup, to: &EndSetup) -> Span {
    // A read takes no more than the buffer holds.
    let least = to.app.read.0.min(to.config.buffers.receive.max(1));
    to.app.read_gap.map_or(Span::ZERO, |gap| gap * (from.total / least + 2))
}
