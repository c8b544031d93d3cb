//! Outgoing datagrams.

use super::Endpoint;
use crate::wire;
use std::net::SocketAddr;
use windlass_base::{Ecn, Time};
use windlass_tcp::{Run, Segment};

/// The largest number of bytes per send call: below UDP's 16-bit length less the headers.
const BYTES_MAX: usize = 65_000;

/// Datagrams to send to one peer. They stand one after the other, each `size` bytes long; the last
/// one may be shorter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// The destination.
    pub peer: SocketAddr,
    /// The ECN codepoint of each datagram.
    pub ecn: Ecn,
    /// Bytes of each datagram except the last.
    pub size: usize,
    /// Bytes of all datagrams together.
    pub len: usize,
}

impl<Data: Default> Endpoint<Data> {
    /// Writes the next datagrams into `out`, at most `max` of them, and resizes `out` as needed.
    /// Returns `None` if there is nothing to send.
    pub fn poll_transmit(&mut self, now: Time, max: usize, out: &mut Vec<u8>) -> Option<Datagrams> {
        if let Some((peer, segment)) = self.replies.pop_front() {
            out.resize(wire::MAX_SESSION_HEADER_LEN, 0);
            let len = wire::emit_to(&peer, &segment, out);
            self.counters.sent += 1;
            return Some(Datagrams { peer, ecn: Ecn::NotEct, size: len, len });
        }
        while let Some(key) = self.ready.pop_front() {
            if !self.slots.contains(key) {
                continue;
            }
            // These datagrams advertise a window. It is counted before another connection's window.
            self.limit_growth(key);
            let slot = &mut self.slots[key];
            // Back to the end of the queue: connections take turns.
            if let Some(datagrams) = transmit(slot, now, max, out) {
                self.account(key);
                self.counters.sent += datagrams.len.div_ceil(datagrams.size) as u64;
                self.ready.push_back(key);
                return Some(datagrams);
            }
            slot.queued = false;
            self.settle(now, key);
        }
        None
    }
}

fn transmit<Data>(
    slot: &mut super::Slot<Data>,
    now: Time,
    max: usize,
    out: &mut Vec<u8>,
) -> Option<Datagrams> {
    if let Some(probe) = slot.path_mtu.as_mut().and_then(|path| {
        let connection = slot.stream.connection_mut();
        path.poll_probe(now, connection)
    }) {
        return Some(write_probe(slot.peer, &probe, out));
    }
    let full = wire::prefix_len(&slot.peer)
        + wire::MIN_HEADER_LEN
        + slot.stream.connection().mss() as usize;
    let max = max.min(BYTES_MAX / full.max(1)).max(1) as u32;
    let (run, payload) = match &mut slot.log {
        None => slot.stream.poll_transmit(now, max, &mut ())?,
        Some(log) => slot.stream.poll_transmit(now, max, &mut **log)?,
    };
    let size = write_run(&slot.peer, &run, payload, out);
    Some(Datagrams { peer: slot.peer, ecn: run.ecn, size, len: out.len() })
}

/// Writes a path MTU probe. Its payload is arbitrary, since the peer has received those bytes.
fn write_probe(peer: SocketAddr, probe: &Segment, out: &mut Vec<u8>) -> Datagrams {
    out.clear();
    out.resize(wire::MAX_SESSION_HEADER_LEN, 0);
    let len = wire::emit_to(&peer, probe, out) + probe.payload_len as usize;
    out.resize(len, 0);
    Datagrams { peer, ecn: Ecn::NotEct, size: len, len }
}

/// Writes the datagrams of a run and returns the size of each.
fn write_run(peer: &SocketAddr, run: &Run, payload: [&[u8]; 2], out: &mut Vec<u8>) -> usize {
    let payload_len = run.first.payload_len as usize;
    out.clear();
    let mut rest = payload;
    let mut size = 0;
    let mut segment = run.first;
    for index in 0..run.count {
        run.turn_into(&mut segment, index);
        let at = out.len();
        out.resize(at + wire::MAX_SESSION_HEADER_LEN, 0);
        let header_len = wire::emit_to(peer, &segment, &mut out[at..]);
        out.truncate(at + header_len);
        take(&mut rest, payload_len, out);
        size = header_len + payload_len;
    }
    size
}

/// Moves `len` bytes from the front of two pieces to the end of `out`.
fn take(pieces: &mut [&[u8]; 2], len: usize, out: &mut Vec<u8>) {
    let (head, rest) = pieces[0].split_at(len.min(pieces[0].len()));
    out.extend_from_slice(head);
    pieces[0] = rest;
    let (head, rest) = pieces[1].split_at(len - head.len());
    out.extend_from_slice(head);
    pieces[1] = rest;
}
