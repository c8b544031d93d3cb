//! Multiplicative decrease and fast convergence.

use super::*;
use crate::bed::Fate;
use crate::case::demand;

pub(crate) const LOSS: Case = Case {
    name: "a-loss-leaves-seven-tenths",
    clause: clause("4.6", Level::Should),
    demanded: "after a loss the window is 0.7 of its value before",
    program: |_, bed| {
        bed.grow_to(64.0)?;
        let first = bed.lose_next()?;
        bed.expect("the part left by the first loss", first.factor(), 0.66..=0.74)?;
        bed.run_for(Span::from_secs(2));
        let second = bed.lose_next()?;
        bed.expect("the part left by the second loss", second.factor(), 0.66..=0.74)
    },
    ..BASE
};

pub(crate) const ECHO: Case = Case {
    name: "an-echo-leaves-seven-tenths",
    clause: clause("4.6", Level::Should),
    setup: ECN,
    demanded: "an ECN echo leaves 0.7 of the window, as a loss does",
    program: |_, bed| {
        bed.grow_to(64.0)?;
        bed.lose_next()?;
        bed.run_for(Span::from_secs(2));
        let cut = bed.mark(1)?;
        bed.expect("the part left by an echo", cut.factor(), 0.66..=0.74)?;
        demand!(bed.wire().resent() == 1, "it sends data again after a mark");
        Ok(())
    },
    ..BASE
};

/// Linux keeps two segments.
pub(crate) const TO_ONE: Case = Case {
    name: "echoes-reduce-the-window-to-one-segment",
    clause: clause("4.6", Level::Must),
    setup: ECN,
    path: SHORT,
    demanded: "echoes of all data reduce the window to one segment",
    program: |_, bed| {
        bed.grow_to(16.0)?;
        bed.demand_ect()?;
        bed.on_data(|_, _| Fate::Mark);
        bed.run_for(Span::from_secs(2));
        let from = bed.now;
        bed.run_for(Span::from_secs(2));
        let most = bed.wire().peak_since(from);
        bed.expect("the largest flight in segments", most, 0.0..=1.0)
    },
    ..BASE
};

pub(crate) const TO_TWO: Case = Case {
    name: "a-loss-leaves-two-segments",
    clause: clause("4.6", Level::Rule),
    path: SHORT,
    demanded: "repeated losses leave a window of two segments at least",
    program: |_, bed| {
        bed.grow_to(8.0)?;
        for _ in 0..10 {
            let begin = bed.now;
            let cut = bed.lose_next()?;
            demand!(bed.seconds_since(begin) < 2.0, "a timeout repairs a loss");
            bed.expect("the window after a loss in segments", cut.after, 2.0..=cut.before)?;
        }
        demand!(bed.round_trip()? <= 5.0, "the window is not small in the end");
        Ok(())
    },
    ..BASE
};

/// Without fast convergence the second plateau would be at the window of the second loss.
pub(crate) const FAST_CONVERGENCE: Case = Case {
    name: "a-loss-below-the-plateau-lowers-the-next-one",
    clause: clause("4.7", Level::Should),
    demanded: "a loss below W_max makes the next W_max 0.85 of the window",
    tolerance: 0.04,
    program: |case, bed| {
        bed.grow_to(64.0)?;
        let first = bed.lose_next()?;
        bed.run_to(first.at + bed.rtt() * 2);
        let cut = bed.lose_next()?;
        demand!(cut.before < 0.85 * first.before, "the second loss is not below the plateau");
        let plateau = cut.before * (1.0 + BETA) / 2.0;
        let begin = cut.before * BETA;
        follow(case, bed, &cut, (plateau, begin), k(plateau, begin), "the second plateau")
    },
    ..BASE
};

pub(crate) const RISING_PLATEAU: Case = Case {
    name: "a-loss-above-the-plateau-raises-the-next-one",
    clause: clause("4.7", Level::Rule),
    demanded: "a loss above W_max makes the window the next W_max",
    tolerance: 0.04,
    program: |case, bed| {
        bed.grow_to(32.0)?;
        let first = bed.lose_next()?;
        let k_s = k(first.before, BETA * first.before);
        bed.run_to(first.at + Span::from_secs_f64(2.0 * k_s));
        let cut = bed.lose_next()?;
        demand!(cut.before > 1.1 * first.before, "the second loss is not above the plateau");
        let begin = cut.before * BETA;
        follow(case, bed, &cut, (cut.before, begin), k(cut.before, begin), "the second plateau")
    },
    ..BASE
};
