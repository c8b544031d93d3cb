//! TCP on the hosts: connections, their applications and timers. The event loop (`run`) passes
//! packets, timers and actions of applications to [`Hosts`], which sends the segments that follow
//! into the [`Network`].

mod endpoint;
mod open;
mod pair;

use crate::apps::{Action, Barrier, Carries, Figures, Sources, TcpSource};
use crate::event::Event;
use crate::model::{Flow, Scenario};
use crate::network::Network;
use crate::packet::{InFlight, Sink, Slot};
use crate::record::{Context, Recorder};
use pair::Pair;
use windlass_base::Time;
use windlass_tcp::{Connection, Flags, Run, State};

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
    sources: Sources,
    /// By number of the connection; `None` for those that have ended.
    connections: Vec<Option<Box<Pair>>>,
    /// Receivers for whose timer an event is pending.
    receivers_armed: u32,
    /// The ends of each flow in this part of the run; empty if it is not divided.
    here: Vec<[bool; 2]>,
}

impl Hosts {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Hosts {
        Hosts {
            flows: scenario.flows.clone(),
            sources: Sources::new(scenario, seed),
            connections: vec![],
            receivers_armed: 0,
            here: vec![],
        }
    }

    /// Leaves all but these ends of the flows, sender and receiver, to other parts of the run.
    pub(crate) fn restrict(&mut self, here: Vec<[bool; 2]>) {
        self.here = here;
    }

    /// True if an end of a flow is in this part of the run.
    fn is_here(&self, flow: u32, side: usize) -> bool {
        self.here.get(flow as usize).is_none_or(|here| here[side])
    }

    /// True if one end of a flow is in this part of the run, and its connection is open or opening. Its end
    /// depends on both ends.
    pub(crate) fn is_undisturbed(&self, flow: u32) -> bool {
        let Some(number) = self.sources.get(flow as usize).and_then(|source| source.current) else {
            return true;
        };
        let Some(pair) = &self.connections[number as usize] else { return false };
        let is_open = |side: usize| {
            let state = pair.ends[side].connection.state();
            matches!(
                state,
                State::Listen | State::SynSent | State::SynReceived | State::Established
            )
        };
        !pair.is_done() && [SENDER, RECEIVER].into_iter().all(is_open)
    }

    /// The sending end of a flow's connection, if there is one.
    pub(crate) fn sender(&self, flow: usize) -> Option<&Connection> {
        let number = self.sources.get(flow)?.current?;
        Some(&self.connections.get(number as usize)?.as_ref()?.ends[SENDER].connection)
    }

