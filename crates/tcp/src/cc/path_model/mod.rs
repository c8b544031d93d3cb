//! Parts of controllers that model the path by rates: maxima over windows of rounds, epochs of ACKs, random draws.

mod ack_epoch;
mod max_filter;

pub(super) use ack_epoch::AckEpoch;
pub(super) use max_filter::MaxFilter;

use windlass_base::{Rng, Time};

/// The random draws of a moment. A run must repeat, so they come from the time and the bytes delivered so far.
pub(super) fn draws(now: Time, delivered: u64) -> Rng {
    Rng::new(now.as_nanos() ^ delivered)
}
