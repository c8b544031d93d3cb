//! The transmitter of a link that varies: rate or trace, shaper, and outages in which packets wait.
//! It computes when each packet is serialized, from the packets in order.

use crate::outage::{Outages, STEPS_MAX};
use crate::token_bucket::Bucket;
use crate::trace::OPPORTUNITY_BYTES;
use crate::{DeliveryTrace, RateOverTime, Steps, Variation};
use std::sync::Arc;
use windlass_base::{BitRate, Time};

const BIT_NS_PER_BYTE: u128 = 8_000_000_000;

/// Serializes packets, one after the other.
#[derive(Clone, Debug)]
pub struct Transmitter {
    rate: Rate,
    shaper: Option<Bucket>,
    outages: Outages,
    /// When the last packet has been transmitted.
    end: Time,
}

/// A packet's transmission.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// When it begins: on a trace, when the packet is first of those that wait.
    pub begin: Time,
    /// When it ends. [`Time::MAX`]: never.
    pub end: Time,
}

#[derive(Clone, Debug)]
enum Rate {
    Unlimited,
    Steps {
        rates: Steps<Option<BitRate>>,
        /// Unused part of the last transmission's last nanosecond, in bits times nanoseconds per
        /// second; with it the rate is exact over many packets.
        remainder: u128,
    },
    Trace(TraceCursor),
}

/// A position in a trace.
#[derive(Clone, Debug)]
struct TraceCursor {
    trace: Arc<DeliveryTrace>,
    /// The opportunity in use, or the next one.
    number: u64,
    /// Bytes that the opportunity can still deliver.
    bytes_left: u32,
}

impl Transmitter {
    /// A transmitter of `rate` (`None`: unlimited), or the varying rate if there is one.
    pub fn new(rate: Option<BitRate>, variation: &Variation) -> Transmitter {
        let rate = match (&variation.rate, rate) {
            (Some(RateOverTime::Trace(trace)), _) => Rate::Trace(TraceCursor {
                trace: trace.clone(),
                number: 0,
                bytes_left: OPPORTUNITY_BYTES,
            }),
            (Some(RateOverTime::Steps(rates)), _) => {
                Rate::Steps { rates: rates.clone(), remainder: 0 }
            }
            (None, Some(rate)) => Rate::Steps { rates: Steps::constant(Some(rate)), remainder: 0 },
            (None, None) => Rate::Unlimited,
        };
        Transmitter {
            rate,
            shaper: variation.shaper.as_ref().map(Bucket::new),
            outages: Outages::that_hold(&variation.outages),
            end: Time::ZERO,
        }
    }

    /// Transmits a packet that may begin at `now`, after those before it.
    pub fn transmit(&mut self, now: Time, bytes: u32) -> Transmission {
        let free = self.end.max(now);
        let back_to_back = self.end >= now;
        let begin = match &mut self.shaper {
            Some(bucket) => bucket.take_when_ready(free, bytes),
            None => free,
        };
        self.end = match &mut self.rate {
            Rate::Unlimited => self.outages.over(begin),
            Rate::Steps { rates, remainder } => {
                *remainder = if back_to_back && begin == free { *remainder } else { 0 };
                serialize(rates, remainder, &self.outages, begin, bytes)
            }
            Rate::Trace(cursor) => cursor.deliver(&self.outages, begin, bytes),
        };
        Transmission { begin, end: self.end }
    }
}

/// When a packet has been serialized that begins at `begin`.
fn serialize(
    rates: &Steps<Option<BitRate>>,
    remainder: &mut u128,
    outages: &Outages,
    begin: Time,
    bytes: u32,
) -> Time {
    let mut need = (u128::from(bytes) * BIT_NS_PER_BYTE).saturating_sub(*remainder);
    *remainder = 0;
    let mut at = outages.over(begin);
    for _ in 0..STEPS_MAX {
        if at == Time::MAX {
            break;
        }
        let (rate, step_ends) = rates.at(at);
        let until = step_ends.min(outages.next(at));
        if let Some(rate) = rate {
            // In bits times nanoseconds per second: rate * ns = bytes * 8 * 10^9.
            let rate = u128::from(rate.bits_per_sec());
            let available = rate * u128::from((until - at).as_nanos());
            if available >= need {
                // The bits left over the rate, rounded up. The rest of the last nanosecond is the next packet's.
                let ns = need.div_ceil(rate);
                *remainder = ns * rate - need;
                let ns = u64::try_from(ns).unwrap_or(u64::MAX);
                return Time::from_nanos(at.as_nanos().saturating_add(ns));
            }
            need -= available;
        }
        at = outages.over(until);
    }
    Time::MAX
}

