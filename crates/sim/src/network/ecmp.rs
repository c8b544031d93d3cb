//! Equal-cost multi-path: a node that has several next hops of equal cost chooses by a hash of the
//! connection, so that all packets of a connection in one direction take one path.

use super::graph::{Cost, Graph};
use super::numbering::opposite;
use super::routes::Routes;
use crate::model::NodeId;
use crate::packet::Address;
use std::collections::BTreeMap;

/// The paths of connections, each of which is kept once.
#[derive(Debug)]
pub(super) struct Ecmp {
    seed: u64,
    /// The costs to each node that was asked for.
    costs: BTreeMap<NodeId, Vec<Option<Cost>>>,
    /// Where the path of these channels begins, without and with early delivery to its destination.
    begins: [BTreeMap<Box<[u32]>, u32>; 2],
    /// For each flow, forward and back: whether packets are delivered early to their destination.
    early: Vec<[bool; 2]>,
    /// Spare room for the channels of a path.
    channels: Vec<u32>,
}

impl Ecmp {
    /// The hashes differ by the `seed`.
    pub(super) fn new(seed: u64) -> Ecmp {
        let (costs, begins, early, channels) = Default::default();
        Ecmp { seed, costs, begins, early, channels }
    }

    /// Allows early delivery to the destinations of these flows, forward and back.
    pub(super) fn allow_early_delivery(&mut self, early: Vec<[bool; 2]>) {
        self.early = early;
    }

    /// Forbids early delivery everywhere.
    pub(super) fn forbid_early_delivery(&mut self) {
        self.early.fill([false; 2]);
    }

    /// The last channels of paths, which all paths of a flow have in common, from which packets are delivered
    /// early; `paths` has one path of each flow, forward and back.
    pub(super) fn early_channels<'a>(
        &'a self,
        routes: &'a Routes,
        paths: &'a [[u32; 2]],
    ) -> impl Iterator<Item = u32> + 'a {
        let ways = self.early.iter().zip(paths).flat_map(|(early, path)| early.iter().zip(path));
        ways.filter(|(early, _)| **early).filter_map(|(_, path)| routes.channels(*path).last())
    }

    /// True if packets may be delivered early to the receiver of a flow.
    pub(super) fn delivers_early(&self, flow: u32) -> bool {
        self.early[flow as usize][0]
    }

    /// Where the path of packets of a flow from `source` to `destination` begins. There must be one.
    pub(super) fn path(
        &mut self,
        routes: &mut Routes,
        (flow, reverse): (u32, bool),
        [source, destination]: [Address; 2],
    ) -> u32 {
        self.choose(routes.graph(), source, destination);
        let early = self.early[flow as usize][usize::from(reverse)];
        let begins = &mut self.begins[usize::from(early)];
        if let Some(begin) = begins.get(&self.channels[..]) {
            return *begin;
        }
        let begin = routes.add_channels(&self.channels);
        if let Some(last) = routes.last_hop(begin).filter(|_| early) {
            routes.deliver_early_at(last);
        }
        begins.insert(self.channels[..].into(), begin);
        begin
    }

    /// Follows the choices of the nodes, into `channels`.
    fn choose(&mut self, graph: &Graph, source: Address, destination: Address) {
        self.channels.clear();
        // A host with a single link is reached by way of the node at its other end, and there are many more
        // hosts than such nodes.
        let (root, last) = match graph.leaving[destination.node][..] {
            [only] => (graph.channels[only as usize].to, Some(opposite(only))),
            _ => (destination.node, None),
        };
        let costs = self.costs.entry(root).or_insert_with(|| graph.costs_to(root));
        let mut node = source.node;
        while node != root && node != destination.node {
            let leads_there = |channel: u32| {
                let rest = costs[graph.channels[channel as usize].to];
                rest.is_some() && rest.map(|rest| graph.cost_by(rest, channel)) == costs[node]
            };
            let next_hops = || graph.leaving[node].iter().copied().filter(|it| leads_there(*it));
            let count = next_hops().count();
            let hash = if count > 1 { hash(self.seed, node, source, destination) } else { 0 };
            let Some(chosen) = next_hops().nth(choice(hash, count)) else { return };
            self.channels.push(chosen);
            node = graph.channels[chosen as usize].to;
        }
        self.channels.extend(last.filter(|_| node != destination.node));
    }
}

/// The hash of a connection at a node: SplitMix64's function of the seed, the node, and source and destination,
/// one after the other.
fn hash(seed: u64, node: NodeId, source: Address, destination: Address) -> u64 {
    let end = |end: Address| (end.node as u64) << 16 | u64::from(end.port);
    [node as u64, end(source), end(destination)]
        .into_iter()
        .fold(mix(seed), |hash, word| mix(hash ^ word))
}

/// The next number of SplitMix64.
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// One of `count`, all equally likely: the share of the hash in its range.
fn choice(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}
