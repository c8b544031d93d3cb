//! The filter between the engine's ACKs and the wire. The engine acknowledges all data that it receives;
//! the filter sends only the ACKs of the test.

use std::collections::VecDeque;
use windlass_tcp::segment::SackBlocks;
use windlass_tcp::{Flags, Options, Segment, SeqNumber};

/// Withholds the engine's ACKs and sends those of the test.
#[derive(Clone, Debug)]
pub(crate) struct AckGate {
    /// Whether the engine's ACKs pass unchanged.
    open: bool,
    first_byte: SeqNumber,
    /// The highest ACK number that may leave, once the server's first sequence number is known.
    released: Option<SeqNumber>,
    /// ACKs that are still to be sent, in order.
    due: VecDeque<Due>,
    /// The next sequence number of this end.
    next: SeqNumber,
    shift_offered: Option<u8>,
    /// The shift of the window field in force.
    shift: u8,
    /// The receive window that every ACK advertises, in bytes from the ACK number that is sent. It does
    /// not depend on the withheld ACKs.
    window: u32,
    window_field: u16,
    handshake_acked: bool,
}

/// An ACK that is still to be sent.
#[derive(Copy, Clone, Debug)]
struct Due {
    number: SeqNumber,
    /// The window field.
    window: u16,
    sack: SackBlocks,
    /// ECE, which echoes a mark.
    ece: bool,
}

impl AckGate {
    pub(crate) fn new(open: bool, window: u32) -> AckGate {
        AckGate {
            open,
            first_byte: SeqNumber(0),
            released: None,
            due: VecDeque::new(),
            next: SeqNumber(0),
            shift_offered: None,
            shift: 0,
            window,
            window_field: u16::try_from(window).unwrap_or(u16::MAX),
            handshake_acked: false,
        }
    }

    /// Takes the SYN-ACK: the server's first sequence number, and whether it supports window scaling.
    pub(crate) fn connected(&mut self, first_byte: SeqNumber, scales: bool) {
        self.first_byte = first_byte;
        self.released = Some(first_byte);
        // RFC 7323 section 2.2: a shift is in force if both SYNs have one.
        self.shift = self.shift_offered.filter(|_| scales).unwrap_or(0);
        self.advertise(self.window);
    }

    /// Advertises this receive window from now on, as far as the field and the shift allow.
    pub(crate) fn advertise(&mut self, bytes: u32) {
        // RFC 7323 section 2.3: the field counts units of 2^shift bytes.
        self.window_field = u16::try_from(bytes >> self.shift).unwrap_or(u16::MAX);
        self.window = u32::from(self.window_field) << self.shift;
    }

    /// Bytes beyond the highest ACK number that the server may send.
    pub(crate) fn window(&self) -> u32 {
        self.window
    }

    /// The sequence number of the server's first byte, once it is connected.
    pub(crate) fn first_byte(&self) -> SeqNumber {
        self.first_byte
    }

    /// The highest ACK number that was sent or is due.
    pub(crate) fn released(&self) -> SeqNumber {
        self.released.unwrap_or(self.first_byte)
    }

    /// Queues these ACKs, in ascending order. From now on no ACK beyond the last one leaves.
    pub(crate) fn release(&mut self, acks: impl IntoIterator<Item = SeqNumber>) {
        for number in acks {
            self.release_one(number, SackBlocks::default(), false);
        }
    }

    /// Queues an ACK with SACK blocks, and with ECE if it echoes a mark.
    pub(crate) fn release_one(&mut self, number: SeqNumber, sack: SackBlocks, ece: bool) {
        self.due.push_back(Due { number, window: self.window_field, sack, ece });
        self.released = Some(number);
    }

    /// Queues these ACKs with a window that ends at `edge`, however far the ACKs come.
    pub(crate) fn release_to(
        &mut self,
        acks: impl IntoIterator<Item = SeqNumber>,
        edge: SeqNumber,
    ) {
        for ack in acks {
            self.released = Some(ack);
            self.open_to(edge);
            self.release_one(ack, SackBlocks::default(), false);
        }
    }

    /// Lets the window end at `edge`, or at the next sequence number that its field can express.
    pub(crate) fn open_to(&mut self, edge: SeqNumber) {
        let bytes = u32::try_from(edge.distance_from(self.released())).unwrap_or(0);
        let field = bytes.div_ceil(1 << self.shift);
        self.window_field = u16::try_from(field).unwrap_or(u16::MAX);
        self.window = u32::from(self.window_field) << self.shift;
    }

