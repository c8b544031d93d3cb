//! The end of slow start by a delay increase.

use super::*;
use crate::case::demand;

/// From here on growth counts as that of slow start.
const DOUBLING: f64 = 1.85;
/// Up to here it counts as slower.
const SLOWER: f64 = 1.5;

pub(crate) const EXIT: Case = Case {
    name: "a-delay-increase-slows-growth",
    clause: clause("4.2", Level::Rule),
    demanded: "a round whose RTT is larger by 20 of 100 ms ends slow start",
    program: |_, bed| {
        enter_conservative(bed)?;
        for _ in 0..2 {
            let slower = growth(bed)?;
            bed.expect("growth in a round afterwards", slower, 1.05..=SLOWER)?;
        }
        demand!(bed.dropped() == 0, "packets were lost");
        Ok(())
    },
    ..BASE
};

pub(crate) const NO_EXIT: Case = Case {
    name: "without-a-delay-increase-slow-start-goes-on",
    clause: clause("4.2", Level::Rule),
    demanded: "slow start doubles the window as long as the RTT stays",
    program: |_, bed| {
        begin(bed)?;
        for _ in 0..6 {
            let doubled = growth(bed)?;
            bed.expect("growth in a round", doubled, DOUBLING..=2.1)?;
        }
        Ok(())
    },
    ..BASE
};

/// An increase that is too small, then one that is large enough.
fn threshold(bed: &mut Bed, below_ms: u64, above_ms: u64) -> Result<(), Fault> {
    begin(bed)?;
    growth(bed)?;
    delay(bed, below_ms);
    growth(bed)?;
    for _ in 0..2 {
        let small = growth(bed)?;
        bed.expect("growth after the smaller increase", small, DOUBLING..=2.1)?;
    }
    delay(bed, below_ms + above_ms);
    growth(bed)?;
    growth(bed)?;
    let large = growth(bed)?;
    bed.expect("growth after the larger increase", large, 1.05..=SLOWER)
}

pub(crate) const EIGHTH: Case = Case {
    name: "the-threshold-is-an-eighth-of-the-rtt",
    clause: clause("4.2", Level::Rule),
    path: Path { rtt_ms: 80, ..PATH },
    demanded: "of 80 ms, 8 more are no sign, and 13 are",
    program: |_, bed| threshold(bed, 8, 13),
    ..BASE
};

pub(crate) const LEAST: Case = Case {
    name: "the-threshold-is-four-milliseconds-at-least",
    clause: clause("4.3", Level::Should),
    path: Path { rtt_ms: 16, ..PATH },
    demanded: "of 16 ms, 3 more are no sign, and 6 are",
    program: |_, bed| threshold(bed, 3, 6),
    ..BASE
};

pub(crate) const MOST: Case = Case {
    name: "the-threshold-is-sixteen-milliseconds-at-most",
    clause: clause("4.3", Level::Should),
    path: Path { rtt_ms: 300, ..PATH },
    demanded: "of 300 ms, 14 more are no sign, and 18 are",
    program: |_, bed| threshold(bed, 14, 18),
    ..BASE
};

/// Of each five ACKs one arrives: four samples of the second burst. The third has eight, and the same RTT.
pub(crate) const SAMPLES: Case = Case {
    name: "fewer-than-eight-samples-decide-nothing",
    clause: clause("4.2", Level::Rule),
    demanded: "a larger RTT in a round with four samples does not end slow start",
    program: |_, bed| {
        begin(bed)?;
        let mut acks = 0;
        bed.on_acks(move |_| {
            acks += 1;
            if acks % 5 == 0 { Fate::Pass } else { Fate::Drop }
        });
        delay(bed, 40);
        for _ in 0..4 {
            let doubled = growth(bed)?;
            bed.expect("growth in a round", doubled, 1.8..=2.1)?;
        }
        Ok(())
    },
    ..BASE
};

pub(crate) const LEAST_OF_ROUND: Case = Case {
    name: "the-least-rtt-of-a-round-counts",
    clause: clause("4.2", Level::Rule),
    demanded: "late packets behind others that are not late do not end slow start",
    program: |_, bed| {
        begin(bed)?;
        growth(bed)?;
        let mut packets = 0;
        bed.on_data(move |_, _| {
            packets += 1;
            if packets <= 16 { Fate::Pass } else { Fate::Late(Span::from_millis(40)) }
        });
        growth(bed)?;
        bed.leave_alone();
        for _ in 0..3 {
            let doubled = growth(bed)?;
            bed.expect("growth in a round", doubled, DOUBLING..=2.1)?;
        }
        Ok(())
    },
    ..BASE
};
