//! Nodes and links: expands the shorthands `dumbbell` and `parking_lot`, or reads `nodes` and
//! `links`, and finds the bottleneck. Everything else refers to the nodes by the indices that this
//! gives them.

use super::routes::Components;
use super::{handovers, over_time};
use crate::keys::{
    AccessKeys, DumbbellKeys, LinkKeys, LossKeys, ParkingLotKeys, PathKeys, RateKeys, ReorderKeys,
    ScenarioKeys,
};
use crate::names::{check_unique, look_up};
use crate::queues::{QueueRef, Queues};
use crate::registry::Context;
use windlass_aqm as aqm;
use windlass_base::{BitRate, Span};
use windlass_keys::{Located, Location, Name};
use windlass_sim::model::{
    Channel, GilbertElliott, Link, LinkDirection, Loss, NodeId, Reorder, Variation,
};

/// More than any experiment needs. Bounds the memory that a mistyped count can take.
const MAX_HOSTS: usize = 100_000;

/// The keys of the links that a shorthand makes.
const BOTTLENECK: &str = "dumbbell.bottleneck";
const BOTTLENECKS: &str = "parking_lot.bottleneck";
const ACCESS: &str = "parking_lot.access";

/// Nodes and links, and the default receiver of each sender.
pub(super) struct Topology {
    pub nodes: Vec<String>,
    pub links: Vec<Link>,
    /// The key of each link's table.
    pub origins: Vec<String>,
    pub bottleneck: LinkDirection,
    /// Sender and receiver at opposite ends of a shorthand.
    pub pairs: Vec<(NodeId, NodeId)>,
    pub components: Components,
}

impl Topology {
    /// Builds the topology from the form that the file uses.
    pub(super) fn new(
        keys: &ScenarioKeys,
        queues: &Queues,
        context: &mut Context,
    ) -> Option<Topology> {
        let mut builder = Builder { queues, nodes: vec![], links: vec![], origins: vec![] };
        let pairs = match (&keys.dumbbell, &keys.parking_lot, keys.links.first()) {
            (Some(dumbbell), None, None) => builder.dumbbell(dumbbell, context)?,
            (None, Some(parking_lot), None) => builder.parking_lot(&parking_lot.value, context)?,
            (None, None, Some(_)) => {
                builder.explicit(&keys.nodes, &keys.links, context)?;
                Vec::new()
            }
            (None, None, None) => {
                let message = "no topology: expected `dumbbell`, `parking_lot`, or `nodes` and \
                               `links`";
                context.wrong_at(&start(keys), message.into());
                return None;
            }
            (dumbbell, parking_lot, link) => {
                let dumbbell = dumbbell.as_ref().map(|keys| &keys.location);
                let parking_lot = parking_lot.as_ref().map(|keys| &keys.location);
                let link = link.map(|keys| &keys.location);
                let location = [link, parking_lot, dumbbell].into_iter().flatten().next()?;
                let message = "a second topology: expected one of `dumbbell`, `parking_lot` and \
                               `links`";
                context.wrong_at(location, message.into());
                return None;
            }
        };
        if let (false, Some(node)) = (pairs.is_empty(), keys.nodes.first()) {
            let message = "`nodes` go with `links`; a shorthand names its own";
            context.wrong_at(&node.location, message.into());
        }
        let Builder { nodes, links, origins, .. } = builder;
        let components = Components::new(nodes.len(), &links);
        let slowest = if pairs.is_empty() { slowest(&links) } else { 0 };
        let bottleneck = match &keys.bottleneck {
            Some(name) => named_direction(name, &nodes, &links, context)?,
            None => LinkDirection { link: slowest, reverse: false },
        };
        Some(Topology { nodes, links, origins, bottleneck, pairs, components })
    }
}

fn start(keys: &ScenarioKeys) -> Location {
    Location { key: String::new(), ..keys.schema.location.clone() }
}

fn slowest(links: &[Link]) -> usize {
    let rate = |link: &Link| link.forward.rate.map_or(u64::MAX, BitRate::bits_per_sec);
    (0..links.len()).min_by_key(|&index| rate(&links[index])).unwrap_or(0)
}

/// A link direction by the link's name, or backward by its two nodes in reverse order.
fn named_direction(
    name: &Located<String>,
    nodes: &[String],
    links: &[Link],
    context: &mut Context,
) -> Option<LinkDirection> {
    let turned = |link: &Link| format!("{}-{}", nodes[link.b], nodes[link.a]);
    let names: Vec<String> = links.iter().map(|link| link.name.clone()).collect();
    if names.contains(&name.value) {
        let link = look_up(name, "the name of a link", &names, context)?;
        return Some(LinkDirection { link, reverse: false });
    }
    match links.iter().position(|link| turned(link) == name.value) {
        Some(link) => Some(LinkDirection { link, reverse: true }),
        None => {
            look_up(name, "the name of a link", &names, context);
            None
        }
    }
}

struct Builder<'a> {
    queues: &'a Queues,
    nodes: Vec<String>,
    links: Vec<Link>,
    origins: Vec<String>,
}

