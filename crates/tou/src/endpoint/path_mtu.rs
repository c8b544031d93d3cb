//! What size the path takes, by probing (RFC 8899): never by ICMP alone, never by fragments.
//!
//! A connection begins with segments that every path takes, and sends one probe at a time beside
//! its data: [`Connection::path_probe`]. A probe that arrives is told by a DSACK, and segments grow;
//! one that does not is tried again, and then a smaller one. Timeouts of data in large segments say
//! that the path has changed: back to the beginning.

use windlass_base::{Span, Time};
use windlass_tcp::{Connection, Segment, SeqNumber};

/// Payload of UDP that every path is taken to have (RFC 8899 §5.1.2, BASE_PLPMTU).
const BASE_PAYLOAD: u32 = 1200;
/// A probe is lost after so many tries (RFC 8899 §5.1.2, MAX_PROBES).
const MAX_PROBES: u32 = 3;
/// The search ends where it knows the size to so many bytes.
const RESOLUTION: u32 = 16;
/// A path may change for the better: another search then (RFC 8899 §5.1.1, PMTU_RAISE_TIMER).
const RAISE_TIMER: Span = Span::from_secs(600);
/// So many timeouts in a row, by which the loss of a few packets shows no more.
const BLACK_HOLE_TIMEOUTS: u64 = 2;

/// The search of one connection. Sizes are payload bytes of segments, options subtracted.
#[derive(Clone, Debug)]
pub(super) struct PathMtu {
    /// What one end or the other takes at most.
    largest: u32,
    /// What confirmed everywhere.
    base: u32,
    /// What is known to pass; segments have this size.
    confirmed: u32,
    /// What is taken not to pass: the search goes on below it.
    too_large: u32,
    probe: Option<Probe>,
    tries: u32,
    /// The search is over until then.
    idle_until: Option<Time>,
    /// Timeouts when data was last acknowledged.
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
    /// For a connection whose handshake is complete; `header` bytes of ToU's header and options are
    /// in every segment. Sets the size to begin with.
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
        // An end that has closed its way, or whose peer has, still sends what was written.
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

    /// The largest first: most paths take it. Then the middle of what is not known.
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

    /// A segment of the peer's, perhaps with a DSACK for the probe.
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
