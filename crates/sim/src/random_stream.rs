//! The random streams of a run: one for each part, so that one part's draws shift no other's.

use crate::endpoint::Side;
use windlass_base::Rng;

const QUEUE: u64 = 1;
const WIRE: u64 = 2;
const TCP_FLOW: u64 = 3;
const UDP_FLOW: u64 = 4;
const MIDDLEBOX: u64 = 5;
const VARIATION: u64 = 6;
const ENDPOINT: u64 = 7;

/// Decisions of a channel's queue.
pub(crate) fn queue(seed: u64, channel: u32) -> Rng {
    stream(seed, QUEUE, channel)
}

/// Loss and reordering on a channel.
pub(crate) fn wire(seed: u64, channel: u32) -> Rng {
    stream(seed, WIRE, channel)
}

/// A TCP flow: jitter, pauses, initial sequence numbers, phases of clocks.
pub(crate) fn tcp_flow(seed: u64, flow: u32) -> Rng {
    stream(seed, TCP_FLOW, flow)
}

/// A UDP source: jitter, on and off times.
pub(crate) fn udp_flow(seed: u64, source: u32) -> Rng {
    stream(seed, UDP_FLOW, source)
}

/// A middlebox of another crate.
pub(crate) fn middlebox(seed: u64, number: u32) -> Rng {
    stream(seed, MIDDLEBOX, number)
}

/// Draws for the variations of a channel over time, such as its aggregation.
pub(crate) fn variation(seed: u64, channel: u32) -> Rng {
    stream(seed, VARIATION, channel)
}

/// The jitter of a flow of endpoints.
pub(crate) fn endpoint_flow(seed: u64, flow: u32) -> Rng {
    stream(seed, ENDPOINT, flow * 3)
}

/// One end of a flow of endpoints.
pub(crate) fn endpoint(seed: u64, flow: u32, side: Side) -> Rng {
    stream(seed, ENDPOINT, flow * 3 + 1 + side.index() as u32)
}

fn stream(seed: u64, kind: u64, number: u32) -> Rng {
    Rng::fork(seed, kind << 32 | u64::from(number))
}
