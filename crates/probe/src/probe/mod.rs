//! One connection of a measurement, without I/O: packets and the time go in, packets and deadlines
//! come out, and in the end there is a [`Report`].
//!
//! Its life: the handshake, the request, whatever its topic does with the answer, and a reset. The topic decides
//! which ACKs leave, and when the connection is over. A connection that opens the way for the measured one is held
//! until the other is over.

mod outgoing;

use crate::topic::channel::{AckGate, Application, Arrival, Arrivals, Channel, LastAck, Packet};
use crate::topic::ecn::Endpoint;
use crate::topic::run::{Next, Run};
use crate::topic::scout::ENOUGH_BYTES;
use crate::topic::{self, Ending, Heard, Order, Report, SynAck};
use crate::wire::{Flow, Kind, Received};
use outgoing::Outgoing;
use std::sync::Arc;
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::cc::Reno;
use windlass_tcp::config::AckPolicy;
use windlass_tcp::stream::Stream;
use windlass_tcp::{Config, Connection, Error, Event, Flags, Profile, SeqNumber, State};

/// One connection.
#[derive(Debug)]
pub struct Probe {
    stage: Stage,
    syns: u32,
    syn_sent: Time,
    syn_ack: Option<SynAck>,
    channel: Channel,
    run: Box<dyn Run>,
    outgoing: Outgoing,
    peer_reset: bool,
    report: Option<Report>,
}

#[derive(Copy, Clone, Debug)]
enum Stage {
    Connecting,
    Running,
    /// Has opened the way for the measured connection, since this time.
    Held(Time),
    Over,
}

/// How long a connection stays open for the measured one. Servers of FTP wait about as long for it.
const HOLD_MAX: Span = Span::from_secs(60);

impl Probe {
    /// A connection that begins with a SYN; `isn` is its initial sequence number.
    pub fn new(order: Order, flow: Flow, isn: u32, now: Time) -> Probe {
        let run = topic::start(order.purpose);
        let setup = run.setup();
        let config = config(&order, setup.sack);
        let window = setup.first_window.unwrap_or(order.window);
        Probe {
            stage: Stage::Connecting,
            syns: 0,
            syn_sent: now,
            syn_ack: None,
            channel: Channel {
                stream: Stream::new(Connection::connect(config, now, SeqNumber(isn))),
                application: Application::new(&order.dialogue, order.tls.as_ref()),
                gate: AckGate::new(setup.acks_as_usual, window),
                arrivals: Arrivals::default(),
                ecn: setup.ecn,
                connected: now,
                rtt: None,
                asked: None,
                last_ack: None,
                order,
            },
            run,
            outgoing: Outgoing { flow, backlog: Vec::new(), identification: isn as u16 },
            peer_reset: false,
            report: None,
        }
    }

    /// The flow whose packets it handles.
    pub fn flow(&self) -> &Flow {
        &self.outgoing.flow
    }

    /// The report, once the probe is over. A reset may still be due for transmission.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Whether the connection has made its report and stays open, because the measured one needs it. Its
    /// caller still passes packets and the time to it, and calls [`Probe::abort`] when the other is over.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self.stage, Stage::Held(_))
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    fn is_connected(&self) -> bool {
        matches!(self.stage, Stage::Running | Stage::Held(_))
    }

    /// Takes a packet of its flow.
    pub fn handle_packet(&mut self, now: Time, kind: &Kind<'_>) {
        if self.is_over() {
            return;
        }
        match kind {
            Kind::Damaged => {
                self.channel.arrivals.damaged = self.channel.arrivals.damaged.saturating_add(1);
            }
            Kind::Unreachable { code } if matches!(self.stage, Stage::Connecting) => {
                self.finish(Ending::Unreachable { icmp_code: Some(*code) });
            }
            // RFC 1122 §4.2.3.9: on an established connection it may be temporary.
            Kind::Unreachable { .. } => {}
            Kind::Segment(received) => self.handle_segment(now, received),
        }
        self.advance(now);
    }

    /// To be called if the kernel has no route to the server: ends the probe.
    pub(crate) fn handle_no_route(&mut self) {
        self.finish(Ending::Unreachable { icmp_code: None });
    }

    /// Ends the probe, with a reset if the connection has begun.
    pub(crate) fn abort(&mut self) {
        self.give_up();
    }

