//! From the keys of a file to a scenario: expands shorthands, resolves names, and makes the checks that
//! need more than one value.

mod apps;
mod builder;
mod endpoints;
mod fabrics;
mod flows;
mod handovers;
mod middleboxes;
mod over_time;
mod routes;
mod tcp;
mod topology;
mod traffic;

use crate::document::{DEFAULT_SEED, Document, Origins, Source};
use crate::keys::{ScenarioKeys, SourceKeys};
use crate::names::check_unique;
use crate::queues::{self, Queues};
use crate::registry::Context;
use topology::Topology;
use windlass_base::Span;
use windlass_keys::Location;
use windlass_sim::Scenario;

pub use over_time::LinkOverTime;

/// The scenario of a file, or `None` after reporting the problems to `context`.
pub(crate) fn document(mut keys: ScenarioKeys, context: &mut Context) -> Option<Document> {
    if keys.duration.value.is_zero() {
        context.wrong_at(&keys.duration.location, "expected a time above zero".into());
    }
    let steady_from = steady_from(&keys, context);
    let interval = interval(&keys, context);
    queues::check_names(keys.queues.as_mut(), context);
    let queues = Queues::new(keys.queues.as_ref(), context);
    let topology = Topology::new(&keys, &queues, context)?;
    let duration = keys.duration.value;
    let flows::TcpFlows { flows, mut names, origins } =
        flows::tcp(&keys.flows, &topology, duration, context);
    let (udp, udp_names) = flows::udp(&keys.udp, &topology, duration, context);
    names.extend(udp_names);
    let (endpoints, endpoint_names) =
        endpoints::endpoints(&keys.endpoints, &topology, duration, context);
    names.extend(endpoint_names);
    let middleboxes = middleboxes::middleboxes(&keys.middleboxes, &topology.nodes, context);
    check_unique(&names, "a flow", context);
    if keys.flows.is_empty() && keys.udp.is_empty() && keys.endpoints.is_empty() {
        let location = Location { key: "flows".into(), ..keys.duration.location.clone() };
        context.wrong_at(&location, "missing: expected at least one flow".into());
    }
    let origins = Origins { links: topology.origins, flows: origins };
    let scenario = Scenario {
        name: keys.name.0,
        description: keys.description.unwrap_or_default(),
        duration,
        until_done: keys.until_done.unwrap_or(false),
        steady_from,
        interval,
        jitter: keys.jitter.unwrap_or(Span::ZERO),
        ecmp: keys.ecmp.unwrap_or(keys.leaf_spine.is_some() || keys.fat_tree.is_some()),
        bottleneck: topology.bottleneck,
        nodes: topology.nodes,
        links: topology.links,
        flows,
        udp,
        endpoints,
        middleboxes,
    };
    let source = keys.source.map(source);
    Some(Document { scenario, seed: keys.seed.unwrap_or(DEFAULT_SEED), source, origins })
}

fn source(keys: SourceKeys) -> Source {
    let SourceKeys { paper, section, table, figure, note } = keys;
    Source { paper, section, table, figure, note }
}

/// At least a millisecond and a millionth of the duration, which bounds the size of a summary.
fn interval(keys: &ScenarioKeys, context: &mut Context) -> Option<Span> {
    let interval = keys.interval.as_ref()?;
    let least = Span::from_millis(1).max(keys.duration.value / 1_000_000);
    if interval.value < least {
        let message = format!("expected at least {least}, found {}", interval.value);
        context.wrong_at(&interval.location, message);
    }
    Some(interval.value)
}

fn steady_from(keys: &ScenarioKeys, context: &mut Context) -> Span {
    let Some(steady_from) = &keys.steady_from else { return Span::ZERO };
    let duration = keys.duration.value;
    if steady_from.value >= duration {
        let message =
            format!("expected a time before the end ({duration}), found {}", steady_from.value);
        context.wrong_at(&steady_from.location, message);
    }
    steady_from.value
}
