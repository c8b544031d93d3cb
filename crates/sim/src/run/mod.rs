//! Running a scenario: the event loop, which takes the next event from the queue and passes it to
//! the network or to the hosts.

mod parts;

use crate::apps::{UdpPacket, UdpSource};
use crate::build_error::BuildError;
use crate::event::{Event, EventQueue};
use crate::host::Hosts;
use crate::middlebox::Middlebox;
use crate::model::{Flow, NodeId, Scenario, UdpFlow};
use crate::network::{EarlyPacket, Network};
use crate::packet::{InFlight, Sink, Slot};
use crate::placed::Placed;
use crate::random_stream;
use crate::record::{
    Completions, Context, EndpointRecord, FlowRecord, Recorder, Records, Traffic, UdpRecord,
};
use crate::summary::{self, QueueSummary, Summary};
use crate::transports::Transports;
use crate::warnings::warnings;
pub use parts::{run_in_parts, run_in_parts_unrecorded};
use std::ops::Deref;
use windlass_base::{Span, Time};
use windlass_tcp::Connection;

/// Runs a scenario. The same scenario and seed give the same summary, bit for bit, with any recorder.
///
/// # Errors
///
/// A [`BuildError`] if no network can be built from the scenario.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    recorder: &mut impl Recorder,
) -> Result<Summary, BuildError> {
    Ok(Simulation::new(scenario, seed)?.run(recorder))
}

/// As [`run`] without a recorder. The code is compiled with this crate; that of [`run`] is compiled again
/// for each type of recorder, in the crate that calls it.
///
/// # Errors
///
/// As of [`run`].
pub fn run_unrecorded(scenario: &Scenario, seed: u64) -> Result<Summary, BuildError> {
    run(scenario, seed, &mut ())
}

/// As [`run`] with a recorder of any type, which costs a virtual call for each event. The code is compiled
/// with this crate.
///
/// # Errors
///
/// As of [`run`].
pub fn run_recorded(
    scenario: &Scenario,
    seed: u64,
    mut recorder: &mut dyn Recorder,
) -> Result<Summary, BuildError> {
    run(scenario, seed, &mut recorder)
}

/// A scenario ready to run, or on its way. `S` borrows or shares the scenario: `&Scenario`,
/// `Arc<Scenario>`. Middleboxes can be added to its nodes before it starts.
#[derive(Debug)]
pub struct Simulation<S> {
    scenario: S,
    seed: u64,
    network: Network,
    hosts: Hosts,
    udp: Vec<UdpSource>,
    transports: Transports,
    events: EventQueue,
    records: Records,
    middleboxes: Placed,
    /// When it ends at the latest.
    end: Time,
    started: bool,
    over: bool,
    handled: u64,
}

impl<S: Deref<Target = Scenario>> Simulation<S> {
    /// Builds the network of `scenario`.
    ///
    /// # Errors
    ///
    /// A queue's settings cannot work, or the ends of a flow do not reach each other.
    pub fn new(scenario: S, seed: u64) -> Result<Simulation<S>, BuildError> {
        let source =
            |(n, spec)| UdpSource::new(spec, scenario.jitter, random_stream::udp_flow(seed, n));
        let udp: Vec<UdpSource> = (0..).zip(&scenario.udp).map(source).collect();
        let mut network = Network::new(&scenario, seed)?;
        let middleboxes = Placed::new(&scenario, seed, &mut network);
        Ok(Simulation {
            seed,
            records: records(&scenario, &network, &udp),
            network,
            middleboxes,
            hosts: Hosts::new(&scenario, seed),
            udp,
            transports: Transports::new(&scenario, seed),
            events: EventQueue::default(),
            end: Time::ZERO + scenario.duration,
            started: false,
            over: false,
            handled: 0,
            scenario,
        })
    }

    /// Adds a middlebox to a node, behind those on it.
    pub fn add_middlebox(&mut self, node: NodeId, middlebox: impl Middlebox + 'static) {
        self.network.add_middlebox(node, Box::new(middlebox));
    }

    /// Runs to the end of the scenario's duration, or until its flows are done.
    pub fn run<R: Recorder>(mut self, recorder: &mut R) -> Summary {
        self.advance(Time::MAX, recorder, || false);
        self.finish(recorder)
    }

