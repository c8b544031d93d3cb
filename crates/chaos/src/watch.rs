//! Invariants of every segment that an end sends, and of its state between two calls.

use crate::bound::longest_rto;
use crate::echo::Echo;
use crate::ensure::ensure;
use crate::setup::EndSetup;
use windlass_base::{Ecn, Span};
use windlass_tcp::segment::wire::{self, Ports};
use windlass_tcp::{Connection, Flags, RangeSet, Run, Segment, SeqNumber, State};

/// The ports of every connection here.
pub(crate) const PORTS: Ports = Ports { source: 40_000, destination: 443 };

/// The largest shift of RFC 7323 §2.3.
const MAX_SHIFT: u8 = 14;

/// An end seen from outside. Positions: 0 is its SYN, 1 the first byte.
pub(crate) struct Watch {
    isn: SeqNumber,
    peer_isn: SeqNumber,
    /// The shift of the windows that this end announces.
    shift: u8,
    /// After the highest position sent.
    max: u64,
    /// The highest acknowledgment sent.
    acked: u64,
    /// The right edge announced last.
    edge: u64,
    /// Where its FIN stands, once sent.
    fin: Option<u64>,
    /// The highest right edge that was ever advertised to the peer: the end accepts nothing beyond it.
    pub(crate) promised: u64,
    /// Ranges that the peer's SACK blocks reported.
    sacked: RangeSet,
    /// Payload that arrived here, wanted or not: what SACK blocks may name.
    arrived: RangeSet,
    /// It was more, in smaller pieces, than a [`RangeSet`] holds: SACK blocks are not judged any more.
    arrived_more: bool,
    echo: Echo,
    /// Timers expired since the last zero-window probe.
    pub(crate) probe_allowed: bool,
    /// Probes of the tail and of F-RTO so far.
    probes: u64,
}

/// The connection before a call.
#[derive(Copy, Clone)]
pub(crate) struct Before {
    in_flight: u64,
    peer_edge: u64,
    timeouts: u64,
    rto: Span,
}

impl Before {
    pub(crate) fn of(connection: &Connection) -> Before {
        Before {
            in_flight: connection.in_flight(),
            peer_edge: connection.peer_window_edge(),
            timeouts: connection.stats().timeouts,
            rto: connection.rto(),
        }
    }
}

impl Watch {
    pub(crate) fn new(setup: &EndSetup, peer: &EndSetup, established: bool) -> Watch {
        let buffer = setup.config.buffers.receive;
        let scaling =
            setup.config.extensions.window_scaling && peer.config.extensions.window_scaling;
        let shift = (0..MAX_SHIFT).find(|shift| buffer >> shift <= 0xffff).unwrap_or(MAX_SHIFT);
        Watch {
            isn: setup.isn,
            peer_isn: peer.isn,
            shift: if scaling { shift } else { 0 },
            max: u64::from(established),
            acked: 0,
            edge: 0,
            fin: None,
            promised: if established { 1 + buffer } else { 0 },
            sacked: RangeSet::new(),
            arrived: RangeSet::new(),
            arrived_more: false,
            echo: Echo::new(setup.config.ecn.echo),
            probe_allowed: false,
            probes: 0,
        }
    }

    /// The position after the highest one sent.
    pub(crate) fn sent(&self) -> u64 {
        self.max
    }

    /// The data that the peer has SACKed and not acknowledged.
    pub(crate) fn sacked(&self) -> &RangeSet {
        &self.sacked
    }

    /// Its position in the stream of this end.
    pub(crate) fn position(&self, seq: SeqNumber) -> Option<u64> {
        seq.unwrap_near(self.isn, self.max)
    }

    /// A segment is about to be handed to this end.
    pub(crate) fn arriving(&mut self, segment: &Segment, una: u64) {
        if let Some(start) = segment.seq.unwrap_near(self.peer_isn, self.acked) {
            let payload = start..start + u64::from(segment.payload_len);
            self.arrived_more |= self.arrived.insert(payload).is_none();
        }
        self.sacked.remove_below(una);
        for (left, right) in segment.options.sack.as_slice() {
            let near = |seq: &SeqNumber| seq.unwrap_near(self.isn, una);
            if let (Some(left), Some(right)) = (near(left), near(right))
                && una < left
                && left < right
            {
                self.sacked.insert(left..right);
            }
        }
    }

    /// It was handed over; `taken` if its data was new and in order.
    pub(crate) fn arrived(&mut self, segment: &Segment, ecn: Ecn, taken: bool) {
        self.echo.arrived(segment, ecn, taken);
    }