    /// Schedules the first actions of every application.
    pub(crate) fn schedule<R>(&mut self, cx: &mut Context<'_, R>) {
        for flow in self.sources.flows() {
            settle(Time::ZERO, flow, &mut self.sources, cx);
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
        self.sources.of(flow).act(now);
        let is_here = self.is_here(flow, SENDER);
        while let Some(action) = self.sources.poll_action(now, flow) {
            match action {
                Action::Open(carries) => self.open(now, flow, carries, network, cx),
                _ if !is_here => {}
                Action::Request { connection, exchange } => {
                    let ask = |pair: &mut Pair| pair.ask(now, exchange);
                    cx.records.flows[flow as usize].transfer_begun(now);
                    self.change::<R, RECEIVER>(now, connection, ask, network, cx);
                }
                Action::Write { connection, bytes } => {
                    let write = |pair: &mut Pair| pair.write(now, bytes);
                    self.change::<R, SENDER>(now, connection, write, network, cx);
                }
                Action::Close { connection } => self.close(now, connection, network, cx),
            }
        }
        if is_here {
            settle(now, flow, &mut self.sources, cx);
        }
    }

    /// A flow's application opens a connection.
    fn open<R: Recorder>(
        &mut self,
        now: Time,
        flow: u32,
        carries: Carries,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let number = self.connections.len() as u32;
        let source = self.sources.of(flow);
        source.opened(number);
        let spec = &self.flows[flow as usize];
        let first_hops = [false, true].map(|reverse| network.first_hop(flow, number, reverse));
        let mut pair = Pair::open(now, number, flow, spec, carries, first_hops, source.rng());
        let sender = &pair.ends[SENDER].connection;
        let record = &mut cx.records.flows[flow as usize];
        record.connection_started(now, sender);
        record.transfer_begun(now);
        cx.recorder.connection_started(now, flow as usize, sender);
        if !spec.handshake {
            pair.begin(now);
        }
        self.connections.push(Some(pair));
        if self.is_here(flow, RECEIVER) {
            self.drive_apart::<R, RECEIVER>(now, number, network, cx);
        }
        if self.is_here(flow, SENDER) {
            self.drive_apart::<R, SENDER>(now, number, network, cx);
        }
    }

    /// An application closes a connection.
    fn close<R: Recorder>(
        &mut self,
        now: Time,
        number: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let Some(pair) = &mut self.connections[number as usize] else { return };
        match pair.close(now) {
            SENDER => self.drive_apart::<R, SENDER>(now, number, network, cx),
            _ => self.drive_apart::<R, RECEIVER>(now, number, network, cx),
        }
    }

    /// Changes one side of a connection, unless it is over.
    fn change<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        number: u32,
        change: impl FnOnce(&mut Pair),
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        if let Some(pair) = &mut self.connections[number as usize] {
            change(pair);
            self.drive_apart::<R, SIDE>(now, number, network, cx);
        }
    }

    /// Figures of a flow's application up to the end of the run, if it has some of its own.
    pub(crate) fn figures(&self, flow: usize, end: Time) -> Option<Figures> {
        self.sources.get(flow)?.figures(end)
    }

    /// Whether a flow's application has done all that it ever will.
    pub(crate) fn is_finished(&self, flow: usize) -> bool {
        self.sources.get(flow).is_some_and(TcpSource::is_finished)
    }

    /// The barriers of the applications, by number.
    pub(crate) fn barriers(&self) -> &[Barrier] {
        self.sources.barriers()
    }

    /// True if a packet that arrives at `at` may be delivered early to its endpoint: no timer expires
    /// first, and the packet neither opens nor closes the connection. Receivers may share the link on
    /// which they answer, so a timer of any of them prevents it; a sender has a link of its own.
    pub(crate) fn can_deliver_early(&self, at: Time, packet: &InFlight) -> bool {
        let Some(pair) = &self.connections[packet.to.connection() as usize] else { return false };
        let side = packet.to.side();
        let connection = &pair.ends[side].connection;
        let quiet = match side {
            // No timer is due before the event that is pending for it.
            SENDER => {
                pair.ends[side].armed > at || connection.poll_timeout().is_none_or(|due| due > at)
            }
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
        if pair.is_over(SIDE) {
            self.receivers_armed -= u32::from(pair.ends[RECEIVER].armed != Time::MAX);
            let stats = pair.ends[SENDER].connection.stats();
            cx.records.flows[pair.flow as usize].connection_ended(now, stats);
            *slot = None;
        } else if pair.ends[SIDE].arm(now, Sink::tcp(number, SIDE), cx) {
            self.receivers_armed += u32::from(SIDE == RECEIVER);
        }
    }

    /// Adds the counters of the open connections.
    pub(crate) fn finish<R>(&self, cx: &mut Context<'_, R>) {
        for pair in self.connections.iter().flatten() {
            cx.records.flows[pair.flow as usize].add(pair.ends[SENDER].connection.stats());
        }
    }
}

/// Ends a call that changed the application of a flow: schedules an event for each time at which it wants to
/// act, and counts it if it has finished.
fn settle<R>(now: Time, flow: u32, sources: &mut Sources, cx: &mut Context<'_, R>) {
    let wake = |flow, at| cx.events.schedule(at, Event::App { flow });
    cx.records.unfinished -= sources.settle(now, flow, wake);
}
