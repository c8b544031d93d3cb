//! The reaction to echoes.

use super::*;

pub(crate) const HALVES: Case = Case {
    name: "an-echo-halves-the-window",
    clause: clause("6.1.2", Level::Rule),
    concerns: Concerns::Controllers(&["reno", "newreno"]),
    demanded: "an echo halves the window",
    program: |_, bed| {
        settle(bed)?;
        for _ in 0..2 {
            let cut = bed.mark(1)?;
            bed.expect("the part left by an echo", cut.factor(), 0.44..=0.58)?;
            for _ in 0..8 {
                bed.round_trip()?;
            }
        }
        Ok(())
    },
    ..BASE
};

pub(crate) const AS_LOSS: Case = Case {
    name: "an-echo-reduces-as-a-loss-does",
    clause: clause("6.1.2", Level::Rule),
    concerns: LOSS_BASED,
    demanded: "an echo reduces the window as a loss does, without a retransmission",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        let loss = bed.lose_and_repair()?.factor();
        for _ in 0..4 {
            bed.round_trip()?;
        }
        let resent = bed.wire().resent();
        let echo = bed.mark(1)?.factor();
        bed.expect("the part left by an echo", echo, loss - 0.08..=loss + 0.08)?;
        demand!(bed.wire().resent() == resent, "it sends data again after a mark");
        Ok(())
    },
    ..BASE
};

/// A reaction to each echo would leave a small part after one mark, and a reaction to each mark after ten.
pub(crate) const ONCE: Case = Case {
    name: "the-marks-of-a-window-reduce-once",
    clause: clause("6.1.2", Level::Rule),
    demanded: "ten marks in a window reduce it as one mark does",
    program: |_, bed| {
        settle(bed)?;
        let one = bed.mark(1)?.factor();
        bed.expect("the part left by one mark", one, 0.4..=1.02)?;
        for _ in 0..12 {
            bed.round_trip()?;
        }
        let ten = bed.mark(10)?.factor();
        bed.expect("the part left by ten marks", ten, one - 0.15..=1.02)
    },
    // It ignores marks, and its cycle of gains makes the window larger or smaller meanwhile.
    concerns: Concerns::Except(&["bbr"]),
    ..BASE
};

pub(crate) const AGAIN: Case = Case {
    name: "marks-of-another-window-reduce-again",
    clause: clause("6.1.2", Level::Rule),
    demanded: "a mark in data that was sent after the reduction reduces the window again",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        bed.lose_and_repair()?;
        for _ in 0..3 {
            let cut = bed.mark(1)?;
            bed.expect("the part left by a mark", cut.factor(), 0.3..=0.9)?;
        }
        Ok(())
    },
    // DCTCP's part comes near to 1 without marks.
    concerns: LOSS_BASED,
    ..BASE
};

/// The fates of the next packets.
fn next(bed: &mut Bed, fates: [Fate; 5]) {
    let mut fates = fates.into_iter();
    bed.on_data(move |_, _| fates.next().unwrap_or(Fate::Pass));
}

pub(crate) const WITH_LOSS: Case = Case {
    name: "a-mark-and-a-loss-of-a-window-reduce-once",
    clause: clause("6.1.2", Level::Rule),
    concerns: LOSS_BASED,
    demanded: "a mark and a loss in one window reduce it once",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        let loss = bed.lose_and_repair()?.factor();
        let both = [
            [Fate::Mark, Fate::Pass, Fate::Pass, Fate::Drop, Fate::Pass],
            [Fate::Drop, Fate::Pass, Fate::Pass, Fate::Mark, Fate::Pass],
        ];
        for fates in both {
            for _ in 0..8 {
                bed.round_trip()?;
            }
            next(bed, fates);
            let cut = bed.repair()?;
            bed.expect("the part left by both", cut.factor(), loss - 0.1..=loss + 0.15)?;
        }
        Ok(())
    },
    ..BASE
};

pub(crate) const LOST_RETRANSMISSION: Case = Case {
    name: "a-lost-retransmission-reduces-again",
    clause: clause("6.1.2", Level::Rule),
    concerns: LOSS_BASED,
    demanded: "the loss of a retransmission is another instance of congestion",
    program: |_, bed| {
        bed.grow_to(60.0)?;
        let loss = bed.lose_and_repair()?.factor();
        for _ in 0..4 {
            bed.round_trip()?;
        }
        let (mut first, mut again) = (true, true);
        bed.on_data(move |_, resent| {
            let due = if resent { &mut again } else { &mut first };
            if core::mem::take(due) { Fate::Drop } else { Fate::Pass }
        });
        let cut = bed.repair()?;
        bed.expect("the part left by both losses", cut.factor(), 0.0..=0.85 * loss)
    },
    ..BASE
};

/// The round-trip time is 20 ms; no retransmission timer is so short.
pub(crate) const ONE_SEGMENT: Case = Case {
    name: "an-echo-at-one-segment-waits-for-the-timer",
    clause: clause("6.1.2", Level::Must),
    concerns: LOSS_BASED,
    demanded: "with a window of one segment, new data waits for the retransmission timer after an echo",
    program: |_, bed| {
        bed.grow_to(16.0)?;
        bed.demand_ect()?;
        bed.on_data(|_, _| Fate::Mark);
        bed.run_for(Span::from_secs(2));
        let from = bed.now;
        bed.run_for(Span::from_secs(3));
        let most = bed.wire().peak_since(from);
        bed.expect("the largest flight in segments", most, 0.0..=1.0)?;
        let packets = bed.wire().data_since(from).count() as f64;
        bed.expect("packets in three seconds", packets, 1.0..=20.0)?;
        let timeouts = bed.wire().resent() as f64;
        bed.expect("packets sent again", timeouts, 0.0..=0.0)
    },
    ..BASE
};