impl Builder<'_> {
    fn node(&mut self, name: String) -> NodeId {
        self.nodes.push(name);
        self.nodes.len() - 1
    }

    fn link(&mut self, a: NodeId, b: NodeId, path: &PathKeys, origin: &str, context: &mut Context) {
        let name = format!("{}-{}", self.nodes[a], self.nodes[b]);
        self.named_link(name, (a, b), path, path.delay.least(), origin, context);
    }

    fn named_link(
        &mut self,
        name: String,
        (a, b): (NodeId, NodeId),
        path: &PathKeys,
        delay: Span,
        origin: &str,
        context: &mut Context,
    ) {
        handovers::check(path, context);
        let forward = self.forward(path, delay, context);
        let backward = self.backward(path, delay, context);
        self.links.push(Link { name, a, b, forward, backward });
        self.origins.push(origin.to_owned());
    }

    fn forward(&self, path: &PathKeys, delay: Span, context: &mut Context) -> Channel {
        let rate = handovers::forward_rate(path);
        let mean = rate.as_ref().map(RateKeys::mean);
        let delay = handovers::forward_delay(path, delay);
        Channel {
            rate: mean,
            delay: delay.least(),
            queue: self.queue(path.queue.as_ref(), mean, context),
            device_queue: path.device_queue.unwrap_or(Span::ZERO),
            loss: loss(path.loss.as_ref()),
            reorder: reorder(path.reorder.as_ref()),
            bleaches_ecn: path.bleach_ecn.unwrap_or(false),
            variation: Variation {
                rate: rate.as_ref().and_then(RateKeys::over_time),
                delay: delay.over_time(),
                ..with_interruptions(path, over_time::variation(&path.over_time, context))
            },
        }
    }

    fn backward(&self, path: &PathKeys, delay: Span, context: &mut Context) -> Channel {
        let back = path.back.as_ref();
        let rate = handovers::backward_rate(path);
        let mean = rate.as_ref().map(RateKeys::mean);
        let delay = handovers::backward_delay(path, delay);
        let queue = back.and_then(|back| back.queue.as_ref());
        let device_queue = back.and_then(|back| back.device_queue);
        Channel {
            rate: mean,
            delay: delay.least(),
            queue: self.queue(queue.or(path.queue.as_ref()), mean, context),
            device_queue: device_queue.or(path.device_queue).unwrap_or(Span::ZERO),
            loss: loss(back.and_then(|back| back.loss.as_ref())),
            reorder: reorder(back.and_then(|back| back.reorder.as_ref())),
            bleaches_ecn: back.and_then(|back| back.bleach_ecn).unwrap_or(false),
            variation: Variation {
                rate: rate.as_ref().and_then(RateKeys::over_time),
                delay: delay.over_time(),
                ..with_interruptions(
                    path,
                    back.map(|back| over_time::variation(&back.over_time, context))
                        .unwrap_or_default(),
                )
            },
        }
    }

    /// The queue that a link names. After an error any queue, to find further problems.
    fn queue(
        &self,
        queue: Option<&QueueRef>,
        rate: Option<BitRate>,
        context: &mut Context,
    ) -> aqm::Config {
        queue
            .and_then(|queue| self.queues.resolve(queue, rate, context))
            .unwrap_or(aqm::Config::DropTail(aqm::DropTailConfig::default()))
    }

    /// Hosts named `prefix`1, `prefix`2, ..., each with its link to or from `router`.
    fn hosts(
        &mut self,
        prefix: char,
        entries: &[Located<AccessKeys>],
        router: NodeId,
        context: &mut Context,
    ) -> Option<Vec<NodeId>> {
        let mut hosts = Vec::new();
        for entry in entries {
            let count = entry.value.count.map_or(1, |count| count.0 as usize);
            if hosts.len().saturating_add(count) > MAX_HOSTS {
                let message = format!("expected at most {MAX_HOSTS} hosts");
                context.wrong_at(&entry.location, message);
                return None;
            }
            for index in 0..count {
                let host = self.node(format!("{prefix}{}", hosts.len() + 1));
                let (a, b) = if prefix == 's' { (host, router) } else { (router, host) };
                let name = format!("{}-{}", self.nodes[a], self.nodes[b]);
                let delay = delay_of(&entry.value, index, count, context);
                let origin = &entry.location.key;
                self.named_link(name, (a, b), &entry.value.path, delay, origin, context);
                hosts.push(host);
            }
        }
        Some(hosts)
    }

    /// The bottleneck is link 0.
    fn dumbbell(
        &mut self,
        keys: &Located<DumbbellKeys>,
        context: &mut Context,
    ) -> Option<Vec<(NodeId, NodeId)>> {
        let Located { value: dumbbell, location } = keys;
        if dumbbell.access.is_empty() {
            context
                .wrong_at(location, "`access` is missing: expected a link for each sender".into());
            return None;
        }
        let near = self.node("r1".into());
        if dumbbell.receivers.is_empty() {
            let receiver = self.node("d".into());
            self.link(near, receiver, &dumbbell.bottleneck, BOTTLENECK, context);
            let senders = self.hosts('s', &dumbbell.access, near, context)?;
            return Some(senders.into_iter().map(|sender| (sender, receiver)).collect());
        }
        let far = self.node("r2".into());
        self.link(near, far, &dumbbell.bottleneck, BOTTLENECK, context);
        let senders = self.hosts('s', &dumbbell.access, near, context)?;
        let receivers = self.hosts('d', &dumbbell.receivers, far, context)?;
        if senders.len() != receivers.len() {
            let message = format!(
                "expected as many receivers as senders, found {} and {}",
                receivers.len(),
                senders.len()
            );
            context.wrong_at(location, message);
            return None;
        }
        Some(senders.into_iter().zip(receivers).collect())
    }

    /// The bottlenecks are links 0, 1, ...
    fn parking_lot(
        &mut self,
        keys: &ParkingLotKeys,
        context: &mut Context,
    ) -> Option<Vec<(NodeId, NodeId)>> {
        let hops = keys.hops.value.0 as usize;
        if hops > MAX_HOSTS {
            let message = format!("expected at most {MAX_HOSTS} hops, found {hops}");
            context.wrong_at(&keys.hops.location, message);
            return None;
        }
        let routers: Vec<NodeId> =
            (1..=hops + 1).map(|index| self.node(format!("r{index}"))).collect();
        for ends in routers.windows(2) {
            self.link(ends[0], ends[1], &keys.bottleneck, BOTTLENECKS, context);
        }
        let mut pairs = Vec::new();
        for index in 0..=hops {
            let (from, to) = if index == 0 { (0, hops) } else { (index - 1, index) };
            let sender = self.node(format!("s{index}"));
            self.link(sender, routers[from], &keys.access, ACCESS, context);
            let receiver = self.node(format!("d{index}"));
            self.link(routers[to], receiver, &keys.access, ACCESS, context);
            pairs.push((sender, receiver));
        }
        Some(pairs)
    }

    fn explicit(
        &mut self,
        nodes: &[Located<Name>],
        links: &[Located<LinkKeys>],
        context: &mut Context,
    ) -> Option<()> {
        check_unique(nodes, "a node", context);
        self.nodes = nodes.iter().map(|node| node.value.0.clone()).collect();
        let mut names = Vec::new();
        for Located { value: link, location } in links {
            let a = look_up(&link.a, "the name of a node", &self.nodes, context);
            let b = look_up(&link.b, "the name of a node", &self.nodes, context);
            let (Some(a), Some(b)) = (a, b) else { continue };
            if a == b {
                context.wrong_at(&link.b.location, "a link needs two different ends".into());
            }
            let default = Name(format!("{}-{}", link.a.value, link.b.value));
            let name =
                link.name.clone().unwrap_or(Located { value: default, location: location.clone() });
            let delay = link.path.delay.least();
            let name_of = name.value.0.clone();
            self.named_link(name_of, (a, b), &link.path, delay, &location.key, context);
            names.push(name);
        }
        check_unique(&names, "a link", context);
        (names.len() == links.len()).then_some(())
    }
}

