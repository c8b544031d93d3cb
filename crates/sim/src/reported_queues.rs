use crate::scenario::model::{LinkDirection, NodeId, Scenario};

/// The link directions whose queues a run reports: the bottleneck first, then the links between nodes
/// that are not the end of any flow.
pub fn reported_queues(scenario: &Scenario) -> Vec<LinkDirection> {
    let mut host = vec![false; scenario.nodes.len()];
    let tcp = scenario.flows.iter().map(|flow| [flow.from, flow.to]);
    let udp = scenario.udp.iter().map(|flow| [flow.from, flow.to]);
    let ends: Vec<NodeId> = tcp.chain(udp).flatten().collect();
    ends.into_iter().for_each(|node| host[node] = true);
    let links = scenario.links.iter().enumerate();
    let between_routers = links.filter(|(_, link)| !host[link.a] && !host[link.b]);
    let directions = between_routers
        .flat_map(|(link, _)| [false, true].map(|reverse| LinkDirection { link, reverse }))
        .filter(|direction| *direction != scenario.bottleneck);
    std::iter::once(scenario.bottleneck).chain(directions).collect()
}
