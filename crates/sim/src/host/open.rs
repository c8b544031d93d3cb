//! The connections of a flow as they begin.

use super::{RECEIVER, SENDER};
use crate::model::Flow;
use windlass_base::{Rng, Span, Time};
use windlass_tcp::conn::Established;
use windlass_tcp::{Config, Connection, SeqNumber};

/// Both ends of a flow's next connection: sender, receiver. One of them opens it.
pub(super) fn both_ends(
    now: Time,
    flow: &Flow,
    receiver_opens: bool,
    rng: &mut Rng,
) -> [Connection; 2] {
    let isn = [SeqNumber(rng.bits() as u32), SeqNumber(rng.bits() as u32)];
    let sender = with_phase(&flow.sender, rng);
    let receiver = with_phase(&flow.receiver, rng);
    if flow.handshake {
        let connect = |config, side: usize| Connection::connect(config, now, isn[side]);
        let listen = |config, side: usize| Connection::listen(config, isn[side]);
        return match receiver_opens {
            false => [connect(sender, SENDER), listen(receiver, RECEIVER)],
            true => [listen(sender, SENDER), connect(receiver, RECEIVER)],
        };
    }
    let agreed = |local: usize, peer: &Config| Established {
        local_isn: isn[local],
        remote_isn: isn[1 - local],
        peer_mss: peer.mss,
        peer_window: peer.buffers.receive,
    };
    let to_sender = agreed(SENDER, &receiver);
    let to_receiver = agreed(RECEIVER, &sender);
    [
        Connection::established(sender, now, to_sender),
        Connection::established(receiver, now, to_receiver),
    ]
}

/// Draws the phase of a coarse clock: the clocks of hosts tick independently.
fn with_phase(config: &Config, rng: &mut Rng) -> Config {
    let mut config = config.clone();
    if config.timers.clock.tick > Span::from_nanos(1) {
        config.timers.clock.phase =
            Span::from_nanos(rng.below(config.timers.clock.tick.as_nanos()));
    }
    config
}
