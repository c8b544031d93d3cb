//! Static routes: the path of least delay, of fewest hops among those, then of first links.

use super::graph::{Graph, Reached};
use crate::model::{NodeId, Scenario};
use std::collections::BTreeMap;
use windlass_base::Span;

/// Ends each path in [`Routes::hops`].
const DELIVERED: Hop = Hop(u32::MAX);

/// One hop of a path: a channel, and whether packets are delivered early from it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hop(u32);

impl Hop {
    const DELIVERS_EARLY: u32 = 1 << 31;
    const LAST: u32 = 1 << 30;
    const CUT: u32 = 1 << 29;

    /// The channel; at the destination a number that no channel has.
    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.0 & !(Hop::DELIVERS_EARLY | Hop::LAST | Hop::CUT)
    }

    /// The channel; `None` at the destination.
    #[inline]
    pub(crate) fn channel(self) -> Option<u32> {
        (self != DELIVERED).then(|| self.number())
    }

    /// True if a packet is delivered early from this channel, without an event at its arrival. The next
    /// channel gets all its packets from this one, which knows when they arrive; or this one is the last,
    /// and the packet's destination may process it at once.
    #[inline]
    pub(crate) fn delivers_early(self) -> bool {
        self.0 & Hop::DELIVERS_EARLY != 0
    }

    /// True if packets leave the loop from hop to hop behind this channel: it leads to the destination, or to
    /// another part of the run.
    #[inline]
    pub(crate) fn ends_early_way(self) -> bool {
        self.0 & (Hop::LAST | Hop::CUT) != 0
    }

    /// True if the channel leads to another part of the run.
    pub(crate) fn is_cut(self) -> bool {
        self.0 & Hop::CUT != 0
    }
}

/// The paths of a scenario's flows, as lists of channels in one array: a packet carries the
/// index of its present hop.
#[derive(Debug)]
pub(crate) struct Routes {
    graph: Graph,
    hops: Vec<Hop>,
    /// The shortest paths from each node that was asked for.
    trees: BTreeMap<NodeId, Vec<Option<Reached>>>,
    /// Whether each channel leads to another part of the run; empty unless it has parts.
    cut: Vec<bool>,
}

impl Routes {
    pub(crate) fn new(scenario: &Scenario) -> Routes {
        let (hops, cut) = (Vec::new(), Vec::new());
        Routes { graph: Graph::new(scenario), hops, trees: BTreeMap::new(), cut }
    }

    /// The channel that comes at `hop`; `None` at the destination.
    pub(crate) fn channel(&self, hop: u32) -> Option<u32> {
        self.get(hop).channel()
    }

    /// The hop of this index.
    #[inline]
    pub(crate) fn get(&self, hop: u32) -> Hop {
        self.hops[hop as usize]
    }

    /// Adds the path from one node to another. Returns where it begins, or `None` if there is none.
    pub(crate) fn add_path(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        let begin = self.hops.len();
        // A host with a single link goes the way of the node at its other end, and there are many
        // more hosts than such nodes.
        let (root, first) = match self.graph.leaving[from][..] {
            [only] if from != to => (self.graph.channels[only as usize].to, Some(only)),
            _ => (from, None),
        };
        let tree = self.trees.entry(root).or_insert_with(|| self.graph.shortest_paths(root));
        let mut node = to;
        while node != root {
            let Some(reached) = tree[node] else {
                self.hops.truncate(begin);
                return None;
            };
            self.hops.push(Hop(reached.channel));
            node = self.graph.channels[reached.channel as usize].from;
        }
        self.hops.extend(first.map(Hop));
        self.hops[begin..].reverse();
        Some(self.end_path(begin))
    }

    /// Adds the path of these channels. Returns where it begins.
    pub(crate) fn add_channels(&mut self, channels: &[u32]) -> u32 {
        let begin = self.hops.len();
        self.hops.extend(channels.iter().map(|channel| Hop(*channel)));
        self.end_path(begin)
    }

    fn end_path(&mut self, begin: usize) -> u32 {
        if let Some(last) = self.hops[begin..].last_mut() {
            last.0 |= Hop::LAST;
        }
        if !self.cut.is_empty() {
            mark_cut(&mut self.hops[begin..], &self.cut);
        }
        self.hops.push(DELIVERED);
        begin as u32
    }

    /// Cuts these channels on all paths, present and to come: their packets go to another part of the run.
    pub(crate) fn cut(&mut self, cut: Vec<bool>) {
        mark_cut(&mut self.hops, &cut);
        self.cut = cut;
    }

