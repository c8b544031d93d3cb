//! Samples of the delivery rate (draft-ietf-ccwg-bbr-06, section "Delivery Rate Samples"). `conn::rates` reports
//! what is sent, delivered and lost; names in capitals are those of the draft.

use crate::cc::{Lost, RateSample};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use windlass_base::Time;

/// Totals of the connection, and for the data in flight those of the moment when it was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    /// Bytes delivered so far: C.delivered.
    delivered: u64,
    /// When `delivered` changed last: C.delivered_time.
    delivered_at: Time,
    /// When the newest of the data delivered was sent: C.first_send_time.
    first_sent: Time,
    /// Bytes lost so far: C.lost.
    lost: u64,
    /// The application limits the sender until more than this is delivered: C.app_limited.
    limited_until: Option<u64>,
    /// The controller knows that data may be sent.
    pub(crate) has_started: bool,
    /// By their first position, the flights that are not delivered yet; they do not overlap.
    flights: BTreeMap<u64, Flight>,
    /// The data sent last among that which the current ACK delivers.
    newest: Option<Part>,
}

/// Data that was sent at once, and the totals of that moment.
#[derive(Copy, Clone, Debug)]
struct Flight {
    end: u64,
    sent: Time,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    /// Bytes in flight before it.
    in_flight: u64,
    is_limited: bool,
    is_lost: bool,
}

/// A part of a flight.
#[derive(Copy, Clone, Debug)]
struct Part {
    flight: Flight,
    bytes: u64,
    end: u64,
    /// Bytes in flight when it was sent, it too: P.tx_in_flight.
    in_flight: u64,
}

impl DeliveryRate {
    /// Bytes delivered so far.
    pub(crate) fn delivered_total(&self) -> u64 {
        self.delivered
    }

    /// Bytes lost so far.
    pub(crate) fn lost_total(&self) -> u64 {
        self.lost
    }

