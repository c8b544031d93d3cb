//! UDP sources: when each sends its next packet. The event loop sends it (`run.rs`).

use super::draw::{draw, start_time};
use crate::model::UdpFlow;
use windlass_base::{Rng, Span, Time};

/// A UDP source: packets at a constant rate, always or in bursts.
#[derive(Debug)]
pub(crate) struct UdpSource {
    pub(crate) spec: UdpFlow,
    rng: Rng,
    burst_begin: Time,
    /// [`Time::MAX`] for a source that is always on.
    burst_end: Time,
    /// Packets of the burst sent so far.
    sent_in_burst: u64,
}

impl UdpSource {
    pub(crate) fn new(spec: &UdpFlow, jitter: Span, mut rng: Rng) -> UdpSource {
        let burst_begin = start_time(spec.start, jitter, &mut rng);
        let mut source = UdpSource {
            spec: spec.clone(),
            rng,
            burst_begin,
            burst_end: Time::MAX,
            sent_in_burst: 0,
        };
        source.begin_burst(burst_begin);
        source
    }

    /// When the next packet is due; `None`: there is none.
    pub(crate) fn due(&self) -> Option<Time> {
        let due = self.burst_begin + self.offset(self.sent_in_burst);
        let stop = self.spec.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
        (due < stop).then_some(due)
    }

    /// The packet that was due is sent.
    pub(crate) fn sent(&mut self) {
        self.sent_in_burst += 1;
        if self.burst_begin + self.offset(self.sent_in_burst) >= self.burst_end {
            let off = self
                .spec
                .on_off
                .map_or(Span::ZERO, |on_off| draw(on_off.off, on_off.exponential, &mut self.rng));
            self.begin_burst(self.burst_end + off);
        }
    }

    fn begin_burst(&mut self, at: Time) {
        self.burst_begin = at;
        self.sent_in_burst = 0;
        if let Some(on_off) = self.spec.on_off {
            let on = draw(on_off.on, on_off.exponential, &mut self.rng);
            // A burst of no length would stop the clock.
            self.burst_end = at + on.max(Span::from_nanos(1));
        }
    }

    /// How long after the beginning of a burst its packet `n` follows. Not a sum of intervals, so
    /// that their rounding does not add up.
    fn offset(&self, n: u64) -> Span {
        let bits = u128::from(n) * u128::from(self.spec.packet_bytes) * 8;
        let nanos = bits * 1_000_000_000 / u128::from(self.spec.rate.bits_per_sec());
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OnOff;
    use windlass_base::{BitRate, Ecn};

    fn source(on_off: Option<OnOff>) -> UdpSource {
        let spec = UdpFlow {
            name: "udp".into(),
            from: 0,
            to: 1,
            packet_bytes: 1000,
            ecn: Ecn::NotEct,
            rate: BitRate::from_bits_per_sec(3_000_000).expect("not zero"),
            start: Span::from_millis(100),
            stop: Some(Span::from_millis(1_100)),
            on_off,
        };
        UdpSource::new(&spec, Span::ZERO, Rng::new(1))
    }

    fn times(mut source: UdpSource) -> Vec<u64> {
        let mut times = vec![];
        while let Some(due) = source.due() {
            times.push(due.as_nanos());
            source.sent();
        }
        times
    }

    #[test]
    fn a_constant_rate_is_kept_without_drift() {
        let times = times(source(None));
        // 3 Mbit/s for a second, in packets of 8000 bits that are 2.666... ms apart.
        assert_eq!(times.len(), 375);
        assert_eq!(times[..3], [100_000_000, 102_666_666, 105_333_333]);
        assert_eq!(times[300], 900_000_000);
    }

    #[test]
    fn bursts_are_on_and_off_as_long_as_they_say() {
        let (on, off) = (Span::from_millis(10), Span::from_millis(90));
        let times = times(source(Some(OnOff { on, off, exponential: false })));
        // Four packets in each of ten bursts.
        assert_eq!(times.len(), 40);
        assert_eq!(times[4] - times[0], 100_000_000);
        assert_eq!(times[3] - times[0], 8_000_000);
    }

    #[test]
    fn drawn_bursts_keep_the_mean_rate() {
        let (on, off) = (Span::from_millis(10), Span::from_millis(10));
        let mut source = source(Some(OnOff { on, off, exponential: true }));
        source.spec.stop = Some(Span::from_secs(1_000));
        let sent = times(source).len() as f64;
        // Half the time; and each burst begins with a packet, which adds about half a packet.
        let expected = 375.0 * 1_000.0 / 2.0 + 0.5 * 50_000.0;
        assert!((sent / expected - 1.0).abs() < 0.03, "{sent} packets, expected {expected}");
    }
}
