//! The event loop of a run in parts: windows of events, with an exchange of packets between them.

use super::{Simulation, deliver, deliver_all, handle};
use crate::apps::UdpSource;
use crate::event::Event;
use crate::model::Scenario;
use crate::network::Exports;
use crate::packet::Slot;
use crate::parts::exchange::{Exchange, Parcel};
use crate::parts::inlet::Inlet;
use crate::parts::order::{Handled, Renumbering, Sequence};
use crate::parts::results::{PartResults, unite};
use crate::parts::{PartsError, Plan};
use crate::record::{Context, Divide, Recorder};
use crate::summary::{self, Summary};
use std::sync::RwLockReadGuard;
use windlass_base::{Span, Time};

/// Insertions of a window from which on the next ones are shorter: their orders must fit.
const INSERTIONS_MAX: u32 = 1 << 20;
/// No inlet.
const NONE: u32 = u32::MAX;

/// Runs a scenario in the parts of a plan, each in a thread of its own. Summary and records are those of
/// [`run()`](crate::run()), bit for bit. A recorder costs a virtual call for each event.
///
/// # Errors
///
/// See [`PartsError`].
pub fn run_in_parts<R: Divide>(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
    recorder: &mut R,
) -> Result<Summary, PartsError> {
    let owners = plan.owners(scenario);
    let mut recorders = recorder.divide(plan.parts(), &owners).ok_or(PartsError::Recorder)?;
    let borrowed = recorders.iter_mut().map(|part| part as &mut (dyn Recorder + Send)).collect();
    let summary = run_recorded_parts(scenario, seed, plan, borrowed)?;
    recorder.unite(recorders);
    Ok(summary)
}

/// As [`run_in_parts`] without a recorder.
///
/// # Errors
///
/// See [`PartsError`].
pub fn run_in_parts_unrecorded(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
) -> Result<Summary, PartsError> {
    run_parts(scenario, seed, plan, vec![(); plan.parts()])
}

/// No generic, so that the event loop is compiled with this crate.
fn run_recorded_parts(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
    recorders: Vec<&mut (dyn Recorder + Send)>,
) -> Result<Summary, PartsError> {
    run_parts(scenario, seed, plan, recorders)
}

/// Runs a scenario in parts, each with its recorder.
fn run_parts<R: Recorder + Send>(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
    recorders: Vec<R>,
) -> Result<Summary, PartsError> {
    let exchange = &Exchange::new(plan.parts());
    let run = move |(number, recorder): (usize, R)| {
        let _guard = exchange.guard();
        let mut part = Part::new(scenario, seed, plan, number)?;
        let results = part.run(exchange, recorder)?;
        Ok((part.simulation, results))
    };
    let mut recorders = recorders.into_iter().enumerate();
    let first = recorders.next().ok_or(PartsError::Recorder)?;
    let (first, others) = std::thread::scope(|scope| {
        let send = move |part| run(part).map(|(_, results)| results);
        let others: Vec<_> = recorders.map(|part| scope.spawn(move || send(part))).collect();
        let first = run(first);
        // A panic of a part is the run's.
        let join = |part: std::thread::ScopedJoinHandle<'_, _>| {
            part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        (first, others.into_iter().map(join).collect::<Vec<Result<_, PartsError>>>())
    });
    let (mut simulation, results) = first?;
    let mut results = vec![results];
    for other in others {
        results.push(other?);
    }
    let end = simulation.end;
    let whole = unite(scenario, end, &plan.places(scenario), results);
    simulation.records = whole.records;
    simulation.handled = whole.handled;
    Ok(simulation.summary(end, whole.queues))
}

/// A part of a run: a copy of the whole network, of which only the part's own nodes do anything.
struct Part<'a> {
    simulation: Simulation<&'a Scenario>,
    plan: &'a Plan,
    number: usize,
    window: usize,
    /// The order of the first insertion of this window.
    base: u32,
    parcel: Parcel,
    sequence: Sequence,
    inlets: Vec<Inlet>,
    /// By channel: its inlet, if its packets come from another part.
    inlet_of: Vec<u32>,
}

