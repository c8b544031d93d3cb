//! TCP on the hosts: connections, their applications and timers. The event loop (`run.rs`) passes
//! packets, timers and actions of applications to [`Hosts`], which sends the segments that follow
//! into the [`Network`].

use crate::apps::{Action, TcpSource, Writer};
use crate::event::Event;
use crate::model::{Flow, Scenario};
use crate::network::Network;
use crate::packet::{IPV4_HEADER_BYTES, InFlight, Sink, Slot};
use crate::random_stream;
use crate::record::{Context, FlowTap, Recorder};
use windlass_base::{Ecn, Rng, Span, Time};
use windlass_tcp::conn::Established;
use windlass_tcp::{Config, Connection, Event as TcpEvent, Flags, Run, Segment, SeqNumber, State};

/// The side of a connection that opens it and sends.
const SENDER: usize = 0;
/// The side that listens and receives.
const RECEIVER: usize = 1;

/// The largest run that an endpoint may return at once, in segments.
const RUN_MAX: u32 = 64;

/// All TCP endpoints of a run.
#[derive(Debug)]
pub(crate) struct Hosts {
    flows: Vec<Flow>,
    sources: Vec<TcpSource>,
    /// By number of the connection; `None` for those that have ended.
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
    /// The receiver has the last byte, or the connection failed.
    done: bool,
}

/// One end of a connection.
#[derive(Debug)]
// In order of access, as the connection itself.
#[repr(C)]
struct Endpoint {
    /// When the pending timer event is due that counts; [`Time::MAX`] without one.
    armed: Time,
    /// Where its packets start.
    first_hop: u32,
    flow: u32,
    connection: Connection,
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

    /// The sending end of a flow's connection, if there is one.
    pub(crate) fn sender(&self, flow: usize) -> Option<&Connection> {
        let number = self.sources.get(flow)?.current?;
        Some(&self.connections.get(number as usize)?.as_ref()?.ends[SENDER].connection)
    }

    /// Schedules the first actions of every application.
    pub(crate) fn schedule<R>(&mut self, cx: &mut Context<'_, R>) {
        for (flow, source) in (0..).zip(&mut self.sources) {
            schedule_actions(flow, source, cx);
        }
    }

    /// A flow's application acts.
    pub(crate) fn handle_app<R: Recorder>(
        &mut self,
        now: Time,
        flow: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let source = &mut self.sources[flow as usize];
        let current = source.current.and_then(|number| self.connections[number as usize].as_mut());
        let action = source.act(now, current.map(|pair| &mut pair.writer));
        schedule_actions(flow, source, cx);
        match action {
            Action::Open(writer) => self.open(now, flow, writer, network, cx),
            Action::Write => self.write(now, flow, network, cx),
            Action::Finish => cx.records.unfinished -= 1,
        }
    }

    /// A flow's application opens a connection.
    fn open<R: Recorder>(
        &mut self,
        now: Time,
        flow: u32,
        writer: Writer,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let source = &mut self.sources[flow as usize];
        let number = self.connections.len() as u32;
        source.current = Some(number);
        let spec = &self.flows[flow as usize];
        let [sender, receiver] = both_ends(now, spec, &mut source.rng);
        cx.records.flows[flow as usize].connection_started(now, &sender);
        cx.recorder.connection_started(now, flow as usize, &sender);
        let mut end = |connection, reverse| Endpoint {
            connection,
            armed: Time::MAX,
            first_hop: network.first_hop(flow, number, reverse),
            flow,
        };
        let mut ends = [end(sender, false), end(receiver, true)];
        ends[RECEIVER].connection.discard_incoming();
        let mut pair = Box::new(Pair { flow, ends, writer, opened: now, done: false });
        if !spec.handshake {
            pair.writer.fill(now, &mut pair.ends[SENDER].connection);
        }
        self.connections.push(Some(pair));
        self.drive_apart::<R, RECEIVER>(now, number, network, cx);
        self.drive_apart::<R, SENDER>(now, number, network, cx);
    }

    /// A flow's application writes to its connection, or closes it.
    fn write<R: Recorder>(
        &mut self,
        now: Time,
        flow: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let Some(number) = self.sources[flow as usize].current else { return };
        if let Some(pair) = &mut self.connections[number as usize] {
            pair.writer.fill(now, &mut pair.ends[SENDER].connection);
            self.drive_apart::<R, SENDER>(now, number, network, cx);
        }
    }

    /// True if a packet that arrives at `at` may be delivered early to its endpoint: no timer expires
    /// first, and the packet neither opens nor closes the connection. Receivers may share the link on
    /// which they answer, so a timer of any of them prevents it; a sender has a link of its own.
    pub(crate) fn can_deliver_early(&self, at: Time, packet: &InFlight) -> bool {
        let Some(pair) = &self.connections[packet.to.connection() as usize] else { return false };
        let side = packet.to.side();
        let connection = &pair.ends[side].connection;
        let quiet = match side {
            SENDER => connection.poll_timeout().is_none_or(|due| due > at),
            _ => self.receivers_armed == 0,
        };
        quiet
            && connection.state() == State::Established
            && !packet.run.first.flags.intersects(Flags::SYN | Flags::FIN | Flags::RST)
    }

