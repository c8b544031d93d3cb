//! DCTCP (RFC 8257): the sender.
//!
//! A program sets the echoes of the receiver by itself: the receiver of DCTCP echoes the marks of exactly the data
//! that an ACK acknowledges (section 3.2).

#[cfg(test)]
use super::subjects::engine;
use super::suite;
use crate::bed::{Bed, Cut, Fate, Path, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level, demand};
use crate::subject::{Ecn, Setup};
use windlass_base::Ecn as Codepoint;
use windlass_tcp::Flags;

const PATH: Path = Path { mbit_per_s: 400.0, rtt_ms: 10, queue_bdp: 2.0 };
const SETUP: Setup = Setup { ecn: Ecn::Classic, ..Setup::DEFAULT };
/// g (section 4.2).
const GAIN: f64 = 1.0 / 16.0;

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 8257", section, level }
}

const BASE: Case = Case {
    name: "",
    clause: clause("", Level::Rule),
    concerns: Concerns::Controllers(&["dctcp"]),
    setup: SETUP,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &[],
    demanded: "",
    tolerance: 0.0,
    program: |_, _| Ok(()),
};

/// From now on, `echoes` of each `of` ACKs have ECE.
fn echo_share(bed: &mut Bed, echoes: u32, of: u32) {
    let mut ack = 0;
    bed.on_acks(move |packet| {
        ack = (ack + 1) % of;
        if ack < echoes {
            packet.segment.flags |= Flags::ECE;
        }
        Fate::Pass
    });
}

/// Echoes on the next so many ACKs, and the reduction that they cause.
fn echo(bed: &mut Bed, mut acks: u32) -> Result<Cut, Fault> {
    bed.demand_ect()?;
    let from = bed.now;
    bed.on_acks(move |packet| {
        if acks > 0 {
            acks -= 1;
            packet.segment.flags |= Flags::ECE;
        }
        Fate::Pass
    });
    let echoed = |bed: &Bed| {
        let arrived = bed.wire().events().iter().rev().take_while(|event| event.at >= from);
        arrived.into_iter().any(|event| event.packet.segment.flags.contains(Flags::ECE))
    };
    bed.run_until(bed.rtt() * 3, echoed);
    let before = bed.wire().peak_since(from);
    bed.run_until_acked(bed.wire().sent())?;
    let at = bed.now;
    Ok(Cut { before, after: bed.round_trip()?, at })
}

/// DCTCP.Alpha after a number of windows without marks, from one.
fn decayed(windows: u32) -> f64 {
    libm::pow(1.0 - GAIN, f64::from(windows))
}

/// Grows to a window, with a number of windows of data since the beginning.
fn rounds(bed: &mut Bed, segments: f64) -> Result<u32, Fault> {
    bed.grow_to(1.0)?;
    let mut windows = 0;
    while bed.round_trip()? < segments {
        windows += 1;
    }
    Ok(windows)
}

const ECT: Case = Case {
    name: "data-is-ect",
    clause: clause("3.3", Level::Rule),
    demanded: "data is ECT, so that queues can mark it",
    program: |_, bed| {
        bed.grow_to(20.0)?;
        let codepoint = bed.wire().codepoint();
        demand!(codepoint == Some(Codepoint::Ect0), "data is {codepoint:?}");
        Ok(())
    },
    ..BASE
};

const FIRST: Case = Case {
    name: "alpha-begins-with-one",
    clause: clause("4.2", Level::Should),
    demanded: "an early mark reduces the window by nearly a half",
    program: |_, bed| {
        let windows = rounds(bed, 60.0)?;
        let cut = echo(bed, 1)?;
        // The window of the echo itself counts too; where it ends is open.
        let [more, less] = [windows - 1, windows + 3].map(|windows| 1.0 - decayed(windows) / 2.0);
        bed.expect("the part left by the first mark", cut.factor(), more - 0.04..=less + 0.04)
    },
    ..BASE
};

/// With g = 1/8 alpha would be 0.06 and the part 0.97, with 1/32 0.50 and 0.75, and without decay 0.5.
const DECAY: Case = Case {
    name: "alpha-decays-by-a-sixteenth-a-window",
    clause: clause("3.3", Level::Rule),
    demanded: "windows without a mark reduce alpha by 1/16 of it each",
    program: |_, bed| {
        let mut windows = rounds(bed, 50.0)?;
        bed.lose_next()?;
        windows += 3;
        while windows < 21 {
            bed.round_trip()?;
            windows += 1;
        }
        let cut = echo(bed, 1)?;
        let expected = 1.0 - decayed(windows) / 2.0;
        bed.expect("the part left by a mark", cut.factor(), expected - 0.05..=expected + 0.05)
    },
    ..BASE
};

const LONG_DECAY: Case = Case {
    name: "a-mark-after-long-peace-reduces-little",
    clause: clause("3.3", Level::Rule),
    demanded: "after fifty windows without a mark, one mark reduces the window by 3 % at most",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        bed.lose_next()?;
        for _ in 0..50 {
            bed.round_trip()?;
        }
        let cut = echo(bed, 1)?;
        bed.expect("the part left by a mark", cut.factor(), 0.95..=1.02)
    },
    ..BASE
};

/// The part of the window that is left by a number of windows with a share of marks, by the document's reductions.
fn left(mut alpha: f64, share: f64, windows: u32) -> f64 {
    let mut left = 1.0;
    for _ in 0..windows {
        alpha += GAIN * (share - alpha);
        left *= 1.0 - alpha / 2.0;
    }
    left
}

