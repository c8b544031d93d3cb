//! Losses that a probe shows.

use super::*;
use crate::case::demand;

pub(super) const REVEALS: Case = Case {
    name: "a-probe-reveals-a-lost-tail",
    clause: clause("7.4.1", Level::Rule),
    // Tahoe's window of one segment takes another RTT.
    concerns: Concerns::Except(&["tahoe"]),
    demanded: "the acknowledgment of a probe shows the losses before it, which are repaired without a timeout",
    program: |_, bed| {
        bed.grow_and_drain(12)?;
        bed.lose(&[8, 9, 10, 11]);
        let flight = bed.write_segments(12);
        bed.drain()?;
        let seconds = bed.seconds_since(flight.at);
        bed.expect("seconds to the end of the repair", seconds, 0.15..=0.37)?;
        let resent = bed.resent_since(flight.at).count();
        bed.expect("retransmissions of four lost segments", resent as f64, 4.0..=4.0)
    },
    ..RACK
};

/// How many segments the sender sends at once when it gets bulk data; it has none before and afterwards.
fn window(bed: &mut Bed) -> Result<f64, Fault> {
    bed.traffic = Traffic::Bulk;
    let window = bed.largest_flight(Span::from_millis(45));
    bed.traffic = Traffic::Pause;
    bed.drain()?;
    Ok(window)
}

/// Through a loss, after which the window grows in congestion avoidance.
fn leave_slow_start(bed: &mut Bed) -> Result<(), Fault> {
    bed.traffic = Traffic::Bulk;
    bed.fill(30)?;
    bed.lose(&[0]);
    bed.through_repair()?;
    bed.traffic = Traffic::Pause;
    bed.drain()
}

pub(super) const REPAIRED: Case = Case {
    name: "a-loss-that-the-probe-repairs-reduces",
    clause: clause("7.4.2", Level::Must),
    concerns: WINDOWS,
    demanded: "a probe that repairs the only loss of a flight reduces the window as fast recovery does",
    program: |_, bed| {
        leave_slow_start(bed)?;
        let before = window(bed)?;
        bed.lose(&[7]);
        let flight = bed.write_segments(8);
        bed.drain()?;
        let probes = bed.resent_since(flight.at).count();
        bed.expect("retransmissions", probes as f64, 1.0..=1.0)?;
        // The ACK of the probe may be of the original. One of later data, without a report of a duplicate, may not.
        bed.write_segments(1);
        bed.drain()?;
        let after = window(bed)?;
        bed.expect("the window by that before", after / before, 0.0..=0.92)
    },
    ..RACK
};

pub(super) const NEEDLESS: Case = Case {
    name: "a-needless-probe-costs-nothing",
    clause: clause("7.4.2", Level::Rule),
    concerns: WINDOWS,
    demanded: "a probe whose data had arrived, as a report of a duplicate shows, leaves the window as it is",
    program: |_, bed| {
        leave_slow_start(bed)?;
        let before = window(bed)?;
        let mut count = 0;
        bed.on_acks(move |_| {
            count += 1;
            if count == 8 { Fate::Drop } else { Fate::Pass }
        });
        let flight = bed.write_segments(8);
        bed.drain()?;
        let probes = bed.resent_since(flight.at).count();
        demand!(probes == 1, "{probes} retransmissions");
        let after = window(bed)?;
        bed.expect("the window by that before", after / before, 0.95..=1.5)
    },
    ..RACK
};