    /// Runs on to `until`, to the end, or to the first event after which `stop` is true. The events of
    /// a run are the same, however often it is interrupted. After an early delivery the clock stands at
    /// the arrival of its packet, which may be later than `until`.
    pub fn advance<R: Recorder>(
        &mut self,
        until: Time,
        recorder: &mut R,
        mut stop: impl FnMut() -> bool,
    ) {
        if !self.started {
            self.started = true;
            self.schedule_starts(self.end, recorder);
        }
        let Simulation { network, hosts, udp, transports, events, records, handled, .. } = self;
        let cx = &mut Context { events, records, recorder, end: self.end };
        while let Some((now, event)) = cx.events.pop(until.min(self.end)) {
            handle(now, event, network, hosts, udp, transports, cx);
            *handled += 1;
            if cx.records.unfinished == 0 && self.scenario.until_done {
                self.end = now;
                self.over = true;
                break;
            }
            if stop() {
                return;
            }
        }
        self.over |= until >= self.end;
    }

    /// Whether there is nothing left to run.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// When it ends at the latest; once [`is_over`](Simulation::is_over), when it ended.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.events.now()
    }

    /// The sending end of a flow's connection; `None` before it opens, and between two connections.
    pub fn sender(&self, flow: usize) -> Option<&Connection> {
        self.hosts.sender(flow)
    }

    /// Sentences about flows whose controller waits for a signal that cannot come, as in
    /// [`Summary::warnings`].
    pub fn warnings(&self) -> Vec<String> {
        warnings(&self.scenario, &self.network)
    }

    /// Ends the run here, and returns its summary.
    pub fn finish<R: Recorder>(mut self, recorder: &mut R) -> Summary {
        let end = if self.over { self.end } else { self.now().min(self.end) };
        self.finish_records(end, recorder);
        for (source, record) in self.udp.iter().zip(&mut self.records.udp) {
            if let Some(media) = &mut record.media {
                media.finish(end, source.frames_sent());
            }
        }
        let queues = summary::queues(&self.scenario, end, &self.network);
        self.summary(end, queues)
    }

    /// Catches up with the end of the run, all but the frames of media.
    fn finish_records<R: Recorder>(&mut self, end: Time, recorder: &mut R) {
        let (events, records) = (&mut self.events, &mut self.records);
        let cx = &mut Context { events, records, recorder, end };
        self.network.finish(end, cx);
        self.hosts.finish(cx);
        self.transports.finish(end, cx);
        for (number, flow) in self.records.flows.iter_mut().enumerate() {
            flow.finish(end);
            flow.application = self.hosts.figures(number, end);
            flow.finished = self.hosts.is_finished(number);
        }
    }

    fn summary(&self, end: Time, queues: Vec<QueueSummary>) -> Summary {
        Summary {
            middleboxes: self.middleboxes.summaries(&self.scenario),
            barriers: summary::barriers(&self.scenario, self.hosts.barriers()),
            ..summary::summarise(
                &self.scenario,
                self.seed,
                end,
                &self.network,
                &self.records,
                queues,
                self.handled,
            )
        }
    }

    fn schedule_starts<R>(&mut self, end: Time, recorder: &mut R) {
        let (events, records) = (&mut self.events, &mut self.records);
        let cx = &mut Context { events, records, recorder, end };
        self.hosts.schedule(cx);
        self.transports.schedule(cx);
        for (number, source) in (0..).zip(&self.udp) {
            if let Some(due) = source.due() {
                self.events.schedule(due, Event::Udp { source: number });
            }
        }
    }
}

/// Handles an event, and the deliveries that follow from it at once.
#[inline(always)]
fn handle<R: Recorder>(
    now: Time,
    event: Event,
    network: &mut Network,
    hosts: &mut Hosts,
    udp: &mut [UdpSource],
    transports: &mut Transports,
    cx: &mut Context<'_, R>,
) {
    if cx.recorder.wants_packets() {
        network.show_captures(now, cx);
    }
    match event {
        Event::Arrival { channel } => {
            if let Some(packet) = network.handle_arrival(now, channel, cx) {
                deliver(now, packet, hosts, transports, network, cx);
            }
        }
        Event::Late { slot } => {
            if let Some(packet) = network.handle_late(now, Slot::from_number(slot), cx) {
                deliver(now, packet, hosts, transports, network, cx);
            }
        }
        Event::Timer { endpoint } => hosts.handle_timer(now, endpoint, network, cx),
        Event::App { flow } => hosts.handle_app(now, flow, network, cx),
        Event::Middlebox { chain } => network.handle_middlebox(now, chain, cx),
        Event::Endpoint { end } => transports.handle_timer(now, end, network, cx),
        Event::Udp { source } => {
            // UDP sources follow the TCP flows, and flows of endpoints follow both.
            let flow = cx.records.flows.len() as u32 + source;
            send_udp(now, source, flow, &mut udp[source as usize], network, cx);
        }
    }
    deliver_all(now, network, hosts, transports, cx);
}

