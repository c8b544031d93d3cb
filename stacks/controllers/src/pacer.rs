//! The rate at which the engine paces for a controller without one.

use std::time::Duration;

/// Bytes per second: two windows in a round trip in slow start, five quarters afterwards (RFC 9002 section 7.7).
///
/// The pacers of quinn and noq have five quarters in slow start, too. The window then grows faster than the flight
/// can, and what a case sees would be the pacer and not the controller.
pub(crate) fn rate(window: u64, ssthresh: Option<u64>, rtt: Duration) -> u64 {
    let gain = if ssthresh.is_none_or(|threshold| window < threshold) { 2.0 } else { 1.25 };
    (gain * window as f64 / rtt.as_secs_f64().max(1e-6)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_is_paced_at_twice_the_window() {
        let rtt = Duration::from_millis(100);
        assert_eq!(rate(100_000, None, rtt), 2_000_000);
        assert_eq!(rate(100_000, Some(200_000), rtt), 2_000_000);
        assert_eq!(rate(100_000, Some(100_000), rtt), 1_250_000);
    }
}
