//! TCP flows and UDP sources: expands `count` and "each", finds their ends in the topology, and
//! checks their times.

use super::apps::{self, Group};
use super::tcp;
use super::topology::Topology;
use super::traffic;
use crate::keys::{CodepointKeys, FlowKeys, UdpKeys};
use crate::names::look_up;
use crate::registry::Context;
use windlass_base::{Ecn, Span};
use windlass_keys::{Located, Location, Name};
use windlass_sim::model::{Flow, NodeId, UdpFlow};

/// More than any experiment needs. Bounds the memory that a mistyped count can take.
const MAX_FLOWS: usize = 100_000;

/// The name in place of a host that means one flow from every sender.
const EACH: &str = "each";

/// TCP flows; of each, its name with its location, and the key of its table.
#[derive(Default)]
pub(super) struct TcpFlows {
    pub flows: Vec<Flow>,
    pub names: Vec<Located<Name>>,
    pub origins: Vec<String>,
}

/// The TCP flows, with `count` and "each" expanded.
pub(super) fn tcp(
    keys: &[Located<FlowKeys>],
    topology: &Topology,
    duration: Span,
    context: &mut Context,
) -> TcpFlows {
    let mut found = TcpFlows::default();
    for (index, keys) in keys.iter().enumerate() {
        let group = group(&keys.value, index, topology, duration, context).unwrap_or_default();
        if found.flows.len() + group.len() > MAX_FLOWS {
            context.wrong_at(&keys.location, format!("expected at most {MAX_FLOWS} flows"));
            break;
        }
        let location = keys.value.name.as_ref().map_or(&keys.location, |name| &name.location);
        let name =
            |flow: &Flow| Located { value: Name(flow.name.clone()), location: location.clone() };
        found.names.extend(group.iter().map(name));
        found.origins.extend(group.iter().map(|_| keys.location.key.clone()));
        found.flows.extend(group);
    }
    found
}

fn group(
    keys: &FlowKeys,
    index: usize,
    topology: &Topology,
    duration: Span,
    context: &mut Context,
) -> Option<Vec<Flow>> {
    check_times(keys.start.as_ref(), keys.stop.as_ref(), duration, context);
    let options = tcp::options(&keys.tcp, context);
    let ends = ends_of_group(keys, topology, context)?;
    let options = options?;
    let group = Group { number: index, flows: ends.len(), sender: &options.sender };
    let app = apps::app(keys.app.as_ref(), group, topology, context)?;
    let base = keys.name.as_ref().map_or(format!("flow{}", index + 1), |name| name.value.0.clone());
    let alone = ends.len() == 1;
    let start = keys.start.as_ref().map_or(Span::ZERO, |start| start.value);
    let step = keys.start_step.unwrap_or(Span::ZERO);
    let flow = |(index, &(from, to)): (usize, &(NodeId, NodeId))| Flow {
        name: if alone { base.clone() } else { format!("{base}.{}", index + 1) },
        from,
        to,
        profile: Some(options.profile),
        sender: options.sender.clone(),
        receiver: options.receiver.clone(),
        handshake: options.handshake,
        start: start + step * index as u64,
        stop: keys.stop.as_ref().map(|stop| stop.value),
        app: app.clone(),
    };
    Some(ends.iter().enumerate().map(flow).collect())
}

/// Sender and receiver of each flow of a group.
fn ends_of_group(
    keys: &FlowKeys,
    topology: &Topology,
    context: &mut Context,
) -> Option<Vec<(NodeId, NodeId)>> {
    let pairs = if keys.from.value == EACH && !topology.pairs.is_empty() {
        let to = match &keys.to {
            Some(to) => Some(look_up(to, "the name of a node", &topology.nodes, context)?),
            None => None,
        };
        let ends = topology.pairs.iter().map(|&(from, facing)| (from, to.unwrap_or(facing)));
        // A host sends nothing to itself.
        let ends: Vec<_> = ends.filter(|(from, to)| from != to).collect();
        if let (true, Some(to)) = (ends.is_empty(), &keys.to) {
            context.wrong_at(&to.location, "expected another host than the sender".into());
            return None;
        }
        ends
    } else {
        vec![ends(&keys.from, keys.to.as_ref(), topology, context)?]
    };
    let count = keys.count.as_ref().map_or(1, |count| count.value.0 as usize);
    if pairs.len().saturating_mul(count) > MAX_FLOWS {
        let location = &keys.count.as_ref()?.location;
        context.wrong_at(location, format!("expected at most {MAX_FLOWS} flows"));
        return None;
    }
    Some(pairs.iter().flat_map(|pair| std::iter::repeat_n(*pair, count)).collect())
}

