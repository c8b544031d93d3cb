//! How late packets left, as a distribution. The carrier records it; the command prints it.

use hdrhistogram::Histogram;
use windlass_base::Span;

/// The longest lateness that the histogram holds; longer ones, as after a suspend, count as this.
const MOST_NS: u64 = 10_000_000_000;

/// How long after their due time packets left.
#[derive(Clone, Debug)]
pub struct Lateness(
    /// In nanoseconds. `None` would mean wrong bounds; then nothing is counted.
    Option<Histogram<u64>>,
);

impl Default for Lateness {
    fn default() -> Self {
        // Two significant digits: the error is at most 1 %, 10 ns in a microsecond. The clock is less accurate.
        Lateness(Histogram::new_with_bounds(1, MOST_NS, 2).ok())
    }
}

impl Lateness {
    /// Counts one packet.
    pub fn record(&mut self, late: Span) {
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record(late.as_nanos().max(1));
        }
    }

    /// The lateness that a share of all packets (0 to 1) did not exceed; `None` before the first
    /// packet.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let histogram = self.0.as_ref().filter(|histogram| !histogram.is_empty())?;
        Some(Span::from_nanos(histogram.value_at_quantile(share)))
    }

    /// The greatest lateness; `None` before the first packet.
    pub fn max(&self) -> Option<Span> {
        self.quantile(1.0)
    }
}
