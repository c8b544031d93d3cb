use super::Connection;
use windlass_base::Span;

impl Connection {
    /// The number of RTT samples so far.
    pub fn rtt_samples(&self) -> u64 {
        self.rtt.samples()
    }

    /// The last RTT sample by the carrier's clock, not rounded to ticks; `None` before the first.
    pub fn last_rtt(&self) -> Option<Span> {
        (self.rtt.samples() > 0).then(|| self.rtt.last_exact())
    }
}
