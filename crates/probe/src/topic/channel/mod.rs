//! One connection as its topic sees it: the data that arrive, the ACKs that leave, and the application.

mod application;
mod arrivals;
mod gate;

pub(crate) use application::Application;
pub(crate) use arrivals::{Arrival, Arrivals, Packet, Tally};
pub(crate) use gate::AckGate;

use super::ecn::{Endpoint, Mode};
use super::{Ending, Order};
use crate::wire::Received;
use windlass_base::{Span, Time};
use windlass_tcp::SeqNumber;
use windlass_tcp::stream::Stream;

/// Bounds of the settle time. The lower one covers the scheduling of a busy machine and is below the
/// shortest RTO observed, 45 ms. The upper one suits a distant host.
pub(crate) const SETTLE_MIN: Span = Span::from_millis(20);
pub(crate) const SETTLE_MAX: Span = Span::from_millis(250);

/// A connection under way.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) order: Order,
    pub(crate) stream: Stream,
    pub(crate) application: Application,
    pub(crate) gate: AckGate,
    pub(crate) arrivals: Arrivals,
    /// ECN, if the topic asks for it.
    pub(crate) ecn: Option<Endpoint>,
    /// The end of the handshake; before it, the time of the first SYN.
    pub(crate) connected: Time,
    /// From the SYN to the SYN-ACK, if no SYN was sent twice.
    pub(crate) rtt: Option<Span>,
    /// When the request left.
    pub(crate) asked: Option<Time>,
    /// The last ACK of a flight, until it leaves.
    pub(crate) last_ack: Option<LastAck>,
}

/// The last ACK of a flight.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LastAck {
    pub(crate) ack: SeqNumber,
    /// The right edge of the window that it offers; `None`: the window as before.
    pub(crate) edge: Option<SeqNumber>,
    /// Its time, known once the others have left.
    pub(crate) at: Option<Time>,
}

impl Channel {
    /// The sequence number at a position of the server's stream, the first byte being 0.
    pub(crate) fn seq(&self, offset: u64) -> SeqNumber {
        self.gate.first_byte().at(offset)
    }

    /// The position of a sequence number in the server's stream.
    pub(crate) fn offset(&self, seq: SeqNumber) -> Option<u64> {
        seq.unwrap_near(self.gate.first_byte(), self.arrivals.end())
    }

    /// The position up to which ACKs have left or are due.
    pub(crate) fn released(&self) -> u64 {
        self.offset(self.gate.released()).unwrap_or(0)
    }

    /// Counts a packet with data.
    pub(crate) fn take(&mut self, packet: Packet) -> Arrival {
        self.arrivals.take(packet, self.reordering())
    }

    /// A packet that fills a gap within this time was reordered; a later one is a retransmission.
    pub(crate) fn reordering(&self) -> Span {
        self.rtt_or(SETTLE_MIN).max(SETTLE_MIN)
    }

    pub(crate) fn rtt_or(&self, default: Span) -> Span {
        self.rtt.unwrap_or(default)
    }

    /// Whether the server's stream has ended: by FIN, because the dialogue has the whole answer, or because the
    /// server had no more before.
    pub(crate) fn answer_has_ended(&self) -> bool {
        let supplied = self.order.supply > 0 && self.arrivals.end() >= self.order.supply;
        self.stream.connection().peer_closed() || self.application.talk().ended || supplied
    }

    /// The ending of a connection whose stream is over: `ending`, or [`Ending::NoAnswer`] if no byte of an answer
    /// arrived.
    pub(crate) fn answered(&self, ending: Ending) -> Ending {
        if self.application.answer_bytes() == 0 { Ending::NoAnswer } else { ending }
    }

    /// Whether TLS comes before the dialogue: the first flight is then that of its handshake.
    pub(crate) fn secures_first(&self) -> bool {
        self.order.tls.is_some() && !self.order.dialogue.kind.begins_tls
    }

    pub(crate) fn is_web(&self) -> bool {
        self.order.dialogue.is_web()
    }

    /// The feedback of ECN that the connection uses.
    pub(crate) fn ecn_mode(&self) -> Mode {
        self.ecn.as_ref().map_or(Mode::None, Endpoint::mode)
    }

    /// Takes the ECN fields of an acceptable packet.
    pub(crate) fn read_ecn(&mut self, received: &Received<'_>) {
        if let Some(ecn) = &mut self.ecn {
            ecn.handle_segment(received);
        }
    }
}
