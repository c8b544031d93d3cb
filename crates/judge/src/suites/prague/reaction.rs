//! The reaction to marks and losses.

use super::*;

pub(crate) const FIRST: Case = Case {
    name: "the-first-mark-halves-the-window",
    clause: clause("2.4.2", Level::Rule),
    demanded: "alpha is one at the first mark: it halves the window",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        let cut = bed.mark(1)?;
        bed.expect("the part left by the first mark", cut.factor(), 0.44..=0.62)
    },
    ..BASE
};

/// With a weight of 1/8 alpha would be 0.07 and the part 0.97, with 1/32 0.53 and 0.73.
pub(crate) const DECAY: Case = Case {
    name: "alpha-decays-by-a-sixteenth-a-round",
    clause: clause("2.3.2", Level::Rule),
    demanded: "round trips without a mark reduce alpha by 1/16 of it each",
    program: |_, bed| {
        settle(bed, 80.0, 18)?;
        let expected = 1.0 - libm::pow(1.0 - GAIN, 20.0) / 2.0;
        let cut = bed.mark(1)?;
        bed.expect("the part left by a mark", cut.factor(), expected - 0.06..=expected + 0.06)
    },
    ..BASE
};

pub(crate) const PEACE: Case = Case {
    name: "a-mark-after-long-peace-reduces-little",
    clause: clause("2.3.2", Level::Rule),
    demanded: "after sixty round trips without a mark, one mark reduces the window by a few per cent",
    program: |_, bed| {
        settle(bed, 60.0, 60)?;
        let cut = bed.mark(1)?;
        bed.expect("the part left by a mark", cut.factor(), 0.93..=1.03)
    },
    ..BASE
};

/// A sender that takes a round trip with a mark for a marked one would have a third of the window left.
pub(crate) const SHARE: Case = Case {
    name: "alpha-follows-the-share-of-marks",
    clause: clause("2.3.2", Level::Rule),
    demanded: "with marks on a quarter of the data, ten rounds reduce by half of the growing estimate",
    tolerance: 0.12,
    program: |case, bed| {
        settle(bed, 120.0, 40)?;
        let before = bed.window();
        let mut packets = 0;
        bed.on_data(move |_, _| {
            packets += 1;
            if packets % 4 == 0 { Fate::Mark } else { Fate::Pass }
        });
        bed.run_for(bed.rtt() * 11);
        bed.leave_alone();
        bed.run_for(bed.rtt() * 2);
        let (mut alpha, mut left) = (libm::pow(1.0 - GAIN, 42.0), 1.0);
        for _ in 0..10 {
            alpha += GAIN * (0.25 - alpha);
            left *= 1.0 - alpha / 2.0;
        }
        let range = left * (1.0 - case.tolerance)..=left * (1.0 + case.tolerance) + 0.05;
        bed.expect("the part left after ten rounds", bed.window() / before, range)
    },
    ..BASE
};

pub(crate) const ONCE: Case = Case {
    name: "a-round-trip-has-one-reduction",
    clause: clause("2.4.2", Level::Rule),
    demanded: "many marks in a round trip reduce the window once",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        let cut = bed.mark(10)?;
        bed.expect("the part left by ten marks", cut.factor(), 0.44..=0.62)
    },
    ..BASE
};

/// The draft asks for Reno's reaction at least; CUBIC's is the smallest that it names.
pub(crate) const LOSS: Case = Case {
    name: "a-loss-halves-the-window",
    clause: clause("2.4.1", Level::Must),
    demanded: "a loss reduces the window as a classic controller does, however small alpha is",
    program: |_, bed| {
        settle(bed, 120.0, 40)?;
        let cut = bed.lose_next()?;
        bed.expect("the part left by a loss", cut.factor(), 0.44..=0.74)
    },
    ..BASE
};

pub(crate) const LOSS_AFTER_MARK: Case = Case {
    name: "a-loss-after-a-mark-halves-the-window",
    clause: clause("2.4.1", Level::Rule),
    demanded: "a loss in the round trip of a mark reduces the window as without the mark",
    program: |_, bed| {
        settle(bed, 120.0, 40)?;
        let mut packets = 0;
        bed.on_data(move |_, _| {
            packets += 1;
            match packets {
                1 => Fate::Mark,
                5 => Fate::Drop,
                _ => Fate::Pass,
            }
        });
        let cut = bed.repair()?;
        bed.expect("the part left by both", cut.factor(), 0.4..=0.74)
    },
    ..BASE
};

pub(crate) const TIMEOUT: Case = Case {
    name: "a-timeout-restarts-slow-start",
    clause: clause("2.4.1", Level::Rule),
    demanded: "a timeout leaves one segment, and slow start follows (RFC 5681 section 3.1)",
    program: |_, bed| {
        settle(bed, 60.0, 10)?;
        bed.time_out()?;
        let first = bed.packets_in(bed.rtt());
        bed.expect("packets in the first round trip", first, 1.0..=4.0)?;
        let second = bed.packets_in(bed.rtt());
        let third = bed.packets_in(bed.rtt());
        bed.expect("growth in the third round trip", third / second, 1.5..=2.6)
    },
    ..BASE
};