/// Echoes a share for a number of round trips to a sender whose alpha is small, and compares. A window of observation
/// may be cut at each end, and the first reduction may precede the first update.
fn follow(case: &Case, bed: &mut Bed, (echoes, of): (u32, u32), windows: u32) -> Result<(), Fault> {
    bed.grow_to(150.0)?;
    bed.lose_next()?;
    for _ in 0..50 {
        bed.round_trip()?;
    }
    bed.demand_ect()?;
    let before = bed.window();
    echo_share(bed, echoes, of);
    for _ in 0..windows {
        bed.run_for(bed.rtt());
    }
    bed.leave_alone();
    bed.round_trip()?;
    let seen = bed.round_trip()? / before;
    let share = f64::from(echoes) / f64::from(of);
    let [most, least] = [windows - 2, windows + 1].map(|windows| left(decayed(52), share, windows));
    let range = least * (1.0 - case.tolerance)..=most * (1.0 + case.tolerance);
    bed.expect("the part left in the end", seen, range)
}

/// A sender that takes a window with a mark for a marked one would have a third of the window left.
const SHARE: Case = Case {
    name: "alpha-follows-the-share-of-marks",
    clause: clause("3.3", Level::Rule),
    demanded: "with marks on a quarter of the data, ten windows reduce by half of the growing estimate",
    tolerance: 0.06,
    program: |case, bed| follow(case, bed, (1, 4), 10),
    ..BASE
};

const FULL: Case = Case {
    name: "marks-of-all-data-raise-alpha",
    clause: clause("3.3", Level::Rule),
    demanded: "with marks on all data, eight windows reduce by half of the growing estimate",
    tolerance: 0.06,
    program: |case, bed| follow(case, bed, (1, 1), 8),
    ..BASE
};

const ONCE: Case = Case {
    name: "a-window-has-one-reduction",
    clause: clause("3.3", Level::Rule),
    demanded: "many marks in a window reduce it once, by half of alpha",
    program: |_, bed| {
        let windows = rounds(bed, 60.0)?;
        let cut = echo(bed, 20)?;
        let [more, less] = [windows - 1, windows + 3].map(|windows| 1.0 - decayed(windows) / 2.0);
        bed.expect("the part left by twenty marks", cut.factor(), more - 0.06..=less + 0.04)
    },
    ..BASE
};

const LOSS: Case = Case {
    name: "a-loss-halves-the-window",
    clause: clause("3.5", Level::Must),
    demanded: "a loss halves the window, however small alpha is",
    program: |_, bed| {
        bed.grow_to(100.0)?;
        let first = bed.lose_next()?;
        bed.expect("the part left by the first loss", first.factor(), 0.46..=0.55)?;
        for _ in 0..40 {
            bed.round_trip()?;
        }
        let second = bed.lose_next()?;
        bed.expect("the part left by a loss", second.factor(), 0.46..=0.55)
    },
    ..BASE
};

const TIMEOUT: Case = Case {
    name: "a-timeout-restarts-slow-start",
    clause: clause("3.5", Level::Must),
    demanded: "a timeout leaves one segment, and slow start goes to half of the window",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        bed.lose_next()?;
        for _ in 0..10 {
            bed.round_trip()?;
        }
        let before = bed.time_out()?;
        let mut packets = bed.packets_in(bed.rtt());
        demand!(packets <= 3.0, "{packets} packets in the round trip after the retransmission");
        loop {
            let next = bed.packets_in(bed.rtt());
            if next < 1.6 * packets {
                let end = next / before;
                return bed.expect("the end of slow start by the window before", end, 0.42..=0.58);
            }
            demand!(next < before, "slow start goes on");
            packets = next;
        }
    },
    ..BASE
};

const GROWTH: Case = Case {
    name: "growth-is-renos",
    clause: clause("3.4", Level::Rule),
    demanded: "slow start doubles the window, congestion avoidance adds a segment per round trip",
    program: |_, bed| {
        bed.grow_to(1.0)?;
        let (first, second) = (bed.round_trip()?, bed.round_trip()?);
        bed.expect("growth in slow start", second / first, 1.8..=2.1)?;
        bed.lose_next()?;
        let begin = bed.round_trip()?;
        for _ in 0..10 {
            bed.round_trip()?;
        }
        let slope = (bed.window() - begin) / 10.0;
        bed.expect("segments per round trip in congestion avoidance", slope, 0.85..=1.15)
    },
    ..BASE
};

const ENDS_SLOW_START: Case = Case {
    name: "a-mark-ends-slow-start",
    clause: clause("3.3", Level::Rule),
    demanded: "after a reduction by marks congestion avoidance follows",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        let cut = echo(bed, 1)?;
        for _ in 0..5 {
            bed.round_trip()?;
        }
        let growth = bed.window() - cut.after;
        bed.expect("growth in five round trips in segments", growth, 2.0..=7.0)
    },
    ..BASE
};

suite!("rfc8257", "DCTCP", include_str!("coverage.toml"), [engine("dctcp")], {
    data_is_ect: ECT,
    alpha_begins_with_one: FIRST,
    alpha_decays_by_a_sixteenth_a_window: DECAY,
    a_mark_after_long_peace_reduces_little: LONG_DECAY,
    alpha_follows_the_share_of_marks: SHARE,
    marks_of_all_data_raise_alpha: FULL,
    a_window_has_one_reduction: ONCE,
    a_mark_ends_slow_start: ENDS_SLOW_START,
    a_loss_halves_the_window: LOSS,
    a_timeout_restarts_slow_start: TIMEOUT,
    growth_is_renos: GROWTH,
});
