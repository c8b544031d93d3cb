//! The ECN proxy as a middlebox: the state machine that the kernel runs, on a node.

mod counters;
mod segments;

pub use counters::EcnProxyCounters;

use crate::middlebox::Middlebox;
use crate::model::NodeId;
use crate::packet::{Body, Packet};
use windlass_base::{Ecn, Time};
use windlass_ecn_proxy_core::{Actions, Edit, Events, Flags, Flow, Policy, Reason, Side};
use windlass_tcp::Segment;

/// Number of failed connections in a row after which a destination counts as failing.
const FAILURES_MAX: u8 = 3;
/// Number of connections of a host that do not slow down, after which its next ones get no ECT.
const UNRESPONSIVE_MAX: u8 = 3;

/// An ECN proxy that serves the hosts of some nodes.
#[derive(Debug)]
pub struct EcnProxy {
    policy: Policy,
    /// Whether the proxy serves a node, by node.
    served: Vec<bool>,
    /// Connections in a row whose ECN SYN got lost, by destination node.
    failures: Vec<u8>,
    /// Connections that did not slow down, by served node.
    unresponsive: Vec<u8>,
    /// The state of each connection, by its number.
    flows: Vec<Flow>,
    counters: EcnProxyCounters,
}

impl EcnProxy {
    /// A proxy for the hosts `served`, which must not ask for ECN themselves to be of use to them.
    pub fn new(policy: Policy, served: &[NodeId]) -> EcnProxy {
        let nodes = served.iter().max().map_or(0, |last| last + 1);
        let mut proxy = EcnProxy {
            policy,
            served: vec![false; nodes],
            failures: vec![],
            unresponsive: vec![0; nodes],
            flows: vec![],
            counters: EcnProxyCounters::default(),
        };
        served.iter().for_each(|&node| proxy.served[node] = true);
        proxy
    }

    /// The counters so far.
    pub fn counters(&self) -> &EcnProxyCounters {
        &self.counters
    }

    /// Whether it withholds ECT from a connection whose sender did not slow down.
    pub fn distrusts(&self) -> bool {
        self.unresponsive.iter().any(|&connections| connections > 0)
    }

    fn serves(&self, node: NodeId) -> bool {
        self.served.get(node).copied().unwrap_or(false)
    }

    /// Which side a packet comes from; `None` if the proxy stands between no such two.
    fn side(&self, packet: &Packet) -> Option<Side> {
        match (self.serves(packet.source.node), self.serves(packet.destination.node)) {
            (true, false) => Some(Side::Host),
            (false, true) => Some(Side::Far),
            _ => None,
        }
    }

    fn decide(&mut self, now: Time, packet: &Packet, segment: &Segment, from: Side) -> Edit {
        let connection = packet.connection as usize;
        if connection >= self.flows.len() {
            self.flows.resize(connection + 1, Flow::default());
        }
        let flow = &mut self.flows[connection];
        let summary = segments::summary(now, segment, packet.ecn);
        let opens = summary.flags & (Flags::SYN | Flags::ACK) == Flags::SYN;
        let far = match from {
            Side::Host => packet.destination.node,
            Side::Far => packet.source.node,
        };
        let edit = if opens {
            let failures = self.failures.get(far).copied().unwrap_or(0);
            flow.handle_syn(&self.policy, &summary, from, failures >= FAILURES_MAX).1
        } else {
            flow.handle_packet(&self.policy, &summary, from)
        };
        self.remember(far, edit.events);
        let near = match from {
            Side::Host => packet.source.node,
            Side::Far => packet.destination.node,
        };
        self.distrust(near, connection, &edit);
        edit
    }

    /// Withholds ECT from a host's new connections once enough of its earlier ones did not slow down.
    fn distrust(&mut self, host: NodeId, connection: usize, edit: &Edit) {
        let unresponsive = &mut self.unresponsive[host];
        if edit.events.contains(Events::ECT_WITHDRAWN) && edit.reason() == Reason::NoResponse {
            *unresponsive = unresponsive.saturating_add(1);
        }
        if edit.events.contains(Events::PROXIED) && *unresponsive >= UNRESPONSIVE_MAX {
            self.counters.count(self.flows[connection].distrust().events);
        }
    }

    /// A single lost SYN proves little, because queues drop SYNs too.
    fn remember(&mut self, far: NodeId, events: Events) {
        let tells = Events::DESTINATION_FAILED | Events::SERVER_ONLY;
        if !events.intersects(tells) {
            return;
        }
        if far >= self.failures.len() {
            self.failures.resize(far + 1, 0);
        }
        let failures = &mut self.failures[far];
        *failures = match events.contains(Events::DESTINATION_FAILED) {
            true => failures.saturating_add(1),
            false => 0,
        };
    }

    fn carry_out(&mut self, packet: Packet, segment: &Segment, edit: &Edit, out: &mut Vec<Packet>) {
        if edit.actions.contains(Actions::REPLY) {
            out.push(turned_round(&packet, segments::reply(&edit.reply)));
        }
        if edit.actions.contains(Actions::DROP) {
            let answered =
                edit.actions.contains(Actions::REPLY) || edit.events.contains(Events::KEPT_BACK);
            self.counters.dropped += u64::from(!answered);
            return;
        }
        let mut edited = Packet { body: Body::Tcp(segments::edited(segment, edit)), ..packet };
        if edit.actions.contains(Actions::CODEPOINT) {
            edited.ecn = Ecn::from_bits(edit.codepoint);
        }
        out.push(edited);
        if edit.actions.contains(Actions::CLONES) {
            let ack = Body::Tcp(segments::pure_ack(segment, edit));
            let clone = Packet { ecn: Ecn::NotEct, body: ack, ..packet };
            out.extend(std::iter::repeat_n(clone, edit.clones.into()));
        }
    }
}

impl Middlebox for EcnProxy {
    fn handle_packet(&mut self, now: Time, packet: Packet, out: &mut Vec<Packet>) {
        let Body::Tcp(segment) = packet.body else { return out.push(packet) };
        let Some(from) = self.side(&packet) else { return out.push(packet) };
        let edit = self.decide(now, &packet, &segment, from);
        self.counters.count(edit.events);
        self.carry_out(packet, &segment, &edit, out);
    }
}

/// A packet of the other direction, with `segment`.
fn turned_round(packet: &Packet, segment: Segment) -> Packet {
    Packet {
        reverse: !packet.reverse,
        source: packet.destination,
        destination: packet.source,
        ecn: Ecn::NotEct,
        body: Body::Tcp(segment),
        ..*packet
    }
}
