//! Conservative slow start (CSS).

use super::*;
use crate::bed::PAYLOAD;
use crate::case::demand;

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

/// A short flight after a large window, whose ACKs are lost: the timeout leaves a large ssthresh if that follows cwnd.
/// Slow start then sends new data, whose RTTs count. With HyStart++ the growth in four round trips would be sixfold.
pub(crate) const FIRST_ONLY: Case = Case {
    name: "only-the-first-slow-start-has-it",
    clause: clause("4.3", Level::Should),
    demanded: "after a timeout a delay increase does not slow the growth to ssthresh",
    program: |_, bed| {
        bed.grow_to(256.0)?;
        bed.traffic = Traffic::Pause;
        demand!(bed.run_until(Span::from_secs(5), |bed| bed.flight() == 0.0), "data is in flight");
        let mut lost = Span::from_millis(150);
        bed.write(20 * PAYLOAD);
        let (begin, resent) = (bed.now, bed.wire().resent());
        bed.on_acks(|_| Fate::Drop);
        // A tail loss probe may come first.
        bed.run_until(Span::from_secs(3), |bed| bed.wire().resent() > resent + 1);
        lost = lost.max(bed.now.saturating_since(begin));
        bed.leave_alone();
        bed.run_for(lost);
        bed.traffic = Traffic::Bulk;
        while bed.packets_in(bed.rtt()) < 16.0 {
            demand!(bed.seconds() < 30.0, "it sends less than 16 packets in a round trip");
        }
        let begin = bed.packets_in(bed.rtt());
        let next = bed.packets_in(bed.rtt());
        if next < 1.7 * begin {
            let why =
                "ssthresh follows the short flight, so that no slow start follows the timeout";
            return Err(Fault::NotObservable(why.to_owned()));
        }
        delay(bed, 30);
        bed.run_for(Span::from_millis(3 * 130));
        let packets = bed.packets_in(Span::from_millis(130));
        bed.expect("growth in four round trips", packets / next, 8.5..=20.0)
    },
    ..BASE
};