/// The deliveries that follow from an event at once.
#[inline(always)]
fn deliver_all<R: Recorder>(
    now: Time,
    network: &mut Network,
    hosts: &mut Hosts,
    transports: &mut Transports,
    cx: &mut Context<'_, R>,
) {
    loop {
        if let Some(packet) = network.inbox.pop_front() {
            deliver(now, packet, hosts, transports, network, cx);
        } else if let Some(packet) = network.next_early() {
            deliver_early(packet, hosts, transports, network, cx);
        } else {
            break;
        }
    }
}

/// A packet has reached its destination.
#[inline(always)]
fn deliver<R: Recorder>(
    now: Time,
    packet: Slot,
    hosts: &mut Hosts,
    transports: &mut Transports,
    network: &mut Network,
    cx: &mut Context<'_, R>,
) {
    let in_flight = network.transit.packets.get(packet);
    if in_flight.to.is_tcp() {
        hosts.handle_packet(now, packet, network, cx);
    } else if in_flight.to.is_udp() {
        cx.records.udp[in_flight.to.connection() as usize].receive(now, in_flight);
    } else {
        transports.handle_packet(now, packet, network, cx);
    }
    network.transit.packets.release(packet);
}

/// Delivers a packet early if no other event can come before its arrival; otherwise schedules that.
#[inline(always)]
fn deliver_early<R: Recorder>(
    early: EarlyPacket,
    hosts: &mut Hosts,
    transports: &mut Transports,
    network: &mut Network,
    cx: &mut Context<'_, R>,
) {
    let packet = network.transit.packets.get(early.packet);
    let is_first = network.is_next_to_arrive(&early)
        && (!packet.to.is_tcp() || hosts.can_deliver_early(early.arrival, packet));
    if is_first {
        cx.events.go_to(early.arrival);
        network.capture_early(early, cx);
        deliver(early.arrival, early.packet, hosts, transports, network, cx);
    } else {
        network.schedule_arrival(early, cx);
    }
}

fn records(scenario: &Scenario, network: &Network, sources: &[UdpSource]) -> Records {
    let steady_from = Time::ZERO + scenario.steady_from;
    let (tcp, udp, others) = (scenario.flows.len(), scenario.udp.len(), scenario.endpoints.len());
    let flow = |(number, flow): (u32, &Flow)| FlowRecord {
        completions: flow
            .app
            .has_sizes()
            .then(|| Box::new(Completions::new(steady_from, network.idle_path(scenario, number)))),
        ..FlowRecord::new(steady_from)
    };
    let mut flows: Vec<FlowRecord> = (0..).zip(&scenario.flows).map(flow).collect();
    if let Some(interval) = scenario.interval {
        flows.iter_mut().for_each(|flow| flow.count_intervals(interval));
    }
    let udp_record =
        |(flow, source): (&UdpFlow, &UdpSource)| UdpRecord::new(flow, source.start, steady_from);
    Records {
        bottleneck: Some(scenario.bottleneck),
        flows,
        traffic: vec![Traffic::default(); tcp + udp + others],
        udp: scenario.udp.iter().zip(sources).map(udp_record).collect(),
        endpoints: vec![EndpointRecord::new(steady_from); others],
        unfinished: tcp + others,
        delivered_segments: 0,
    }
}

fn send_udp<R: Recorder>(
    now: Time,
    number: u32,
    flow: u32,
    source: &mut UdpSource,
    network: &mut Network,
    cx: &mut Context<'_, R>,
) {
    let UdpPacket { wire_bytes, frame, .. } = source.take();
    cx.records.udp[number as usize].sent += 1;
    let packet = InFlight {
        to: Sink::udp(number),
        flow,
        hop: network.first_hop(flow, number, false),
        wire_bytes,
        waited: Span::ZERO,
        run: InFlight::run_of_udp(source.ecn, frame),
    };
    let slot = network.transit.packets.put(packet);
    network.send(now, slot, cx);
    if let Some(due) = source.due() {
        cx.events.schedule(due, Event::Udp { source: number });
    }
}