    /// The channels from which packets are delivered early on any path.
    pub(crate) fn early_channels(&self) -> impl Iterator<Item = u32> + '_ {
        self.hops.iter().filter_map(|hop| hop.channel().filter(|_| hop.delivers_early()))
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Allows early delivery between hops: from each channel that can, if the next one has no other
    /// feeder on the paths that begin at `begins`.
    pub(crate) fn allow_early_delivery(
        &mut self,
        begins: &[u32],
        can_deliver_early: impl Fn(u32) -> bool,
    ) {
        let feeders = self.sole_feeders(begins);
        for hop in 0..self.hops.len().saturating_sub(1) {
            let (Some(channel), Some(next)) =
                (self.channel(hop as u32), self.channel(hop as u32 + 1))
            else {
                continue;
            };
            if feeders[next as usize] == Some(channel) && can_deliver_early(channel) {
                self.deliver_early_at(hop as u32);
            }
        }
    }

    /// The hop of a path's last channel; `None` for a path without any.
    pub(crate) fn last_hop(&self, begin: u32) -> Option<u32> {
        (begin..).take_while(|hop| self.channel(*hop).is_some()).last()
    }

    /// The channels of a path.
    pub(crate) fn channels(&self, begin: u32) -> impl Iterator<Item = u32> + '_ {
        (begin..).map_while(|hop| self.channel(hop))
    }

    /// True if packets need an event on the path, before the one at its end.
    pub(crate) fn has_event(&self, begin: u32) -> bool {
        self.last_hop(begin)
            .is_some_and(|last| (begin..last).any(|hop| !self.get(hop).delivers_early()))
    }

    /// Allows early delivery from the channel of a hop.
    pub(crate) fn deliver_early_at(&mut self, hop: u32) {
        self.hops[hop as usize].0 |= Hop::DELIVERS_EARLY;
    }

    /// Forbids early delivery everywhere: every arrival has an event.
    pub(crate) fn forbid_early_delivery(&mut self) {
        for hop in self.hops.iter_mut().filter(|hop| **hop != DELIVERED) {
            hop.0 &= !Hop::DELIVERS_EARLY;
        }
    }

    /// For each channel the one other that all its packets come from; `None` where a path starts
    /// with it, several lead to it, or none does.
    fn sole_feeders(&self, begins: &[u32]) -> Vec<Option<u32>> {
        let mut feeders = vec![None; self.graph.channels.len()];
        let mut several = vec![false; self.graph.channels.len()];
        for &begin in begins {
            let mut feeder = None;
            for channel in self.channels(begin) {
                let known = &mut feeders[channel as usize];
                several[channel as usize] |=
                    feeder.is_none() || known.is_some_and(|known| Some(known) != feeder);
                *known = feeder;
                feeder = Some(channel);
            }
        }
        let sole = |(feeder, several): (Option<u32>, bool)| feeder.filter(|_| !several);
        feeders.into_iter().zip(several).map(sole).collect()
    }

    /// The sum of the propagation delays of a path.
    pub(crate) fn delay(&self, begin: u32) -> Span {
        self.channels(begin)
            .fold(Span::ZERO, |sum, channel| sum + self.graph.channels[channel as usize].delay)
    }

    /// The node at the far end of a channel.
    pub(crate) fn end_of(&self, channel: u32) -> NodeId {
        self.graph.channels[channel as usize].to
    }

    /// Where on a path `node` is, to go on from there: the hop that leaves it, or the path's end.
    pub(crate) fn hop_at(&self, begin: u32, node: NodeId) -> Option<u32> {
        for hop in begin.. {
            match self.channel(hop) {
                Some(channel) if self.graph.channels[channel as usize].from == node => {
                    return Some(hop);
                }
                Some(_) => {}
                None if hop == begin => return None,
                None => {
                    let last = self.channel(hop - 1)?;
                    return (self.graph.channels[last as usize].to == node).then_some(hop);
                }
            }
        }
        None
    }
}

