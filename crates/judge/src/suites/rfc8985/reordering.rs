//! The reordering window, which adapts.

use super::*;

const SEGMENTS: u64 = 12;
/// More than a quarter of the RTT and less than a half.
const LATE: Span = Span::from_millis(20);
/// Three RTTs: a window without a limit would grow to that.
const VERY_LATE: Span = Span::from_millis(150);

pub(super) const SEEN: Case = Case {
    name: "after-reordering-three-sacked-segments-wait",
    clause: clause("6.2", Level::Rule),
    demanded: "once reordering was seen, a segment overtaken by ten within a quarter of the RTT is not sent again",
    program: |_, bed| {
        show_reordering(bed)?;
        let resent = late_segment(bed, SEGMENTS, Span::from_millis(7))?;
        bed.expect("retransmissions", resent as f64, 0.0..=0.0)
    },
    ..RACK
};

/// Brings a needless retransmission, whose duplicate the receiver reports: the window becomes half an RTT.
fn widen(bed: &mut Bed) -> Verdict {
    show_reordering(bed)?;
    let resent = late_segment(bed, SEGMENTS, LATE)?;
    bed.expect("retransmissions of a segment late by 0.4 RTT", resent as f64, 1.0..=1.0)
}

pub(super) const DSACK: Case = Case {
    name: "a-duplicate-widens-the-reordering-window",
    clause: clause("6.2", Level::Rule),
    demanded: "a report of a duplicate widens the window by a quarter of the RTT",
    program: |_, bed| {
        widen(bed)?;
        let resent = late_segment(bed, SEGMENTS, LATE)?;
        bed.expect("retransmissions of the next such segment", resent as f64, 0.0..=0.0)
    },
    ..RACK
};

fn recoveries(bed: &mut Bed, count: u32) -> Verdict {
    for _ in 0..count {
        bed.lose(&[0]);
        bed.write_segments(4);
        bed.drain()?;
    }
    Ok(())
}

pub(super) const PERSIST: Case = Case {
    name: "the-reordering-window-shrinks-after-sixteen-recoveries",
    clause: clause("6.2", Level::Rule),
    demanded: "a wider window lasts for sixteen recoveries without a duplicate, and is a quarter of the RTT then",
    program: |_, bed| {
        widen(bed)?;
        recoveries(bed, 12)?;
        let during = late_segment(bed, SEGMENTS, LATE)?;
        bed.expect("retransmissions after 12 recoveries", during as f64, 0.0..=0.0)?;
        recoveries(bed, 6)?;
        let after = late_segment(bed, SEGMENTS, LATE)?;
        bed.expect("retransmissions after 18 recoveries", after as f64, 1.0..=1.0)
    },
    ..RACK
};

pub(super) const LIMIT: Case = Case {
    name: "the-reordering-window-is-an-rtt-at-most",
    clause: clause("6.2", Level::Must),
    // With timestamps the receiver refuses an original behind its copy (RFC 7323 section 5), and may not report it.
    setup: Setup { timestamps: false, ..RACK.setup },
    demanded: "many reports of duplicates widen the window to the smoothed RTT and no further",
    program: |_, bed| {
        show_reordering(bed)?;
        for _ in 0..8 {
            late_segment(bed, SEGMENTS, VERY_LATE)?;
        }
        bed.grow_and_drain(SEGMENTS)?;
        bed.lose(&[0]);
        let flight = bed.write_segments(SEGMENTS);
        let copy = bed.await_resent()?;
        let seconds = copy.at.saturating_since(flight.at).as_secs_f64();
        bed.expect("seconds to the retransmission of a lost segment", seconds, 0.05..=0.145)
    },
    ..RACK
};
