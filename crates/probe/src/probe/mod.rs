//! One connection of a measurement, without I/O: packets and the time go in, packets and deadlines
//! come out, and in the end there is a [`Report`].
//!
//! Its life: the handshake; the request; the first flight, of which nothing is acknowledged until it
//! is quiet; then the ACKs of the test, in one burst; then it looks on until the time is over, and
//! resets. A scout acknowledges as usual instead, and is over with the head of the answer or, unless the
//! dialogue is HTTP, with as much of the answer as a measurement may need. A connection that opens the way
//! for the measured one acknowledges as usual too, and is held until the other is over.

mod burst;
mod ecn;
mod growth;
mod handshake;
mod identify;
mod order;
mod outgoing;
mod report;
mod scout;

pub use burst::BurstOrder;
pub use order::{Order, Purpose};
pub use report::{BurstRun, Ending, Exchanged, Flight, Heard, Observation, Report, SynAck};

use crate::application::{Application, Trouble};
use crate::arrivals::{Arrival, Arrivals, Packet};
use crate::cca::{Shaper, TIME_MAX, Trace};
use crate::ecn::Endpoint;
use crate::gate::AckGate;
use crate::test::Test;
use crate::wire::{Flow, Kind, Received};
use burst::Burst;
use growth::Growth;
use scout::HOLD_MAX;
use std::sync::Arc;
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::cc::Reno;
use windlass_tcp::config::AckPolicy;
use windlass_tcp::stream::Stream;
use windlass_tcp::{Config, Connection, Error, Event, Flags, Profile, SeqNumber, State};

/// One connection.
#[derive(Debug)]
pub struct Probe {
    order: Order,
    flow: Flow,
    stream: Stream,
    application: Application,
    /// Bytes that the engine's send buffer has not taken yet.
    backlog: Vec<u8>,
    gate: AckGate,
    arrivals: Arrivals,
    phase: Phase,
    begun: Time,
    connected: Time,
    syn_sent: Option<Time>,
    syns: u32,
    syn_ack: Option<SynAck>,
    rtt: Option<Span>,
    /// With the stream offset at which it begins.
    first_flight: Option<(u64, Flight)>,
    /// The stream offset of the flight that the test acknowledges.
    flight_from: u64,
    damaged: u32,
    beyond_window: u32,
    identification: u16,
    peer_reset: bool,
    /// When the request left.
    asked: Option<Time>,
    /// Segments that were acknowledged before the flight that is measured.
    acked_before: u32,
    /// The last ACK of the test, and its time, which is known once the others have left.
    last_ack: Option<LastAck>,
    burst: Option<BurstRun>,
    /// The ACK of the handshake may have left.
    has_opened: bool,
    /// The server takes SACK blocks.
    takes_sack: bool,
    /// ECN, if the order asks for it.
    ecn: Option<Endpoint>,
    report: Option<Report>,
}

/// The last ACK of a flight.
#[derive(Copy, Clone, Debug)]
struct LastAck {
    ack: SeqNumber,
    /// The right edge of the window that it offers; `None`: the window as before.
    edge: Option<SeqNumber>,
    at: Option<Time>,
}

#[derive(Clone, Debug)]
enum Phase {
    Connecting,
    /// Waits for the flight, since this time.
    Flight(Time),
    Growth(Growth),
    /// Follows a script.
    Shaping(Box<Shaper>),
    /// Has opened the way for the measured connection, since this time.
    Held(Time),
    Burst(Burst),
    Over,
}

/// Bounds of the settle time. The lower one covers the scheduling of a busy machine and is below the
/// shortest RTO observed, 45 ms. The upper one suits a distant host.
const SETTLE_MIN: Span = Span::from_millis(20);
const SETTLE_MAX: Span = Span::from_millis(250);

