//! Running a scenario.

use crate::apps::UdpSource;
use crate::build_error::BuildError;
use crate::event::{Event, EventQueue};
use crate::host::Hosts;
use crate::middlebox::Middlebox;
use crate::network::{HandedOver, Network};
use crate::packet::{InFlight, Sink, Slot};
use crate::placed::Placed;
use crate::random_stream;
use crate::record::{Context, FlowRecord, Recorder, Records, Traffic, UdpRecord};
use crate::scenario::model::{NodeId, Scenario};
use crate::summary::{self, Summary};
use windlass_base::Time;
use windlass_tcp::Run;

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

/// A scenario ready to run. Middleboxes can be added to its nodes before that.
#[derive(Debug)]
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    seed: u64,
    network: Network,
    hosts: Hosts,
    udp: Vec<UdpSource>,
    events: EventQueue,
    records: Records,
    middleboxes: Placed,
}

impl<'a> Simulation<'a> {
    /// Builds the network of `scenario`.
    ///
    /// # Errors
    ///
    /// A queue's settings cannot work, or the ends of a flow do not reach each other.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Result<Simulation<'a>, BuildError> {
        let source =
            |(n, spec)| UdpSource::new(spec, scenario.jitter, random_stream::udp_flow(seed, n));
        let mut network = Network::new(scenario, seed)?;
        let middleboxes = Placed::new(scenario, seed, &mut network);
        Ok(Simulation {
            scenario,
            seed,
            network,
            middleboxes,
            hosts: Hosts::new(scenario, seed),
            udp: (0..).zip(&scenario.udp).map(source).collect(),
            events: EventQueue::default(),
            records: records(scenario),
        })
    }

    /// Adds a middlebox to a node, behind those on it.
    pub fn add_middlebox(&mut self, node: NodeId, middlebox: impl Middlebox + 'static) {
        self.network.add_middlebox(node, Box::new(middlebox));
    }

    /// Runs to the end of the scenario's duration, or until its flows are done.
    pub fn run<R: Recorder>(mut self, recorder: &mut R) -> Summary {
        let mut end = Time::ZERO + self.scenario.duration;
        self.schedule_starts(end, recorder);
        let mut handled = 0;
        let Simulation { mut network, mut hosts, mut udp, mut events, mut records, .. } = self;
        let cx = &mut Context { events: &mut events, records: &mut records, recorder, end };
        while let Some((now, event)) = cx.events.pop(end) {
            handle(now, event, &mut network, &mut hosts, &mut udp, cx);
            handled += 1;
            if cx.records.unfinished == 0 && self.scenario.until_done {
                end = now;
                cx.end = now;
                break;
            }
        }
        network.finish(end, cx);
        hosts.finish(cx);
        for flow in &mut records.flows {
            flow.finish(end);
        }
        Summary {
            middleboxes: self.middleboxes.summaries(self.scenario),
            ..summary::summarise(self.scenario, self.seed, end, &network, &records, handled)
        }
    }

    fn schedule_starts<R>(&mut self, end: Time, recorder: &mut R) {
        let (events, records) = (&mut self.events, &mut self.records);
        self.hosts.schedule(&mut Context { events, records, recorder, end });
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
    cx: &mut Context<'_, R>,
) {
    if cx.recorder.wants_packets() {
        network.show_captures(now, cx);
    }
    match event {
        Event::Arrival { channel } => {
            if let Some(packet) = network.handle_arrival(now, channel, cx) {
                deliver(now, packet, hosts, network, cx);
            }
        }
        Event::Late { slot } => {
            if let Some(packet) = network.handle_late(now, Slot::from_number(slot), cx) {
                deliver(now, packet, hosts, network, cx);
            }
        }
        Event::Timer { endpoint } => hosts.handle_timer(now, endpoint, network, cx),
        Event::Start { flow } => hosts.handle_start(now, flow, network, cx),
        Event::Stop { flow } => hosts.handle_stop(now, flow, network, cx),
        Event::Middlebox { chain } => network.handle_middlebox(now, chain, cx),
        Event::Udp { source } => {
            // UDP sources follow the TCP flows.
            let flow = cx.records.flows.len() as u32 + source;
            send_udp(now, source, flow, &mut udp[source as usize], network, cx);
        }
    }
    loop {
        if let Some(packet) = network.inbox.pop_front() {
            deliver(now, packet, hosts, network, cx);
        } else if let Some(packet) = network.next_ahead() {
            deliver_ahead(packet, hosts, network, cx);
        } else {
            break;
        }
    }
}

/// A packet has reached its destination.
fn deliver<R: Recorder>(
    now: Time,
    packet: Slot,
    hosts: &mut Hosts,
    network: &mut Network,
    cx: &mut Context<'_, R>,
) {
    let to = network.transit.packets.get(packet).to;
    if to.is_udp() {
        cx.records.udp[to.connection() as usize].receive(now);
    } else {
        hosts.handle_packet(now, packet, network, cx);
    }
    network.transit.packets.release(packet);
}

/// A packet will reach its destination, which takes it now if no other event can come first.
fn deliver_ahead<R: Recorder>(
    handed: HandedOver,
    hosts: &mut Hosts,
    network: &mut Network,
    cx: &mut Context<'_, R>,
) {
    let packet = network.transit.packets.get(handed.packet);
    let ahead = network.is_next_to_arrive(&handed)
        && (packet.to.is_udp() || hosts.can_take_ahead(handed.arrival, packet));
    if ahead {
        cx.events.go_to(handed.arrival);
        network.capture_ahead(handed, cx);
        deliver(handed.arrival, handed.packet, hosts, network, cx);
    } else {
        network.await_arrival(handed, cx);
    }
}

fn records(scenario: &Scenario) -> Records {
    let steady_from = Time::ZERO + scenario.steady_from;
    let (tcp, udp) = (scenario.flows.len(), scenario.udp.len());
    Records {
        bottleneck: Some(scenario.bottleneck),
        flows: vec![FlowRecord::new(steady_from); tcp],
        traffic: vec![Traffic::default(); tcp + udp],
        udp: vec![UdpRecord::new(steady_from); udp],
        unfinished: tcp,
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
    source.sent();
    cx.records.udp[number as usize].sent += 1;
    let packet = InFlight {
        to: Sink::udp(number),
        flow,
        hop: network.first_hop(flow, false),
        wire_bytes: source.spec.packet_bytes,
        run: Run::default(),
    };
    let slot = network.transit.packets.put(packet);
    network.send(now, slot, cx);
    if let Some(due) = source.due() {
        cx.events.schedule(due, Event::Udp { source: number });
    }
}
