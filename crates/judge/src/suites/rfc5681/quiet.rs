//! Idle connections, and the receiver's window.

use super::*;
use crate::bed::{Bed, EventKind, Fate, Traffic};
use crate::case::{Case, demand};
use crate::subject::Setup;
use windlass_base::Span;
use windlass_tcp::Flags;

const WINDOW: u64 = 24_000;

pub(super) const NOTHING_IN_FLIGHT: Case = Case {
    name: "no-timer-without-data-in-flight",
    clause: Clause { document: "RFC 6298", section: "5.2", level: Level::Should },
    demanded: "nothing is sent again when all data is acknowledged, and the window is not one of a timeout afterwards",
    program: |_, bed| {
        bed.grow_and_drain(8)?;
        bed.run_for(Span::from_millis(100));
        let sent = bed.sent_packets();
        bed.run_for(Span::from_secs(3));
        let more = bed.sent_packets() - sent;
        bed.expect("packets in three idle seconds", more as f64, 0.0..=0.0)?;
        let flight = bed.write_segments(8);
        let sent = start::before_the_first_ack(bed)? / flight.segment as f64;
        bed.expect("segments before the next acknowledgment", sent, 2.0..=8.0)
    },
    ..CASE
};

pub(super) const IDLE: Case = Case {
    name: "restart-after-idle",
    clause: clause("4.1", Level::Should),
    concerns: WINDOWS,
    demanded: "after more than an RTO without a transmission the window is not larger than the initial one",
    program: |_, bed| {
        bed.grow_and_drain(40)?;
        bed.run_for(Span::from_secs(3));
        let flight = bed.write_segments(40);
        let sent = start::before_the_first_ack(bed)? / flight.segment as f64;
        bed.expect("segments before the first acknowledgment", sent, 1.0..=10.0)
    },
    ..CASE
};

/// Bytes by which data exceeds what the receiver's last announcements allow, at most.
fn excess(bed: &Bed) -> i64 {
    let (mut shift, mut edge, mut most) = (0, 0, i64::MIN);
    for event in bed.wire().events() {
        let segment = &event.packet.segment;
        if event.kind == EventKind::Arrived {
            if segment.flags.contains(Flags::SYN) {
                shift = segment.options.window_scale.unwrap_or(0);
                edge = u64::from(segment.window);
            } else {
                let window = u64::from(segment.window) << shift;
                edge = edge.max(bed.wire().offset(segment.ack) + window);
            }
        } else if segment.payload_len > 0 {
            let end = bed.wire().offset(segment.seq) + u64::from(segment.payload_len);
            most = most.max(end as i64 - edge as i64);
        }
    }
    most
}

pub(super) const RECEIVER_WINDOW: Case = Case {
    name: "the-receivers-window-holds",
    clause: clause("3.1", Level::Must),
    setup: Setup { receive_buffer: WINDOW, ..PLAIN },
    traffic: Traffic::Bulk,
    demanded: "no data lies beyond the acknowledgment number and the receiver's window, in a repair neither",
    program: |_, bed| {
        bed.run_for(Span::from_millis(400));
        let (flight, window) = (bed.segments_in_flight(), WINDOW as f64 / 1448.0);
        bed.expect("segments in flight before the loss", flight, window / 2.0..=window)?;
        bed.lose(&[0]);
        bed.run_for(Span::from_millis(400));
        let excess = excess(bed);
        bed.expect("bytes beyond the window", excess as f64, -1e9..=0.0)
    },
    ..CASE
};

/// The update that opens the window again is lost: without a probe the connection stands for ever.
pub(super) const ZERO_WINDOW: Case = Case {
    name: "a-zero-window-is-probed",
    clause: Clause { document: "RFC 9293", section: "3.8.6.1", level: Level::Must },
    demanded: "while the receiver's window is zero the sender probes it, and finds it open",
    program: |_, bed| {
        bed.grow_and_drain(4)?;
        bed.on_acks(|packet| {
            packet.segment.window = 0;
            Fate::Pass
        });
        bed.write_segments(1);
        bed.drain()?;
        let sent = bed.sent_packets();
        bed.write_segments(8);
        bed.run_for(Span::from_secs(5));
        let probes = bed.sent_packets() - sent;
        bed.expect("packets in five seconds with a window of zero", probes as f64, 1.0..=6.0)?;
        bed.leave_alone();
        bed.drain()?;
        demand!(bed.dropped() == 0, "the path loses a packet");
        Ok(())
    },
    ..CASE
};