    /// A packet reaches its endpoint. Each side has its own instance of the code, without branches on
    /// the side.
    pub(crate) fn handle_packet<R: Recorder>(
        &mut self,
        now: Time,
        packet: Slot,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let to = network.transit.packets.get(packet).to;
        match to.side() {
            SENDER => self.handle_packet_at::<R, SENDER>(now, to, packet, network, cx),
            _ => self.handle_packet_at::<R, RECEIVER>(now, to, packet, network, cx),
        }
    }

    #[inline(never)]
    fn handle_packet_at<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        to: Sink,
        packet: Slot,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let InFlight { waited, run, .. } = network.transit.packets.get(packet);
        let Run { first: segment, ecn, .. } = run;
        let number = to.connection();
        let Some(pair) = &mut self.connections[number as usize] else { return };
        if SIDE == RECEIVER && segment.payload_len > 0 {
            cx.records.delivered_segments += 1;
            cx.records.flows[pair.flow as usize].queue_delays.record(now, *waited);
        }
        if pair.ends[SIDE].connection.state() == State::Closed {
            if let Some(reset) = segment.reset_reply() {
                pair.reply(now, to, reset, network, cx);
            }
            return;
        }
        pair.handle_segment::<R, SIDE>(now, segment, *ecn, cx);
        self.drive::<R, SIDE>(now, number, network, cx);
    }

    /// An endpoint's timer is due, unless it has been set again since.
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
            match sink.side() {
                SENDER => self.drive_apart::<R, SENDER>(now, sink.connection(), network, cx),
                _ => self.drive_apart::<R, RECEIVER>(now, sink.connection(), network, cx),
            }
        } else if pair.ends[sink.side()].arm(now, sink, cx) {
            // An early delivery may have brought the endpoint past `now`. It has nothing to do yet.
            self.receivers_armed += u32::from(sink.side() == RECEIVER);
        }
    }

    /// [`Hosts::drive`] out of line, for all events but packets.
    #[inline(never)]
    fn drive_apart<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        number: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        self.drive::<R, SIDE>(now, number, network, cx);
    }

    /// Drains a changed endpoint.
    #[inline(always)]
    fn drive<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        number: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let slot = &mut self.connections[number as usize];
        let Some(pair) = slot else { return };
        pair.handle_events::<R, SIDE>(now, &mut self.sources, cx);
        loop {
            pair.transmit::<R, SIDE>(now, number, network, cx);
            if !pair.handle_events::<R, SIDE>(now, &mut self.sources, cx) {
                break;
            }
        }
        if pair.ends[SIDE].arm(now, Sink::tcp(number, SIDE), cx) {
            self.receivers_armed += u32::from(SIDE == RECEIVER);
        }
        if pair.is_over(SIDE) {
            self.receivers_armed -= u32::from(pair.ends[RECEIVER].armed != Time::MAX);
            let stats = pair.ends[SENDER].connection.stats();
            cx.records.flows[pair.flow as usize].connection_ended(now, stats);
            *slot = None;
        }
    }

    /// Adds the counters of the open connections.
    pub(crate) fn finish<R>(&self, cx: &mut Context<'_, R>) {
        for pair in self.connections.iter().flatten() {
            cx.records.flows[pair.flow as usize].add(pair.ends[SENDER].connection.stats());
        }
    }
}