    /// The next queued ACK.
    pub(crate) fn poll_ack(&mut self) -> Option<Segment> {
        let due = self.due.pop_front()?;
        Some(Segment {
            ack: due.number,
            flags: if due.ece { Flags::ACK | Flags::ECE } else { Flags::ACK },
            window: due.window,
            options: Options { sack: due.sack, ..Options::default() },
            ..self.bare_ack()
        })
    }

    /// An ACK that repeats the last ACK number.
    pub(crate) fn bare_ack(&mut self) -> Segment {
        self.handshake_acked = true;
        Segment {
            seq: self.next,
            ack: self.released(),
            flags: Flags::ACK,
            window: self.window_field,
            ..Segment::default()
        }
    }

    /// Rewrites a segment of the engine to the released ACK number; `None` withholds it.
    pub(crate) fn pass(&mut self, mut segment: Segment) -> Option<Segment> {
        if segment.flags.contains(Flags::SYN) {
            self.next = segment.seq.at(1);
            self.shift_offered = segment.options.window_scale;
            // RFC 7323 section 2.2: the window of a SYN is not scaled.
            segment.window = segment.window.min(self.window_field);
            return Some(segment);
        }
        // A reset must leave, and the first ACK completes the handshake (RFC 9293 section 3.5).
        let bare = segment.sequence_len() == 0 && !segment.flags.contains(Flags::RST);
        if bare && !self.open && self.handshake_acked {
            return None;
        }
        if let Some(released) = self.released {
            if self.open {
                self.released = Some(segment.ack);
            } else {
                segment.ack = released;
            }
        }
        self.handshake_acked = true;
        if !segment.flags.contains(Flags::RST) {
            segment.window = self.window_field;
        }
        let end = segment.seq.at(u64::from(segment.sequence_len()));
        if self.next.is_before(end) {
            self.next = end;
        }
        Some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connected() -> AckGate {
        let mut gate = AckGate::new(false, 200_000);
        let options = Options { window_scale: Some(2), ..Options::default() };
        let syn = Segment { seq: SeqNumber(99), flags: Flags::SYN, options, ..Segment::default() };
        assert_eq!(gate.pass(syn), Some(syn));
        gate.connected(SeqNumber(1000), true);
        gate
    }

    fn from_engine(ack: u32, payload_len: u32) -> Segment {
        let (seq, ack) = (SeqNumber(100), SeqNumber(ack));
        Segment { seq, ack, flags: Flags::ACK, payload_len, ..Segment::default() }
    }

    #[test]
    fn the_handshakes_ack_leaves_and_then_none_but_those_released() {
        let mut gate = connected();
        assert_eq!(gate.pass(from_engine(1000, 0)).map(|segment| segment.ack.0), Some(1000));
        assert_eq!(gate.pass(from_engine(2000, 0)), None);
        gate.release([SeqNumber(1300), SeqNumber(1600)]);
        let acks: Vec<u32> = std::iter::from_fn(|| gate.poll_ack()).map(|s| s.ack.0).collect();
        assert_eq!(acks, [1300, 1600]);
        assert_eq!(gate.pass(from_engine(3000, 0)), None);
    }

    #[test]
    fn segments_sent_meanwhile_acknowledge_no_more_and_offer_the_same_window() {
        let mut gate = connected();
        let request = gate.pass(from_engine(5000, 300)).expect("data");
        assert_eq!((request.ack.0, request.window), (1000, 50_000));
        gate.release([SeqNumber(1300)]);
        let ack = gate.poll_ack().expect("released");
        assert_eq!((ack.seq.0, ack.window), (400, 50_000), "after the request");
    }

    #[test]
    fn the_right_edge_stands_still_until_the_last_ack_opens_the_window() {
        let mut gate = connected();
        gate.open_to(SeqNumber(3000));
        gate.release_to([SeqNumber(2000), SeqNumber(2500)], SeqNumber(3000));
        gate.release_to([SeqNumber(3000)], SeqNumber(7001));
        let acks = std::iter::from_fn(|| gate.poll_ack()).map(|s| (s.ack.0, s.window));
        // In units of four bytes, rounded up.
        assert_eq!(acks.collect::<Vec<_>>(), [(2000, 250), (2500, 125), (3000, 1001)]);
        assert_eq!(gate.window(), 4004);
    }

    #[test]
    fn without_scaling_the_field_is_the_window() {
        let mut gate = AckGate::new(false, 200_000);
        gate.connected(SeqNumber(1), false);
        assert_eq!(gate.window(), 65_535);
    }
}
