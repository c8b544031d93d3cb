//! Packet-delivery traces: the times at which a measured link could deliver. The format is that of
//! mahimahi.

use std::fmt;
use windlass_base::{BitRate, Span};

/// How many bytes one opportunity of a trace delivers, IP headers included.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// A packet-delivery trace in mahimahi's format: the times at which the link can deliver
/// [`OPPORTUNITY_BYTES`]. It begins again at its last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// Ascending, in milliseconds.
    at_ms: Vec<u64>,
}

/// A text that is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// A line is not a number of milliseconds: its number and its text.
    Number(usize, String),
    /// A time is before that of the line above: the line's number.
    Descends(usize),
    /// The last time is zero, or there is no line.
    NoTime,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Number(line, text) => {
                write!(f, "line {line}: expected a number of milliseconds, found {text:?}")
            }
            TraceError::Descends(line) => {
                write!(f, "line {line}: expected a time no earlier than that of the line above")
            }
            TraceError::NoTime => f.write_str("expected a last line above 0"),
        }
    }
}

impl std::error::Error for TraceError {}

impl DeliveryTrace {
    /// Reads a trace: a whole number of milliseconds a line, in ascending order. Empty lines and lines
    /// that begin with `#` do not count.
    ///
    /// # Errors
    ///
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<DeliveryTrace, TraceError> {
        let mut at_ms: Vec<u64> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (number, line) = (index + 1, line.trim());
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // Bounded, so that the time in nanoseconds fits for many repetitions.
            let ms = line.parse().ok().filter(|ms| *ms <= u64::from(u32::MAX));
            let ms = ms.ok_or_else(|| TraceError::Number(number, shortened(line)))?;
            if at_ms.last().is_some_and(|last| *last > ms) {
                return Err(TraceError::Descends(number));
            }
            at_ms.push(ms);
        }
        DeliveryTrace::from_millis(at_ms)
    }

    /// A trace with opportunities at these times.
    ///
    /// # Errors
    ///
    /// The times do not ascend ([`TraceError::Descends`] with the ordinal of the time), or the last one
    /// is zero.
    pub fn from_millis(at_ms: Vec<u64>) -> Result<DeliveryTrace, TraceError> {
        if let Some(index) = at_ms.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(TraceError::Descends(index + 2));
        }
        match at_ms.last() {
            None | Some(0) => Err(TraceError::NoTime),
            Some(_) => Ok(DeliveryTrace { at_ms }),
        }
    }

    /// The opportunities of one round, in milliseconds.
    pub fn millis(&self) -> &[u64] {
        &self.at_ms
    }

    /// The time after which the trace begins again.
    pub fn period(&self) -> Span {
        Span::from_millis(self.period_ms())
    }

    fn period_ms(&self) -> u64 {
        self.at_ms[self.at_ms.len() - 1]
    }

    /// The mean rate, at least 1 bit/s.
    pub fn mean_rate(&self) -> BitRate {
        // The bits of a round over its length in milliseconds.
        let bits = self.at_ms.len() as u64 * u64::from(OPPORTUNITY_BYTES) * 8;
        let per_second = u128::from(bits) * 1000 / u128::from(self.period_ms());
        let per_second = u64::try_from(per_second).unwrap_or(u64::MAX).max(1);
        BitRate::from_bits_per_sec(per_second).expect("at least 1")
    }

    /// The time of the opportunity with this number, from 0 on through all rounds.
    pub(crate) fn opportunity_ns(&self, number: u64) -> u64 {
        let len = self.at_ms.len() as u64;
        let (round, index) = (number / len, number % len);
        let ms = round.saturating_mul(self.period_ms()).saturating_add(self.at_ms[index as usize]);
        ms.saturating_mul(1_000_000)
    }

    /// The number of the first opportunity at or after `ns`.
    pub(crate) fn first_from_ns(&self, ns: u64) -> u64 {
        let (len, period) = (self.at_ms.len() as u64, self.period_ms());
        let ms = ns.div_ceil(1_000_000);
        // A time that is a multiple of the period belongs to the end of one round and, if the trace has
        // opportunities at 0, to the beginning of the next.
        let round = ms.saturating_sub(1) / period;
        let into_round = ms - round * period;
        let index = self.at_ms.partition_point(|at| *at < into_round) as u64;
        round * len + index
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_begins_again_at_its_last_time() {
        let trace = DeliveryTrace::parse("# two a round\n\n0\n2\n").expect("a trace");
        let ms: Vec<u64> = (0..6).map(|n| trace.opportunity_ns(n) / 1_000_000).collect();
        assert_eq!(ms, [0, 2, 2, 4, 4, 6]);
        assert_eq!(trace.mean_rate(), BitRate::from_bits_per_sec(12_000_000).expect("not zero"));
    }

    #[test]
    fn the_first_opportunity_from_a_time_on() {
        for text in ["0\n2\n", "1\n1\n1\n7\n", "5\n", "3\n4\n4\n"] {
            let trace = DeliveryTrace::parse(text).expect("a trace");
            for ns in (0..40_000_000).step_by(250_000) {
                let first = (0..).find(|n| trace.opportunity_ns(*n) >= ns);
                assert_eq!(Some(trace.first_from_ns(ns)), first, "{text:?} {ns}");
            }
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = |text| DeliveryTrace::parse(text).expect_err("no trace").to_string();
        assert_eq!(error("1\nx\n"), "line 2: expected a number of milliseconds, found \"x\"");
        assert!(error("1\n-1\n").starts_with("line 2"));
        assert!(error("2\n# comment\n1\n").starts_with("line 3: expected a time no earlier"));
        assert_eq!(error(""), "expected a last line above 0");
        assert_eq!(error("0\n0\n"), "expected a last line above 0");
    }
}
