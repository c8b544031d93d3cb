//! The retransmission timer (RFC 6298).

use super::*;
use crate::bed::{Bed, EventKind, Fate, Path};
use crate::case::{Case, Concerns, Fault, demand};
use crate::subject::Setup;
use windlass_base::{Span, Time};
use windlass_tcp::Flags;

const fn rto(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 6298", section, level }
}

const NO_TIMESTAMPS: Setup = Setup { timestamps: false, ..PLAIN };

fn seconds(begin: Time, end: Time) -> f64 {
    end.saturating_since(begin).as_secs_f64()
}

/// Loses a segment and its retransmissions. Returns the seconds from its first transmission to its first
/// retransmission, and between one and the next.
fn intervals(bed: &mut Bed, retransmissions: usize) -> Result<Vec<f64>, Fault> {
    bed.lose_all();
    let flight = bed.write_segments(1);
    bed.await_sent("too few retransmissions", |bed| {
        bed.copies_since(flight.at, flight.base).len() >= retransmissions
    })?;
    let mut times = vec![flight.at];
    times.extend(bed.copies_since(flight.at, flight.base));
    Ok(times.windows(2).map(|pair| seconds(pair[0], pair[1])).collect())
}

pub(super) const DOUBLES_EACH_TIME: Case = Case {
    name: "rto-doubles",
    clause: rto("5.5", Level::Must),
    demanded: "each timeout doubles the RTO",
    program: |_, bed| {
        bed.grow_and_drain(10)?;
        let intervals = intervals(bed, 4)?;
        for pair in intervals.windows(2) {
            bed.expect("an RTO by the one before", pair[1] / pair[0], 1.8..=2.2)?;
        }
        Ok(())
    },
    ..CASE
};

pub(super) const FLOOR: Case = Case {
    name: "rto-is-a-second-at-least",
    clause: rto("2.4", Level::Should),
    demanded: "an RTO that would be shorter is a second",
    program: |_, bed| {
        bed.grow_and_drain(10)?;
        let first = intervals(bed, 1)?[0];
        bed.expect("seconds to the retransmission", first, 0.98..=1.2)
    },
    ..CASE
};

pub(super) const FOLLOWS: Case = Case {
    name: "rto-follows-the-rtt",
    clause: rto("3", Level::Must),
    concerns: Concerns::Except(&["none"]),
    demanded: "RTT samples keep the RTO above a round-trip time that grows",
    program: |_, bed| {
        bed.grow_and_drain(10)?;
        for step in 1..=10 {
            bed.path.rtt_ms = 50 + 50 * step;
            for _ in 0..8 {
                bed.write_segments(1);
                bed.drain()?;
            }
        }
        bed.expect("retransmissions", bed.wire().resent() as f64, 0.0..=0.0)?;
        let first = intervals(bed, 1)?[0];
        bed.expect("seconds to the retransmission", first, 0.55..=3.0)
    },
    ..CASE
};

/// SRTT and RTTVAR of RFC 6298 section 2, in seconds.
#[derive(Copy, Clone, Debug)]
struct Estimate {
    srtt: f64,
    rttvar: f64,
}

impl Estimate {
    fn sample(&mut self, rtt: f64) {
        self.rttvar += ((self.srtt - rtt).abs() - self.rttvar) / 4.0;
        self.srtt += (rtt - self.srtt) / 8.0;
    }

    fn rto(&self) -> f64 {
        self.srtt + 4.0 * self.rttvar
    }
}

/// RTTs in milliseconds, each so many times after one of 100 ms. In such steps no RTO is overtaken, also where its
/// minimum is 200 ms.
const LARGER_RTTS: [(u64, usize); 7] =
    [(150, 2), (220, 2), (290, 2), (360, 2), (450, 2), (560, 2), (700, 5)];

pub(super) const VARIANCE: Case = Case {
    name: "rto-covers-the-variance",
    clause: rto("2.3", Level::Must),
    demanded: "with RTTs that change from one segment to the next the RTO is SRTT and four times RTTVAR",
    program: |_, bed| {
        bed.grow_and_drain(10)?;
        let mut estimate = Estimate { srtt: 0.05, rttvar: 0.0 };
        for (rtt_ms, times) in LARGER_RTTS {
            for rtt_ms in [100, rtt_ms].repeat(times) {
                bed.path.rtt_ms = rtt_ms;
                let sent = bed.write_segments(1);
                bed.drain()?;
                estimate.sample(bed.seconds_since(sent.at));
            }
        }
        bed.expect("retransmissions", bed.wire().resent() as f64, 0.0..=0.0)?;
        let (first, least) = (intervals(bed, 1)?[0], 0.85 * estimate.rto());
        bed.expect("seconds to the retransmission", first, least..=2.0 * estimate.rto())
    },
    ..CASE
};

