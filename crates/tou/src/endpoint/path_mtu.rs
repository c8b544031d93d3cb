//! Path MTU discovery by probing (RFC 8899). It relies neither on ICMP nor on fragmentation, and uses
//! what ICMP or the system says.
//!
//! A connection begins with segments that pass nearly every path. Beside its data it sends one probe
//! at a time ([`Connection::path_probe`]). A DSACK confirms the probe, and segments grow to its size. A
//! lost probe is repeated, and then a smaller size is tried. Repeated timeouts mean that the path
//! drops segments of this size. They shrink in steps then, below the size that they began with if need
//! be, and the search begins again. A path that drops the smallest of them but passes shorter ones
//! carries no connection.

use std::net::SocketAddr;
use windlass_base::{Span, Time};
use windlass_tcp::{Connection, Segment, SeqNumber};
use windlass_tou_wire::{self as wire, SessionPeer};

/// UDP payload in bytes that is assumed to pass at first (RFC 8899 §5.1.2, BASE_PLPMTU).
const BASE_PAYLOAD: u32 = 1200;
/// Headers of IPv4 and UDP in bytes.
const IPV4_HEADERS: u32 = 28;
/// Headers of IPv6 and UDP in bytes.
const IPV6_HEADERS: u32 = 48;
/// Every IPv6 link carries packets of this size in bytes (RFC 8200 §5).
const IPV6_MTU_MIN: u32 = 1280;
/// Every IPv4 host takes packets of this size in bytes (RFC 791 §3.1). A session needs no less.
const SESSION_MTU_MIN: u32 = 576;
/// The least that a connection over IPv4 needs: the smallest MTU of a link in use (RFC 1144, 296 bytes
/// on slow serial lines).
const IPV4_MTU_MIN: u32 = 296;
/// A relay adds the header of ChannelData (RFC 8656 §12.4).
const RELAY_HEADER: u32 = 4;
/// Payload of a segment whose packet has about 100 bytes, as those of the handshake have.
const TINY: u32 = 36;
/// Lost probes after which a size counts as too large (RFC 8899 §5.1.2, MAX_PROBES).
const MAX_PROBES: u32 = 3;
/// The search ends when it knows the size to within this number of bytes.
const RESOLUTION: u32 = 16;
/// Time until the next search, in case the path has improved (RFC 8899 §5.1.1, PMTU_RAISE_TIMER).
const RAISE_TIMER: Span = Span::from_secs(600);
/// Consecutive timeouts that indicate a black hole rather than the loss of a few packets.
const BLACK_HOLE_TIMEOUTS: u64 = 2;
/// The same before the last step, to segments shorter than any that a connection can live with.
const LAST_TIMEOUTS: u64 = 3;
/// How often in a row the last step must have helped before the path counts as too small. A path
/// that loses everything for a while looks the same once.
const TOO_SMALL_AFTER: u32 = 3;

/// The least packet in bytes, IP header included, that the path to `peer` must carry.
pub(super) fn packet_min(peer: &SocketAddr) -> u32 {
    if SessionPeer::of(peer).is_some() {
        SESSION_MTU_MIN
    } else if peer.ip().to_canonical().is_ipv6() {
        IPV6_MTU_MIN
    } else {
        IPV4_MTU_MIN
    }
}

/// Headers of IP and UDP on the way to `peer`, and of a relay where there may be one.
fn outer_headers(peer: &SocketAddr) -> u32 {
    if SessionPeer::of(peer).is_some() {
        IPV4_HEADERS + RELAY_HEADER
    } else if peer.ip().to_canonical().is_ipv6() {
        IPV6_HEADERS
    } else {
        IPV4_HEADERS
    }
}

/// Bytes by which the headers on the way to `peer` can be longer than those of ToU over IPv4. A
/// session may move to any path, so its connections allow for the longest headers. A peer with a
/// mapped address uses IPv4.
pub(crate) fn longer_headers(peer: &SocketAddr) -> u16 {
    let prefix = wire::prefix_len(peer) as u32;
    let relayed = if prefix > 0 { RELAY_HEADER } else { 0 };
    let is_ipv6 = peer.ip().to_canonical().is_ipv6();
    let ip = if is_ipv6 { IPV6_HEADERS - IPV4_HEADERS } else { 0 };
    (prefix + relayed + ip) as u16
}

