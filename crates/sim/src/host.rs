//! The hosts' part of TCP: connections, the applications on them, their timers.

use crate::apps::{TcpSource, Writer};
use crate::event::Event;
use crate::network::Network;
use crate::packet::{IPV4_HEADER_BYTES, InFlight, Sink, Slot};
use crate::random_stream;
use crate::record::{Context, FlowTap, Recorder};
use crate::scenario::model::{Flow, Scenario};
use windlass_base::{Ecn, Rng, Span, Time};
use windlass_tcp::conn::Established;
use windlass_tcp::{Config, Connection, Event as TcpEvent, Flags, Run, Segment, SeqNumber, State};

/// The side of a connection that opens it and sends.
const SENDER: usize = 0;
/// The side that listens and receives.
const RECEIVER: usize = 1;

/// The most segments that an endpoint is asked for at once.
const RUN_MAX: u32 = 64;

/// All TCP endpoints of a run.
#[derive(Debug)]
pub(crate) struct Hosts {
    flows: Vec<Flow>,
    sources: Vec<TcpSource>,
    /// By number of the connection; those that are over have left their place empty.
    connections: Vec<Option<Box<Pair>>>,
    /// Receivers for whose timer an event is pending.
    receivers_armed: u32,
}

/// Both ends of a connection.
#[derive(Debug)]
struct Pair {
    flow: u32,
    ends: [Endpoint; 2],
    writer: Writer,
    opened: Time,
    /// The receiver has had the last byte, or the connection failed.
    done: bool,
}

/// One end of a connection.
#[derive(Debug)]
struct Endpoint {
    connection: Connection,
    /// When the pending timer event is due that counts; [`Time::MAX`] without one.
    armed: Time,
    /// Where its packets start.
    first_hop: u32,
}

impl Hosts {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Hosts {
        let source = |(number, flow)| {
            TcpSource::new(flow, scenario.jitter, random_stream::tcp_flow(seed, number))
        };
        Hosts {
            flows: scenario.flows.clone(),
            sources: (0..).zip(&scenario.flows).map(source).collect(),
            connections: vec![],
            receivers_armed: 0,
        }
    }

    /// Schedules the start and the stop of every application.
    pub(crate) fn schedule<R>(&self, cx: &mut Context<'_, R>) {
        for (flow, (source, spec)) in (0..).zip(self.sources.iter().zip(&self.flows)) {
            cx.events.schedule(source.start, Event::Start { flow });
            if let Some(stop) = spec.stop {
                cx.events.schedule(Time::ZERO + stop, Event::Stop { flow });
            }
        }
    }

    /// A flow's application opens a connection.
    pub(crate) fn handle_start<R: Recorder>(
        &mut self,
        now: Time,
        flow: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let source = &mut self.sources[flow as usize];
        let Some(writer) = source.open() else {
            cx.records.unfinished -= 1;
            return;
        };
        let number = self.connections.len() as u32;
        source.current = Some(number);
        let spec = &self.flows[flow as usize];
        let [sender, receiver] = open(now, spec, &mut source.rng);
        cx.records.flows[flow as usize].connection_started(now, &sender);
        cx.recorder.connection_started(now, flow as usize, &sender);
        let end = |connection, reverse| Endpoint {
            connection,
            armed: Time::MAX,
            first_hop: network.first_hop(flow, reverse),
        };
        let mut ends = [end(sender, false), end(receiver, true)];
        ends[RECEIVER].connection.discard_incoming();
        let mut pair = Box::new(Pair { flow, ends, writer, opened: now, done: false });
        if !spec.handshake {
            pair.writer.fill(now, &mut pair.ends[SENDER].connection);
        }
        self.connections.push(Some(pair));
        self.drive(now, Sink::tcp(number, RECEIVER), network, cx);
        self.drive(now, Sink::tcp(number, SENDER), network, cx);
    }

    /// A flow's application stops writing.
    pub(crate) fn handle_stop<R: Recorder>(
        &mut self,
        now: Time,
        flow: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        self.sources[flow as usize].stop();
        let Some(number) = self.sources[flow as usize].current else { return };
        if let Some(pair) = &mut self.connections[number as usize] {
            pair.writer.stop();
            pair.writer.fill(now, &mut pair.ends[SENDER].connection);
            self.drive(now, Sink::tcp(number, SENDER), network, cx);
        }
    }

    /// True if a packet that arrives at `at` may be taken by its endpoint now: no timer comes first,
    /// and nothing begins or ends with it. Receivers may share the link on which they answer, so
    /// that a timer of any of them is in the way; a sender has its own.
    pub(crate) fn can_take_ahead(&self, at: Time, packet: &InFlight) -> bool {
        let Some(pair) = &self.connections[packet.to.connection() as usize] else { return false };
        let side = packet.to.side();
        let connection = &pair.ends[side].connection;
        let quiet = match side {
            SENDER => connection.poll_timeout().is_none_or(|due| due > at),
            _ => self.receivers_armed == 0,
        };
        quiet
            && connection.state() == State::Established
            && !packet.segment.flags.intersects(Flags::SYN | Flags::FIN | Flags::RST)
    }

