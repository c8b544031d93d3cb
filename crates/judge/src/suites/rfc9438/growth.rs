//! The curve, and what is not in it.

use super::*;
use crate::bed::PAYLOAD;
use crate::case::demand;

/// After a loss at some 128 segments, with W_max and the window of the beginning.
fn begin_epoch(bed: &mut Bed) -> Result<(Cut, (f64, f64)), Fault> {
    bed.grow_to(64.0)?;
    let cut = bed.lose_and_repair()?;
    Ok((cut, (cut.before, BETA * cut.before)))
}

pub(crate) const CONCAVE: Case = Case {
    name: "the-window-is-concave-up-to-the-plateau",
    clause: clause("4.4", Level::Must),
    demanded: "before K the window is that of the cubic: fast at first, then slow",
    tolerance: 0.02,
    program: |case, bed| {
        let (cut, curve) = begin_epoch(bed)?;
        let k_s = k(curve.0, curve.1);
        follow(case, bed, &cut, curve, 0.25 * k_s, "the window at K/4 in segments")?;
        follow(case, bed, &cut, curve, 0.5 * k_s, "the window at K/2 in segments")?;
        follow(case, bed, &cut, curve, 0.75 * k_s, "the window at 3K/4 in segments")
    },
    ..BASE
};

/// With twice C the window at 2 K would be 2.4 times W_max.
pub(crate) const CONVEX: Case = Case {
    name: "the-window-is-convex-beyond-the-plateau",
    clause: clause("4.5", Level::Must),
    demanded: "after K the window is that of the cubic with C = 0.4",
    tolerance: 0.04,
    program: |case, bed| {
        let (cut, curve) = begin_epoch(bed)?;
        let k_s = k(curve.0, curve.1);
        follow(case, bed, &cut, curve, 1.5 * k_s, "the window at 1.5 K in segments")?;
        follow(case, bed, &cut, curve, 1.75 * k_s, "the window at 1.75 K in segments")?;
        follow(case, bed, &cut, curve, 2.0 * k_s, "the window at 2 K in segments")
    },
    ..BASE
};

pub(crate) const PLATEAU: Case = Case {
    name: "the-window-stays-at-the-plateau",
    clause: clause("4.2", Level::Rule),
    demanded: "around K the window is W_max",
    tolerance: 0.02,
    program: |case, bed| {
        let (cut, curve) = begin_epoch(bed)?;
        let k_s = k(curve.0, curve.1);
        for t_s in [0.8 * k_s, k_s, 1.2 * k_s] {
            follow(case, bed, &cut, curve, t_s, "the window near K in segments")?;
        }
        Ok(())
    },
    ..BASE
};

/// The other cases have half this RTT.
pub(crate) const OTHER_RTT: Case = Case {
    name: "growth-is-a-function-of-time",
    clause: clause("4.2", Level::Rule),
    path: Path { rtt_ms: 400, ..LONG },
    demanded: "with another RTT the window is the same function of time",
    tolerance: 0.05,
    program: |case, bed| {
        let (cut, curve) = begin_epoch(bed)?;
        let k_s = k(curve.0, curve.1);
        follow(case, bed, &cut, curve, 0.5 * k_s, "the window at K/2 in segments")?;
        follow(case, bed, &cut, curve, k_s, "the window at K in segments")?;
        follow(case, bed, &cut, curve, 2.0 * k_s, "the window at 2 K in segments")
    },
    ..BASE
};

pub(crate) const AFTER_ECHO: Case = Case {
    name: "an-epoch-begins-after-an-echo-too",
    clause: clause("4.2", Level::Rule),
    setup: ECN,
    demanded: "after an ECN echo the window follows the cubic to the window before it",
    tolerance: 0.04,
    program: |case, bed| {
        bed.grow_to(64.0)?;
        let cut = bed.mark(1)?;
        let curve = (cut.before, BETA * cut.before);
        let k_s = k(curve.0, curve.1);
        follow(case, bed, &cut, curve, 0.5 * k_s, "the window at K/2 in segments")?;
        follow(case, bed, &cut, curve, k_s, "the window at K in segments")?;
        follow(case, bed, &cut, curve, 1.75 * k_s, "the window at 1.75 K in segments")
    },
    ..BASE
};