/// Sender and receiver, which must differ and be connected.
pub(super) fn ends(
    from: &Located<String>,
    to: Option<&Located<String>>,
    topology: &Topology,
    context: &mut Context,
) -> Option<(NodeId, NodeId)> {
    const NODE: &str = "the name of a node";
    let sender = look_up(from, NODE, &topology.nodes, context);
    let (receiver, location) = match to {
        Some(to) => (look_up(to, NODE, &topology.nodes, context)?, &to.location),
        None => (facing(from, sender?, topology, context)?, &from.location),
    };
    let sender = sender?;
    if sender == receiver {
        context.wrong_at(location, "expected another host than the sender".into());
        return None;
    }
    if !topology.components.connected(sender, receiver) {
        let (from, to) = (&topology.nodes[sender], &topology.nodes[receiver]);
        context.wrong_at(location, format!("no links lead from {from:?} to {to:?}"));
        return None;
    }
    Some((sender, receiver))
}

/// The default receiver of a sender, if the file names none.
fn facing(
    from: &Located<String>,
    sender: NodeId,
    topology: &Topology,
    context: &mut Context,
) -> Option<NodeId> {
    let pair = topology.pairs.iter().find(|pair| pair.0 == sender);
    if pair.is_none() {
        let message = format!("`to` is missing: no receiver faces {:?} by itself", from.value);
        context.wrong_at(&from.location, message);
    }
    pair.map(|pair| pair.1)
}

/// A source must start before the end, and stop after its start.
pub(super) fn check_times(
    start: Option<&Located<Span>>,
    stop: Option<&Located<Span>>,
    duration: Span,
    context: &mut Context,
) {
    if let Some(start) = start
        && start.value >= duration
    {
        let message = format!("expected a time before the end ({duration}), found {}", start.value);
        context.wrong_at(&start.location, message);
    }
    let start = start.map_or(Span::ZERO, |start| start.value);
    if let Some(stop) = stop
        && stop.value <= start
    {
        let message = format!("expected a time after the start ({start}), found {}", stop.value);
        context.wrong_at(&stop.location, message);
    }
}

/// The UDP sources, and their names.
pub(super) fn udp(
    keys: &[Located<UdpKeys>],
    topology: &Topology,
    duration: Span,
    context: &mut Context,
) -> (Vec<UdpFlow>, Vec<Located<Name>>) {
    let (mut sources, mut names) = (Vec::new(), Vec::new());
    for (index, Located { value: keys, location }) in keys.iter().enumerate() {
        let default =
            || Located { value: Name(format!("udp{}", index + 1)), location: location.clone() };
        let name = keys.name.clone().unwrap_or_else(default);
        sources.extend(udp_source(keys, &name.value.0, location, topology, duration, context));
        names.push(name);
    }
    (sources, names)
}

fn udp_source(
    keys: &UdpKeys,
    name: &str,
    location: &Location,
    topology: &Topology,
    duration: Span,
    context: &mut Context,
) -> Option<UdpFlow> {
    check_times(keys.start.as_ref(), keys.stop.as_ref(), duration, context);
    let traffic = traffic::udp(keys, location, topology, context);
    let (from, to) = ends(&keys.from, keys.to.as_ref(), topology, context)?;
    Some(UdpFlow {
        name: name.to_owned(),
        from,
        to,
        ecn: keys.ecn.map_or(Ecn::NotEct, codepoint),
        start: keys.start.as_ref().map_or(Span::ZERO, |start| start.value),
        stop: keys.stop.as_ref().map(|stop| stop.value),
        traffic: traffic?,
    })
}

fn codepoint(keys: CodepointKeys) -> Ecn {
    match keys {
        CodepointKeys::NotEct => Ecn::NotEct,
        CodepointKeys::Ect0 => Ecn::Ect0,
        CodepointKeys::Ect1 => Ecn::Ect1,
    }
}