    /// Whether the application limits the sender.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited_until.is_some()
    }

    /// The sender has nothing to send, while `in_flight` bytes are in the network (MarkConnectionAppLimited).
    pub(crate) fn note_limited(&mut self, in_flight: u64) {
        self.limited_until = Some((self.delivered + in_flight).max(1));
    }

    /// Data is sent, for the first time or again, while `in_flight` bytes are in the network (OnPacketSent).
    pub(crate) fn sent(&mut self, now: Time, range: Range<u64>, in_flight: u64) {
        if in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        self.take(range.clone());
        let flight = Flight {
            end: range.end,
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            in_flight,
            is_limited: self.is_limited(),
            is_lost: false,
        };
        self.flights.insert(range.start, flight);
    }

    /// Data has arrived (UpdateRateSample). Parts that are known to have arrived do not count again.
    pub(crate) fn delivered(&mut self, now: Time, range: Range<u64>) {
        for part in self.take(range).into_iter().rev() {
            self.delivered += part.bytes;
            self.delivered_at = now;
            let is_newer =
                |newest: Part| (part.flight.sent, part.end) > (newest.flight.sent, newest.end);
            if self.newest.is_none_or(is_newer) {
                self.first_sent = part.flight.sent;
                self.newest = Some(part);
            }
        }
    }

    /// Data in flight is lost; calls `each` for the parts of which that is news.
    pub(crate) fn lost(&mut self, now: Time, range: Range<u64>, each: &mut impl FnMut(Lost)) {
        for part in self.take(range).into_iter().rev() {
            let start = part.end - part.bytes;
            let in_flight = part.in_flight - part.bytes;
            let flight = Flight { end: part.end, in_flight, is_lost: true, ..part.flight };
            self.flights.insert(start, flight);
            if !part.flight.is_lost {
                self.lost += part.bytes;
                each(Lost {
                    now,
                    sent: part.flight.sent,
                    position: start,
                    bytes: part.bytes,
                    in_flight: part.in_flight,
                    lost_since: self.lost - part.flight.lost,
                    delivered_total: self.delivered,
                    is_app_limited: part.flight.is_limited,
                });
            }
        }
    }

    /// The sample of an ACK, after all that it delivers (GenerateRateSample); `None` if it delivers nothing.
    pub(crate) fn sample(&mut self) -> Option<RateSample> {
        if self.limited_until.is_some_and(|until| self.delivered > until) {
            self.limited_until = None;
        }
        let part = self.newest.take()?;
        // The rate cannot be higher than that of sending, whatever ACKs arrive together.
        let send_elapsed = part.flight.sent.saturating_since(part.flight.first_sent);
        let ack_elapsed = self.delivered_at.saturating_since(part.flight.delivered_at);
        Some(RateSample {
            delivered: self.delivered - part.flight.delivered,
            interval: send_elapsed.max(ack_elapsed),
            prior_delivered: part.flight.delivered,
            in_flight: part.in_flight,
            lost: self.lost - part.flight.lost,
            is_app_limited: part.flight.is_limited,
        })
    }

    /// Takes the parts of flights within `range` out, the last first.
    fn take(&mut self, range: Range<u64>) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some((&start, &flight)) = self.flights.range(..range.end).next_back()
            && flight.end > range.start
        {
            let (from, to) = (start.max(range.start), flight.end.min(range.end));
            self.flights.remove(&start);
            if start < from {
                self.flights.insert(start, Flight { end: from, ..flight });
            }
            if to < flight.end {
                let in_flight = flight.in_flight + (to - start);
                self.flights.insert(to, Flight { in_flight, ..flight });
            }
            let in_flight = flight.in_flight + (to - start);
            parts.push(Part { flight, bytes: to - from, end: to, in_flight });
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn sample(rates: &mut DeliveryRate, ms: u64, delivered: Range<u64>) -> RateSample {
        rates.delivered(at(ms), delivered);
        rates.sample().expect("something was delivered")
    }

    /// Ten segments of 1,000 bytes, one each 10 ms; each arrives and is acknowledged after 100 ms.
    #[test]
    fn a_steady_stream_is_sampled_at_its_rate() {
        let mut rates = DeliveryRate::default();
        let mut in_flight = 0;
        for step in 0..30_u64 {
            if step >= 10 {
                let from = (step - 10) * 1000;
                let rate = sample(&mut rates, step * 10, from..from + 1000);
                in_flight -= 1000;
                if step >= 20 {
                    // Between the ACK that came last before it was sent and its own: ten segments in 100 ms.
                    assert_eq!((rate.delivered, rate.interval), (10_000, Span::from_millis(100)));
                    assert_eq!((rate.in_flight, rate.lost), (10_000, 0));
                }
            }
            rates.sent(at(step * 10), step * 1000..(step + 1) * 1000, in_flight);
            in_flight += 1000;
        }
    }

    /// ACKs that arrive together would give too high a rate: the time of sending bounds it.
    #[test]
    fn compressed_acks_do_not_raise_the_rate_above_that_of_sending() {
        let mut rates = DeliveryRate::default();
        for segment in 0..10_u64 {
            rates.sent(at(segment * 10), segment * 1000..(segment + 1) * 1000, segment * 1000);
        }
        sample(&mut rates, 200, 0..1000);
        let rate = sample(&mut rates, 201, 1000..10_000);
        assert_eq!((rate.delivered, rate.interval), (10_000, Span::from_millis(201)));
        let mut in_one = DeliveryRate::default();
        in_one.sent(at(0), 0..10_000, 0);
        let rate = sample(&mut in_one, 100, 0..10_000);
        assert_eq!((rate.delivered, rate.interval), (10_000, Span::from_millis(100)));
    }

    #[test]
    fn data_counts_once_whatever_reports_it() {
        let mut rates = DeliveryRate::default();
        rates.sent(at(0), 0..5000, 0);
        sample(&mut rates, 100, 2000..4000);
        assert_eq!(rates.delivered_total(), 2000);
        rates.delivered(at(101), 0..5000);
        assert_eq!(rates.delivered_total(), 5000);
        rates.sample();
        rates.delivered(at(102), 0..5000);
        assert!(rates.sample().is_none());
    }

    #[test]
    fn a_loss_counts_once_and_names_the_flight_when_it_was_sent() {
        let mut rates = DeliveryRate::default();
        rates.sent(at(0), 0..10_000, 4000);
        let mut losses = Vec::new();
        rates.lost(at(100), 2000..4000, &mut |lost| losses.push(lost));
        rates.lost(at(101), 1000..4000, &mut |lost| losses.push(lost));
        let seen: Vec<_> = losses.iter().map(|l| (l.bytes, l.in_flight, l.lost_since)).collect();
        assert_eq!(seen, [(2000, 8000, 2000), (1000, 6000, 3000)]);
        assert_eq!(rates.lost_total(), 3000);
        // Sent again it is in flight, and not lost.
        rates.sent(at(110), 1000..4000, 7000);
        rates.lost(at(200), 1000..2000, &mut |lost| losses.push(lost));
        assert_eq!(losses.len(), 3);
        // The rest of the flight arrives: what was lost since it was sent is part of its sample.
        let rate = sample(&mut rates, 210, 4000..10_000);
        assert_eq!((rate.lost, rate.in_flight), (4000, 14_000));
    }

    #[test]
    fn samples_are_limited_by_the_application_until_what_was_in_flight_is_delivered() {
        let mut rates = DeliveryRate::default();
        rates.sent(at(0), 0..1000, 0);
        rates.note_limited(1000);
        rates.sent(at(50), 1000..2000, 1000);
        assert!(!sample(&mut rates, 100, 0..1000).is_app_limited);
        assert!(rates.is_limited(), "just all that was in flight");
        rates.sent(at(100), 2000..3000, 1000);
        assert!(sample(&mut rates, 150, 1000..2000).is_app_limited);
        assert!(!rates.is_limited());
        rates.sent(at(150), 3000..4000, 1000);
        assert!(sample(&mut rates, 200, 2000..3000).is_app_limited);
        assert!(!sample(&mut rates, 250, 3000..4000).is_app_limited);
    }

    #[test]
    fn after_idle_time_the_interval_begins_with_the_first_data() {
        let mut rates = DeliveryRate::default();
        rates.sent(at(0), 0..1000, 0);
        sample(&mut rates, 100, 0..1000);
        rates.sent(at(5000), 1000..2000, 0);
        let rate = sample(&mut rates, 5100, 1000..2000);
        assert_eq!((rate.delivered, rate.interval), (1000, Span::from_millis(100)));
    }
}
