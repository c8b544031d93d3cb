//! Captured packets that a recorder has yet to receive, in order of time.

use crate::model::LinkDirection;
use crate::packet::Packet;
use std::collections::VecDeque;
use windlass_base::Time;

/// A channel computes transmissions before they begin. The captured packets of all channels wait here
/// for their time; those of the same time stay in order of insertion. Empty unless a recorder wants
/// packets.
#[derive(Debug, Default)]
pub(super) struct Captures {
    /// In order of time. Packets that begin now go near the front and those of a long queue to the back, so
    /// that few others move.
    packets: VecDeque<Captured>,
}

type Captured = (Time, LinkDirection, Packet);

impl Captures {
    /// A packet passes end `a` of a link at `at`.
    pub(super) fn add(&mut self, at: Time, direction: LinkDirection, packet: Packet) {
        let place = self.packets.partition_point(|&(earlier, ..)| earlier <= at);
        self.packets.insert(place, (at, direction, packet));
    }

    /// The next packet that has passed no later than `now`.
    pub(super) fn next_until(&mut self, now: Time) -> Option<Captured> {
        let &(at, ..) = self.packets.front()?;
        if at > now {
            return None;
        }
        self.packets.pop_front()
    }
}
