//! Nodes and links: expands the shorthands (`dumbbell` and `parking_lot` here, those of data centres in
//! [`fabrics`]), or reads `nodes` and `links`, and finds the bottleneck. Everything else refers to the
//! nodes by the indices that this gives them.

use super::builder::{Builder, MAX_HOSTS, Pairs};
use super::fabrics;
use super::routes::Components;
use crate::keys::{AccessKeys, DumbbellKeys, LinkKeys, ParkingLotKeys, ScenarioKeys};
use crate::names::{check_unique, look_up};
use crate::queues::Queues;
use crate::registry::Context;
use windlass_base::{BitRate, Span};
use windlass_keys::{Located, Location, Name};
use windlass_sim::model::{Link, LinkDirection, NodeId};

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
    pub pairs: Pairs,
    pub components: Components,
}

impl Topology {
    /// Builds the topology from the form that the file uses.
    pub(super) fn new(
        keys: &ScenarioKeys,
        queues: &Queues,
        context: &mut Context,
    ) -> Option<Topology> {
        check_one(keys, context)?;
        let mut builder = Builder { queues, nodes: vec![], links: vec![], origins: vec![] };
        let pairs = if let Some(dumbbell) = &keys.dumbbell {
            builder.dumbbell(dumbbell, context)?
        } else if let Some(parking_lot) = &keys.parking_lot {
            builder.parking_lot(&parking_lot.value, context)?
        } else if let Some(leaf_spine) = &keys.leaf_spine {
            fabrics::leaf_spine(&mut builder, &leaf_spine.value, context)?
        } else if let Some(fat_tree) = &keys.fat_tree {
            fabrics::fat_tree(&mut builder, &fat_tree.value, context)?
        } else {
            builder.explicit(&keys.nodes, &keys.links, context)?;
            Vec::new()
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

/// A file has one topology.
fn check_one(keys: &ScenarioKeys, context: &mut Context) -> Option<()> {
    let given = [
        keys.dumbbell.as_ref().map(|keys| &keys.location),
        keys.parking_lot.as_ref().map(|keys| &keys.location),
        keys.leaf_spine.as_ref().map(|keys| &keys.location),
        keys.fat_tree.as_ref().map(|keys| &keys.location),
        keys.links.first().map(|keys| &keys.location),
    ];
    let mut given = given.into_iter().flatten();
    let first = given.next();
    if let Some(second) = given.last() {
        let message = "a second topology: expected one of `dumbbell`, `parking_lot`, `leaf_spine`, \
                       `fat_tree` and `links`";
        context.wrong_at(second, message.into());
        return None;
    }
    if first.is_none() {
        let message = "no topology: expected `dumbbell`, `parking_lot`, `leaf_spine`, `fat_tree`, or \
                       `nodes` and `links`";
        context.wrong_at(&start(keys), message.into());
    }
    first.map(|_| ())
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

impl Builder<'_> {
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
    fn dumbbell(&mut self, keys: &Located<DumbbellKeys>, context: &mut Context) -> Option<Pairs> {
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
    fn parking_lot(&mut self, keys: &ParkingLotKeys, context: &mut Context) -> Option<Pairs> {
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
