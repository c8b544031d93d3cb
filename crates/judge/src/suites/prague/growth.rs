//! Growth, pacing and small windows.

use super::*;

pub(crate) const ENDS_SLOW_START: Case = Case {
    name: "a-mark-ends-slow-start",
    clause: clause("2.4.5", Level::Rule),
    demanded: "after the first mark a round trip adds a segment",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        let cut = bed.mark(1)?;
        bed.run_for(bed.rtt() * 8);
        let growth = bed.window() - cut.after;
        bed.expect("growth in eight round trips in segments", growth, 3.0..=13.0)
    },
    ..BASE
};

pub(crate) const LONG: Case = Case {
    name: "a-round-trip-adds-a-segment",
    clause: clause("2.4.3", Level::Rule),
    demanded: "with an RTT of 40 ms a round trip without marks adds a segment",
    program: |_, bed| {
        settle(bed, 60.0, 10)?;
        let begin = bed.window();
        bed.run_for(bed.rtt() * 25);
        let slope = (bed.window() - begin) / 25.0;
        bed.expect("segments per round trip", slope, 0.8..=1.2)
    },
    ..BASE
};

/// Reno would add a hundred segments, and DCTCP too.
pub(crate) const SHORT: Case = Case {
    name: "short-round-trips-count-as-25-milliseconds",
    clause: clause("2.4.4", Level::Rule),
    path: Path { rtt_ms: 10, ..PATH },
    demanded: "with an RTT of 10 ms a second adds 16 segments: (10 / 25)^2 in each round trip",
    program: |_, bed| {
        settle(bed, 60.0, 40)?;
        let begin = bed.window();
        bed.run_for(Span::from_secs(1));
        let growth = bed.window() - begin;
        bed.expect("growth in a second in segments", growth, 11.0..=24.0)
    },
    ..BASE
};

pub(crate) const PACED: Case = Case {
    name: "packets-are-paced",
    clause: clause("2.5.1", Level::Rule),
    demanded: "the window is spread over the round trip, not sent in bursts",
    program: |_, bed| {
        settle(bed, 80.0, 10)?;
        let from = bed.now;
        bed.run_for(Span::from_millis(400));
        let times: Vec<_> = bed.wire().data_since(from).map(|event| event.at).collect();
        let all = times.len();
        demand!(all > 200, "{all} packets in ten round trips");
        let near = |first: usize| {
            let end = times[first] + Span::from_millis(2);
            times[first..].iter().take_while(|at| **at < end).count()
        };
        let most = (0..all).map(near).max().unwrap_or(0) as f64;
        let mean = all as f64 / 200.0;
        bed.expect("the most packets in 2 ms", most, 1.0..=2.0 * mean + 6.0)
    },
    ..BASE
};

/// The requirement is RFC 9331's, section 4.3: a window below a segment must not end the reaction.
pub(crate) const FRACTION: Case = Case {
    name: "a-window-may-be-less-than-a-segment",
    clause: clause("2.1", Level::Must),
    path: Path { rtt_ms: 5, ..PATH },
    demanded: "with marks on all packets, less than a packet leaves per round trip, without timeouts",
    program: |_, bed| {
        settle(bed, 20.0, 4)?;
        bed.on_data(|_, _| Fate::Mark);
        bed.run_for(Span::from_secs(3));
        let (from, resent) = (bed.now, bed.wire().resent());
        bed.run_for(Span::from_secs(2));
        let packets = bed.wire().data_since(from).count() as f64;
        bed.expect("packets in 400 round trips", packets, 4.0..=200.0)?;
        demand!(bed.wire().resent() == resent, "packets are sent again");
        Ok(())
    },
    ..BASE
};

/// The threshold is a millisecond of the path's rate, as in a queue of RFC 9332.
pub(crate) const SHORT_QUEUE: Case = Case {
    name: "a-queue-that-marks-early-stays-short",
    clause: clause("2.4", Level::Rule),
    path: Path { mbit_per_s: 40.0, rtt_ms: 20, queue_bdp: 4.0 },
    demanded: "behind a queue that marks from 1 ms on, the path is full and the queue is short",
    program: |_, bed| {
        bed.mark_above(Some(5000));
        bed.run_for(Span::from_secs(2));
        let (from, delivered) = (bed.now, bed.delivered());
        let mut most = 0;
        bed.run_until(Span::from_secs(3), |bed| {
            most = most.max(bed.queued());
            false
        });
        let rate = (bed.delivered() - delivered) / bed.seconds_since(from);
        bed.expect("the part of the path's rate", rate / bed.path.goodput(), 0.9..=1.0)?;
        let delay = most as f64 * 8.0 / bed.path.mbit_per_s / 1e3;
        bed.expect("the longest queue in milliseconds", delay, 0.0..=6.0)?;
        demand!(bed.dropped() == 0, "packets were dropped");
        Ok(())
    },
    ..BASE
};
