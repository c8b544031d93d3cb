//! Where a run is cut, and whether it pays.

use super::groups::Groups;
use super::results::Places;
use super::work::{Work, ends};
use crate::model::{LinkDirection, NodeId, Scenario, TcpApp};
use crate::network::Network;
use crate::packet::{IPV4_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::record::Owners;
use crate::reported_queues::reported_queues;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use windlass_base::Span;

/// The shortest packet.
const PACKET_BYTES_MIN: u32 = IPV4_HEADER_BYTES + UDP_HEADER_BYTES;
/// Arrivals of a part in a window below which the exchange costs more than the other thread brings.
const ARRIVALS_MIN: f64 = 20.0;
/// Arrivals of a run below which threads do not pay.
const RUN_MIN: f64 = 300_000.0;
/// The least gain, as the work of all parts over that of the largest.
const GAIN_MIN: f64 = 1.2;
/// How much heavier a part may become than its share, so that nodes that talk to each other stay together.
const SLACK: f64 = 1.03;
/// Renumbers the orders of insertion from here on.
const ORDERS_MAX: u32 = 1 << 22;

/// The parts of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By node.
    part_of: Vec<usize>,
    parts: usize,
    lookahead: Span,
    pub(crate) orders_max: u32,
}

/// Why a run takes one thread.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OneThread {
    /// No more were asked for.
    Asked,
    /// The scenario has this, which depends on all hosts at once.
    Shared(&'static str),
    /// Every two nodes depend on each other at once.
    NoCut,
    /// The nodes that stay together have most of the work.
    Uneven {
        /// Share of the work in percent.
        percent: u32,
    },
    /// Packets are too few in the time that parts can run apart.
    Lookahead {
        /// The least delay between two parts.
        delay: Span,
        /// Arrivals of packets in that time, estimated.
        arrivals: u32,
    },
    /// The run is over before threads pay.
    Small,
}

impl fmt::Display for OneThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OneThread::Asked => f.write_str("no more were asked for"),
            OneThread::Shared(what) => f.write_str(what),
            OneThread::NoCut => f.write_str(
                "no link with a delay divides it: a link cannot be cut if it may lose or reorder packets, has a \
                 queue that decides at dequeue, or delivers packets early",
            ),
            OneThread::Uneven { percent } => {
                write!(f, "nodes that cannot be parted have {percent} % of the work")
            }
            OneThread::Lookahead { delay, arrivals } => write!(
                f,
                "parts could run apart for {} us, about {arrivals} arrivals of packets",
                delay.as_nanos() as f64 / 1e3
            ),
            OneThread::Small => f.write_str("it is too small"),
        }
    }
}

impl Plan {
    /// Cuts a scenario into as many parts as threads, if that pays.
    ///
    /// # Errors
    ///
    /// Why one thread is to run it.
    pub fn new(scenario: &Scenario, threads: NonZeroUsize) -> Result<Plan, OneThread> {
        let (plan, work, network) = divide(scenario, threads.get())?;
        if plan.gain(&work) < GAIN_MIN {
            let percent = (100.0 / plan.gain(&work)).round() as u32;
            return Err(OneThread::Uneven { percent });
        }
        let arrivals = work.arrivals * plan.lookahead.as_secs_f64();
        if arrivals < ARRIVALS_MIN * plan.parts as f64 {
            let delay = plan.delay(scenario, &network).unwrap_or_default();
            return Err(OneThread::Lookahead { delay, arrivals: arrivals as u32 });
        }
        if work.arrivals * scenario.duration.as_secs_f64() < RUN_MIN {
            return Err(OneThread::Small);
        }
        Ok(plan)
    }

    /// Cuts a scenario into this many parts, or fewer, whether it pays or not.
    ///
    /// # Errors
    ///
    /// Why it cannot be cut.
    pub fn forced(scenario: &Scenario, parts: NonZeroUsize) -> Result<Plan, OneThread> {
        divide(scenario, parts.get()).map(|(plan, ..)| plan)
    }

    /// Number of parts, at least two.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// How long parts run apart at least.
    pub(crate) fn lookahead(&self) -> Span {
        self.lookahead
    }

    /// The part of a node.
    pub(crate) fn part_of(&self, node: NodeId) -> usize {
        self.part_of[node]
    }

    pub(crate) fn owners(&self, scenario: &Scenario) -> Owners {
        let channel = |direction: LinkDirection| {
            let link = &scenario.links[direction.link];
            self.part_of[if direction.reverse { link.b } else { link.a }]
        };
        let ways = |link| [false, true].map(|reverse| channel(LinkDirection { link, reverse }));
        Owners {
            flows: scenario.flows.iter().map(|flow| self.part_of[flow.from]).collect(),
            channels: (0..scenario.links.len()).flat_map(ways).collect(),
        }
    }