impl<'a> Part<'a> {
    fn new(
        scenario: &'a Scenario,
        seed: u64,
        plan: &'a Plan,
        number: usize,
    ) -> Result<Part<'a>, PartsError> {
        let mut simulation = Simulation::new(scenario, seed).map_err(PartsError::Build)?;
        let channels = scenario.links.len() as u32 * 2;
        let part_behind: Vec<usize> =
            (0..channels).map(|it| plan.part_of(simulation.network.end_of(it))).collect();
        let (mut inlets, mut inlet_of) = (vec![], vec![NONE; channels as usize]);
        let mut cut = vec![false; channels as usize];
        for channel in 0..channels {
            cut[channel as usize] = plan.is_cut(&simulation.network, channel);
            if cut[channel as usize] && part_behind[channel as usize] == number {
                inlet_of[channel as usize] = inlets.len() as u32;
                inlets.push(Inlet::new(channel, simulation.events.add_arrival_slot()));
            }
        }
        let by_part = vec![vec![]; plan.parts()];
        simulation.network.cut(cut, Exports { by_part, part_behind, event: 0 });
        let here = scenario
            .flows
            .iter()
            .map(|flow| [flow.from, flow.to].map(|node| plan.part_of(node) == number));
        simulation.hosts.restrict(here.collect());
        // All parts number the hops of paths alike. Connections are opened in all of them.
        for source in 0..scenario.udp.len() as u32 {
            simulation.network.first_hop(scenario.flows.len() as u32 + source, source, false);
        }
        let exports = vec![vec![]; plan.parts()];
        let parcel = Parcel { exports, ..Parcel::default() };
        let (window, base, sequence) = (0, 0, Sequence::default());
        Ok(Part { simulation, plan, number, window, base, parcel, sequence, inlets, inlet_of })
    }

    /// Runs to the end, in windows.
    fn run<R: Recorder>(
        &mut self,
        exchange: &Exchange,
        mut recorder: R,
    ) -> Result<PartResults, PartsError> {
        let end = self.simulation.end;
        self.simulation.started = true;
        self.simulation.schedule_starts(end, &mut recorder);
        self.base = self.simulation.events.next_order();
        self.parcel.log.end(self.base);
        let mut ahead = self.plan.lookahead();
        loop {
            std::mem::swap(&mut self.parcel.exports, &mut self.simulation.network.exports.by_part);
            self.parcel.next = self.next();
            self.list_orders();
            let Some(parcels) = exchange.meet(self.window, self.number, &mut self.parcel) else {
                unreachable!("a part that gives up has panicked, and so does the run");
            };
            let insertions = self.merge(&parcels);
            let next = parcels.iter().filter_map(|parcel| parcel.next).min();
            drop(parcels);
            let Some(next) = next else { break };
            if insertions > INSERTIONS_MAX {
                ahead = Span::from_nanos((ahead.as_nanos() / 2).max(1));
            }
            self.window += 1;
            self.run_window(next + ahead, &mut recorder);
        }
        self.simulation.over = true;
        self.simulation.finish_records(end, &mut recorder);
        self.results(end)
    }

    /// The time of the next event of this part, or of the first packet that it sends to another.
    fn next(&self) -> Option<Time> {
        let own = self.simulation.events.next_key().map(|key| key.time);
        let own = own.filter(|time| *time <= self.simulation.end);
        let sent = self.parcel.exports.iter().flatten().map(|export| export.arrival);
        own.into_iter().chain(sent).min()
    }

    fn list_orders(&mut self) {
        self.parcel.orders.clear();
        if self.base > self.plan.orders_max {
            self.parcel.orders.extend(self.simulation.events.orders());
        }
    }

    /// Takes the packets for this part, and gives all insertions the orders of the whole run. Returns how many
    /// there were.
    fn merge(&mut self, parcels: &[RwLockReadGuard<'_, Parcel>]) -> u32 {
        let Part { sequence, simulation, number, window, inlets, inlet_of, base, .. } = self;
        let logs: Vec<_> = parcels.iter().map(|parcel| &parcel.log).collect();
        let next = sequence.merge(*base, &logs);
        let insertions = next - *base;
        let renumbering = (*base > self.plan.orders_max)
            .then(|| Renumbering::new(*base, parcels.iter().flat_map(|parcel| &parcel.orders)));
        let small = |order| renumbering.as_ref().map_or(order, |numbers| numbers.of(order));
        let order_of = |part, order| small(sequence.order(part, order));
        let next = small(next);
        simulation.events.change_orders(|order| order_of(*number, order), next);
        *base = next;
        for (from, parcel) in parcels.iter().enumerate() {
            for sent in &parcel.exports[*number] {
                let inlet = &mut inlets[inlet_of[sent.channel as usize] as usize];
                let Simulation { events, network, .. } = simulation;
                let packet = network.transit.packets.put(sent.packet);
                let ends = [from, *number];
                inlet.add(ends, *window, (sent, packet), sequence, order_of, events);
            }
        }
        insertions
    }

    /// Handles all events before `until`.
    fn run_window<R: Recorder>(&mut self, until: Time, recorder: &mut R) {
        self.parcel.log.clear();
        self.simulation.network.exports.by_part.iter_mut().for_each(Vec::clear);
        let end = self.simulation.end;
        while let Some((key, event)) = self.simulation.events.pop_before(until, end) {
            let first_order = self.simulation.events.next_order();
            self.simulation.network.exports.event = self.parcel.log.len() as u32;
            self.parcel.log.add(Handled { key, first_order });
            self.handle(key.time, event, recorder);
        }
        self.parcel.log.end(self.simulation.events.next_order());
    }

    fn handle<R: Recorder>(&mut self, now: Time, event: Event, recorder: &mut R) {
        if let Event::Arrival { channel } = event
            && let Some(inlet) = self.inlets.get_mut(self.inlet_of[channel as usize] as usize)
        {
            let number = self.simulation.network.exports.event;
            let packet = inlet.take(now, self.window, number, &mut self.simulation.events);
            if let Some(packet) = packet {
                self.import(now, channel, packet, recorder);
            }
            return;
        }
        // Other parts have the actions of other parts' applications; connections are opened in all of them.
        let is_here = self.is_here(event);
        if !is_here && matches!(event, Event::Udp { .. }) {
            return;
        }
        let Simulation { network, hosts, udp, transports, events, records, handled, end, .. } =
            &mut self.simulation;
        let cx = &mut Context { events, records, recorder, end: *end };
        handle(now, event, network, hosts, udp, transports, cx);
        *handled += u64::from(is_here);
    }

    /// Whether an event is of this part; those of applications are pending in all.
    fn is_here(&self, event: Event) -> bool {
        let Simulation { scenario, .. } = &self.simulation;
        let node = match event {
            Event::App { flow } => scenario.flows[flow as usize].from,
            Event::Udp { source } => scenario.udp[source as usize].from,
            _ => return true,
        };
        self.plan.part_of(node) == self.number
    }

    /// A packet from another part arrives.
    fn import<R: Recorder>(&mut self, now: Time, channel: u32, packet: Slot, recorder: &mut R) {
        let Simulation { network, hosts, transports, events, records, handled, end, .. } =
            &mut self.simulation;
        let cx = &mut Context { events, records, recorder, end: *end };
        if let Some(slot) = network.handle_import(now, channel, packet, cx) {
            deliver(now, slot, hosts, transports, network, cx);
        }
        deliver_all(now, network, hosts, transports, cx);
        *handled += 1;
    }

    fn results(&mut self, end: Time) -> Result<PartResults, PartsError> {
        let Simulation { scenario, hosts, network, udp, handled, records, .. } =
            &mut self.simulation;
        for (number, flow) in (0..).zip(&scenario.flows) {
            let [from, to] = [flow.from, flow.to].map(|node| self.plan.part_of(node));
            let has_an_end = from != to && [from, to].contains(&self.number);
            if has_an_end && !hosts.is_undisturbed(number) {
                return Err(PartsError::Ended { flow: flow.name.clone() });
            }
        }
        Ok(PartResults {
            queues: summary::queues(scenario, end, network),
            records: std::mem::take(records),
            handled: *handled,
            frames_sent: udp.iter().map(UdpSource::frames_sent).collect(),
        })
    }
}
