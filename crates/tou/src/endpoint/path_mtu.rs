//! Path MTU discovery by probing (RFC 8899). It relies neither on ICMP nor on fragmentation.
//!
//! A connection begins with segments that pass every path. Beside its data it sends one probe at a
//! time ([`Connection::path_probe`]). A DSACK confirms the probe, and segments grow to its size. A
//! lost probe is repeated, and then a smaller size is tried. Repeated timeouts of large segments mean
//! that the path has changed; the search then begins again.

use windlass_base::{Span, Time};
use windlass_tcp::{Connection, Segment, SeqNumber};

/// UDP payload in bytes that is assumed to pass every path (RFC 8899 §5.1.2, BASE_PLPMTU).
const BASE_PAYLOAD: u32 = 1200;
/// Lost probes after which a size counts as too large (RFC 8899 §5.1.2, MAX_PROBES).
const MAX_PROBES: u32 = 3;
/// The search ends when it knows the size to within this number of bytes.
const RESOLUTION: u32 = 16;
/// Time until the next search, in case the path has improved (RFC 8899 §5.1.1, PMTU_RAISE_TIMER).
const RAISE_TIMER: Span = Span::from_secs(600);
/// Consecutive timeouts that indicate a black hole rather than the loss of a few packets.
const BLACK_HOLE_TIMEOUTS: u64 = 2;

/// The search of one connection. Sizes are payload bytes of segments, options subtracted.
#[derive(Clone, Debug)]
pub(super) struct PathMtu {
    /// The largest size that both ends accept.
    largest: u32,
    /// The size that passes every path.
    base: u32,
    /// The largest size known to pass. Segments have this size.
    confirmed: u32,
    /// The smallest size known to be lost. The search continues below it.
    too_large: u32,
    probe: Option<Probe>,
    tries: u32,
    /// When the next search begins; `None` during a search.
    idle_until: Option<Time>,
    /// Bytes acknowledged, and the number of timeouts when that number last changed.
    timeouts: (u64, u64),
}

/// A probe under way.
#[derive(Clone, Debug)]
struct Probe {
    first: SeqNumber,
    len: u32,
    lost_at: Time,
}

impl PathMtu {
    /// Begins the search for a connection whose handshake is complete, and sets its segment size.
    /// `header` is the length in bytes of ToU's header with the options of every segment.
    pub(super) fn begin(connection: &mut Connection, header: u32) -> PathMtu {
        let largest = connection.mss();
        let base = largest.min(BASE_PAYLOAD.saturating_sub(header));
        connection.set_mss(base);
        PathMtu {
            largest,
            base,
            confirmed: base,
            too_large: largest + 1,
            probe: None,
            tries: 0,
            idle_until: None,
            timeouts: (0, 0),
        }
    }

    /// The next probe, if it is time for one.
    pub(super) fn poll_probe(&mut self, now: Time, connection: &mut Connection) -> Option<Segment> {
        if self.largest == self.base {
            return None;
        }
        // A half-closed connection may still have data to send.
        self.detect_black_hole(connection);
        if !connection.may_probe_path() {
            return None;
        }
        match &self.probe {
            Some(probe) if now < probe.lost_at => return None,
            Some(probe) => self.probe_lost(now, probe.len),
            None => {}
        }
        if self.idle_until.is_some_and(|until| now < until) {
            return None;
        }
        if self.idle_until.take().is_some() {
            self.too_large = self.largest + 1;
        }
        let len = self.next_size().or_else(|| {
            self.idle_until = Some(now + RAISE_TIMER);
            None
        })?;
        let segment = connection.path_probe(now, len)?;
        let lost_at = now + connection.rto();
        self.probe = Some(Probe { first: segment.seq, len, lost_at });
        Some(segment)
    }

    /// The next size to probe. First the largest, which passes most paths, then a binary search.
    fn next_size(&self) -> Option<u32> {
        if self.too_large > self.largest {
            return (self.confirmed < self.largest).then_some(self.largest);
        }
        (self.too_large - self.confirmed > RESOLUTION)
            .then(|| self.confirmed + (self.too_large - self.confirmed) / 2)
    }

    fn probe_lost(&mut self, now: Time, len: u32) {
        self.probe = None;
        self.tries += 1;
        if self.tries >= MAX_PROBES {
            self.tries = 0;
            self.too_large = len;
            if self.next_size().is_none() {
                self.idle_until = Some(now + RAISE_TIMER);
            }
        }
    }

    /// Begins again with the base size, because datagrams take another path.
    pub(super) fn restart(&mut self, connection: &mut Connection) {
        (self.confirmed, self.too_large) = (self.base, self.largest + 1);
        (self.probe, self.tries, self.idle_until) = (None, 0, None);
        connection.set_mss(self.base);
    }

    /// Handles a segment of the peer, which may have a DSACK for the probe.
    pub(super) fn handle(&mut self, segment: &Segment, connection: &mut Connection) {
        let Some(probe) = &self.probe else { return };
        let block = (probe.first, probe.first.at(u64::from(probe.len)));
        if segment.options.sack.as_slice().first() == Some(&block) {
            (self.confirmed, self.tries) = (probe.len, 0);
            self.probe = None;
            connection.set_mss(self.confirmed);
        }
    }

    fn detect_black_hole(&mut self, connection: &mut Connection) {
        let (acked, timeouts) = (connection.bytes_acked(), connection.stats().timeouts);
        if acked != self.timeouts.0 {
            self.timeouts = (acked, timeouts);
        } else if timeouts >= self.timeouts.1 + BLACK_HOLE_TIMEOUTS && self.confirmed > self.base {
            (self.too_large, self.confirmed) = (self.confirmed, self.base);
            (self.probe, self.tries, self.idle_until) = (None, 0, None);
            connection.set_mss(self.base);
        }
    }
}