impl Probe {
    /// A connection that begins with a SYN; `isn` is its initial sequence number.
    pub fn new(order: Order, flow: Flow, isn: u32, now: Time) -> Probe {
        let connection = Connection::connect(config(&order), now, SeqNumber(isn));
        Probe {
            application: Application::new(&order.dialogue, order.tls.as_ref()),
            backlog: Vec::new(),
            gate: AckGate::new(
                matches!(order.purpose, Purpose::Scout | Purpose::Open | Purpose::Ecn(_)),
                first_window(&order),
            ),
            stream: Stream::new(connection),
            arrivals: Arrivals::default(),
            phase: Phase::Connecting,
            begun: now,
            connected: now,
            syn_sent: None,
            syns: 0,
            syn_ack: None,
            rtt: None,
            first_flight: None,
            flight_from: 0,
            damaged: 0,
            beyond_window: 0,
            identification: isn as u16,
            peer_reset: false,
            asked: None,
            acked_before: 0,
            last_ack: None,
            has_opened: false,
            takes_sack: false,
            ecn: order.endpoint(),
            burst: None,
            report: None,
            order,
            flow,
        }
    }

    /// The flow whose packets it handles.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The report, once the probe is over. A reset may still be due for transmission.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Takes a packet of its flow.
    pub fn handle_packet(&mut self, now: Time, kind: &Kind<'_>) {
        if self.is_over() {
            return;
        }
        match kind {
            Kind::Damaged => self.damaged = self.damaged.saturating_add(1),
            Kind::Unreachable { code } if matches!(self.phase, Phase::Connecting) => {
                self.finish(Ending::Unreachable { icmp_code: Some(*code) });
            }
            // RFC 1122 §4.2.3.9: on an established connection it may be temporary.
            Kind::Unreachable { .. } => {}
            Kind::Segment(received) => self.handle_segment(now, received),
        }
        self.advance(now);
    }

    /// To be called if the kernel has no route to the server: ends the probe.
    pub fn handle_no_route(&mut self) {
        self.finish(Ending::Unreachable { icmp_code: None });
    }

    /// Ends the probe, with a reset if the connection has begun.
    pub fn abort(&mut self) {
        self.give_up();
    }

