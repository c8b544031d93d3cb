//! When a tail loss probe leaves, and what it is.

use super::*;
use crate::bed::{EventKind, Path};
use crate::case::demand;
use windlass_base::Time;
use windlass_tcp::config::AckPolicy;

fn seconds(begin: Time, end: Time) -> f64 {
    end.saturating_since(begin).as_secs_f64()
}

pub(super) const TWO_RTTS: Case = Case {
    name: "a-probe-leaves-after-two-rtts",
    clause: clause("7.2", Level::Should),
    demanded: "a flight whose end is lost brings a probe two smoothed RTTs after the last acknowledgment",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.lose(&[5, 6, 7]);
        let flight = bed.write_segments(8);
        let held = flight.offset(5);
        bed.await_that("no acknowledgment", |bed| bed.wire().acked() >= held)?;
        let acked = bed.now;
        let probe = bed.await_resent()?;
        bed.expect("seconds from the last ACK to the probe", seconds(acked, probe.at), 0.09..=0.135)
    },
    ..RACK
};

pub(super) const DELAYED_ACK: Case = Case {
    name: "a-single-segment-waits-for-a-delayed-ack",
    clause: clause("7.2", Level::Should),
    // The receiver's window leaves no queue, which would make SRTT longer.
    setup: Setup {
        acks: AckPolicy::Delayed { max: Span::from_millis(80) },
        receive_buffer: 40_000,
        ..RACK.setup
    },
    path: Path { rtt_ms: 40, ..LINK },
    demanded: "a single segment, whose acknowledgment the receiver may delay, brings no probe after two RTTs",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        // Single samples of delayed acknowledgments do not last in SRTT.
        bed.traffic = Traffic::Bulk;
        bed.run_for(Span::from_millis(300));
        bed.traffic = Traffic::Pause;
        bed.drain()?;
        let flight = bed.write_segments(1);
        bed.drain()?;
        let waited = bed.seconds_since(flight.at);
        bed.expect("seconds to the acknowledgment", waited, 0.1..=0.14)?;
        let probes = bed.resent_since(flight.at).count();
        bed.expect("retransmissions", probes as f64, 0.0..=0.0)
    },
    ..RACK
};

pub(super) const LAST: Case = Case {
    name: "the-probe-is-the-last-segment",
    clause: clause("7.3", Level::Should),
    demanded: "without new data the probe is the segment with the highest number",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.lose(&[5, 6, 7]);
        let flight = bed.write_segments(8);
        let probe = bed.await_resent()?;
        let offset = bed.wire().offset(probe.packet.segment.seq) - flight.base;
        let segment = offset as f64 / flight.segment as f64;
        bed.expect("number of the segment that is sent again", segment, 7.0..=7.0)
    },
    ..RACK
};

/// Of the pauses between packets of data from `begin` on, the first one of more than an RTT: the packets after it.
fn after_a_pause(bed: &Bed, begin: Time) -> Vec<EventKind> {
    let sent: Vec<_> = bed.wire().data_since(begin).collect();
    let pause = sent.windows(2).position(|pair| seconds(pair[0].at, pair[1].at) > 0.08);
    let Some(last) = pause else { return Vec::new() };
    let first = sent[last + 1].at;
    let together = sent[last + 1..].iter().take_while(|event| seconds(first, event.at) < 0.03);
    together.map(|event| event.kind).collect()
}

pub(super) const NEW_DATA: Case = Case {
    name: "the-probe-is-new-data-if-there-is-any",
    clause: clause("7.3", Level::Should),
    concerns: LIMITED,
    traffic: Traffic::Bulk,
    demanded: "a probe is one segment that was not sent before, although the window is full",
    program: |_, bed| {
        bed.fill(20)?;
        bed.lose_all();
        let begin = bed.now;
        bed.await_resent()?;
        let probe = after_a_pause(bed, begin);
        demand!(probe.first() == Some(&EventKind::Sent), "{probe:?} after the pause");
        bed.expect("segments of the probe", probe.len() as f64, 1.0..=1.0)
    },
    ..RACK
};

pub(super) const ONE: Case = Case {
    name: "one-probe-for-a-tail",
    clause: clause("7.3", Level::Must),
    concerns: LIMITED,
    demanded: "a probe that is lost is followed by the timeout and by no other probe",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.lose_all();
        let flight = bed.write_segments(8);
        bed.await_sent("no timeout", |bed| !bed.copies_since(flight.at, flight.base).is_empty())?;
        let probes = bed.resent_since(flight.at).count() - 1;
        bed.expect("retransmissions before the timeout", probes as f64, 1.0..=1.0)
    },
    ..RACK
};

pub(super) const RESTARTS: Case = Case {
    name: "a-probe-restarts-the-timer",
    clause: clause("7.3", Level::Rule),
    concerns: LIMITED,
    demanded: "the timer expires an RTO after the probe",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.lose_all();
        let flight = bed.write_segments(8);
        let probe = bed.await_resent()?;
        bed.await_sent("no second timeout", |bed| {
            bed.copies_since(flight.at, flight.base).len() >= 2
        })?;
        let copies = bed.copies_since(flight.at, flight.base);
        let ratio = seconds(copies[0], copies[1]) / seconds(probe.at, copies[0]);
        bed.expect("the second RTO by the first, from the probe", ratio, 1.7..=2.3)
    },
    ..RACK
};

pub(super) const NOT_IN_RECOVERY: Case = Case {
    name: "no-probe-in-a-recovery",
    clause: clause("7.2", Level::Should),
    demanded: "while a segment is missing that SACK shows, the next transmission is that of the timer",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.lose_and_again(&[0], 1);
        let flight = bed.write_segments(8);
        bed.await_sent("no second retransmission", |bed| bed.resent_since(flight.at).count() >= 2)?;
        let resent: Vec<Time> = bed.resent_since(flight.at).map(|event| event.at).collect();
        let waits = seconds(resent[0], resent[1]);
        bed.expect("seconds from the retransmission to the next", waits, 0.18..=3.0)
    },
    ..RACK
};