impl TraceCursor {
    /// When the last byte is delivered of a packet that waits from `begin` on. The rest of an
    /// opportunity goes to packets that wait at that moment, and is lost otherwise.
    fn deliver(&mut self, outages: &Outages, begin: Time, bytes: u32) -> Time {
        if self.trace.opportunity_ns(self.number) < begin.as_nanos() {
            self.go_to(self.trace.first_from_ns(begin.as_nanos()));
        }
        let mut left = bytes;
        for _ in 0..STEPS_MAX {
            let at = Time::from_nanos(self.trace.opportunity_ns(self.number));
            let over = outages.over(at);
            if at == Time::MAX || over == Time::MAX {
                return Time::MAX;
            }
            if over > at {
                self.go_to(self.trace.first_from_ns(over.as_nanos()));
                continue;
            }
            let taken = left.min(self.bytes_left);
            left -= taken;
            self.bytes_left -= taken;
            if self.bytes_left == 0 {
                self.go_to(self.number + 1);
            }
            if left == 0 {
                return at;
            }
        }
        Time::MAX
    }

    fn go_to(&mut self, number: u64) {
        (self.number, self.bytes_left) = (number, OPPORTUNITY_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outage, TokenBucket};
    use windlass_base::Span;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    fn mbit(n: u64) -> Option<BitRate> {
        BitRate::from_bits_per_sec(n * 1_000_000)
    }

    fn ends(transmitter: &mut Transmitter, bytes: u32, packets: usize) -> Vec<Time> {
        (0..packets).map(|_| transmitter.transmit(Time::ZERO, bytes).end).collect()
    }

    #[test]
    fn a_packet_may_span_two_rates() {
        let at = Span::from_millis;
        let steps = Steps::new(vec![(at(0), mbit(8)), (at(1), None), (at(5), mbit(1))], None);
        let rate = Some(RateOverTime::Steps(steps.expect("in order")));
        let mut transmitter = Transmitter::new(None, &Variation { rate, ..Variation::default() });
        // 1000 bytes at 8 Mbit/s, 500 at 1 Mbit/s after the pause.
        assert_eq!(ends(&mut transmitter, 1500, 2), [ms(9), ms(21)]);
    }

    #[test]
    fn no_fraction_of_a_nanosecond_is_lost() {
        // 1500 bytes at 7 Mbit/s take 1,714,285.7 ns.
        let mut transmitter = Transmitter::new(mbit(7), &Variation::default());
        let last = ends(&mut transmitter, 1500, 7_000).pop().expect("7000 packets");
        assert_eq!(last, ms(12_000));
    }

    #[test]
    fn what_an_opportunity_has_left_is_for_packets_that_wait() {
        let trace = DeliveryTrace::parse("1\n2\n").expect("a trace");
        let rate = Some(RateOverTime::Trace(Arc::new(trace)));
        let variation = Variation { rate, ..Variation::default() };
        let mut transmitter = Transmitter::new(None, &variation);
        assert_eq!(ends(&mut transmitter, 1000, 3), [ms(1), ms(2), ms(2)], "each takes two thirds");
        let mut transmitter = Transmitter::new(None, &variation);
        assert_eq!(transmitter.transmit(Time::ZERO, 1000).end, ms(1));
        let late = Time::from_nanos(1_000_001);
        assert_eq!(transmitter.transmit(late, 1000).end, ms(2));
        assert_eq!(transmitter.transmit(late, 9000).end, ms(8));
    }

    #[test]
    fn packets_wait_during_an_outage() {
        let outage = Outage {
            at: Span::from_millis(2),
            lasts: Span::from_millis(5),
            every: None,
            lose: false,
        };
        let outages = vec![outage];
        let variation = Variation { outages: outages.clone(), ..Variation::default() };
        let mut fixed = Transmitter::new(mbit(4), &variation);
        assert_eq!(ends(&mut fixed, 1500, 2), [ms(8), ms(11)], "a third after the outage");
        let trace = DeliveryTrace::parse("1\n").expect("a trace");
        let rate = Some(RateOverTime::Trace(Arc::new(trace)));
        let mut traced =
            Transmitter::new(None, &Variation { rate, outages, ..Variation::default() });
        assert_eq!(ends(&mut traced, 1500, 3), [ms(1), ms(7), ms(8)]);
        let mut unlimited = Transmitter::new(None, &variation);
        assert_eq!(unlimited.transmit(ms(3), 1500).end, ms(7));
    }

    #[test]
    fn a_shaper_passes_its_burst_at_the_rate_of_the_line() {
        let shaper = TokenBucket { rate: mbit(4).expect("not zero"), burst_bytes: 3_000 };
        let variation = Variation { shaper: Some(shaper), ..Variation::default() };
        let mut transmitter = Transmitter::new(mbit(12), &variation);
        // At 1 ms, the begin of the second one, the bucket has 2,000 bytes; at 2 ms 1,000.
        assert_eq!(ends(&mut transmitter, 1500, 4), [ms(1), ms(2), ms(4), ms(7)]);
    }

    #[test]
    fn a_link_that_stands_still_for_ever_delivers_nothing() {
        let steps = vec![(Span::ZERO, mbit(8)), (Span::from_millis(1), None)];
        let rate = Some(RateOverTime::Steps(Steps::new(steps, None).expect("in order")));
        let mut transmitter = Transmitter::new(None, &Variation { rate, ..Variation::default() });
        assert_eq!(ends(&mut transmitter, 1000, 2), [ms(1), Time::MAX]);
    }
}