/// A cut channel returns the arrivals of its packets, as one that delivers early.
fn mark_cut(hops: &mut [Hop], cut: &[bool]) {
    for hop in hops {
        if hop.channel().is_some_and(|channel| cut[channel as usize]) {
            hop.0 |= Hop::CUT | Hop::DELIVERS_EARLY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Channel, Link, LinkDirection, Loss, Variation};
    use crate::network::numbering::direction;
    use windlass_aqm::{Config, DropTailConfig};

    fn network(nodes: usize, links: &[(NodeId, NodeId, u64)]) -> Scenario {
        let channel = |delay| Channel {
            rate: None,
            delay: Span::from_millis(delay),
            queue: Config::DropTail(DropTailConfig::default()),
            device_queue: Span::ZERO,
            loss: Loss::None,
            reorder: None,
            bleaches_ecn: false,
            variation: Variation::default(),
        };
        let link = |&(a, b, delay)| Link {
            name: format!("{a}-{b}"),
            a,
            b,
            forward: channel(delay),
            backward: channel(delay),
        };
        Scenario {
            name: String::new(),
            description: String::new(),
            duration: Span::ZERO,
            until_done: false,
            steady_from: Span::ZERO,
            interval: None,
            jitter: Span::ZERO,
            nodes: (0..nodes).map(|node| node.to_string()).collect(),
            links: links.iter().map(link).collect(),
            flows: vec![],
            udp: vec![],
            endpoints: vec![],
            middleboxes: vec![],
            ecmp: false,
            bottleneck: LinkDirection { link: 0, reverse: false },
        }
    }

    /// The channels from one node to another, as (link, reverse).
    fn path(routes: &mut Routes, from: NodeId, to: NodeId) -> Option<Vec<(usize, bool)>> {
        let begin = routes.add_path(from, to)?;
        let channels = (begin..).map_while(|hop| routes.channel(hop)).map(direction);
        Some(channels.map(|direction| (direction.link, direction.reverse)).collect())
    }

    #[test]
    fn a_ring_is_taken_the_shorter_way_round() {
        let ring = network(5, &[(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 0, 1)]);
        let mut routes = Routes::new(&ring);
        assert_eq!(path(&mut routes, 0, 2), Some(vec![(0, false), (1, false)]));
        assert_eq!(path(&mut routes, 0, 3), Some(vec![(4, true), (3, true)]));
    }

    #[test]
    fn delay_counts_before_hops_and_hops_before_the_order_of_links() {
        let routes = &mut Routes::new(&network(3, &[(0, 2, 9), (0, 1, 2), (1, 2, 2)]));
        assert_eq!(path(routes, 0, 2), Some(vec![(1, false), (2, false)]));
        let routes = &mut Routes::new(&network(3, &[(0, 1, 2), (1, 2, 2), (0, 2, 4)]));
        assert_eq!(path(routes, 0, 2), Some(vec![(2, false)]));
        let routes = &mut Routes::new(&network(2, &[(0, 1, 3), (0, 1, 3)]));
        assert_eq!(path(routes, 1, 0), Some(vec![(0, true)]));
    }

    #[test]
    fn a_parking_lot_is_crossed_from_end_to_end() {
        // Routers 0 to 3 in a row, a host at each: 4 to 7.
        let lot = [(0, 1, 5), (1, 2, 5), (2, 3, 5), (4, 0, 1), (5, 1, 1), (6, 2, 1), (7, 3, 1)];
        let mut routes = Routes::new(&network(8, &lot));
        let way = path(&mut routes, 4, 7).expect("connected");
        assert_eq!(way, [(3, false), (0, false), (1, false), (2, false), (6, true)]);
        let begin = routes.add_path(4, 7).expect("connected");
        assert_eq!(routes.delay(begin), Span::from_millis(17));
        assert_eq!(routes.hop_at(begin, 2), Some(begin + 3));
        assert_eq!(routes.hop_at(begin, 7), Some(begin + 5));
        assert_eq!(routes.hop_at(begin, 6), None);
    }

    #[test]
    fn neighbours_and_hosts_on_one_router_reach_each_other() {
        // A router, 0, with hosts 1 and 2; a lone pair, 3 and 4.
        let mut routes = Routes::new(&network(5, &[(1, 0, 1), (0, 2, 1), (3, 4, 1)]));
        assert_eq!(path(&mut routes, 1, 2), Some(vec![(0, false), (1, false)]));
        assert_eq!(path(&mut routes, 2, 0), Some(vec![(1, true)]));
        assert_eq!(path(&mut routes, 3, 4), Some(vec![(2, false)]));
        assert_eq!(path(&mut routes, 4, 3), Some(vec![(2, true)]));
        assert_eq!(path(&mut routes, 1, 1), Some(vec![]));
        assert_eq!(path(&mut routes, 1, 4), None);
    }

    #[test]
    fn an_island_cannot_be_reached() {
        let mut routes = Routes::new(&network(3, &[(0, 1, 1)]));
        assert_eq!(path(&mut routes, 0, 2), None);
        assert_eq!(path(&mut routes, 0, 1), Some(vec![(0, false)]));
    }
}
