//! The cuts between the parts of a run, and the packets that cross them.

use super::link::Channel;
use super::{Network, numbering};
use crate::model::{NodeId, Scenario};
use crate::packet::{InFlight, Slot};
use crate::record::{Context, Recorder};
use windlass_base::{BitRate, Span, Time};

/// Packets that leave for other parts of the run.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    /// By part that they go to.
    pub(crate) by_part: Vec<Vec<Export>>,
    /// By channel: the part at its far end.
    pub(crate) part_behind: Vec<usize>,
    /// The number of the present event.
    pub(crate) event: u32,
}

/// A packet that goes on in another part of the run.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Export {
    /// Number of the channel at whose far end it arrives.
    pub(crate) channel: u32,
    pub(crate) arrival: Time,
    /// When the arrival became known.
    pub(crate) since: Time,
    /// The order of insertion that its arrival has in an empty channel.
    pub(crate) order: u32,
    /// The number of the event that sent it.
    pub(crate) event: u32,
    pub(crate) packet: InFlight,
}

impl Network {
    /// A packet leaves for another part of the run.
    #[inline(never)]
    pub(super) fn export<R>(
        &mut self,
        channel: u32,
        arrival: Time,
        slot: Slot,
        cx: &mut Context<'_, R>,
    ) {
        let packet = *self.transit.packets.get(slot);
        self.transit.packets.release(slot);
        let (since, order) = (cx.events.now(), cx.events.take_order());
        let Exports { by_part, part_behind, event } = &mut self.exports;
        let part = part_behind[channel as usize];
        by_part[part].push(Export { channel, arrival, since, order, event: *event, packet });
    }

    /// A packet from another part of the run arrives at the far end of a channel. Returns it if that is its
    /// destination.
    pub(crate) fn handle_import<R: Recorder>(
        &mut self,
        now: Time,
        channel: u32,
        slot: Slot,
        cx: &mut Context<'_, R>,
    ) -> Option<Slot> {
        self.arrive(now, channel, slot, cx)
    }

    /// Cuts the network at these channels.
    pub(crate) fn cut(&mut self, channels: Vec<bool>, exports: Exports) {
        self.routes.cut(channels);
        self.exports = exports;
    }

    /// Whether the run can be cut at each channel: packets reach its far end for certain, with an event, and
    /// their arrivals are known when its queue takes them.
    pub(crate) fn can_cut(&self) -> Vec<bool> {
        let mut can: Vec<bool> = self.channels.iter().map(Channel::can_deliver_early).collect();
        let early = self.routes.early_channels();
        let later =
            self.ecmp.iter().flat_map(|ecmp| ecmp.early_channels(&self.routes, &self.paths));
        for channel in early.chain(later) {
            can[channel as usize] = false;
        }
        can
    }

    /// Flows to whose receivers packets may be delivered early.
    pub(crate) fn delivers_early(&self, flow: u32) -> bool {
        let [path, _] = self.paths[flow as usize];
        let by_path =
            self.routes.last_hop(path).is_some_and(|hop| self.routes.get(hop).delivers_early());
        by_path || self.ecmp.as_ref().is_some_and(|ecmp| ecmp.delivers_early(flow))
    }

    /// The node at which a channel begins.
    pub(crate) fn begin_of(&self, channel: u32) -> NodeId {
        self.routes.graph().channels[channel as usize].from
    }

    /// The node at the far end of a channel.
    pub(crate) fn end_of(&self, channel: u32) -> NodeId {
        self.routes.end_of(channel)
    }

    /// The propagation delay of a channel.
    pub(crate) fn delay_of(&self, channel: u32) -> Span {
        self.routes.graph().channels[channel as usize].delay
    }

    /// The rate of a channel, if it has one.
    pub(crate) fn rate_of(&self, scenario: &Scenario, channel: u32) -> Option<BitRate> {
        scenario.channel(numbering::direction(channel)).rate
    }

    /// The channels of a flow's path and of the way back; with several paths, of one of them.
    pub(crate) fn both_ways(&self, flow: u32) -> [Vec<u32>; 2] {
        self.paths[flow as usize].map(|begin| self.routes.channels(begin).collect())
    }
}
