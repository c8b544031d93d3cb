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
            self.smoothed = Some(rtt);
            self.variation = rtt / 2;
            return;
        };
        let difference = rtt.saturating_sub(smoothed) + smoothed.saturating_sub(rtt);
        self.variation = self.variation / 4 * 3 + difference / 4;
        self.smoothed = Some(smoothed / 8 * 7 + rtt / 8);
    }

    /// The time to the first retransmission.
    fn rto(&self) -> Span {
        let rto = |rtt: Span| (rtt + self.variation * 4).clamp(MIN_RTO, MAX_RTO);
        self.smoothed.map_or(INITIAL_RTO, rto)
    }
}

/// What a due request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing before [`Request::due`].
    Nothing,
    /// Another transmission. True once, when the server counts as silent.
    Send { silent: bool },
    /// No answer came.
    Failed,
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
    limit: u32,
}

impl Request {
    /// A request whose first transmission is now. `hops` is the number of round trips that an
    /// answer needs; `limit` the number of transmissions.
    pub(super) fn new(
        now: Time,
        transport: Transport,
        rtt: &Rtt,
        (hops, limit): (u64, u32),
        (transaction, bytes): (TransactionId, Vec<u8>),
    ) -> Self {
        let rto = rtt.rto() * hops;
        let due = match transport {
            Transport::Datagram => now + rto,
            Transport::Stream => now + STREAM_TIMEOUT,
        };
        let first_sent = now;
        let interval = rto;
        Self { transaction, bytes, transport, first_sent, due, rto, interval, sent: 1, limit }
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
        if self.transport == Transport::Stream || self.sent >= self.limit {
            return Due::Failed;
        }
        self.sent += 1;
        self.interval = self.interval * 2;
        let last = self.sent == self.limit;
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
        let message = (TransactionId::from(1), Vec::new());
        let once = (1, TRANSMISSIONS);
        let mut request = Request::new(Time::ZERO, Transport::Datagram, rtt, once, message);
        let mut times = vec![];
        loop {
            let due = request.due();
            times.push(due.as_nanos() / 1_000_000);
            if request.handle_timeout(due) == Due::Failed {
                return times;
            }
        }
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
        let (rtt, once) = (Rtt::default(), (1, TRANSMISSIONS));
        let mut request = Request::new(Time::ZERO, Transport::Stream, &rtt, once, message);
        assert_eq!(request.handle_timeout(Time::ZERO + Span::from_secs(39)), Due::Nothing);
        assert_eq!(request.handle_timeout(request.due()), Due::Failed);
    }
}