pub(super) const KARN: Case = Case {
    name: "no-rtt-sample-of-a-retransmission",
    clause: rto("3", Level::Must),
    setup: NO_TIMESTAMPS,
    demanded: "the acknowledgment of a retransmission gives no sample, and the RTO stays doubled until one comes",
    program: |_, bed| {
        bed.grow_and_drain(10)?;
        bed.next_data(1, Fate::Drop);
        let flight = bed.write_segments(1);
        bed.drain()?;
        let copies = bed.copies_since(flight.at, flight.base);
        demand!(copies.len() == 1, "{} retransmissions", copies.len());
        let before = seconds(flight.at, copies[0]);
        let after = intervals(bed, 1)?[0];
        bed.expect("the next RTO by the one before", after / before, 1.8..=2.2)
    },
    ..CASE
};

pub(super) const RESTARTS: Case = Case {
    name: "an-ack-restarts-the-timer",
    clause: rto("5.3", Level::Should),
    concerns: Concerns::Except(&["none"]),
    path: Path { rtt_ms: 300, ..LINK },
    demanded: "the timer expires an RTO after the last acknowledgment of new data",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.lose(&[4, 5, 6, 7]);
        let flight = bed.write_segments(8);
        let held = flight.offset(4);
        bed.await_that("no acknowledgment", |bed| bed.wire().acked() >= held)?;
        let acked = bed.now;
        bed.lose_all();
        bed.await_sent("too few retransmissions", |bed| {
            bed.copies_since(flight.at, held).len() >= 2
        })?;
        let copies = bed.copies_since(flight.at, held);
        let ratio = seconds(copies[0], copies[1]) / seconds(acked, copies[0]);
        bed.expect("the second RTO by the first, from the last ACK", ratio, 1.8..=2.2)
    },
    ..CASE
};

/// An application that writes a little all the time: something is always in flight, and nothing is lost.
pub(super) const BUSY: Case = Case {
    name: "acks-keep-the-timer-from-expiring",
    clause: rto("5.3", Level::Should),
    path: Path { rtt_ms: 800, ..LINK },
    demanded: "data that is always in flight is not sent again while acknowledgments of new data come",
    program: |_, bed| {
        bed.write(100);
        // The first RTO may be shorter than this path.
        bed.run_for(Span::from_secs(5));
        let before = bed.wire().resent();
        for _ in 0..100 {
            bed.write(100);
            bed.run_for(Span::from_millis(100));
        }
        let more = bed.wire().resent() - before;
        bed.expect("retransmissions in ten seconds", more as f64, 0.0..=0.0)
    },
    ..CASE
};

pub(super) const FIRST: Case = Case {
    name: "the-first-rto-is-a-second",
    clause: rto("2.1", Level::Should),
    demanded: "a SYN is sent again after a second, and after two more",
    program: |_, bed| {
        bed.pass_acks(0);
        bed.run_for(Span::from_millis(3500));
        let syns = bed.wire().events().iter().filter(|event| {
            event.kind != EventKind::Arrived && event.packet.segment.flags.contains(Flags::SYN)
        });
        let times: Vec<Time> = syns.map(|event| event.at).collect();
        bed.expect("SYNs in 3.5 s", times.len() as f64, 3.0..=3.0)?;
        bed.expect("seconds to the second SYN", seconds(times[0], times[1]), 0.95..=1.15)?;
        bed.expect("seconds to the third SYN", seconds(times[1], times[2]), 1.9..=2.3)
    },
    ..CASE
};

pub(super) const LOST_SYN: Case = Case {
    name: "rto-after-a-lost-syn-is-three-seconds",
    clause: rto("5.7", Level::Must),
    setup: NO_TIMESTAMPS,
    demanded: "if the SYN was sent again, data that follows is sent again after three seconds",
    program: |_, bed| {
        let mut first = true;
        bed.on_acks(move |_| if core::mem::take(&mut first) { Fate::Drop } else { Fate::Pass });
        let arrived = |bed: &Bed| bed.wire().events().iter().any(|e| e.kind == EventKind::Arrived);
        bed.await_that("no SYN-ACK", arrived)?;
        bed.run_for(Span::from_millis(200));
        bed.lose_all();
        let begin = bed.now;
        bed.write(100);
        bed.await_resent()?;
        let sent: Vec<Time> = bed.wire().data_since(begin).map(|event| event.at).collect();
        bed.expect("seconds to the retransmission", seconds(sent[0], sent[1]), 2.9..=3.3)
    },
    ..CASE
};