    /// A timer of this end expired.
    pub(crate) fn expired(&mut self, before: Before, now: &Connection) -> Result<(), String> {
        self.probe_allowed = true;
        if now.stats().timeouts == before.timeouts || now.state() == State::Closed {
            return Ok(());
        }
        check_backoff(before.rto, now)
    }

    /// Checks a run against what the connection was before and is now.
    pub(crate) fn run(
        &mut self,
        before: Before,
        run: &Run,
        now: &Connection,
    ) -> Result<(), String> {
        ensure!(run.count >= 1, "an empty run");
        check_sizes(run, now)?;
        check_ecn(run, now)?;
        let reset = run.first.flags.contains(Flags::RST);
        // Also one without payload: the FIN alone may be a probe.
        let probes = now.stats().tail_probes + now.stats().frto_probes;
        let probe = probes > core::mem::replace(&mut self.probes, probes);
        if run.first.payload_len > 0 {
            self.check_data(before, run, probe, now)?;
        } else {
            ensure!(run.count == 1, "{} segments without payload in a run", run.count);
        }
        for segment in run.segments() {
            check_codec(&segment)?;
            if !reset {
                self.segment(&segment, now)?;
            }
        }
        Ok(())
    }

    fn check_data(
        &mut self,
        before: Before,
        run: &Run,
        probe: bool,
        now: &Connection,
    ) -> Result<(), String> {
        let from = run.stream_offset + 1;
        let len = u64::from(run.count) * u64::from(run.first.payload_len);
        ensure!(run.first.seq == self.isn.at(from), "the offset is not the sequence number's");
        ensure!(run.stream_offset + len <= now.bytes_written(), "sent what was not written");
        let outside = run.stream_offset + len > before.peer_edge;
        if outside {
            let asks = len == 1 && run.stream_offset == before.peer_edge && before.in_flight == 0;
            ensure!(asks, "sent to {} beyond edge {}", run.stream_offset + len, before.peer_edge);
            ensure!(self.probe_allowed, "a window probe without a timer");
            self.probe_allowed = false;
            return Ok(());
        }
        ensure!(
            run.retransmission == (from < self.max) || len == 1,
            "retransmission: {}, but sent up to {}",
            run.retransmission,
            self.max
        );
        ensure!(!probe || run.count == 1, "{} segments as a probe", run.count);
        if now.in_flight() > before.in_flight {
            let pipe = self.least_pipe(now);
            // RFC 8985 §7.3, RFC 5682 §2.1: whatever cwnd.
            let cwnd = now.congestion_window_in_force();
            let window = if probe { cwnd.max(before.in_flight) + len } else { cwnd };
            // The FIN that rides on the last byte is not counted.
            ensure!(pipe <= window + 1, "{pipe} bytes in the network, the window is {window}");
        }
        Ok(())
    }

    /// RFC 6675 §4 SetPipe() without what was retransmitted: no sender that keeps to it can count
    /// less.
    fn least_pipe(&self, now: &Connection) -> u64 {
        let una = now.bytes_acked() + 1;
        let nxt = una + now.in_flight();
        let alive = if now.sack_negotiated() { self.lost_below(now.mss()).max(una) } else { una };
        let window = alive.min(nxt)..nxt;
        window.end - window.start - self.sacked.covered(window)
    }

    fn lost_below(&self, mss: u32) -> u64 {
        let ranges = self.sacked.as_slice();
        let by_ranges = ranges.len().checked_sub(3).map_or(0, |third| ranges[third].start);
        let mut bytes = 0;
        let by_bytes = ranges.iter().rev().find(|range| {
            bytes += range.end - range.start;
            bytes > 2 * u64::from(mss)
        });
        by_bytes.map_or(by_ranges, |range| range.start.max(by_ranges))
    }

    fn segment(&mut self, segment: &Segment, now: &Connection) -> Result<(), String> {
        let Some(position) = self.position(segment.seq) else {
            return Err("a sequence number before the first".into());
        };
        let end = position + u64::from(segment.sequence_len());
        let written = now.bytes_written() + 1;
        ensure!(position <= self.max, "position {position} leaves a hole after {}", self.max);
        ensure!(end <= written + 1, "position {end} was never written");
        self.max = self.max.max(end);
        if segment.flags.contains(Flags::FIN) {
            ensure!(end == written + 1, "FIN at {end}, written up to {written}");
            ensure!(self.fin.is_none_or(|fin| fin == end), "a second FIN elsewhere");
            self.fin = Some(end);
        }
        self.acknowledgment(segment, now)
    }