    /// To be called when the time that [`Probe::poll_timeout`] returned has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if !self.is_over() {
            self.channel.stream.connection_mut().handle_timeout(now, &mut ());
            self.advance(now);
        }
    }

    /// When [`Probe::handle_timeout`] wants to be called; `None` once it is over.
    pub fn poll_timeout(&self) -> Option<Time> {
        let deadline = self.deadline()?;
        let run = self.is_connected().then(|| self.run.poll_timeout(&self.channel)).flatten();
        let last_ack = self.channel.last_ack.and_then(|last| last.at);
        let engine = self.channel.stream.connection().poll_timeout();
        [Some(deadline), run, last_ack, engine].into_iter().flatten().min()
    }

    fn handle_segment(&mut self, now: Time, received: &Received<'_>) {
        if matches!(self.stage, Stage::Connecting) {
            return self.handle_handshake(now, received);
        }
        let (segment, channel) = (&received.segment, &mut self.channel);
        if segment.flags.contains(Flags::SYN) && segment.seq.at(1) == channel.gate.first_byte() {
            channel.read_ecn(received);
        }
        let Some(offset) = channel.offset(segment.seq) else { return };
        let released = channel.released();
        let edge = released + u64::from(channel.gate.window());
        if segment.flags.contains(Flags::RST) {
            // By the ACKs on the wire: the engine's own receive window is ahead of them.
            if (released..=edge).contains(&offset) {
                self.finish_after_reset();
            }
            return;
        }
        if !self.run.handle_segment(now, offset, received, channel) {
            if offset + u64::from(segment.payload_len) > edge {
                channel.arrivals.beyond_window = channel.arrivals.beyond_window.saturating_add(1);
            } else {
                channel.read_ecn(received);
                self.count(now, offset, received);
            }
        }
        self.feed(now, received);
    }

    fn handle_handshake(&mut self, now: Time, received: &Received<'_>) {
        self.feed(now, received);
        let channel = &mut self.channel;
        let state = channel.stream.connection().state();
        if matches!(state, State::SynSent | State::SynReceived | State::Closed) {
            return;
        }
        let (segment, options) = (&received.segment, &received.segment.options);
        channel.gate.connected(segment.seq.at(1), options.window_scale.is_some());
        if let Some(ecn) = &mut channel.ecn {
            ecn.handle_syn_ack(received);
        }
        self.syn_ack = Some(SynAck {
            mss: options.mss,
            window: segment.window,
            window_scale: options.window_scale,
            hop_limit: received.hop_limit,
            syns: self.syns,
        });
        // The SYN-ACK may answer any of several SYNs.
        channel.rtt = (self.syns == 1).then(|| now.saturating_since(self.syn_sent));
        channel.connected = now;
        self.stage = Stage::Running;
        let next = self.run.begin(now, channel, segment);
        self.enter(now, next);
    }

    fn feed(&mut self, now: Time, received: &Received<'_>) {
        let (segment, payload) = (&received.segment, received.payload);
        self.channel.stream.handle_segment(now, segment, payload, Ecn::NotEct, &mut ());
    }

    /// Counts the data packets in a received packet.
    fn count(&mut self, now: Time, offset: u64, received: &Received<'_>) {
        let mut start = offset;
        for len in received.segment_lens() {
            let packet = Packet { at: now, start, len };
            if self.run.take(packet, &mut self.channel) == Arrival::TooMany {
                return self.finish(Ending::TooMuch);
            }
            start += u64::from(len);
        }
    }

    /// Moves bytes between connection and application, and lets the topic go on.
    fn advance(&mut self, now: Time) {
        self.exchange(now);
        while let Some(event) = self.channel.stream.connection_mut().poll_event() {
            if let Event::Failed(error) = event {
                self.fail(error);
            }
        }
        let Some(deadline) = self.deadline() else { return };
        if now >= deadline {
            return self.give_up();
        }
        self.release_last_ack(now);
        if let Some(trouble) = self.channel.application.trouble() {
            return self.finish(trouble);
        }
        if self.is_connected() {
            let next = self.run.advance(now, &mut self.channel);
            self.enter(now, next);
        }
    }

    fn enter(&mut self, now: Time, next: Next) {
        match next {
            Next::Hold if !self.is_held() => {
                self.report = Some(self.make_report(Ending::HeadRead));
                self.stage = Stage::Held(now);
            }
            Next::End(ending) => self.finish(ending),
            Next::Wait | Next::Hold => {}
        }
    }

    /// Sends the last ACK of a flight if its time has come.
    fn release_last_ack(&mut self, now: Time) {
        let due = |last: &mut LastAck| last.at.is_some_and(|at| at <= now);
        let Some(last) = self.channel.last_ack.take_if(due) else { return };
        match last.edge {
            None => self.channel.gate.release([last.ack]),
            Some(edge) => self.channel.gate.release_to([last.ack], edge),
        }
        self.run.handle_last_ack(now);
    }

    fn exchange(&mut self, now: Time) {
        let mut chunk = [0; 4096];
        while let Ok(len @ 1..) = self.channel.stream.read(&mut chunk) {
            self.channel.application.receive(&chunk[..len]);
        }
        if self.is_connected() {
            self.outgoing.backlog.extend(self.channel.application.outgoing());
            if self.channel.asked.is_none() && self.channel.application.has_asked() {
                self.channel.asked = Some(now);
                self.run.before_request(now, &mut self.channel);
            }
            self.write_backlog();
        }
    }

    fn fail(&mut self, error: Error) {
        match error {
            Error::Refused => self.finish(Ending::Refused),
            Error::Reset => self.finish_after_reset(),
            _ => self.give_up(),
        }
    }

    fn finish_after_reset(&mut self) {
        self.peer_reset = true;
        let has_measured = self.is_connected() && self.run.has_measured();
        self.finish(if has_measured { Ending::Measured } else { Ending::Reset });
    }

    /// The latest end of this stage; `None` once it is over.
    fn deadline(&self) -> Option<Time> {
        match self.stage {
            Stage::Connecting => Some(self.channel.connected + self.channel.order.handshake),
            Stage::Running => Some(self.run.deadline(&self.channel)),
            Stage::Held(since) => Some(since + HOLD_MAX),
            Stage::Over => None,
        }
    }

    fn give_up(&mut self) {
        let no_room = self.channel.stream.connection().peer_window_edge() == 0;
        self.finish(match self.stage {
            Stage::Connecting => Ending::Silent,
            _ => self.run.ending_at_deadline(&self.channel).unwrap_or(if no_room {
                Ending::ZeroWindow
            } else {
                Ending::NoAnswer
            }),
        });
    }

    /// Makes the report, unless there is one, and resets the connection.
    fn finish(&mut self, ending: Ending) {
        match self.stage {
            Stage::Over => return,
            Stage::Held(_) => {}
            Stage::Connecting | Stage::Running => self.report = Some(self.make_report(ending)),
        }
        self.stage = Stage::Over;
        self.channel.stream.connection_mut().abort();
    }

    fn make_report(&mut self, ending: Ending) -> Report {
        let channel = &self.channel;
        let (talk, bytes) = (channel.application.talk(), channel.arrivals.end());
        let mut report = Report {
            syn_ack: self.syn_ack,
            rtt_ms: channel.rtt.map(|rtt| rtt.as_millis_f64()),
            head: talk.head.clone(),
            not_http: talk.not_http,
            heard: (!channel.is_web()).then(|| Heard {
                bytes,
                whole: bytes < ENOUGH_BYTES,
                server: talk.server.clone(),
                opened_port: talk.opened,
            }),
            ecn: channel.ecn.as_ref().and_then(Endpoint::trial).cloned(),
            ..Report::new(ending)
        };
        self.run.fill(channel, &mut report);
        report
    }
}

/// The MSS of this end's own segments, whatever it announces: requests leave in few packets, on any path
/// with the least MTU of IPv6.
const REQUEST_MSS: u16 = 1200;
/// A request leaves in one flight: the longest has some 11 kB.
const REQUEST_SEGMENTS: u32 = 16;

/// Without SACK, unless the topic needs it, so that the server sends no tail loss probe. Without timestamps, so that
/// servers that cache data of peers cache less.
fn config(order: &Order, sack: bool) -> Config {
    Profile::Rfc5681.config(order.mss.max(REQUEST_MSS), Arc::new(Reno)).with(|c| {
        c.window.initial = REQUEST_SEGMENTS;
        c.extensions.sack = sack;
        c.extensions.timestamps = false;
        c.extensions.window_scaling = true;
        c.sending.nagle = false;
        c.acks.policy = AckPolicy::Immediate;
        c.buffers.send = 64 * 1024;
        c.buffers.receive = u64::from(order.window);
    })
}
