//! Slow start, and congestion avoidance after a timeout.

use super::*;
use crate::case::demand;

pub(crate) const SLOW_START: Case = Case {
    name: "slow-start-doubles-the-window",
    clause: clause("4.10", Level::Must),
    demanded: "below ssthresh a round trip doubles the window, and not more",
    program: |_, bed| {
        bed.grow_to(1.0)?;
        let mut before = bed.round_trip()?;
        while before < 150.0 {
            let window = bed.round_trip()?;
            bed.expect("growth in a round trip", window / before, 1.8..=2.1)?;
            before = window;
        }
        Ok(())
    },
    ..BASE
};

/// The packets of each round trip after the timeout's retransmission. Returns the first number that slow start did
/// not double, and the window before the timeout.
fn after_timeout(bed: &mut Bed) -> Result<(f64, f64), Fault> {
    bed.grow_to(64.0)?;
    bed.lose_next()?;
    bed.run_for(Span::from_secs(1));
    let before = bed.time_out()?;
    let mut packets = bed.packets_in(bed.rtt());
    demand!(packets <= 3.0, "{packets} packets in the round trip after the retransmission");
    for _ in 0..12 {
        let next = bed.packets_in(bed.rtt());
        if next < 1.6 * packets {
            return Ok((next, before));
        }
        packets = next;
    }
    Err(Fault::Failed(format!("slow start goes on at {packets} packets per round trip")))
}

pub(crate) const THRESHOLD: Case = Case {
    name: "a-timeout-leaves-seven-tenths-as-threshold",
    clause: clause("4.8", Level::Rule),
    demanded: "after a timeout slow start begins with a segment and ends at 0.7 of the window",
    program: |_, bed| {
        let (end, before) = after_timeout(bed)?;
        bed.expect("the end of slow start by the window before", end / before, 0.63..=0.77)
    },
    ..BASE
};

/// With the old plateau the window would come back to it in two seconds.
pub(crate) const NO_PLATEAU: Case = Case {
    name: "after-a-timeout-there-is-no-plateau",
    clause: clause("4.8", Level::Rule),
    demanded: "after a timeout K is 0: growth is slow at first",
    program: |_, bed| {
        let (begin, before) = after_timeout(bed)?;
        let from = bed.now;
        bed.run_for(Span::from_secs(2));
        let window = bed.window();
        // Reno's growth is the faster one: 0.53 per round trip.
        bed.expect("the window after 2 s in segments", window, begin..=begin + 9.0)?;
        demand!(window < 0.93 * before, "it is back at the old plateau");
        bed.run_to(from + Span::from_secs(5));
        let expected = w_cubic(begin, begin, 5.0);
        let range = 0.85 * expected..=1.15 * expected;
        bed.expect("the window after 5 s in segments", bed.window(), range)
    },
    ..BASE
};