    pub(crate) fn places(&self, scenario: &Scenario) -> Places {
        let part = |node: NodeId| self.part_of[node];
        let channels = self.owners(scenario).channels;
        let queue = |way: LinkDirection| channels[way.link * 2 + usize::from(way.reverse)];
        Places {
            flows: scenario.flows.iter().map(|it| [part(it.from), part(it.to)]).collect(),
            udp: scenario.udp.iter().map(|it| [part(it.from), part(it.to)]).collect(),
            queues: reported_queues(scenario).into_iter().map(queue).collect(),
        }
    }

    /// The work of all parts over that of the largest.
    fn gain(&self, work: &Work) -> f64 {
        let mut loads = vec![0.0; self.parts];
        for (part, work) in self.part_of.iter().zip(&work.nodes) {
            loads[*part] += work;
        }
        let largest = loads.iter().copied().fold(0.0, f64::max);
        loads.iter().sum::<f64>() / largest
    }

    /// The least delay of the channels between parts.
    fn delay(&self, scenario: &Scenario, network: &Network) -> Option<Span> {
        let cut = |channel: &u32| self.is_cut(network, *channel);
        let channels = (0..scenario.links.len() as u32 * 2).filter(cut);
        channels.map(|channel| network.delay_of(channel)).min()
    }

    pub(crate) fn is_cut(&self, network: &Network, channel: u32) -> bool {
        self.part_of[network.begin_of(channel)] != self.part_of[network.end_of(channel)]
    }

    /// From the time of an event to the first arrival of a packet that it sends to another part.
    fn with_lookahead(mut self, scenario: &Scenario, network: &Network) -> Option<Plan> {
        let ahead = |channel: u32| {
            let rate = network.rate_of(scenario, channel);
            let transmission = rate.map(|rate| rate.transmission_time(PACKET_BYTES_MIN));
            network.delay_of(channel) + transmission.unwrap_or_default()
        };
        let channels = (0..scenario.links.len() as u32 * 2).filter(|it| self.is_cut(network, *it));
        self.lookahead = channels.map(ahead).min()?;
        Some(self)
    }
}

/// Cuts where the delays are as long as an even division allows.
fn divide(scenario: &Scenario, threads: usize) -> Result<(Plan, Work, Network), OneThread> {
    if threads < 2 {
        return Err(OneThread::Asked);
    }
    if let Some(what) = shared(scenario) {
        return Err(OneThread::Shared(what));
    }
    // The caller sees the error when it builds the network itself.
    let network = Network::new(scenario, 0).map_err(|_| OneThread::NoCut)?;
    let work = Work::new(scenario, &network);
    let groups = together(scenario, &network, &work);
    let mut best: Option<(f64, Plan)> = None;
    for delay in delays(scenario, &network).into_iter().rev() {
        let mut groups = groups.clone();
        join_near(&mut groups, scenario, &network, delay);
        join_leaves(&mut groups, scenario, threads);
        let Some(plan) =
            assign(&groups, scenario, &work, threads).with_lookahead(scenario, &network)
        else {
            continue;
        };
        let gain = plan.gain(&work);
        let is_even = gain > 0.8 * threads as f64;
        if best.as_ref().is_none_or(|(before, _)| gain > *before) {
            best = Some((gain, plan));
        }
        if is_even {
            break;
        }
    }
    let (_, plan) = best.ok_or(OneThread::NoCut)?;
    Ok((plan, work, network))
}

/// The reason why a scenario stays in one part: a thing that all its hosts share.
fn shared(scenario: &Scenario) -> Option<&'static str> {
    let opens_later = |app: &TcpApp| {
        !matches!(app, TcpApp::Bulk | TcpApp::Transfer { .. } | TcpApp::Limited { .. })
    };
    if scenario.until_done {
        Some("it ends when its last flow is done")
    } else if !scenario.middleboxes.is_empty() {
        Some("it has middleboxes")
    } else if !scenario.endpoints.is_empty() {
        Some("it has flows of other transports than TCP")
    } else if scenario.flows.iter().any(|flow| opens_later(&flow.app)) {
        Some("connections that open as the run goes on are numbered across all hosts")
    } else {
        None
    }
}

