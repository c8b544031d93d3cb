//! AccECN for a server that speaks classic ECN only: translates between the two.

use std::cell::Cell;
use std::rc::Rc;
use windlass_base::{Ecn, Time};
use windlass_probe::wire::{self, Flow, Incoming, Kind, Meta};
use windlass_probe_serve::Server;
use windlass_tcp::accecn::negotiation::{ASK, ace, flags_of};
use windlass_tcp::{Flags, Segment};

/// The initial value of both counters of marks (RFC 9768 section 3.2.1).
const BEGIN: u8 = 5;

/// A server that speaks AccECN with one client at a time.
pub(crate) struct AccurateServer<S> {
    inner: S,
    /// The client has asked for AccECN.
    agreed: bool,
    /// The ACE field that came last; `None` before the ACK of the handshake.
    ace: Option<u8>,
    /// Marks that the client has fed back.
    marks: Rc<Cell<u32>>,
}

impl<S: Server> AccurateServer<S> {
    /// The server, and the marks that its clients have fed back.
    pub(crate) fn new(inner: S) -> (AccurateServer<S>, Rc<Cell<u32>>) {
        let marks = Rc::new(Cell::new(0));
        (AccurateServer { inner, agreed: false, ace: None, marks: Rc::clone(&marks) }, marks)
    }

    /// The flags ECE and CWR of a classic client.
    fn classic(&mut self, segment: &Segment) -> Flags {
        let ace = ace(segment.flags);
        if segment.flags.contains(Flags::SYN) {
            (self.agreed, self.ace) = (ace == 0b111, None);
            return if self.agreed { Flags::ECE | Flags::CWR } else { Flags::empty() };
        }
        if !self.agreed {
            return Flags::empty();
        }
        let Some(before) = self.ace.replace(ace) else {
            assert_eq!((ace, segment.payload_len), (0b010, 0), "the handshake encoding");
            self.ace = Some(BEGIN);
            return Flags::empty();
        };
        let more = ace.wrapping_sub(before) & 0b111;
        self.marks.set(self.marks.get() + u32::from(more));
        if more > 0 { Flags::ECE } else { Flags::empty() }
    }
}

/// The packet of a segment with other flags for ECN.
pub(crate) fn translated(packet: &[u8], change: impl FnOnce(&mut Segment, &mut Ecn)) -> Vec<u8> {
    let Some(Incoming { flow, kind: Kind::Segment(mut received) }) =
        wire::parse(packet, Meta::default())
    else {
        panic!("no segment");
    };
    change(&mut received.segment, &mut received.ecn);
    let back = Flow { local: flow.remote, remote: flow.local };
    let mut out = Vec::new();
    wire::emit_with_ecn(&back, &received.segment, received.ecn, &[received.payload], 0, &mut out);
    out
}

impl<S: Server> Server for AccurateServer<S> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        let packet = translated(packet, |segment, ecn| {
            segment.flags = (segment.flags - ASK) | self.classic(segment);
            segment.options.accecn = None;
            *ecn = Ecn::NotEct;
        });
        self.inner.handle_packet(now, &packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        let packet = self.inner.poll_packet(now)?;
        Some(translated(&packet, |segment, _| {
            let ace = match segment.flags.contains(Flags::SYN) {
                true if ace(segment.flags) == 0b001 => 0b010,
                true => 0,
                false if self.agreed => BEGIN,
                false => 0,
            };
            segment.flags = (segment.flags - ASK) | flags_of(ace);
        }))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.inner.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.inner.handle_timeout(now);
    }
}
