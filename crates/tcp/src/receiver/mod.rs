//! The receiving side: reassembly, the window, when to acknowledge and with which echo.

mod ack_schedule;
mod ecn_echo;
mod reassembly;
mod window;

use ack_schedule::AckSchedule;
use ecn_echo::EcnEchoState;
pub(crate) use reassembly::{Arrival, Reassembly};
pub(crate) use window::{ReceiveWindow, shift_for};

use crate::{Config, SeqNumber};
use windlass_base::Time;

/// The variables of the receiving side (RFC 9293 §3.3.1). Positions: 0 is the peer's SYN, 1 the
/// first byte of data.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Last.ACK.sent: the acknowledgment number sent last.
    pub(crate) last_ack_sent: u64,
    /// IRS: the sequence number of the peer's SYN.
    pub(crate) isn: SeqNumber,
    /// TS.Recent (RFC 7323 §4.3); `None` before the first timestamp.
    pub(crate) ts_recent: Option<u32>,
    /// When TS.Recent was updated last.
    pub(crate) ts_recent_at: Time,
    /// Whether ACKs carry the ECN echo.
    pub(crate) echo: EcnEchoState,
    /// The window that this end announces.
    pub(crate) window: ReceiveWindow,
    /// When the next ACK is due.
    pub(crate) acks: AckSchedule,
    /// The application discards incoming data as it arrives.
    pub(crate) discards: bool,
    /// The data that has arrived.
    pub(crate) reassembly: Reassembly,
}

impl Receiver {
    /// The receiving side before the peer's SYN.
    pub(crate) fn new(config: &Config) -> Receiver {
        Receiver {
            last_ack_sent: 0,
            isn: SeqNumber(0),
            ts_recent: None,
            ts_recent_at: Time::ZERO,
            echo: EcnEchoState::new(&config.ecn),
            window: ReceiveWindow::new(config.buffers.receive),
            acks: AckSchedule::new(config.acks.policy),
            discards: false,
            reassembly: Reassembly::new(),
        }
    }
}