    /// All of it was acknowledged before: it may have been long on its way, and by its timestamp is not
    /// looked at (PAWS, RFC 7323 §5).
    pub(crate) fn is_old(&self, segment: &Segment) -> bool {
        if segment.options.timestamps.is_none() {
            return false;
        }
        let Some(start) = segment.seq.unwrap_near(self.peer_isn, self.acked) else { return true };
        let len = u64::from(segment.sequence_len());
        start < self.acked && start + len <= self.acked
    }

    fn acknowledgment(&mut self, segment: &Segment, now: &Connection) -> Result<(), String> {
        if !segment.flags.contains(Flags::ACK) {
            ensure!(segment.flags.contains(Flags::SYN), "neither SYN nor ACK");
            self.promised = self.promised.max(1 + u64::from(segment.window));
            return Ok(());
        }
        let Some(ack) = segment.ack.unwrap_near(self.peer_isn, self.acked) else {
            return Err("an ACK before the peer's first number".into());
        };
        ensure!(ack >= self.acked, "ACK {ack} after ACK {}", self.acked);
        let received = now.bytes_received() + 1 + u64::from(now.peer_closed());
        ensure!(ack <= received, "ACK {ack}, received up to {received}");
        self.acked = ack;
        let syn = segment.flags.contains(Flags::SYN);
        if now.ecn_negotiated() && now.accurate_ecn().is_none() && !syn {
            self.echo.acknowledged(segment.flags.contains(Flags::ECE))?;
        }
        self.check_sack(segment)?;
        if syn {
            self.promised = self.promised.max(1 + u64::from(segment.window));
            // Its window is not scaled: it may tell less than a segment after it did.
            return Ok(());
        }
        let edge = ack + (u64::from(segment.window) << self.shift);
        // RFC 7323 §2.4: the edge may fall back by less than the granularity of the window.
        let unit = 1u64 << self.shift;
        ensure!(edge + unit > self.edge, "window edge {edge} after {}", self.edge);
        let room = now.bytes_read() + 1 + now.config().buffers.receive;
        ensure!(edge <= room, "window edge {edge}, the buffer ends at {room}");
        self.edge = self.edge.max(edge);
        self.promised = self.promised.max(edge);
        Ok(())
    }

    /// Checks a segment that a proxy forwards or makes in this end's name: it acknowledges and
    /// advertises no more than the end has, and its SACK blocks name only data that has arrived.
    pub(crate) fn check_shown(&self, segment: &Segment) -> Result<(), String> {
        let flags = segment.flags;
        if !flags.contains(Flags::ACK) || flags.contains(Flags::RST) {
            return Ok(());
        }
        let ack = segment.ack.unwrap_near(self.peer_isn, self.acked).unwrap_or(u64::MAX);
        ensure!(ack <= self.acked, "is shown ACK {}, ahead of the peer", segment.ack);
        if !flags.contains(Flags::SYN) {
            let edge = ack + (u64::from(segment.window) << self.shift);
            let most = self.promised;
            ensure!(edge <= most, "is shown window edge {edge}, the peer's is {most} at most");
        }
        self.check_blocks(segment, |block| self.has(block))
    }

    fn check_sack(&self, segment: &Segment) -> Result<(), String> {
        self.check_blocks(segment, |block| self.arrived.contains(&block))
    }

    fn check_blocks(
        &self,
        segment: &Segment,
        has: impl Fn(core::ops::Range<u64>) -> bool,
    ) -> Result<(), String> {
        for (left, right) in segment.options.sack.as_slice() {
            let near = |seq: &SeqNumber| seq.unwrap_near(self.peer_isn, self.acked);
            let block = near(left).zip(near(right));
            let arrived = block.is_some_and(|(l, r)| l < r && has(l..r));
            ensure!(
                arrived || self.arrived_more,
                "SACK of {left} to {right}, which did not arrive"
            );
        }
        Ok(())
    }

    /// Whether these numbers arrived. The last acknowledged one may be a FIN's, which proxies report as data.
    fn has(&self, numbers: core::ops::Range<u64>) -> bool {
        let payload = numbers.start..numbers.end - u64::from(numbers.end == self.acked);
        self.arrived.contains(&numbers) || payload.is_empty() || self.arrived.contains(&payload)
    }
}

/// The RTO before and after a timer expired: RFC 6298 §5.5 doubles it, up to 64 times what it was,
/// which is 64 times the minimum at least, or to its maximum.
fn check_backoff(before: Span, connection: &Connection) -> Result<(), String> {
    let (config, rto) = (connection.config(), connection.rto());
    let most = longest_rto(config).min(config.timers.rto.min * 64);
    // Two ticks of a coarse clock hide the first doublings.
    let hidden = before == config.timers.clock.tick * 2;
    ensure!(hidden || rto >= before * 2 || rto >= most, "RTO {rto} after {before} and a timeout");
    Ok(())
}

