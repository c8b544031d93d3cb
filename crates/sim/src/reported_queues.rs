//! Which queues the summary and the time series report.

use crate::model::{LinkDirection, NodeId, Scenario};

/// The link directions whose queues a run reports: the bottleneck first, then the links between nodes
/// that are not the end of any flow, and the other directions with a policer.
pub(crate) fn reported_queues(scenario: &Scenario) -> Vec<LinkDirection> {
    let mut host = vec![false; scenario.nodes.len()];
    let tcp = scenario.flows.iter().map(|flow| [flow.from, flow.to]);
    let udp = scenario.udp.iter().map(|flow| [flow.from, flow.to]);
    let endpoints = scenario.endpoints.iter().map(|flow| [flow.from, flow.to]);
    let ends: Vec<NodeId> = tcp.chain(udp).chain(endpoints).flatten().collect();
    ends.into_iter().for_each(|node| host[node] = true);
    let is_reported = |direction: &LinkDirection| {
        let link = &scenario.links[direction.link];
        let channel = if direction.reverse { &link.backward } else { &link.forward };
        let between_routers = !host[link.a] && !host[link.b];
        between_routers || channel.variation.policer.is_some()
    };
    let directions = (0..scenario.links.len())
        .flat_map(|link| [false, true].map(|reverse| LinkDirection { link, reverse }))
        .filter(|direction| *direction != scenario.bottleneck && is_reported(direction));
    std::iter::once(scenario.bottleneck).chain(directions).collect()
}
