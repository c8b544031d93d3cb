//! RED's average queue length, updated at each arrival.

use windlass_base::Time;

/// RED's exponentially weighted moving average of the queue length, with its correction for idle
/// time (Floyd and Jacobson 1993, section 4).
#[derive(Clone, Debug)]
pub(super) struct Average {
    value: f64,
    weight: f64,
    /// Mean packets that the link could send in a second; 0 if its rate is not known.
    packets_per_sec: f64,
    idle_since: Option<Time>,
}

impl Average {
    pub(super) fn new(weight: f64, packets_per_sec: f64) -> Average {
        Average { value: 0.0, weight, packets_per_sec, idle_since: None }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// An arrival finds `len` waiting. An idle period before it counts as the arrivals of as many
    /// whole mean packets as the link could have sent, each finding an empty queue.
    pub(super) fn update(&mut self, now: Time, len: f64) {
        if let Some(since) = self.idle_since.take() {
            // Multiplied first, divided last: exact where whole packets fit the idle time exactly.
            let idle_ns = now.saturating_since(since).as_nanos() as f64;
            let missed = libm::floor(idle_ns * self.packets_per_sec / 1e9);
            // (1 - w_q)^m for m packets of idle time (Floyd and Jacobson 1993, section 4).
            if missed > 0.0 {
                self.value *= libm::pow(1.0 - self.weight, missed);
            }
        }
        // avg = (1 - w_q) avg + w_q q (Floyd and Jacobson 1993, section 4).
        self.value = self.value * (1.0 - self.weight) + self.weight * len;
    }

    /// The link asked and found nothing.
    pub(super) fn fall_idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    #[test]
    fn idle_time_counts_as_whole_mean_packets_on_an_empty_queue() {
        let mut average = Average::new(0.25, 1000.0);
        average.update(Time::ZERO, 8.0);
        assert_eq!(average.value(), 2.0);
        average.fall_idle(Time::ZERO);
        // A second empty-handed look does not restart the idle period.
        average.fall_idle(Time::ZERO + Span::from_millis(1));
        // 2.9 ms hold two packets of 1 ms; the arrival itself is the third step.
        average.update(Time::ZERO + Span::from_micros(2900), 0.0);
        assert!((average.value() - 2.0 * 0.75 * 0.75 * 0.75).abs() < 1e-12);
    }

    #[test]
    fn idle_time_of_exactly_whole_packets_counts_them_all() {
        for packets in 1..200 {
            let mut average = Average::new(0.5, 2500.0);
            average.update(Time::ZERO, 2.0);
            average.fall_idle(Time::ZERO);
            average.update(Time::ZERO + Span::from_micros(400) * packets, 0.0);
            assert_eq!(average.value(), libm::pow(0.5, packets as f64 + 1.0));
        }
    }

    #[test]
    fn without_a_link_rate_idle_time_does_not_count() {
        let mut average = Average::new(0.5, 0.0);
        average.update(Time::ZERO, 8.0);
        average.fall_idle(Time::ZERO);
        average.update(Time::ZERO + Span::from_secs(100), 4.0);
        assert_eq!(average.value(), 4.0);
    }
}
