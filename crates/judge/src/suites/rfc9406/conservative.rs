//! Conservative slow start (CSS).

use super::*;
use crate::bed::PAYLOAD;
use crate::case::demand;
use std::cell::Cell;
use std::rc::Rc;

pub(crate) const DIVISOR: Case = Case {
    name: "conservative-slow-start-grows-by-a-half-at-most",
    clause: clause("4.3", Level::Must),
    demanded: "CSS_GROWTH_DIVISOR is 2 at least: a round adds at most half a window",
    program: |_, bed| {
        enter_conservative(bed)?;
        for _ in 0..3 {
            let slower = growth(bed)?;
            bed.expect("growth in a round", slower, 1.0..=1.55)?;
        }
        Ok(())
    },
    ..BASE
};

pub(crate) const QUARTER: Case = Case {
    name: "conservative-slow-start-grows-by-a-quarter",
    clause: clause("4.3", Level::Should),
    demanded: "CSS_GROWTH_DIVISOR is 4: a round adds a quarter of the window",
    program: |_, bed| {
        enter_conservative(bed)?;
        for _ in 0..3 {
            let quarter = growth(bed)?;
            bed.expect("growth in a round", quarter, 1.17..=1.33)?;
        }
        Ok(())
    },
    ..BASE
};

pub(crate) const ROUNDS: Case = Case {
    name: "five-rounds-later-congestion-avoidance-begins",
    clause: clause("4.3", Level::Should),
    demanded: "CSS lasts five rounds, the one that began it included",
    program: |_, bed| {
        enter_conservative(bed)?;
        let mut rounds = 1.0;
        while growth(bed)? > 1.1 {
            rounds += 1.0;
            demand!(rounds < 12.0, "CSS goes on");
        }
        // A round that ends within the last one of CSS may look like one of it.
        bed.expect("rounds of CSS", rounds, 4.0..=6.0)?;
        let later = growth(bed)?;
        bed.expect("growth in the next round", later, 1.0..=1.06)
    },
    ..BASE
};

pub(crate) const RESUME: Case = Case {
    name: "a-lower-rtt-resumes-slow-start",
    clause: clause("4.2", Level::Rule),
    demanded: "an RTT below that which began CSS resumes slow start",
    program: |_, bed| {
        enter_conservative(bed)?;
        bed.leave_alone();
        growth(bed)?;
        growth(bed)?;
        let doubled = growth(bed)?;
        bed.expect("growth in the second round afterwards", doubled, 1.8..=2.1)
    },
    ..BASE
};

pub(crate) const STAY: Case = Case {
    name: "the-same-rtt-does-not-resume-slow-start",
    clause: clause("4.2", Level::Rule),
    demanded: "while the RTT stays at its new value, CSS goes on",
    program: |_, bed| {
        enter_conservative(bed)?;
        for _ in 0..4 {
            let slower = growth(bed)?;
            bed.expect("growth in a round", slower, 1.0..=1.5)?;
        }
        Ok(())
    },
    ..BASE
};

/// CUBIC's growth after a reduction is some segments per round trip.
fn is_avoidance(bed: &mut Bed) -> Result<(), Fault> {
    for _ in 0..3 {
        let slow = growth(bed)?;
        bed.expect("growth in a round", slow, 0.95..=1.1)?;
    }
    Ok(())
}

pub(crate) const LOSS: Case = Case {
    name: "a-loss-ends-conservative-slow-start",
    clause: clause("4.2", Level::Rule),
    demanded: "after a loss in CSS congestion avoidance follows",
    program: |_, bed| {
        enter_conservative(bed)?;
        bed.lose_and_repair()?;
        is_avoidance(bed)
    },
    ..BASE
};

pub(crate) const ECHO: Case = Case {
    name: "an-echo-ends-conservative-slow-start",
    clause: clause("4.2", Level::Rule),
    setup: Setup { ecn: Ecn::Classic, ..Setup::DEFAULT },
    demanded: "after an ECN echo in CSS congestion avoidance follows",
    program: |_, bed| {
        enter_conservative(bed)?;
        bed.mark(1)?;
        is_avoidance(bed)
    },
    ..BASE
};

/// Loses ACKs until a timeout sends old data again, so that slow start then sends new data, whose RTTs count.
fn lose_acks_until_timeout(bed: &mut Bed) -> Result<(), Fault> {
    let over = Rc::new(Cell::new(false));
    let is_over = Rc::clone(&over);
    let mut highest = None;
    bed.on_data(move |packet, again| {
        let seq = packet.segment.seq;
        let first = *highest.get_or_insert(seq);
        if first.is_before(seq) {
            highest = Some(seq);
        }
        // A tail loss probe repeats the end of the flight.
        let is_old = again && seq.at(10 * PAYLOAD).is_before(first);
        over.set(over.get() || is_old);
        Fate::Pass
    });
    bed.on_acks(move |_| if is_over.get() { Fate::Pass } else { Fate::Drop });
    // What was acknowledged before is still on its way.
    bed.run_for(bed.rtt());
    bed.run_until_acked(bed.wire().acked() + 1)?;
    bed.leave_alone();
    Ok(())
}

/// ssthresh is some 350 segments. With HyStart++ eight packets in a round trip would be a hundred after six round
/// trips.
pub(crate) const FIRST_ONLY: Case = Case {
    name: "only-the-first-slow-start-has-it",
    clause: clause("4.3", Level::Should),
    demanded: "after a timeout a delay increase does not slow the growth to ssthresh",
    program: |_, bed| {
        bed.grow_to(256.0)?;
        let from = bed.now;
        lose_acks_until_timeout(bed)?;
        let before = bed.wire().peak_since(from);
        while bed.packets_in(bed.rtt()) < 8.0 {
            demand!(bed.seconds() < 20.0, "it sends less than 8 packets in a round trip");
        }
        delay(bed, 30);
        bed.run_for(Span::from_millis(6 * 130));
        let packets = bed.packets_in(Span::from_millis(130));
        bed.expect("packets in a round trip by the window before", packets / before, 0.42..=1.0)
    },
    ..BASE
};
