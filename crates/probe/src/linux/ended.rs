//! Connections that are over, remembered for a while.

use crate::wire::Flow;
use std::collections::{BTreeMap, VecDeque};
use windlass_base::{Span, Time};

/// How long a pair of ports is not reused, because packets of the connection may still arrive.
const REMEMBERED: Span = Span::from_secs(30);
/// Packets within this time after the end count as sent before our reset arrived.
const UNDER_WAY: Span = Span::from_secs(1);

#[derive(Default)]
pub(super) struct Ended {
    since: BTreeMap<Flow, Time>,
    /// The oldest first.
    order: VecDeque<(Time, Flow)>,
}

impl Ended {
    pub(super) fn add(&mut self, now: Time, flow: Flow) {
        while let Some((at, old)) = self.order.front().copied()
            && now.saturating_since(at) > REMEMBERED
        {
            self.order.pop_front();
            if self.since.get(&old) == Some(&at) {
                self.since.remove(&old);
            }
        }
        self.since.insert(flow, now);
        self.order.push_back((now, flow));
    }

    pub(super) fn contains(&self, flow: &Flow) -> bool {
        self.since.contains_key(flow)
    }

    /// Whether the server has received the reset by now, or has missed it.
    pub(super) fn is_past(&self, now: Time, flow: &Flow) -> bool {
        self.since.get(flow).is_none_or(|at| now.saturating_since(*at) > UNDER_WAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_remembered_for_half_a_minute_and_packets_under_way_for_a_second() {
        let flow = |port: u16| Flow {
            local: ([192, 0, 2, 1], port).into(),
            remote: ([192, 0, 2, 2], 80).into(),
        };
        let at = |s: u64| Time::ZERO + Span::from_secs(s);
        let mut ended = Ended::default();
        ended.add(at(0), flow(1));
        assert!(ended.contains(&flow(1)) && !ended.is_past(at(1), &flow(1)));
        assert!(ended.is_past(at(2), &flow(1)) && ended.is_past(at(0), &flow(2)));
        ended.add(at(20), flow(1));
        ended.add(at(31), flow(2));
        assert!(ended.contains(&flow(1)), "it was used again");
        ended.add(at(60), flow(3));
        assert!(!ended.contains(&flow(1)) && ended.contains(&flow(2)));
    }
}
