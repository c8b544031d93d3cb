//! Warnings about flows whose controller waits for a signal that cannot come.

use crate::model::{Flow, Middlebox, Scenario};
use crate::network::Network;
use std::collections::BTreeMap;
use windlass_tcp::config::EcnEcho;

/// Names in a warning; others are counted.
const NAMES: usize = 3;

/// Sentences about the scenario, one for each reason and controller.
pub(crate) fn warnings(scenario: &Scenario, network: &Network) -> Vec<String> {
    let mut flows: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (number, flow) in (0..).zip(&scenario.flows) {
        if flow.sender.congestion.needs_marks()
            && let Some(reason) = obstacle(number, flow, scenario, network)
        {
            let controller = flow.sender.congestion.name();
            flows.entry((controller, reason)).or_default().push(&flow.name);
        }
    }
    let sentence = |((controller, reason), names): ((&str, &str), Vec<&str>)| {
        format!("{}: {controller} waits for ECN marks, but {reason}", list(&names))
    };
    flows.into_iter().map(sentence).collect()
}

/// Why no mark reaches the sender; `None` if one can.
fn obstacle(
    number: u32,
    flow: &Flow,
    scenario: &Scenario,
    network: &Network,
) -> Option<&'static str> {
    // A proxy may take the receiver's part, and a device of another crate anything.
    let helped = !scenario.middleboxes.is_empty();
    let may_mark = |device: &Middlebox| matches!(device, Middlebox::Custom { .. });
    let marked = || {
        let mut directions = network.directions(number);
        directions.any(|direction| scenario.channel(direction).queue.can_mark())
    };
    let bleached = || {
        let mut directions = network.directions(number);
        directions.any(|direction| scenario.channel(direction).bleaches_ecn)
    };
    if !flow.sender.ecn.enabled {
        Some("its sender does not use ECN (key ecn)")
    } else if !flow.receiver.ecn.enabled && !helped {
        Some("its receiver does not take ECN (key receiver.ecn)")
    } else if !echoes_as_needed(flow) {
        Some("its receiver echoes them in another way (key receiver.echo)")
    } else if !marked() && !scenario.middleboxes.iter().any(may_mark) {
        Some("no queue on its path marks packets")
    } else if bleached() && !helped {
        // It erases the marks of the queues before it, and those behind it find no ECT.
        Some("a link on its path clears the codepoint (key bleach_ecn)")
    } else {
        None
    }
}

/// The counts of AccECN suit every controller, if both ends ask for them.
fn echoes_as_needed(flow: &Flow) -> bool {
    let receiver = flow.receiver.ecn.echo;
    let accurate = [flow.sender.ecn.echo, receiver] == [EcnEcho::Accurate; 2];
    let needed = flow.sender.congestion.echo();
    accurate || needed.is_none_or(|echo| echo == receiver && echo != EcnEcho::Accurate)
}

/// The first names, and the number of the others.
fn list(names: &[&str]) -> String {
    match names.len().saturating_sub(NAMES) {
        0 => names.join(", "),
        others => format!("{} and {others} more", names[..NAMES].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_flows_are_counted_and_not_listed() {
        assert_eq!(list(&["a", "b", "c"]), "a, b, c");
        assert_eq!(list(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }
}
