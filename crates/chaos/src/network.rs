//! The way between the ends: legs one behind the other, and what is under way on them.

use crate::end::Packet;
use crate::path::{Fate, Path};
use crate::setup::{PathSetup, Setup};
use crate::watch::PORTS;
use core::net::Ipv4Addr;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use windlass_base::{Rng, Time};
use windlass_tcp::segment::ip::Addresses;
use windlass_tcp::segment::wire;

const ADDRESSES: Addresses = Addresses::V4 {
    source: Ipv4Addr::new(192, 0, 2, 1),
    destination: Ipv4Addr::new(198, 51, 100, 2),
};

/// A packet that arrives at a node, on its way to an end. Nodes are counted from end A, which is 0.
pub(crate) struct Hop {
    pub(crate) node: usize,
    pub(crate) to: usize,
    pub(crate) packet: Packet,
}

/// Something of the network's is due.
pub(crate) enum Due {
    Arrival(Hop),
    /// This end takes what waits for being coalesced.
    Look(usize),
}

pub(crate) struct Network {
    /// From end A on; of each leg the way to B, then the way to A.
    legs: Vec<[Path; 2]>,
    /// Time, order of being sent, and what.
    agenda: BinaryHeap<Reverse<(Time, u64, Entry)>>,
    scheduled: u64,
    hops: Vec<Option<Hop>>,
    free: Vec<usize>,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    /// The slot of a packet.
    Hop(usize),
    Look(usize),
}

impl Network {
    pub(crate) fn new(setup: &Setup, seed: u64) -> Network {
        let mut stream = 30;
        let mut path = |own: &PathSetup| {
            stream += 1;
            Path::new(own.clone(), setup.calm, Rng::fork(seed, stream - 1))
        };
        let legs = setup.legs.iter().map(|leg| leg.each_ref().map(&mut path)).collect();
        let (agenda, hops, free) = (BinaryHeap::new(), Vec::new(), Vec::new());
        Network { legs, agenda, scheduled: 0, hops, free }
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        self.agenda.peek().map(|Reverse((at, ..))| *at)
    }

    pub(crate) fn take_due(&mut self, now: Time) -> Option<Due> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse((.., entry)) = self.agenda.pop()?;
        match entry {
            Entry::Look(end) => Some(Due::Look(end)),
            Entry::Hop(slot) => {
                self.free.push(slot);
                self.hops[slot].take().map(Due::Arrival)
            }
        }
    }

    /// End `end` is to look at what waits there.
    pub(crate) fn look_at(&mut self, at: Time, end: usize) {
        self.schedule(at, Entry::Look(end));
    }

    /// A packet leaves `node` for end `to`.
    pub(crate) fn carry(&mut self, now: Time, node: usize, to: usize, mut packet: Packet) -> Fate {
        let (leg, next) = if to == 1 { (node, node + 1) } else { (node - 1, node - 1) };
        let path = &mut self.legs[leg][1 - to];
        let fate = path.carry(now, packet.segment.wire_bytes() + 20, packet.ecn);
        let Fate::Arrives { at, ecn, corrupt, copy_at } = fate else { return fate };
        if path.strips_accecn(now) {
            packet.segment.options.accecn = None;
        }
        packet.ecn = ecn;
        if let Some(copy_at) = copy_at {
            self.put(copy_at, Hop { node: next, to, packet: packet.clone() });
        }
        if !(corrupt && is_found_corrupt(&mut self.legs[leg][1 - to], &packet)) {
            self.put(at, Hop { node: next, to, packet });
        }
        fate
    }

    fn put(&mut self, at: Time, hop: Hop) {
        let slot = self.free.pop().unwrap_or(self.hops.len());
        if slot == self.hops.len() {
            self.hops.push(None);
        }
        self.hops[slot] = Some(hop);
        self.schedule(at, Entry::Hop(slot));
    }

    fn schedule(&mut self, at: Time, entry: Entry) {
        self.scheduled += 1;
        self.agenda.push(Reverse((at, self.scheduled, entry)));
    }
}

/// Flips bits of the packet as it is on the wire. Errors that the checksum does not detect are
/// undone: TCP promises nothing then. A link in front of a proxy checks as an end does.
fn is_found_corrupt(path: &mut Path, packet: &Packet) -> bool {
    let mut bytes = vec![0; wire::MAX_HEADER_LEN];
    let len = wire::emit(&packet.segment, PORTS, &mut bytes);
    bytes.truncate(len);
    let checksum = wire::checksum(&ADDRESSES, &bytes, &packet.payload);
    bytes[wire::CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend_from_slice(&packet.payload);
    path.corrupt(&mut bytes);
    // A carrier may look before it verifies.
    let _ = wire::parse(&bytes);
    !wire::verify(&ADDRESSES, &bytes)
}