    /// A packet reaches its endpoint.
    pub(crate) fn handle_packet<R: Recorder>(
        &mut self,
        now: Time,
        packet: Slot,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let InFlight { to, ecn, segment, .. } = network.shared.packets.get(packet);
        let (to, number, side) = (*to, to.connection(), to.side());
        let Some(pair) = &mut self.connections[number as usize] else { return };
        let delivered = side == RECEIVER && segment.payload_len > 0;
        cx.records.delivered_segments += u64::from(delivered);
        if pair.ends[side].connection.state() == State::Closed {
            if let Some(reset) = segment.reset_reply() {
                pair.send(now, to, &reset, Ecn::NotEct, network, cx);
            }
            return;
        }
        pair.handle_segment(now, side, segment, *ecn, cx);
        self.drive(now, to, network, cx);
    }

    /// An endpoint's timer is due, unless it was set anew since.
    pub(crate) fn handle_timer<R: Recorder>(
        &mut self,
        now: Time,
        endpoint: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let sink = Sink::from_endpoint(endpoint);
        let Some(pair) = &mut self.connections[sink.connection() as usize] else { return };
        let end = &mut pair.ends[sink.side()];
        if end.armed != now {
            return;
        }
        end.armed = Time::MAX;
        self.receivers_armed -= u32::from(sink.side() == RECEIVER);
        if end.connection.poll_timeout().is_some_and(|due| due <= now) {
            pair.handle_timeout(now, sink.side(), cx);
            self.drive(now, sink, network, cx);
        } else if pair.arm(now, sink, cx) {
            // The endpoint may be ahead of time, and has nothing to do anyway.
            self.receivers_armed += u32::from(sink.side() == RECEIVER);
        }
    }

    /// Drains an endpoint that was changed.
    fn drive<R: Recorder>(
        &mut self,
        now: Time,
        sink: Sink,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let (number, side) = (sink.connection(), sink.side());
        let slot = &mut self.connections[number as usize];
        let Some(pair) = slot else { return };
        let source = &mut self.sources[pair.flow as usize];
        pair.handle_events(now, side, source, cx);
        loop {
            pair.transmit(now, number, side, network, cx);
            if !pair.handle_events(now, side, source, cx) {
                break;
            }
        }
        if pair.arm(now, sink, cx) {
            self.receivers_armed += u32::from(side == RECEIVER);
        }
        if pair.is_over() {
            self.receivers_armed -= u32::from(pair.ends[RECEIVER].armed != Time::MAX);
            let stats = pair.ends[SENDER].connection.stats();
            cx.records.flows[pair.flow as usize].connection_ended(now, stats);
            *slot = None;
        }
    }

    /// Adds up the counters of the connections that there still are.
    pub(crate) fn finish<R>(&self, cx: &mut Context<'_, R>) {
        for pair in self.connections.iter().flatten() {
            cx.records.flows[pair.flow as usize].add(pair.ends[SENDER].connection.stats());
        }
    }
}

impl Pair {
    fn handle_segment<R: Recorder>(
        &mut self,
        now: Time,
        side: usize,
        segment: &Segment,
        ecn: Ecn,
        cx: &mut Context<'_, R>,
    ) {
        let connection = &mut self.ends[side].connection;
        match side {
            SENDER => connection.handle_segment(now, segment, ecn, &mut tap(self.flow, cx)),
            _ => connection.handle_segment(now, segment, ecn, &mut ()),
        };
    }

    fn handle_timeout<R: Recorder>(&mut self, now: Time, side: usize, cx: &mut Context<'_, R>) {
        let connection = &mut self.ends[side].connection;
        match side {
            SENDER => connection.handle_timeout(now, &mut tap(self.flow, cx)),
            _ => connection.handle_timeout(now, &mut ()),
        }
    }

    /// Sends what the endpoint has to send.
    fn transmit<R: Recorder>(
        &mut self,
        now: Time,
        number: u32,
        side: usize,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let mut run = Run::default();
        loop {
            let (connection, run) = (&mut self.ends[side].connection, &mut run);
            let any = match side {
                SENDER => connection.poll_transmit_into(now, RUN_MAX, &mut tap(self.flow, cx), run),
                _ => connection.poll_transmit_into(now, RUN_MAX, &mut (), run),
            };
            if !any {
                return;
            }
            let from = Sink::tcp(number, side);
            if run.count == 1 {
                self.send(now, from, &run.first, run.ecn, network, cx);
            } else {
                for segment in run.segments() {
                    self.send(now, from, &segment, run.ecn, network, cx);
                }
            }
            if run.is_last {
                debug_assert!(self.is_silent(now, side), "the last run");
                return;
            }
        }
    }

    /// True if an endpoint has nothing to send.
    fn is_silent(&mut self, now: Time, side: usize) -> bool {
        self.ends[side].connection.poll_transmit(now, 1, &mut ()).is_none()
    }