/// After so many losses a window is small, or stays large.
const LOSSES_MAX: u32 = 20;

/// With this RTT and so small a window the cubic would give 1.8 times the window in a round trip.
pub(crate) const BOUND: Case = Case {
    name: "a-round-trip-adds-at-most-half-a-window",
    clause: clause("4.2", Level::Rule),
    path: Path { rtt_ms: 900, ..LONG },
    demanded: "a target beyond 1.5 windows counts as 1.5 windows",
    program: |_, bed| {
        bed.grow_to(8.0)?;
        for losses in 0.. {
            if bed.lose_and_repair()?.after <= 5.0 {
                break;
            }
            if losses == LOSSES_MAX {
                return Err(Fault::NotObservable("losses do not make the window small".to_owned()));
            }
        }
        let (mut before, mut steepest) = (bed.round_trip()?, 1.0_f64);
        for _ in 0..14 {
            let window = bed.round_trip()?;
            demand!(
                window <= 1.5 * before + 1.0,
                "from {before} to {window} segments in a round trip"
            );
            if before > 8.0 {
                steepest = steepest.max(window / before);
            }
            before = window;
        }
        bed.expect("the steepest growth in a round trip", steepest, 1.2..=1.6)
    },
    ..BASE
};

fn slow(bed: &Bed, segments: u64) -> Traffic {
    Traffic::PerMillisecond(segments * PAYLOAD / bed.path.rtt_ms)
}

/// With the ten seconds in it, the cubic would be far above W_max.
pub(crate) const LIMITED_TIME: Case = Case {
    name: "limited-time-is-not-in-the-curve",
    clause: clause("4.2", Level::Must),
    demanded: "after ten seconds with little data the window goes on from where it was",
    program: |_, bed| {
        let (cut, (w_max, begin)) = begin_epoch(bed)?;
        bed.run_to(cut.at + Span::from_secs(1));
        bed.traffic = slow(bed, 8);
        bed.run_for(Span::from_secs(10));
        bed.traffic = Traffic::Bulk;
        let back = bed.now;
        bed.run_for(Span::from_millis(600));
        let soon = bed.wire().peak_since(back);
        bed.expect("the window after 0.6 s in segments", soon, 0.9 * begin..=1.02 * w_max)?;
        bed.run_for(Span::from_millis(1400));
        let later = bed.wire().peak_since(back);
        bed.expect("the window after 2 s in segments", later, begin..=1.1 * w_max)
    },
    ..BASE
};

/// The window after an idle time may be that of RFC 5681, section 4.1.
pub(crate) const IDLE_TIME: Case = Case {
    name: "idle-time-is-not-in-the-curve",
    clause: clause("4.2", Level::Must),
    demanded: "after ten idle seconds the window does not jump beyond W_max",
    program: |_, bed| {
        let (cut, (w_max, _)) = begin_epoch(bed)?;
        bed.run_to(cut.at + Span::from_secs(1));
        bed.traffic = Traffic::Pause;
        bed.run_for(Span::from_secs(10));
        demand!(bed.flight() == 0.0, "data is in flight after ten idle seconds");
        bed.traffic = Traffic::Bulk;
        let back = bed.now;
        bed.run_for(Span::from_secs(3));
        let later = bed.wire().peak_since(back);
        bed.expect("the window after 3 s in segments", later, 10.0..=1.1 * w_max)
    },
    ..BASE
};

pub(crate) const UNUSED: Case = Case {
    name: "an-unused-window-does-not-grow",
    clause: clause("5.8", Level::Rule),
    path: SHORT,
    demanded: "a window that the application does not use stays as it is",
    program: |_, bed| {
        bed.grow_to(48.0)?;
        bed.lose_and_repair()?;
        let before = bed.round_trip()?;
        bed.traffic = slow(bed, 12);
        bed.run_for(Span::from_secs(8));
        bed.traffic = Traffic::Bulk;
        let after = bed.round_trip()?.max(bed.round_trip()?);
        bed.expect("the window after 8 s in segments", after, 2.0..=before + 6.0)
    },
    ..BASE
};