impl Pair {
    fn handle_segment<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        segment: &Segment,
        ecn: Ecn,
        cx: &mut Context<'_, R>,
    ) {
        let Endpoint { flow, connection, .. } = &mut self.ends[SIDE];
        match SIDE {
            SENDER => connection.handle_segment(now, segment, ecn, &mut tap(*flow, cx)),
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

    /// Sends the endpoint's segments. The engine builds each one in the slot in which it travels.
    fn transmit<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        number: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        loop {
            let slot = network.transit.packets.allocate();
            let packet = network.transit.packets.get_mut(slot);
            let Endpoint { flow, first_hop, connection, .. } = &mut self.ends[SIDE];
            let run = &mut packet.run;
            let any = match SIDE {
                SENDER => connection.poll_transmit_into(now, RUN_MAX, &mut tap(*flow, cx), run),
                _ => connection.poll_transmit_into(now, RUN_MAX, &mut (), run),
            };
            if !any {
                network.transit.packets.release(slot);
                return;
            }
            let (count, is_last) = (run.count, run.is_last);
            packet.to = Sink::tcp(number, SIDE).other_end();
            packet.flow = *flow;
            packet.hop = *first_hop;
            packet.waited = Span::ZERO;
            if count == 1 {
                packet.wire_bytes = IPV4_HEADER_BYTES + run.first.wire_bytes();
                network.send(now, slot, cx);
            } else {
                send_several(now, slot, network, cx);
            }
            if is_last {
                debug_assert!(connection.poll_transmit(now, 1, &mut ()).is_none(), "the last run");
                return;
            }
        }
    }

    /// Answers a packet for a closed endpoint.
    #[cold]
    fn reply<R: Recorder>(
        &self,
        now: Time,
        from: Sink,
        first: Segment,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let slot = network.transit.packets.put(InFlight {
            to: from.other_end(),
            flow: self.flow,
            hop: self.ends[from.side()].first_hop,
            wire_bytes: IPV4_HEADER_BYTES + first.wire_bytes(),
            waited: Span::ZERO,
            run: Run { first, count: 1, ..Run::default() },
        });
        network.send(now, slot, cx);
    }

    /// Lets the applications handle the endpoint's events; false if there are none.
    #[inline(always)]
    fn handle_events<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        sources: &mut [TcpSource],
        cx: &mut Context<'_, R>,
    ) -> bool {
        let mut any = false;
        while let Some(event) = self.ends[SIDE].connection.poll_event() {
            any = true;
            match (event, SIDE) {
                (TcpEvent::Writable, SENDER) => {
                    self.writer.fill(now, &mut self.ends[SENDER].connection);
                }
                _ => {
                    let source = &mut sources[self.flow as usize];
                    self.handle_rare_event(now, SIDE, event, source, cx);
                }
            }
        }
        any
    }

    /// Handles the events at the beginning and the end of a connection.
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

    /// The receiver has all data, or the sender's end has failed.
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
        if source.connection_done(now) {
            schedule_actions(self.flow, source, cx);
        } else {
            cx.records.unfinished -= 1;
        }
    }

    /// True if both ends are closed. Checks the end that changed first, since it is in the cache.
    fn is_over(&self, changed: usize) -> bool {
        let is_closed = |side: usize| self.ends[side].connection.state() == State::Closed;
        is_closed(changed) && is_closed(1 - changed)
    }
}

impl Endpoint {
    /// Schedules an event for the endpoint's timer; true if none was pending. If the timer moves to a
    /// later time, the earlier event stays and does nothing.
    fn arm<R>(&mut self, now: Time, sink: Sink, cx: &mut Context<'_, R>) -> bool {
        let Some(due) = self.connection.poll_timeout() else { return false };
        // A timer that does not move must not stop the clock.
        let due = due.max(now + Span::from_nanos(1));
        if due >= self.armed {
            return false;
        }
        let first = self.armed == Time::MAX;
        self.armed = due;
        cx.events.schedule(due, Event::Timer { endpoint: sink.endpoint() });
        first
    }
}

/// Schedules an event for each time at which a flow's application wants to act.
fn schedule_actions<R>(flow: u32, source: &mut TcpSource, cx: &mut Context<'_, R>) {
    while let Some(at) = source.poll_wake() {
        cx.events.schedule(at, Event::App { flow });
    }
}

/// Sends a run of several segments that shares one slot.
#[cold]
fn send_several<R: Recorder>(
    now: Time,
    slot: Slot,
    network: &mut Network,
    cx: &mut Context<'_, R>,
) {
    let all = *network.transit.packets.get(slot);
    network.transit.packets.release(slot);
    for first in all.run.segments() {
        let wire_bytes = IPV4_HEADER_BYTES + first.wire_bytes();
        let run = Run { first, count: 1, ..all.run };
        let slot = network.transit.packets.put(InFlight { wire_bytes, run, ..all });
        network.send(now, slot, cx);
    }
}

fn tap<'a, R>(flow: u32, cx: &'a mut Context<'_, R>) -> FlowTap<'a, R> {
    let flow = flow as usize;
    FlowTap { flow, record: &mut cx.records.flows[flow], recorder: cx.recorder }
}

/// Both ends of a flow's next connection: sender, receiver.
fn both_ends(now: Time, flow: &Flow, rng: &mut Rng) -> [Connection; 2] {
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
        peer_window: peer.buffers.receive,
    };
    let to_sender = agreed(SENDER, &receiver);
    let to_receiver = agreed(RECEIVER, &sender);
    [
        Connection::established(sender, now, to_sender),
        Connection::established(receiver, now, to_receiver),
    ]
}

/// Draws the phase of a coarse clock: the clocks of hosts tick independently.
fn with_phase(config: &Config, rng: &mut Rng) -> Config {
    let mut config = config.clone();
    if config.timers.clock.tick > Span::from_nanos(1) {
        config.timers.clock.phase =
            Span::from_nanos(rng.below(config.timers.clock.tick.as_nanos()));
    }
    config
}
