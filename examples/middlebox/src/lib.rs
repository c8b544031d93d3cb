//! How to write a middlebox in a crate of your own.
//!
//! A middlebox is one type that implements [`Middlebox`]: a packet comes in, and what goes on is
//! appended to `out`: the packet, changed or not, several, or nothing, which drops it. A node hosts
//! any number of them, one behind the other; every packet that a link brings to the node goes
//! through all of them, in both directions and whether it is for that node or goes on.
//!
//! Guarantees of the simulator, and its requirements:
//!
//! - A [`Packet`] is a plain value with everything that the headers say. Checksums do not exist, and
//!   payload has a length, but no bytes.
//! - A packet from the box belongs to a flow of the run ([`Packet::flow`], [`Packet::reverse`]), and goes
//!   on to its end of that flow, wherever [`Packet::destination`] points.
//! - [`Middlebox::poll_timeout`] is asked after each packet and each timeout; a box that holds
//!   packets back, or makes its own, sends them in [`Middlebox::handle_timeout`].
//! - Time is an argument. Read no clock and draw no entropy, take functions of floats from `libm`,
//!   and seed a `windlass_base::Rng` of the box's own if it needs one: a simulation must give the
//!   same bytes on every machine.
//!
//! [`Bleacher`] is what measurements of ECN find on real paths: a device that erases a part of it.

use windlass_sim::Middlebox;
use windlass_sim::packet::{Body, Packet};
use windlass_tcp::{Ecn, Flags, Time};

/// Which part of ECN (RFC 3168) a device erases.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Bleach {
    /// ECE and CWR of packets with SYN: the two ends cannot agree on ECN (section 6.1.1).
    Handshake,
    /// The ECN field of every IP header: the ends agree, and routers behind the box see packets
    /// that they may not mark.
    Field,
    /// CE, back to ECT(0): marks of routers before the box never reach the receiver.
    Marks,
}

/// A device that erases ECN, and how often it did.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Bleacher {
    /// The part of ECN that it erases.
    pub bleach: Bleach,
    /// Packets that it has changed.
    pub changed: u64,
}

impl Bleacher {
    /// A box that has changed nothing yet.
    pub fn new(bleach: Bleach) -> Bleacher {
        Bleacher { bleach, changed: 0 }
    }

    fn bleached(&self, packet: Packet) -> Packet {
        match (self.bleach, packet.body) {
            (Bleach::Handshake, Body::Tcp(mut segment)) if segment.flags.contains(Flags::SYN) => {
                segment.flags.remove(Flags::ECE | Flags::CWR);
                Packet { body: Body::Tcp(segment), ..packet }
            }
            (Bleach::Field, _) => Packet { ecn: Ecn::NotEct, ..packet },
            (Bleach::Marks, _) if packet.ecn == Ecn::Ce => Packet { ecn: Ecn::Ect0, ..packet },
            _ => packet,
        }
    }
}

impl Middlebox for Bleacher {
    fn handle_packet(&mut self, _now: Time, packet: Packet, out: &mut Vec<Packet>) {
        let bleached = self.bleached(packet);
        self.changed += u64::from(bleached != packet);
        out.push(bleached);
    }
}

/// The programs of docs/guide/middleboxes.md, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/middleboxes.md")]
struct Docs;