/// The search of one connection. Sizes are payload bytes of segments, options subtracted.
#[derive(Clone, Debug)]
pub(super) struct PathMtu {
    /// Bytes of headers before those of ToU.
    outer: u32,
    /// Bytes of an IP packet that are not payload of its segment.
    overhead: u32,
    /// The largest size that both ends accept.
    largest: u32,
    /// Sizes to fall back to if segments are lost, in descending order: that of the beginning first,
    /// the least that a connection needs last.
    steps: [u32; 3],
    /// The largest size known to pass, or assumed to. Segments have this size, except after the last
    /// step.
    confirmed: u32,
    /// The smallest size known to be lost. The search continues below it.
    too_large: u32,
    probe: Option<Probe>,
    tries: u32,
    /// When the next search begins; `None` during a search.
    idle_until: Option<Time>,
    /// Bytes acknowledged, and the number of timeouts when that number last changed or segments
    /// shrank.
    timeouts: (u64, u64),
    /// Bytes acknowledged and segments sent when segments became shorter than the least size, to find
    /// out whether the path is too small; `None` while they are not.
    tiny_since: Option<(u64, u64)>,
    /// Bytes that those shorter segments may have got acknowledged. More shows that longer ones pass.
    tiny_until: u64,
    /// How often in a row shorter segments passed where those of the least size did not.
    too_small: u32,
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
    pub(super) fn begin(connection: &mut Connection, peer: &SocketAddr, header: u32) -> PathMtu {
        let largest = connection.mss();
        let outer = outer_headers(peer);
        let overhead = outer + header;
        let of_packet = |packet: u32| packet.saturating_sub(overhead);
        // RFC 8899 §5.1.2: the search begins at BASE_PLPMTU. `least` is MIN_PLPMTU.
        let base = largest.min(BASE_PAYLOAD.saturating_sub(header));
        let least = base.min(of_packet(packet_min(peer)));
        let middle = of_packet(SESSION_MTU_MIN).clamp(least, base);
        connection.set_mss(base);
        PathMtu {
            outer,
            overhead,
            largest,
            steps: [base, middle, least],
            confirmed: base,
            too_large: largest + 1,
            probe: None,
            tries: 0,
            idle_until: None,
            timeouts: (0, 0),
            tiny_since: None,
            tiny_until: 0,
            too_small: 0,
        }
    }

    fn least(&self) -> u32 {
        self.steps[2]
    }

    /// Whether the path carries segments shorter than the least size and none of that size.
    pub(super) fn is_too_small(&self) -> bool {
        self.too_small >= TOO_SMALL_AFTER
    }