/// The delay of one of several hosts: from `delay` to `delay_to` in even steps.
fn delay_of(keys: &AccessKeys, index: usize, count: usize, context: &mut Context) -> Span {
    let first = keys.path.delay.least();
    let Some(last) = &keys.delay_to else { return first };
    if keys.path.delay.over_time().is_some() {
        context.wrong_at(&last.location, "goes with a fixed `delay`".into());
        return first;
    }
    if count < 2 && index == 0 {
        context.wrong_at(&last.location, "goes with a `count` of two or more".into());
        return first;
    }
    let (first, last) = (first.as_nanos(), last.value.as_nanos());
    let part = i128::from(last) - i128::from(first);
    let delay = i128::from(first) + part * index as i128 / (count as i128 - 1);
    Span::from_nanos(u64::try_from(delay).unwrap_or(first))
}

fn with_interruptions(path: &PathKeys, mut variation: Variation) -> Variation {
    variation.outages.extend(handovers::interruptions(path));
    variation
}

fn loss(keys: Option<&LossKeys>) -> Loss {
    match keys {
        None => Loss::None,
        Some(LossKeys::Random(probability)) => Loss::Random { probability: *probability },
        Some(LossKeys::Listed(packets)) => Loss::Listed { packets: packets.clone() },
        Some(LossKeys::Bursts(keys)) => Loss::GilbertElliott(GilbertElliott {
            good_to_bad: keys.good_to_bad.0,
            bad_to_good: keys.bad_to_good.0,
            loss_good: keys.loss_good.map_or(0.0, |loss| loss.0),
            loss_bad: keys.loss_bad.map_or(1.0, |loss| loss.0),
        }),
    }
}

fn reorder(keys: Option<&ReorderKeys>) -> Option<Reorder> {
    keys.map(|keys| Reorder {
        probability: keys.probability.0,
        max_extra_delay: keys.max_extra_delay,
    })
}