    /// Sends a segment from one end to the other.
    fn send<R: Recorder>(
        &self,
        now: Time,
        from: Sink,
        segment: &Segment,
        ecn: Ecn,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let slot = network.shared.packets.allocate();
        let packet = network.shared.packets.get_mut(slot);
        packet.segment = *segment;
        packet.to = from.other_end();
        packet.flow = self.flow;
        packet.hop = self.ends[from.side()].first_hop;
        packet.wire_bytes = IPV4_HEADER_BYTES + segment.wire_bytes();
        packet.ecn = ecn;
        network.send(now, slot, cx);
    }

    /// Lets the applications act on what happened; false if nothing did.
    #[inline(always)]
    fn handle_events<R: Recorder>(
        &mut self,
        now: Time,
        side: usize,
        source: &mut TcpSource,
        cx: &mut Context<'_, R>,
    ) -> bool {
        let mut any = false;
        while let Some(event) = self.ends[side].connection.poll_event() {
            any = true;
            match (event, side) {
                (TcpEvent::Writable, SENDER) => {
                    self.writer.fill(now, &mut self.ends[SENDER].connection);
                }
                _ => self.handle_rare_event(now, side, event, source, cx),
            }
        }
        any
    }

    /// What happens at the beginning and at the end of a connection.
    fn handle_rare_event<R: Recorder>(
        &mut self,
        now: Time,
        side: usize,
        event: TcpEvent,
        source: &mut TcpSource,
        cx: &mut Context<'_, R>,
    ) {
        let connection = &mut self.ends[side].connection;
        match (event, side) {
            (TcpEvent::Connected, SENDER) => {
                let flow = self.flow as usize;
                cx.records.flows[flow].connection_established(connection);
                cx.recorder.connection_established(now, flow, connection);
                self.writer.fill(now, connection);
            }
            (TcpEvent::PeerClosed, RECEIVER) => {
                connection.close(now);
                self.end(now, true, source, cx);
            }
            (TcpEvent::Failed(_), SENDER) => self.end(now, false, source, cx),
            _ => {}
        }
    }

    /// The receiver has had everything, or the sender's end has failed.
    fn end<R>(
        &mut self,
        now: Time,
        complete: bool,
        source: &mut TcpSource,
        cx: &mut Context<'_, R>,
    ) {
        if self.done {
            return;
        }
        self.done = true;
        let transfers = &mut cx.records.flows[self.flow as usize].transfers;
        if !complete {
            transfers.failed += 1;
        } else if source.has_size() && self.writer.wrote_all() {
            transfers.completion_s.push((now - self.opened).as_secs_f64());
        }
        match source.pause() {
            Some(pause) => cx.events.schedule(now + pause, Event::Start { flow: self.flow }),
            None => cx.records.unfinished -= 1,
        }
    }

    /// Sees to it that an event is pending for the endpoint's timer; true if none was before. A timer
    /// set later leaves the earlier event, which then finds nothing to do.
    fn arm<R>(&mut self, now: Time, sink: Sink, cx: &mut Context<'_, R>) -> bool {
        let end = &mut self.ends[sink.side()];
        let Some(due) = end.connection.poll_timeout() else { return false };
        // A timer that does not move must not stop the clock.
        let due = due.max(now + Span::from_nanos(1));
        if due >= end.armed {
            return false;
        }
        let first = end.armed == Time::MAX;
        end.armed = due;
        cx.events.schedule(due, Event::Timer { endpoint: sink.endpoint() });
        first
    }

    fn is_over(&self) -> bool {
        self.ends.iter().all(|end| end.connection.state() == State::Closed)
    }
}

fn tap<'a, R>(flow: u32, cx: &'a mut Context<'_, R>) -> FlowTap<'a, R> {
    let flow = flow as usize;
    FlowTap { flow, record: &mut cx.records.flows[flow], recorder: cx.recorder }
}

/// Both ends of a flow's next connection: sender, receiver.
fn open(now: Time, flow: &Flow, rng: &mut Rng) -> [Connection; 2] {
    let isn = [SeqNumber(rng.bits() as u32), SeqNumber(rng.bits() as u32)];
    let sender = with_phase(&flow.sender, rng);
    let receiver = with_phase(&flow.receiver, rng);
    if flow.handshake {
        return [Connection::connect(sender, now, isn[0]), Connection::listen(receiver, isn[1])];
    }
    let agreed = |local: usize, peer: &Config| Established {
        local_isn: isn[local],
        remote_isn: isn[1 - local],
        peer_mss: peer.mss,
        peer_window: peer.receive_buffer,
    };
    let to_sender = agreed(SENDER, &receiver);
    let to_receiver = agreed(RECEIVER, &sender);
    [
        Connection::established(sender, now, to_sender),
        Connection::established(receiver, now, to_receiver),
    ]
}

/// The clocks of hosts tick independently of each other: a coarse one gets a phase of its own.
fn with_phase(config: &Config, rng: &mut Rng) -> Config {
    let mut config = config.clone();
    if config.clock.tick > Span::from_nanos(1) {
        config.clock.phase = Span::from_nanos(rng.below(config.clock.tick.as_nanos()));
    }
    config
}
