//! Aggregation: packets wait for the next release and arrive together, as on Wi-Fi or LTE. The last
//! part of a link.

use crate::ConfigError;
use windlass_base::{Rng, Span, Time};

/// Collects packets and releases them together, as media do that share the air by turns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// The time from one release to the next; with `max_interval` the least.
    pub interval: Span,
    /// The longest time from one release to the next. Each is then a uniform draw between the two.
    pub max_interval: Span,
    /// How many packets a release carries at most.
    pub packets: Option<u32>,
    /// How many bytes a release carries at most; but always at least one packet.
    pub bytes: Option<u64>,
}

impl Aggregation {
    /// Like Wi-Fi: at most 42 packets or 64,000 bytes every 0.8 to 10 ms, the values of the example in
    /// Linux's commit of netem's `slot` (836af83b54e3).
    pub const WIFI: Aggregation = Aggregation {
        interval: Span::from_micros(800),
        max_interval: Span::from_millis(10),
        packets: Some(42),
        bytes: Some(64_000),
    };

    /// Like the uplink of LTE: a release every 10 ms, a usual period of scheduling requests (3GPP TS
    /// 36.213, table 10.1.5-1).
    pub const LTE: Aggregation = Aggregation {
        interval: Span::from_millis(10),
        max_interval: Span::from_millis(10),
        packets: None,
        bytes: None,
    };

    /// Checks intervals and sizes.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Aggregation`] if an interval or a size is zero, or the longest interval is shorter
    /// than the least.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let ordered = !self.interval.is_zero() && self.interval <= self.max_interval;
        if ordered && self.packets != Some(0) && self.bytes != Some(0) {
            Ok(())
        } else {
            Err(ConfigError::Aggregation)
        }
    }
}

/// The releases of an [`Aggregation`]. Packets keep their order, and wait in a buffer without limit.
#[derive(Clone, Debug)]
pub struct Aggregator {
    config: Aggregation,
    /// The release that takes packets at present.
    release: Time,
    packets: u32,
    bytes: u64,
}

impl Aggregator {
    /// An aggregator whose first release is yet to be drawn.
    pub fn new(config: Aggregation) -> Aggregator {
        Aggregator { config, release: Time::ZERO, packets: 0, bytes: 0 }
    }

    /// When a packet is released that is ready at `ready`. Call it for each packet, in order; `ready`
    /// may be in the future.
    pub fn release(&mut self, ready: Time, bytes: u32, rng: &mut Rng) -> Time {
        if self.release < ready {
            self.first_release_from(ready, rng);
        }
        let is_full = self.config.packets.is_some_and(|most| self.packets >= most)
            || self.packets > 0
                && self.config.bytes.is_some_and(|most| self.bytes + u64::from(bytes) > most);
        if is_full {
            let next = self.release + self.draw_interval(rng);
            self.begin_release(next);
        }
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.release
    }

    fn first_release_from(&mut self, ready: Time, rng: &mut Rng) {
        let Aggregation { interval, max_interval, .. } = self.config;
        let release = if interval == max_interval {
            // Multiples of the interval.
            Time::from_nanos(
                ready.as_nanos().div_ceil(interval.as_nanos()).saturating_mul(interval.as_nanos()),
            )
        } else if ready.saturating_since(self.release) > max_interval {
            // Nothing has waited since, so the releases in the meantime were not drawn: the packet
            // arrives at any time between two.
            let interval = self.draw_interval(rng).as_nanos();
            ready + Span::from_nanos(rng.between(0, interval))
        } else {
            let mut next = self.release;
            while next < ready {
                next += self.draw_interval(rng);
            }
            next
        };
        self.begin_release(release);
    }

    fn begin_release(&mut self, at: Time) {
        (self.release, self.packets, self.bytes) = (at, 0, 0);
    }

    fn draw_interval(&self, rng: &mut Rng) -> Span {
        let Aggregation { interval, max_interval, .. } = self.config;
        if interval == max_interval {
            return interval;
        }
        Span::from_nanos(rng.between(interval.as_nanos(), max_interval.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    #[test]
    fn packets_leave_together_and_the_rest_with_the_next_release() {
        let config = Aggregation { packets: Some(2), ..Aggregation::LTE };
        let mut rng = Rng::new(1);
        let mut aggregator = Aggregator::new(config);
        let mut release = |at| aggregator.release(ms(at), 100, &mut rng);
        assert_eq!([3, 4, 5, 6].map(&mut release), [ms(10), ms(10), ms(20), ms(20)]);
        assert_eq!(release(20), ms(30), "the release at 20 ms is full");
        assert_eq!(release(31), ms(40));
        let bytes = Aggregation { packets: None, bytes: Some(150), ..config };
        let mut aggregator = Aggregator::new(bytes);
        assert_eq!(aggregator.release(ms(1), 1500, &mut rng), ms(10), "at least one packet");
        assert_eq!(aggregator.release(ms(1), 100, &mut rng), ms(20));
    }

    #[test]
    fn a_release_takes_packets_until_it_is_exactly_full() {
        let mut rng = Rng::new(1);
        let bytes = Aggregation { packets: None, bytes: Some(3000), ..Aggregation::LTE };
        let mut aggregator = Aggregator::new(bytes);
        let mut release = |bytes| aggregator.release(ms(1), bytes, &mut rng);
        assert_eq!([1500, 1500].map(&mut release), [ms(10), ms(10)], "3000 bytes fit");
        assert_eq!([1500, 1499, 2].map(&mut release), [ms(20), ms(20), ms(30)], "3001 do not");
    }

    #[test]
    fn random_intervals_lie_between_their_bounds() {
        let mut rng = Rng::new(1);
        let mut aggregator = Aggregator::new(Aggregation::WIFI);
        // Packets closer than the least interval, so that every release carries one.
        let ready = |n: u64| Time::from_nanos(n * 500_000);
        let mut releases: Vec<Time> =
            (0..100_000).map(|n| aggregator.release(ready(n), 1500, &mut rng)).collect();
        for (n, release) in (0..).zip(&releases) {
            assert!(*release >= ready(n));
        }
        releases.dedup();
        for pair in releases.windows(2) {
            let interval = pair[1] - pair[0];
            assert!(interval >= Aggregation::WIFI.interval, "{interval:?}");
            assert!(interval <= Aggregation::WIFI.max_interval, "{interval:?}");
        }
        let mean = 50_000.0 / releases.len() as f64;
        assert!((5.2..5.6).contains(&mean), "{mean} ms between releases, expected 5.4");
    }

    #[test]
    fn bounds_in_the_wrong_order_are_refused() {
        let wrong = [
            Aggregation { max_interval: Span::from_millis(9), ..Aggregation::LTE },
            Aggregation { interval: Span::ZERO, ..Aggregation::LTE },
            Aggregation { packets: Some(0), ..Aggregation::LTE },
        ];
        for config in wrong {
            assert_eq!(config.validate(), Err(ConfigError::Aggregation));
        }
    }
}
