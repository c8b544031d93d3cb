use windlass_base::Time;

/// The ACKs since the last time that they came no faster than the rate. Amounts are in the caller's unit, bytes or
/// packets.
#[derive(Clone, Debug, Default)]
pub(in crate::cc) struct AckEpoch {
    begin: Time,
    acked: f64,
}

impl AckEpoch {
    /// Begins an epoch.
    pub(in crate::cc) fn begin(&mut self, now: Time) {
        (self.begin, self.acked) = (now, 0.0);
    }

    /// Takes an ACK of `acked`. Returns the amount by which the epoch's ACKs exceed what `rate`, an amount per
    /// second, explains. An epoch of `longest` ends.
    pub(in crate::cc) fn excess(&mut self, now: Time, acked: f64, rate: f64, longest: f64) -> f64 {
        let mut expected = rate * now.saturating_since(self.begin).as_secs_f64();
        // ACKs that come no faster than the rate end an epoch.
        if self.acked <= expected || self.acked + acked >= longest {
            self.begin(now);
            expected = 0.0;
        }
        self.acked += acked;
        self.acked - expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A rate of 1000 a second.
    fn excess(epoch: &mut AckEpoch, ms: u64, acked: f64) -> f64 {
        epoch.excess(at(ms), acked, 1000.0, f64::INFINITY)
    }

    #[test]
    fn acks_at_the_rate_exceed_it_by_one_ack() {
        let mut epoch = AckEpoch::default();
        let found: f64 = (1..100).map(|ms| excess(&mut epoch, ms * 10, 10.0)).fold(0.0, f64::max);
        assert_eq!(found, 10.0);
    }

    #[test]
    fn a_burst_of_acks_exceeds_the_rate_by_the_burst() {
        let mut epoch = AckEpoch::default();
        excess(&mut epoch, 10, 10.0);
        assert_eq!(excess(&mut epoch, 12, 50.0), 58.0);
        assert_eq!(excess(&mut epoch, 12, 50.0), 108.0);
        assert_eq!(excess(&mut epoch, 120, 5.0), 5.0, "the silence ended the epoch");
    }

    #[test]
    fn the_longest_epoch_ends() {
        let mut epoch = AckEpoch::default();
        epoch.excess(at(10), 90.0, 1000.0, 100.0);
        assert_eq!(epoch.excess(at(11), 10.0, 1000.0, 100.0), 10.0);
    }
}
