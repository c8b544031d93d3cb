//! Builds the nodes and links of a topology, whatever form the file gives it.

use super::{handovers, over_time};
use crate::keys::{LossKeys, PathKeys, RateKeys, ReorderKeys};
use crate::queues::{QueueRef, Queues};
use crate::registry::Context;
use windlass_aqm as aqm;
use windlass_base::{BitRate, Span};
use windlass_sim::model::{Channel, GilbertElliott, Link, Loss, NodeId, Reorder, Variation};

/// More than any experiment needs. Bounds the memory that a mistyped count can take.
pub(super) const MAX_HOSTS: usize = 100_000;

/// Senders and receivers at opposite ends of a shorthand.
pub(super) type Pairs = Vec<(NodeId, NodeId)>;

/// Nodes and links so far.
pub(super) struct Builder<'a> {
    pub(super) queues: &'a Queues,
    pub(super) nodes: Vec<String>,
    pub(super) links: Vec<Link>,
    /// The key of each link's table.
    pub(super) origins: Vec<String>,
}

impl Builder<'_> {
    pub(super) fn node(&mut self, name: String) -> NodeId {
        self.nodes.push(name);
        self.nodes.len() - 1
    }

    pub(super) fn link(
        &mut self,
        a: NodeId,
        b: NodeId,
        path: &PathKeys,
        origin: &str,
        context: &mut Context,
    ) {
        let name = format!("{}-{}", self.nodes[a], self.nodes[b]);
        self.named_link(name, (a, b), path, path.delay.least(), origin, context);
    }

    pub(super) fn named_link(
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
