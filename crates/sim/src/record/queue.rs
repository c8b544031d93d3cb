//! The length of a queue over a run, for the summary. A channel updates it, if the run reports its
//! queue.

use super::mean::{CountMean, TimeMean};
use windlass_aqm::Queue;
use windlass_base::Time;

/// Length of a channel's queue over time.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct QueueRecord {
    pub(crate) packets: CountMean,
    /// RED's own average; without values for other queues.
    pub(crate) average: TimeMean,
    pub(crate) max_packets: usize,
    len: usize,
}

impl QueueRecord {
    pub(crate) fn new(steady_from: Time) -> QueueRecord {
        QueueRecord {
            packets: CountMean::new(steady_from),
            average: TimeMean::new(steady_from, None),
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

    /// Counts the time up to the end of the run.
    pub(crate) fn finish(&mut self, now: Time) {
        self.packets.advance(now);
        self.average.advance(now);
    }
}
