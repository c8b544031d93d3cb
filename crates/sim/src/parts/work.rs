//! An estimate of the work of a run: packets per second, by node.

use crate::model::{Scenario, UdpTraffic};
use crate::network::Network;

/// Bytes of the packets that the estimate counts.
const PACKET_BYTES: f64 = 1500.0;
/// Packets per second of a flow whose rate nothing limits.
const UNLIMITED: f64 = 10_000.0;
/// The costs of a segment at its sender, which processes the ACK as well, at its receiver, and at each hop, relative
/// to each other.
const SENDER: f64 = 3.0;
const RECEIVER: f64 = 2.0;
const HOP: f64 = 1.0;

/// The work of a run.
#[derive(Debug)]
pub(super) struct Work {
    /// By node, in units of a hop per second.
    pub(super) nodes: Vec<f64>,
    /// By flow, UDP sources behind TCP flows: packets per second.
    pub(super) flows: Vec<f64>,
    /// Arrivals of packets per second, those of ACKs included.
    pub(super) arrivals: f64,
}

impl Work {
    /// Estimates the rate of each flow as the least of its shares of the links on its path.
    pub(super) fn new(scenario: &Scenario, network: &Network) -> Work {
        let count = scenario.flows.len() + scenario.udp.len();
        let ways: Vec<[Vec<u32>; 2]> =
            (0..count as u32).map(|flow| network.both_ways(flow)).collect();
        let flows = rates(scenario, network, &ways);
        let mut work = Work { nodes: vec![0.0; scenario.nodes.len()], flows, arrivals: 0.0 };
        for (flow, [forward, back]) in ways.iter().enumerate() {
            let rate = work.flows[flow];
            let is_tcp = flow < scenario.flows.len();
            let (from, to) = ends(scenario, flow);
            work.nodes[from] += SENDER * rate;
            work.nodes[to] += RECEIVER * rate;
            for channel in forward.iter().chain(back.iter().filter(|_| is_tcp)) {
                work.nodes[network.begin_of(*channel)] += HOP * rate;
                work.arrivals += rate;
            }
        }
        work
    }
}

/// The nodes of a flow, UDP sources behind TCP flows.
pub(super) fn ends(scenario: &Scenario, flow: usize) -> (usize, usize) {
    match scenario.flows.get(flow) {
        Some(flow) => (flow.from, flow.to),
        None => {
            let udp = &scenario.udp[flow - scenario.flows.len()];
            (udp.from, udp.to)
        }
    }
}

fn rates(scenario: &Scenario, network: &Network, ways: &[[Vec<u32>; 2]]) -> Vec<f64> {
    // Where a flow has one of several paths, only its ends are known.
    let known = |way: &[u32]| -> Vec<u32> {
        match (scenario.ecmp, way) {
            (true, [first, .., last]) => vec![*first, *last],
            _ => way.to_vec(),
        }
    };
    let mut users = vec![0.0; scenario.links.len() * 2];
    for [forward, _] in ways {
        known(forward).iter().for_each(|channel| users[*channel as usize] += 1.0);
    }
    let rate = |(flow, [forward, _]): (usize, &[Vec<u32>; 2])| {
        let udp = flow.checked_sub(scenario.flows.len()).map(|source| &scenario.udp[source]);
        if let Some(UdpTraffic::Constant(constant)) = udp.map(|udp| &udp.traffic) {
            return constant.rate.bits_per_sec() as f64 / 8.0 / f64::from(constant.packet_bytes);
        }
        let share = |channel: &u32| {
            let rate = network.rate_of(scenario, *channel)?;
            Some(rate.bits_per_sec() as f64 / 8.0 / PACKET_BYTES / users[*channel as usize])
        };
        known(forward).iter().filter_map(share).min_by(f64::total_cmp).unwrap_or(UNLIMITED)
    };
    ways.iter().enumerate().map(rate).collect()
}