    /// To be called when the time that [`Probe::poll_timeout`] returned has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if !self.is_over() {
            self.stream.connection_mut().handle_timeout(now, &mut ());
            self.advance(now);
        }
    }

    /// When [`Probe::handle_timeout`] wants to be called; `None` once it is over.
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.is_over() {
            return None;
        }
        let last_ack = self.last_ack.and_then(|last| last.at);
        let quiet = self.quiet_at().or_else(|| self.burst_quiet_at()).or(self.silent_at());
        let own = quiet.into_iter().chain(last_ack).chain([self.deadline()]);
        let shaper = self.shaper().and_then(Shaper::poll_timeout);
        let opens = self.shaper().map(Shaper::opens_at).filter(|_| !self.has_opened);
        // poll_transmit() has found that the script is over, for silence or too much data: advance() ends it.
        let over = self.shaper().filter(|shaper| shaper.is_done()).map(|_| self.connected);
        own.chain(shaper)
            .chain(opens)
            .chain(over)
            .chain(self.stream.connection().poll_timeout())
            .min()
    }

    fn handle_segment(&mut self, now: Time, received: &Received<'_>) {
        if matches!(self.phase, Phase::Connecting) {
            return self.handle_handshake(now, received);
        }
        let segment = &received.segment;
        if segment.flags.contains(Flags::SYN) && segment.seq.at(1) == self.first_byte() {
            self.read_ecn(received);
        }
        let Some(offset) = self.offset(segment.seq) else { return };
        let released = self.released();
        let edge = released + u64::from(self.gate.window());
        if segment.flags.contains(Flags::RST) {
            // By the ACKs on the wire: the engine's own receive window is ahead of them.
            if (released..=edge).contains(&offset) {
                self.peer_reset = true;
                self.finish_after_reset();
            }
            return;
        }
        if self.shaper().is_some() {
            self.shape(now, offset, received);
        } else if offset + u64::from(segment.payload_len) > edge {
            self.beyond_window = self.beyond_window.saturating_add(1);
        } else {
            self.read_ecn(received);
            self.count(now, offset, received);
        }
        self.feed(now, received);
    }

    fn handle_handshake(&mut self, now: Time, received: &Received<'_>) {
        self.feed(now, received);
        let state = self.stream.connection().state();
        if matches!(state, State::SynSent | State::SynReceived | State::Closed) {
            return;
        }
        let segment = &received.segment;
        let options = &segment.options;
        self.gate.connected(segment.seq.at(1), options.window_scale.is_some());
        if let Some(ecn) = &mut self.ecn {
            ecn.handle_syn_ack(received);
        }
        self.syn_ack = Some(SynAck {
            mss: options.mss,
            window: segment.window,
            window_scale: options.window_scale,
            hop_limit: received.hop_limit,
            syns: self.syns,
        });
        if self.syns == 1 {
            self.rtt = self.syn_sent.map(|sent| now.saturating_since(sent));
        }
        self.connected = now;
        self.phase = match self.order.purpose {
            Purpose::Identify => return self.begin_script(now, segment),
            Purpose::Burst(order) => {
                self.gate.open_to(self.first_byte().at(u64::from(order.first_window())));
                Phase::Burst(Burst::new(order, self.order.tls.is_some(), now))
            }
            Purpose::Scout | Purpose::Ecn(_) | Purpose::Open | Purpose::Measure(_) => {
                Phase::Flight(now)
            }
        };
    }

    fn feed(&mut self, now: Time, received: &Received<'_>) {
        let (segment, payload) = (&received.segment, received.payload);
        self.stream.handle_segment(now, segment, payload, Ecn::NotEct, &mut ());
    }

    /// The position of a sequence number in the server's stream, the first byte being 0.
    fn offset(&self, seq: SeqNumber) -> Option<u64> {
        seq.unwrap_near(self.first_byte(), self.arrivals.end())
    }

    fn first_byte(&self) -> SeqNumber {
        self.gate.first_byte()
    }

    fn released(&self) -> u64 {
        self.gate.released().unwrap_near(self.first_byte(), self.arrivals.end()).unwrap_or(0)
    }

    /// Counts the data packets in a received packet.
    fn count(&mut self, now: Time, offset: u64, received: &Received<'_>) {
        let mut start = offset;
        for len in received.segment_lens() {
            let packet = Packet { at: now, start, len };
            if let Phase::Growth(growth) = &mut self.phase {
                growth.before_packet(now, &self.arrivals);
            }
            let before = (self.arrivals.packets().len(), self.arrivals.retransmissions);
            let arrival = self.arrivals.take(packet, self.reordering());
            if let Phase::Burst(burst) = &mut self.phase
                && self.arrivals.retransmissions > before.1
            {
                burst.close(before.0);
            }
            if let Phase::Growth(growth) = &mut self.phase {
                growth.after_packet(arrival, &self.arrivals);
            }
            if arrival == Arrival::TooMany {
                return self.finish(Ending::TooMuch);
            }
            start += u64::from(len);
        }
    }

    /// A packet that fills a gap within this time was reordered; a later one is a retransmission.
    fn reordering(&self) -> Span {
        self.rtt_or(SETTLE_MIN).max(SETTLE_MIN)
    }

    fn rtt_or(&self, default: Span) -> Span {
        self.rtt.unwrap_or(default)
    }

    /// Moves bytes between connection and application, and enters the next phase when it is time.
    fn advance(&mut self, now: Time) {
        self.exchange(now);
        while let Some(event) = self.stream.connection_mut().poll_event() {
            if let Event::Failed(error) = event {
                self.fail(error);
            }
        }
        if self.is_over() {
            return;
        }
        if now >= self.deadline() {
            return self.give_up();
        }
        self.release_last_ack(now);
        if let Some(trouble) = self.application.trouble() {
            return self.finish(match trouble {
                Trouble::Tls(why) => Ending::TlsFailed { why },
                Trouble::Dialogue(why) => Ending::DialogueFailed { why },
            });
        }
        match self.order.purpose {
            Purpose::Scout | Purpose::Ecn(_) => self.advance_scout(now),
            Purpose::Open => self.advance_opening(now),
            Purpose::Measure(test) => {
                if matches!(self.phase, Phase::Flight(_)) {
                    self.advance_flight(now, test);
                }
            }
            Purpose::Identify => self.advance_script(),
            Purpose::Burst(_) => self.advance_burst(now),
        }
    }

    /// Sends the last ACK of a flight if its time has come.
    fn release_last_ack(&mut self, now: Time) {
        let due = |last: &mut LastAck| last.at.is_some_and(|at| at <= now);
        match self.last_ack.take_if(due) {
            Some(LastAck { ack, edge: None, .. }) => self.gate.release([ack]),
            Some(LastAck { ack, edge: Some(edge), .. }) => {
                self.gate.release_to([ack], edge);
                if let Phase::Burst(burst) = &mut self.phase {
                    burst.open(now);
                }
            }
            None => {}
        }
    }

    fn exchange(&mut self, now: Time) {
        let mut chunk = [0; 4096];
        while let Ok(len @ 1..) = self.stream.read(&mut chunk) {
            self.application.receive(&chunk[..len]);
        }
        if !matches!(self.phase, Phase::Connecting | Phase::Over) {
            self.backlog.extend(self.application.outgoing());
            if self.asked.is_none() && self.application.has_asked() {
                self.asked = Some(now);
                self.before_request(now);
            }
            self.write_backlog();
        }
    }

    fn fail(&mut self, error: Error) {
        match error {
            Error::Refused => self.finish(Ending::Refused),
            Error::Reset => {
                self.peer_reset = true;
                self.finish_after_reset();
            }
            _ => self.give_up(),
        }
    }

    fn finish_after_reset(&mut self) {
        let has_measured = matches!(&self.phase, Phase::Growth(growth) if growth.is_closed());
        self.finish(if has_measured { Ending::Measured } else { Ending::Reset });
    }

    fn advance_flight(&mut self, now: Time, test: Test) {
        if self.answer_has_ended() {
            let from = self.flight_from;
            self.first_flight.get_or_insert_with(|| (from, Flight::of(&self.arrivals, from)));
            let nothing = self.application.answer_bytes() == 0;
            return self.finish(if nothing { Ending::NoAnswer } else { Ending::TooShort });
        }
        if self.quiet_at().is_none_or(|at| now < at) {
            return;
        }
        if self.application.answer_has_begun() {
            let from = self.flight_from;
            self.first_flight.get_or_insert_with(|| (from, Flight::of(&self.arrivals, from)));
            self.divide(now, test);
        } else {
            self.acknowledge_handshake(now);
        }
    }

    /// Whether the server's stream has ended: by FIN, because the dialogue has the whole answer, or because the
    /// server had no more before.
    fn answer_has_ended(&self) -> bool {
        let supplied = self.order.supply > 0 && self.arrivals.end() >= self.order.supply;
        self.stream.connection().peer_closed() || self.application.talk().ended || supplied
    }

    fn divide(&mut self, now: Time, test: Test) {
        let ends = self.arrivals.segment_ends(self.flight_from, usize::from(self.order.acks));
        let relative: Vec<u64> = ends.iter().map(|end| end - self.flight_from).collect();
        let mut acks = test.acks(&relative);
        let first = self.first_byte().at(self.flight_from);
        let sent = acks.len() as u32;
        let last = acks.pop().map(|last| first.at(last));
        self.last_ack = last.map(|ack| LastAck { ack, edge: None, at: None });
        self.gate.release(acks.into_iter().map(|ack| first.at(ack)));
        let flight = Flight::of(&self.arrivals, self.flight_from);
        self.phase = Phase::Growth(Growth::new(
            now,
            self.rtt_or(Span::ZERO),
            flight,
            relative,
            sent,
            &self.arrivals,
        ));
    }

    /// The time at which the flight counts as complete; `None` before its first packet. It is later if
    /// fewer packets have arrived than the test acknowledges. It never exceeds the server's
    /// retransmission timeout: three RTTs after a handshake (RFC 6298 §2.2), of which the flight and its
    /// ACK take one.
    fn quiet_at(&self) -> Option<Time> {
        let Phase::Flight(since) = self.phase else { return None };
        let measures = matches!(self.order.purpose, Purpose::Measure(_));
        if !measures || self.arrivals.end() == self.flight_from {
            return None;
        }
        if !self.secures_first() && !self.application.answer_has_begun() {
            return self.ack_due(since);
        }
        let rtt = self.rtt_or(SETTLE_MAX);
        // With TLS or after a greeting the flight begins before the request can be answered.
        let answer = self.asked.map(|asked| asked + rtt);
        let last = self.arrivals.last_new()?.max(since).max(answer.unwrap_or(since));
        let from = self.flight_from;
        let few = self.arrivals.tally(from, u64::MAX).packets < u32::from(self.order.acks);
        let settle = if few { rtt + rtt / 2 } else { rtt / 2 };
        Some(last + settle.clamp(SETTLE_MIN, SETTLE_MAX))
    }

    /// The latest end of this phase.
    fn deadline(&self) -> Time {
        match &self.phase {
            Phase::Connecting => self.begun + self.order.handshake,
            Phase::Flight(_) => self.connected + self.order.patience,
            Phase::Growth(growth) => growth.since() + self.order.timeout,
            Phase::Shaping(_) => self.connected + TIME_MAX,
            Phase::Held(since) => *since + HOLD_MAX,
            Phase::Burst(burst) => burst.opened() + self.order.patience,
            Phase::Over => self.begun,
        }
    }

    fn give_up(&mut self) {
        let connection = self.stream.connection();
        let ending = match self.phase {
            Phase::Connecting => Ending::Silent,
            Phase::Growth(_) | Phase::Shaping(_) => Ending::Measured,
            Phase::Held(_) => Ending::HeadRead,
            Phase::Burst(_) if self.application.answer_has_begun() => Ending::NotReached,
            _ if connection.peer_window_edge() == 0 => Ending::ZeroWindow,
            _ => Ending::NoAnswer,
        };
        self.finish(ending);
    }

    fn finish(&mut self, ending: Ending) {
        if self.is_over() {
            return;
        }
        if self.is_held() {
            // Its report is made.
            self.phase = Phase::Over;
            return self.stream.connection_mut().abort();
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Over);
        let (growth, trace) = match phase {
            Phase::Growth(growth) => (Some(growth), None),
            Phase::Shaping(shaper) => {
                let reset = ending == Ending::Reset;
                (None, Some(Trace { reset, ..shaper.into_trace() }))
            }
            _ => (None, None),
        };
        let report = self.make_report(ending, growth);
        self.report = Some(Report { trace, ..report });
        self.stream.connection_mut().abort();
    }
}

/// The MSS of this end's own segments, whatever it announces: requests leave in few packets, on any path
/// with the least MTU of IPv6.
const REQUEST_MSS: u16 = 1200;
/// A request leaves in one flight: the longest has some 11 kB.
const REQUEST_SEGMENTS: u32 = 16;
/// The window that the first ACK offers.
fn first_window(order: &Order) -> u32 {
    match order.purpose {
        Purpose::Burst(burst) => burst.first_window(),
        _ => order.window,
    }
}

/// Without SACK, so that the server sends no tail loss probe. Without timestamps, so that servers that
/// cache data of peers cache less.
fn config(order: &Order) -> Config {
    Profile::Rfc5681.config(order.mss.max(REQUEST_MSS), Arc::new(Reno)).with(|c| {
        c.window.initial = REQUEST_SEGMENTS;
        c.extensions.sack = order.purpose == Purpose::Identify;
        c.extensions.timestamps = false;
        c.extensions.window_scaling = true;
        c.sending.nagle = false;
        c.acks.policy = AckPolicy::Immediate;
        c.buffers.send = 64 * 1024;
        c.buffers.receive = u64::from(order.window);
    })
}
