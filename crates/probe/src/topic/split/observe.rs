//! The counts of a connection that ran a test.

use super::report::{Exchanged, Observation};
use super::response::Response;
use super::run::Split;
use crate::topic::channel::Channel;

impl Split {
    /// The counts so far; `None` before the first flight.
    pub(super) fn observe(&self, channel: &Channel) -> Option<Observation> {
        let (from, first_flight) = self.first_flight?;
        let (arrivals, response) = (&channel.arrivals, self.response());
        let all = arrivals.tally(0, arrivals.end());
        let grown = response.map(|response| response.grown(arrivals)).unwrap_or_default();
        let flight = response.map_or(first_flight, |response| response.flight);
        let mss_seen = arrivals.longest();
        let window = channel.gate.window();
        let ended = response.map_or(0, |response| missing_after(response.from(), channel));
        let fills = flight.sent_bytes() + ended;
        Some(Observation {
            test: self.order.test,
            window,
            mss_seen,
            mss_offered: channel.order.mss,
            first_flight,
            missing_after_flight: missing_after(from + first_flight.sent_bytes(), channel),
            flight,
            acked: response.map(|response| lens(&response.acked)).unwrap_or_default(),
            acks_sent: response.map_or(0, |response| response.acks_sent),
            packets_before: response.map_or(first_flight.sent(), Response::packets_before),
            grown: grown.packets + grown.missing,
            grown_bytes: grown.bytes + grown.missing_bytes,
            data_packets: all.packets,
            data_bytes: all.bytes,
            retransmissions: arrivals.retransmissions,
            reordered: arrivals.reordered,
            duplicated: arrivals.duplicated,
            beyond_window: arrivals.beyond_window,
            damaged: arrivals.damaged,
            timeout_before_acks: response
                .is_some_and(|response| response.retransmissions_before > 0),
            fills_window: fills + u64::from(mss_seen) > u64::from(window),
            answer_ended: channel.answer_has_ended(),
            exchanged: (!channel.is_web() || self.acked_before > 0).then(|| Exchanged {
                acked_segments: if channel.secures_first() { 0 } else { self.acked_before },
                window_ended_flight: grown.bytes + grown.missing_bytes >= u64::from(mss_seen),
            }),
        })
    }
}

/// Bytes missing between the offset, at which a flight seemed to end, and the next packet.
fn missing_after(end: u64, channel: &Channel) -> u64 {
    channel.arrivals.first_from(end, channel.reordering()).map_or(0, |start| start - end)
}

/// The lengths of the segments with these ends.
fn lens(ends: &[u64]) -> Vec<u32> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(|(start, end)| (end - start) as u32).collect()
}
