//! Requests under way and their retransmission (RFC 8489, section 6.2).

use stun_types::message::TransactionId;
use windlass_base::{Span, Time};

/// The time to the first retransmission without a measured RTT (RFC 8489, section 6.2.1).
const INITIAL_RTO: Span = Span::from_millis(500);
/// The least time to the first retransmission. A server answers at once, so it is shorter than the
/// second of RFC 6298.
const MIN_RTO: Span = Span::from_millis(250);
/// The longest time to the first retransmission.
const MAX_RTO: Span = Span::from_secs(3);
/// Time until a request over a stream fails (Ti of RFC 8489, section 6.2.2).
const STREAM_TIMEOUT: Span = Span::from_millis(39_500);
/// After the last transmission, a request waits this many times the first interval (Rm).
const LAST_WAIT: u64 = 16;
/// Transmissions of one request (Rc).
pub(super) const TRANSMISSIONS: u32 = 7;
/// Transmissions of a request that the other host answers, and the longest interval between them. It
/// crosses four paths that may lose it, and the user waits: with doubled intervals, five transmissions
/// within half a minute were too few once in 30,000 sessions over bad paths.
const INTRODUCTION_TRANSMISSIONS: u32 = 14;
const INTRODUCTION_INTERVAL_MAX: Span = Span::from_secs(3);
/// After this many unanswered transmissions the caller learns that the server is silent.
const SILENT_AFTER: u32 = 3;

/// How messages travel to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP: requests are retransmitted.
    Datagram,
    /// A stream, TCP or TLS: it retransmits itself.
    Stream,
}

/// An estimate of the round-trip time to the server (RFC 6298, section 2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rtt {
    smoothed: Option<Span>,
    variation: Span,
}

impl Rtt {
    pub(super) fn sample(&mut self, rtt: Span) {
        let Some(smoothed) = self.smoothed else {
            // RFC 6298, section 2.2.
            self.smoothed = Some(rtt);
            self.variation = rtt / 2;
            return;
        };
        // RFC 6298, section 2.3.
        let difference = rtt.saturating_sub(smoothed) + smoothed.saturating_sub(rtt);
        self.variation = self.variation / 4 * 3 + difference / 4;
        self.smoothed = Some(smoothed / 8 * 7 + rtt / 8);
    }

    /// The time to the first retransmission.
    fn rto(&self) -> Span {
        // SRTT + 4 RTTVAR, within this protocol's bounds.
        let rto = |rtt: Span| (rtt + self.variation * 4).clamp(MIN_RTO, MAX_RTO);
        self.smoothed.map_or(INITIAL_RTO, rto)
    }
}

/// The action for a request whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing before [`Request::due`].
    Nothing,
    /// Another transmission. True once, when the server counts as silent.
    Send { silent: bool },
    /// No answer came.
    Failed,
}

/// When a request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Round trips that an answer needs.
    hops: u64,
    transmissions: u32,
    /// The intervals double up to this one, or without end.
    interval_max: Option<Span>,
}

impl Schedule {
    /// Of a request that the server answers.
    pub(super) fn server(transmissions: u32) -> Schedule {
        Schedule { hops: 1, transmissions, interval_max: None }
    }

    /// Of a request that the server passes on, and the other host answers.
    pub(super) fn introduction() -> Schedule {
        let interval_max = Some(INTRODUCTION_INTERVAL_MAX);
        Schedule { hops: 2, transmissions: INTRODUCTION_TRANSMISSIONS, interval_max }
    }

    fn next(&self, interval: Span, first: Span) -> Span {
        let doubled = interval * 2;
        self.interval_max.map_or(doubled, |max| doubled.min(max.max(first)))
    }
}

/// A request that was sent and not yet answered.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) transaction: TransactionId,
    pub(super) bytes: Vec<u8>,
    transport: Transport,
    first_sent: Time,
    due: Time,
    rto: Span,
    interval: Span,
    sent: u32,
    schedule: Schedule,
}

