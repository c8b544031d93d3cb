//! The length of a queue over a run, for the summary. A channel updates it, if the run reports its
//! queue.

use super::delays::Delays;
use super::mean::{CountMean, TimeMean};
use windlass_aqm::Queue;
use windlass_base::{Span, Time};

/// Length of a channel's queue over time, and the times that packets waited in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueRecord {
    pub(crate) packets: CountMean,
    /// RED's own average; without values for other queues.
    pub(crate) average: TimeMean,
    pub(crate) max_packets: usize,
    pub(crate) delays: Delays,
    /// Bytes of the packets that left it before the steady window.
    pub(crate) bytes_before_steady: u64,
    len: usize,
}

impl QueueRecord {
    pub(crate) fn new(steady_from: Time) -> QueueRecord {
        QueueRecord {
            packets: CountMean::new(steady_from),
            average: TimeMean::new(steady_from, None),
            delays: Delays::new(steady_from),
            ..QueueRecord::default()
        }
    }

    /// Records the queue's length and average; true if either changed.
    pub(crate) fn update<P: windlass_aqm::Packet>(
        &mut self,
        now: Time,
        queue: &impl Queue<P>,
    ) -> bool {
        let (len, average) = (queue.len_packets(), queue.average_packets());
        let average_changed = average.is_some() && average != self.average.value();
        if average_changed {
            self.average.set(now, average);
        }
        if len != self.len {
            self.len = len;
            self.max_packets = self.max_packets.max(len);
            self.packets.set(now, len as u64);
            return true;
        }
        average_changed
    }

    /// Records a packet that leaves the queue.
    #[inline]
    pub(crate) fn departure(&mut self, now: Time, wire_bytes: u32, waited: Span) {
        if !self.delays.record(now, waited) {
            self.bytes_before_steady += u64::from(wire_bytes);
        }
    }

    /// Counts the time up to the end of the run.
    pub(crate) fn finish(&mut self, now: Time) {
        self.packets.advance(now);
        self.average.advance(now);
    }
}
