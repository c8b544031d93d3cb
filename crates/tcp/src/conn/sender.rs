//! The sending side's variables. `transmit` reads them to decide, `emit` moves SND.NXT, `acknowledge`
//! moves SND.UNA and the window.

use crate::SeqNumber;
use crate::config::RttSampling;
use crate::recovery::Timing;
use windlass_base::Time;

/// The variables of the sending side (RFC 9293 §3.3.1). Positions: 0 is this end's SYN, 1 the
/// first byte of data; they do not wrap.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// SND.UNA: the first position not acknowledged.
    pub(crate) una: u64,
    /// SND.NXT: the position to send next. A timeout resets it to `una`.
    pub(crate) nxt: u64,
    /// The position after the highest one ever sent.
    pub(crate) max: u64,
    /// The position after the last byte written.
    pub(crate) written: u64,
    /// Right edge of the peer's window.
    pub(crate) edge: u64,
    /// The largest window that the peer ever announced, in bytes.
    pub(crate) max_window: u64,
    /// SND.WL1: the position of the segment that updated the window last.
    pub(crate) wl1: u64,
    /// When data was sent last.
    pub(crate) last_sent: Time,
    /// ISS: the sequence number of this end's SYN.
    pub(crate) isn: SeqNumber,
    /// The application has closed the stream: the FIN has the position `written`.
    pub(crate) closed: bool,
    /// The last write did not fit; `Event::Writable` follows when there is room.
    pub(crate) write_blocked: bool,
    /// The connection writes by itself whenever there is room.
    pub(crate) endless: bool,
    /// An ACK of new data has been handled since the last poll. Further ones are of the same batch.
    pub(crate) in_batch: bool,
    /// cwnd limited the sender when the batch began.
    pub(crate) cwnd_limited: bool,
    /// The segments that are being timed.
    pub(crate) timing: Timing,
    /// The end of the last small segment sent, if Nagle's algorithm asks for it.
    pub(crate) small_end: u64,
    /// How far cwnd was used in the present round trip.
    pub(crate) usage: Usage,
}

/// The use of cwnd in a round trip, for [`GrowthConfig::validates_by_round`](crate::config::GrowthConfig).
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Usage {
    /// The largest flight in bytes.
    pub(crate) flight: u64,
    /// The round ends when this position is acknowledged.
    pub(crate) until: u64,
    /// cwnd had no room for another segment.
    pub(crate) full: bool,
}

impl Usage {
    /// Records that `flight` bytes are in flight after a segment that ends at `max`.
    pub(crate) fn note(&mut self, flight: u64, full: bool, una: u64, max: u64) {
        if una >= self.until || full || (!self.full && flight > self.flight) {
            *self = Usage { flight, until: max, full };
        }
    }
}

impl Sender {
    pub(crate) fn new(isn: SeqNumber, sampling: RttSampling) -> Sender {
        Sender {
            isn,
            una: 0,
            nxt: 0,
            max: 0,
            written: 1,
            closed: false,
            edge: 1,
            max_window: 0,
            wl1: 0,
            timing: Timing::new(sampling),
            last_sent: Time::ZERO,
            small_end: 0,
            write_blocked: false,
            endless: false,
            in_batch: false,
            cwnd_limited: false,
            usage: Usage::default(),
        }
    }

    /// True if no data is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.nxt == self.una
    }

    /// The position after all data to send, a FIN included.
    pub(crate) fn end(&self) -> u64 {
        self.written + u64::from(self.closed)
    }

    /// True if there is data or a FIN to send at SND.NXT.
    pub(crate) fn has_unsent(&self) -> bool {
        self.nxt < self.end()
    }

    /// True if the peer has acknowledged this end's FIN.
    pub(crate) fn fin_acked(&self) -> bool {
        self.closed && self.una > self.written
    }

    /// Bytes of the stream acknowledged.
    pub(crate) fn bytes_acked(&self) -> u64 {
        // The positions of the SYN and of the FIN are no bytes of the stream.
        self.una.min(self.written).saturating_sub(1)
    }

    /// Takes a window of `window` bytes from `ack` on, which the peer announced.
    pub(crate) fn set_window(&mut self, ack: u64, window: u64) {
        // RFC 9293 §3.10.7.4, fifth: SND.WND is an offset from the ACK number.
        self.edge = ack + window;
        // RFC 9293 §3.8.6.2.1: Max(SND.WND), by which small segments are judged.
        self.max_window = self.max_window.max(window);
    }

    /// The position of a segment without data: after everything sent, also when a timeout took
    /// SND.NXT back, since the peer may have received the data; but not beyond the peer's window,
    /// where only a probe may lie.
    pub(crate) fn bare_position(&self) -> u64 {
        self.max.min(self.edge).max(self.una)
    }

    /// Bytes that the peer's window still allows at SND.NXT.
    pub(crate) fn window_left(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }
}