/// Groups of nodes that depend on each other at once.
fn together(scenario: &Scenario, network: &Network, work: &Work) -> Groups {
    let mut groups = Groups::new(work.nodes.clone());
    for (link, can_cut) in scenario.links.iter().zip(network.can_cut().chunks(2)) {
        if can_cut.contains(&false) {
            groups.join(link.a, link.b);
        }
    }
    for flow in &scenario.flows {
        // All but an endless flow depend on both ends when they end.
        if flow.app != TcpApp::Bulk || flow.stop.is_some() {
            groups.join(flow.from, flow.to);
        }
    }
    let early = (0..scenario.flows.len() as u32).any(|flow| network.delivers_early(flow));
    if early && let Some(first) = scenario.flows.first() {
        // Packets are delivered early to a receiver while no receiver has a timer.
        scenario.flows.iter().for_each(|flow| groups.join(first.to, flow.to));
    }
    groups
}

/// The different delays above zero, ascending.
fn delays(scenario: &Scenario, network: &Network) -> Vec<Span> {
    let channels = 0..scenario.links.len() as u32 * 2;
    let mut delays: Vec<Span> = channels.map(|channel| network.delay_of(channel)).collect();
    delays.retain(|delay| !delay.is_zero());
    delays.sort_unstable();
    delays.dedup();
    delays
}

/// Joins nodes nearer to each other than `delay`.
fn join_near(groups: &mut Groups, scenario: &Scenario, network: &Network, delay: Span) {
    for (number, link) in (0..).zip(&scenario.links) {
        let ways = [number * 2, number * 2 + 1];
        if ways.into_iter().any(|channel| network.delay_of(channel) < delay) {
            groups.join(link.a, link.b);
        }
    }
}

/// Joins nodes that have a single link to the node at its other end, as far as a part has room.
fn join_leaves(groups: &mut Groups, scenario: &Scenario, threads: usize) {
    let mut links = vec![0_u32; scenario.nodes.len()];
    for link in &scenario.links {
        links[link.a] += 1;
        links[link.b] += 1;
    }
    let roots = groups.roots();
    let total: f64 = roots.iter().map(|root| groups.weight(*root)).sum();
    for link in &scenario.links {
        let is_leaf = links[link.a] == 1 || links[link.b] == 1;
        let sum = groups.weight(link.a) + groups.weight(link.b);
        if is_leaf && sum <= total / threads as f64 {
            groups.join(link.a, link.b);
        }
    }
}

/// Puts each group, the heaviest first, into the part that it exchanges most packets with and that has room, or into
/// the lightest.
fn assign(groups: &Groups, scenario: &Scenario, work: &Work, threads: usize) -> Plan {
    let mut talks: BTreeMap<NodeId, Vec<(NodeId, f64)>> = BTreeMap::new();
    for (flow, rate) in work.flows.iter().enumerate() {
        let (from, to) = ends(scenario, flow);
        let (from, to) = (groups.root(from), groups.root(to));
        talks.entry(from).or_default().push((to, *rate));
        talks.entry(to).or_default().push((from, *rate));
    }
    let roots = groups.roots();
    let room = SLACK * roots.iter().map(|root| groups.weight(*root)).sum::<f64>() / threads as f64;
    let mut loads = vec![0.0; threads];
    let mut parts: Vec<Option<usize>> = vec![None; scenario.nodes.len()];
    for root in roots {
        let weight = groups.weight(root);
        let mut affinity = vec![0.0; threads];
        for (peer, rate) in talks.get(&root).into_iter().flatten() {
            if let Some(part) = parts[*peer] {
                affinity[part] += rate;
            }
        }
        let fits =
            (0..threads).filter(|part| affinity[*part] > 0.0 && loads[*part] + weight <= room);
        let nearest = fits.max_by(|a, b| affinity[*a].total_cmp(&affinity[*b]).then(b.cmp(a)));
        let lightest = (0..threads).min_by(|a: &usize, b| loads[*a].total_cmp(&loads[*b]));
        let part = nearest.or(lightest).unwrap_or(0);
        parts[root] = Some(part);
        loads[part] += weight;
    }
    numbered((0..scenario.nodes.len()).map(|node| parts[groups.root(node)].unwrap_or(0)).collect())
}

/// A plan without empty parts.
fn numbered(mut part_of: Vec<usize>) -> Plan {
    let mut used: Vec<usize> = part_of.clone();
    used.sort_unstable();
    used.dedup();
    for part in &mut part_of {
        *part = used.partition_point(|number| *number < *part);
    }
    Plan { part_of, parts: used.len(), lookahead: Span::ZERO, orders_max: ORDERS_MAX }
}