    /// The next probe, if it is time for one.
    pub(super) fn poll_probe(&mut self, now: Time, connection: &mut Connection) -> Option<Segment> {
        // A half-closed connection may still have data to send.
        self.detect_black_hole(connection);
        if self.tiny_since.is_some() || !connection.may_probe_path() {
            return None;
        }
        match &self.probe {
            // RFC 8899 §5.1.1: PROBE_TIMER, one probe at a time.
            Some(probe) if now < probe.lost_at => return None,
            Some(probe) => self.probe_lost(now, probe.len),
            None => {}
        }
        if self.idle_until.is_some_and(|until| now < until) {
            return None;
        }
        // PMTU_RAISE_TIMER has expired: sizes that were lost may pass now (RFC 8899 §5.1.1).
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
        // RFC 8899 §5.3.2 leaves the choice of sizes open.
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

    /// Begins again with the first size, because datagrams take another path.
    pub(super) fn restart(&mut self, connection: &mut Connection) {
        self.too_small = 0;
        // The timeouts so far belong to the old path.
        self.timeouts = (connection.bytes_acked(), connection.stats().timeouts);
        self.search_from(self.steps[0], connection);
    }

    /// Begins the search at `size`, which segments have until a probe confirms more.
    fn search_from(&mut self, size: u32, connection: &mut Connection) {
        (self.confirmed, self.too_large) = (size, self.largest + 1);
        (self.probe, self.tries, self.idle_until) = (None, 0, None);
        self.tiny_since = None;
        connection.set_mss(size);
    }

    /// Handles a segment of the peer, which may have a DSACK for the probe.
    pub(super) fn handle(&mut self, segment: &Segment, connection: &mut Connection) {
        let Some(probe) = &self.probe else { return };
        let block = (probe.first, probe.first.at(u64::from(probe.len)));
        // RFC 8899 §4.2: the size is confirmed. No other segment has these edges.
        if segment.options.sack.as_slice().first() == Some(&block) {
            (self.confirmed, self.tries) = (probe.len, 0);
            self.probe = None;
            connection.set_mss(self.confirmed);
        }
    }

    /// A router, or this host, reports that it cannot forward packets of more than `mtu` bytes
    /// (RFC 8899 §4.6). True if segments have shrunk, so that those under way are lost.
    pub(super) fn limit(&mut self, mtu: u32, connection: &mut Connection) -> bool {
        let size = mtu.saturating_sub(self.overhead);
        // RFC 8899 §4.6.2: the report is about the probe, and the search goes on below.
        if self.probe.as_ref().is_some_and(|probe| probe.len > size) {
            (self.probe, self.tries) = (None, 0);
            self.too_large = self.too_large.min(size + 1);
        }
        // Less than the least size is not believed: timeouts tell (RFC 8899 §4.6.1).
        let size = size.max(self.least());
        if self.tiny_since.is_some() || size >= self.confirmed {
            return false;
        }
        self.search_from(size, connection);
        self.too_large = size + 1;
        // The caller makes the retransmission timer expire, which says nothing about the path.
        self.timeouts.1 += 1;
        true
    }

    /// The system refuses datagrams of `len` bytes, ToU's header included. True if segments have
    /// shrunk, so that those under way are lost.
    pub(super) fn refuse(&mut self, len: u32, connection: &mut Connection) -> bool {
        let packet = len + self.outer;
        let full = self.confirmed + self.overhead;
        if packet > full {
            return self.limit(packet - 1, connection);
        }
        if packet < full || self.tiny_since.is_some() || !self.step_down(connection) {
            return false;
        }
        self.timeouts.1 += 1;
        true
    }

    /// Whether a segment that begins with `seq` is the probe under way.
    pub(super) fn is_probing(&self, seq: SeqNumber) -> bool {
        self.probe.as_ref().is_some_and(|probe| probe.first == seq)
    }

    /// The next smaller size; false if there is none.
    fn step_down(&mut self, connection: &mut Connection) -> bool {
        let smaller = self.steps.into_iter().find(|step| *step < self.confirmed);
        smaller.map(|smaller| self.search_from(smaller, connection)).is_some()
    }

    fn detect_black_hole(&mut self, connection: &mut Connection) {
        let (acked, timeouts) = (connection.bytes_acked(), connection.stats().timeouts);
        if acked != self.timeouts.0 {
            self.timeouts = (acked, timeouts);
            // Segments below the least size got through. Only if that repeats is the path too small: it
            // may have lost everything for a while.
            if let Some((acked_before, sent_before)) = self.tiny_since {
                let sent = connection.stats().data_segments_sent - sent_before;
                self.tiny_until = acked_before + sent * u64::from(TINY);
                self.too_small += 1;
                self.search_from(self.least(), connection);
            } else if acked > self.tiny_until {
                self.too_small = 0;
            }
            return;
        }
        let since = timeouts.saturating_sub(self.timeouts.1);
        // RFC 8899 §4.3: a black hole drops this size, and no ICMP message says so.
        if self.confirmed > self.least() && since >= BLACK_HOLE_TIMEOUTS {
            self.step_down(connection);
            // The next step needs one timeout more.
            self.timeouts.1 = timeouts + 1 - BLACK_HOLE_TIMEOUTS;
        } else if self.tiny_since.is_none() && self.least() > TINY && since >= LAST_TIMEOUTS {
            self.tiny_since = Some((acked, connection.stats().data_segments_sent));
            self.probe = None;
            connection.set_mss(TINY);
        }
    }
}
