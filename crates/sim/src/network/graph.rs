//! The network as a graph of channels between nodes, and the shortest paths in it.

use super::numbering::{direction, opposite};
use crate::model::{NodeId, Scenario};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use windlass_base::Span;

/// The network as routes see it.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) channels: Vec<Edge>,
    /// Channels that leave each node.
    pub(super) leaving: Vec<Vec<u32>>,
}

#[derive(Copy, Clone, Debug)]
pub(super) struct Edge {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) delay: Span,
}

/// How a node is reached: how far it is, and the last channel on the way.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reached {
    delay: Span,
    hops: u32,
    pub(super) channel: u32,
}

impl Graph {
    pub(super) fn new(scenario: &Scenario) -> Graph {
        let mut leaving = vec![Vec::new(); scenario.nodes.len()];
        let edge = |number: u32| {
            let direction = direction(number);
            let link = &scenario.links[direction.link];
            match direction.reverse {
                false => Edge { from: link.a, to: link.b, delay: link.forward.delay },
                true => Edge { from: link.b, to: link.a, delay: link.backward.delay },
            }
        };
        let channels: Vec<Edge> = (0..scenario.links.len() as u32 * 2).map(edge).collect();
        for (number, channel) in channels.iter().enumerate() {
            leaving[channel.from].push(number as u32);
        }
        Graph { channels, leaving }
    }

    /// Dijkstra's algorithm from `from` to every node.
    pub(super) fn shortest_paths(&self, from: NodeId) -> Vec<Option<Reached>> {
        let mut tree: Vec<Option<Reached>> = vec![None; self.leaving.len()];
        let mut frontier = BinaryHeap::from([Reverse((Span::ZERO, 0, from))]);
        while let Some(Reverse((delay, hops, node))) = frontier.pop() {
            if tree[node].is_some_and(|best| (best.delay, best.hops) < (delay, hops)) {
                continue;
            }
            for &channel in &self.leaving[node] {
                let Edge { to, delay: further, .. } = self.channels[channel as usize];
                let reached = Reached { delay: delay + further, hops: hops + 1, channel };
                if to == from || tree[to].is_some_and(|best| best <= reached) {
                    continue;
                }
                tree[to] = Some(reached);
                // Nothing lies behind a node with a single link.
                if self.leaving[to].len() > 1 {
                    frontier.push(Reverse((reached.delay, reached.hops, to)));
                }
            }
        }
        tree
    }

    /// The cost of the best path from each node to `root`; `None` where there is none.
    pub(super) fn costs_to(&self, root: NodeId) -> Vec<Option<Cost>> {
        let mut costs: Vec<Option<Cost>> = vec![None; self.leaving.len()];
        costs[root] = Some(Cost::default());
        let mut frontier = BinaryHeap::from([Reverse((Cost::default(), root))]);
        while let Some(Reverse((cost, node))) = frontier.pop() {
            if costs[node].is_some_and(|best| best < cost) {
                continue;
            }
            for &away in &self.leaving[node] {
                let towards = opposite(away);
                let Edge { from, .. } = self.channels[towards as usize];
                let longer = self.cost_by(cost, towards);
                if costs[from].is_none_or(|best| longer < best) {
                    costs[from] = Some(longer);
                    frontier.push(Reverse((longer, from)));
                }
            }
        }
        costs
    }

    /// The cost of a path that begins with this channel, behind which it costs `rest`.
    pub(super) fn cost_by(&self, rest: Cost, channel: u32) -> Cost {
        let delay = self.channels[channel as usize].delay;
        Cost { delay: rest.delay + delay, hops: rest.hops + 1 }
    }
}

/// The cost of a path: its delay, then the number of its hops.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    delay: Span,
    hops: u32,
}
