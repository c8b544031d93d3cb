//! Captured packets that a recorder has yet to receive, in order of time.

use crate::model::LinkDirection;
use crate::packet::Packet;
use std::collections::BTreeMap;
use windlass_base::Time;

/// A channel computes transmissions before they begin. The captured packets of all channels wait here
/// for their time; those of the same time stay in order of insertion. Empty unless a recorder wants
/// packets.
#[derive(Debug, Default)]
pub(super) struct Captures {
    packets: BTreeMap<(Time, u64), (LinkDirection, Packet)>,
    added: u64,
}

impl Captures {
    /// A packet passes end `a` of a link at `at`.
    pub(super) fn add(&mut self, at: Time, direction: LinkDirection, packet: Packet) {
        self.packets.insert((at, self.added), (direction, packet));
        self.added += 1;
    }

    /// The next packet that has passed no later than `now`.
    pub(super) fn next_until(&mut self, now: Time) -> Option<(Time, LinkDirection, Packet)> {
        let first = self.packets.first_entry()?;
        let (at, _) = *first.key();
        if at > now {
            return None;
        }
        let (direction, packet) = first.remove();
        Some((at, direction, packet))
    }
}
