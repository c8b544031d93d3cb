//! Outgoing datagrams: connections take turns. The port sends them after each call into the endpoint.

use super::{Addresses, Contents, Endpoint, Slot};
use std::net::{IpAddr, SocketAddr};
use windlass_base::{Ecn, Time};
use windlass_tcp::{Run, Segment};
use windlass_tou_wire as wire;

/// The largest number of bytes per send call: below UDP's 16-bit length less the headers.
const BYTES_MAX: usize = 65_000;

/// Datagrams to send to one peer. They stand one after the other, each `size` bytes long; the last
/// one may be shorter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// The address of this host to send from; see [`Addresses::local`].
    pub local: Option<IpAddr>,
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
        self.transmit_with(now, max, |datagrams, contents| {
            contents.gather(out);
            *datagrams
        })
    }

    /// Calls `send` with the next datagrams, at most `max` of them, and returns its result. Their payload
    /// is not copied: it is where the connection keeps it. Returns `None` if there is nothing to send.
    pub(crate) fn transmit_with<R>(
        &mut self,
        now: Time,
        max: usize,
        send: impl FnOnce(&Datagrams, &Contents<'_>) -> R,
    ) -> Option<R> {
        let mut headers = std::mem::take(&mut self.headers);
        let result = self.transmit_next(now, max, &mut headers, send);
        self.headers = headers;
        result
    }

    fn transmit_next<R>(
        &mut self,
        now: Time,
        max: usize,
        headers: &mut Vec<u8>,
        send: impl FnOnce(&Datagrams, &Contents<'_>) -> R,
    ) -> Option<R> {
        // ACKs of a batch go first: data would carry a later number and make them look old.
        let bare = self.acks.pop_front().or_else(|| self.replies.pop_front());
        if let Some((addresses, segment)) = bare {
            headers.resize(wire::MAX_SESSION_HEADER_LEN, 0);
            let len = wire::emit_to(&addresses.peer, &segment, headers);
            self.counters.sent += 1;
            let datagrams = single(addresses, len);
            return Some(send(&datagrams, &Contents::contiguous(&headers[..len])));
        }
        while let Some(key) = self.ready.pop_front() {
            if !self.slots.contains(key) {
                continue;
            }
            // These datagrams advertise a window. It is counted before another connection's window.
            self.limit_growth(key);
            let slot = &mut self.slots[key];
            // Back to the end of the queue: connections take turns.
            if let Some((datagrams, contents)) = transmit(slot, now, max, headers) {
                let result = send(&datagrams, &contents);
                self.account(key);
                self.counters.sent += datagrams.len.div_ceil(datagrams.size) as u64;
                self.ready.push_back(key);
                return Some(result);
            }
            slot.queued = false;
            self.settle(now, key);
        }
        None
    }
}

/// The next datagrams of a connection. Their headers are written into `headers`.
fn transmit<'a, Data>(
    slot: &'a mut Slot<Data>,
    now: Time,
    max: usize,
    headers: &'a mut Vec<u8>,
) -> Option<(Datagrams, Contents<'a>)> {
    headers.clear();
    if let Some(probe) = slot.poll_path_probe(now) {
        let datagrams = write_probe(slot.addresses, &probe, headers);
        return Some((datagrams, Contents::contiguous(headers)));
    }
    let Addresses { local, peer } = slot.addresses;
    let full =
        wire::prefix_len(&peer) + wire::MIN_HEADER_LEN + slot.stream.connection().mss() as usize;
    // One call sends all, which the system takes for one long datagram.
    let max = max.min(BYTES_MAX / full.max(1)).max(1) as u32;
    let (run, payload) = match &mut slot.log {
        None => slot.stream.poll_transmit(now, max, &mut ())?,
        Some(log) => slot.stream.poll_transmit(now, max, &mut **log)?,
    };
    let header_len = write_headers(&peer, &run, headers);
    let payload_len = run.first.payload_len as usize;
    let size = header_len + payload_len;
    let len = size * run.count as usize;
    let datagrams = Datagrams { local, peer, ecn: run.ecn, size, len };
    Some((datagrams, Contents::new(headers, header_len, payload, payload_len)))
}

/// Writes a path MTU probe. Its payload is arbitrary, since the peer has received those bytes.
fn write_probe(addresses: Addresses, probe: &Segment, out: &mut Vec<u8>) -> Datagrams {
    let header_len = append_header(&addresses.peer, probe, out);
    let len = header_len + probe.payload_len as usize;
    out.resize(len, 0);
    single(addresses, len)
}

/// One datagram of `len` bytes that no router may mark.
fn single(Addresses { local, peer }: Addresses, len: usize) -> Datagrams {
    Datagrams { local, peer, ecn: Ecn::NotEct, size: len, len }
}

/// Writes the headers of a run, all of the same length. Returns that length.
fn write_headers(peer: &SocketAddr, run: &Run, out: &mut Vec<u8>) -> usize {
    let mut len = 0;
    let mut segment = run.first;
    for index in 0..run.count {
        run.turn_into(&mut segment, index);
        len = append_header(peer, &segment, out);
    }
    len
}

/// Appends a header to `out` and returns its length.
fn append_header(peer: &SocketAddr, segment: &Segment, out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.resize(at + wire::MAX_SESSION_HEADER_LEN, 0);
    let len = wire::emit_to(peer, segment, &mut out[at..]);
    out.truncate(at + len);
    len
}