impl Request {
    /// A request whose first transmission is now.
    pub(super) fn new(
        now: Time,
        transport: Transport,
        rtt: &Rtt,
        schedule: Schedule,
        (transaction, bytes): (TransactionId, Vec<u8>),
    ) -> Self {
        let rto = rtt.rto() * schedule.hops;
        let due = match transport {
            // RFC 8489, section 6.2.2: over a stream a request is sent once, and waits for Ti.
            Transport::Datagram => now + rto,
            Transport::Stream => now + STREAM_TIMEOUT,
        };
        let first_sent = now;
        let interval = rto;
        Self { transaction, bytes, transport, first_sent, due, rto, interval, sent: 1, schedule }
    }

    /// Whether it was transmitted more than once.
    pub(super) fn was_repeated(&self) -> bool {
        self.sent > 1
    }

    pub(super) fn due(&self) -> Time {
        self.due
    }

    pub(super) fn handle_timeout(&mut self, now: Time) -> Due {
        if now < self.due {
            return Due::Nothing;
        }
        if self.transport == Transport::Stream || self.sent >= self.schedule.transmissions {
            return Due::Failed;
        }
        self.sent += 1;
        self.interval = self.schedule.next(self.interval, self.rto);
        // RFC 8489, section 6.2.1: after the last transmission Rm times the RTO.
        let last = self.sent == self.schedule.transmissions;
        self.due = now + if last { self.rto * LAST_WAIT } else { self.interval };
        Due::Send { silent: self.sent == SILENT_AFTER }
    }

    /// The round-trip time if the response belongs to a known transmission (Karn's algorithm).
    pub(super) fn rtt(&self, now: Time) -> Option<Span> {
        (self.sent == 1).then(|| now.saturating_since(self.first_sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rtt: &Rtt) -> Vec<u64> {
        times_of(rtt, Schedule::server(TRANSMISSIONS))
    }

    fn times_of(rtt: &Rtt, schedule: Schedule) -> Vec<u64> {
        let message = (TransactionId::from(1), Vec::new());
        let mut request = Request::new(Time::ZERO, Transport::Datagram, rtt, schedule, message);
        let mut times = vec![];
        loop {
            let due = request.due();
            times.push(due.as_nanos() / 1_000_000);
            if request.handle_timeout(due) == Due::Failed {
                return times;
            }
        }
    }

    #[test]
    fn an_introduction_is_repeated_often_enough_for_a_bad_path() {
        let mut rtt = Rtt::default();
        rtt.sample(Span::from_millis(300));
        let times = times_of(&rtt, Schedule::introduction());
        let within_half_a_minute = times.iter().filter(|time| **time < 30_000).count();
        assert!(within_half_a_minute >= 9, "{times:?}");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 1000), "{times:?}");
    }

    /// The example of RFC 8489, section 6.2.1.
    #[test]
    fn retransmits_as_the_rfc_says() {
        assert_eq!(times(&Rtt::default()), [500, 1500, 3500, 7500, 15_500, 31_500, 39_500]);
    }

    #[test]
    fn a_measured_rtt_changes_the_first_interval() {
        let mut rtt = Rtt::default();
        rtt.sample(Span::from_millis(40));
        assert_eq!(times(&rtt)[0], 250);
        rtt.sample(Span::from_millis(1640));
        // SRTT 240 ms, RTTVAR 15 + 400 ms.
        assert_eq!(times(&rtt)[0], 240 + 4 * 415);
    }

    #[test]
    fn a_stream_does_not_retransmit() {
        let message = (TransactionId::from(1), Vec::new());
        let (rtt, schedule) = (Rtt::default(), Schedule::server(TRANSMISSIONS));
        let mut request = Request::new(Time::ZERO, Transport::Stream, &rtt, schedule, message);
        assert_eq!(request.handle_timeout(Time::ZERO + Span::from_secs(39)), Due::Nothing);
        assert_eq!(request.handle_timeout(request.due()), Due::Failed);
    }
}