fn check_sizes(run: &Run, now: &Connection) -> Result<(), String> {
    let first = &run.first;
    ensure!(
        first.payload_len <= now.mss(),
        "{} bytes in a segment, the MSS is {}",
        first.payload_len,
        now.mss()
    );
    let syn = first.flags.contains(Flags::SYN);
    ensure!(!syn || first.payload_len == 0, "data on a SYN");
    ensure!(!syn || !first.flags.contains(Flags::FIN), "SYN and FIN in one segment");
    Ok(())
}

/// RFC 3168 §6.1.1, §6.1.4, §6.1.5, §6.1.6; RFC 9331 §4.1: Prague's codepoint is ECT(1).
fn check_ecn(run: &Run, now: &Connection) -> Result<(), String> {
    if run.ecn == Ecn::NotEct {
        return Ok(());
    }
    let (first, ecn) = (&run.first, run.ecn);
    let is_for_low_latency = now.config().congestion.name() == "prague";
    let capable = if is_for_low_latency { Ecn::Ect1 } else { Ecn::Ect0 };
    ensure!(ecn == capable, "{ecn:?} sent");
    ensure!(now.ecn_negotiated(), "ECT without ECN");
    let accurate = now.accurate_ecn();
    ensure!(accurate.is_none_or(|state| state.sends_ect), "ECT although the path changes ECN");
    ensure!(first.payload_len > 0, "ECT on a segment without data: {:?}", first.flags);
    let resend = run.retransmission && !now.config().ecn.on_retransmit;
    ensure!(!resend, "ECT on a retransmission");
    Ok(())
}

/// Checks that a segment survives encoding and decoding unchanged.
fn check_codec(segment: &Segment) -> Result<(), String> {
    let mut header = [0; wire::MAX_HEADER_LEN];
    let len = wire::emit(segment, PORTS, &mut header);
    ensure!(
        len as u32 + segment.payload_len == segment.wire_bytes(),
        "the header has {len} bytes, not what wire_bytes() says"
    );
    match wire::parse(&header[..len]) {
        Ok((PORTS, parsed, at)) => {
            let parsed = Segment { payload_len: segment.payload_len, ..parsed };
            ensure!(at == len && parsed == *segment, "sent {segment:?}, parsed {parsed:?}");
            Ok(())
        }
        other => Err(format!("sent {segment:?}, parsed {other:?}")),
    }
}

/// Invariants of a connection after every call.
pub(crate) fn check_state(connection: &Connection) -> Result<(), String> {
    let (cwnd, mss) = (connection.cwnd(), connection.mss());
    // Prague's window may be less than a segment; its flight may not.
    let may_be_less = connection.config().congestion.name() == "prague";
    let least = if may_be_less { f64::MIN_POSITIVE } else { f64::from(mss) };
    ensure!(cwnd.is_finite() && cwnd >= least, "cwnd is {cwnd}, the MSS {mss}");
    let slope = connection.trace_value("slope").unwrap_or(0.0);
    ensure!(slope.is_finite() && slope >= 0.0, "the slope is {slope}");
    let (config, rto) = (connection.config(), connection.rto());
    let ticks = config.timers.clock.tick * 2;
    let least = config.timers.rto.min.min(config.timers.rto.max).max(ticks);
    let most = config.timers.rto.max.max(ticks);
    ensure!(least <= rto && rto <= most, "RTO is {rto}, not within {least} and {most}");
    let unread = connection.bytes_received() - connection.bytes_read();
    ensure!(unread == connection.readable(), "{unread} unread bytes, {}", connection.readable());
    Ok(())
}

/// An end with something in flight or to send has a timer that does not run longer than an RTO.
pub(crate) fn check_awake(connection: &Connection, sleep: Option<Span>) -> Result<(), String> {
    let waits = match connection.state() {
        State::Closed | State::Listen | State::FinWait2 | State::TimeWait => false,
        State::Established | State::CloseWait => {
            connection.bytes_acked() < connection.bytes_written()
        }
        // A SYN or FIN is not acknowledged yet.
        _ => true,
    };
    if !waits {
        return Ok(());
    }
    let config = connection.config();
    let most = config.timers.rto.max.max(config.timers.clock.tick * 2);
    match sleep {
        Some(sleep) => ensure!(sleep <= most, "sleeps for {sleep}, RTO is {most} at most"),
        None => return Err("has something to send or unacknowledged, and no timer".into()),
    }
    Ok(())
}
