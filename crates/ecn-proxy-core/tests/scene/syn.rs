//! The handshakes of a connection under test.

use windlass_ecn_proxy_core::{Flags, Options, Packet};

/// The host's first number, shortly before the wrap; the far host's.
pub(crate) const ISN: u32 = u32::MAX - 2_000;
pub(crate) const FAR_ISN: u32 = 5_000;

pub(crate) fn all_options() -> Options {
    Options::SACK_PERMITTED | Options::TIMESTAMPS | Options::WINDOW_SCALE
}

pub(crate) fn syn(flags: Flags, seq: u32, options: Options) -> Packet {
    let flags = flags | Flags::SYN;
    Packet { seq, flags, options, window_scale: 3, window: 8_000, ..Packet::default() }
}

pub(crate) fn syn_ack(flags: Flags, seq: u32, ack: u32, options: Options) -> Packet {
    Packet { ack, ..syn(flags | Flags::ACK, seq, options) }
}
