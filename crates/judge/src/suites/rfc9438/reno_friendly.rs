//! The Reno-friendly region.

use super::*;
use crate::case::demand;
use windlass_tcp::config::AckPolicy;

/// The growth per round trip over a number of them, in segments.
fn slope(bed: &mut Bed, rounds: u32) -> Result<f64, Fault> {
    let first = bed.round_trip()?;
    let mut last = first;
    for _ in 0..rounds {
        last = bed.round_trip()?;
    }
    Ok((last - first) / f64::from(rounds))
}

fn below_prior(_: &Case, bed: &mut Bed) -> Result<(), Fault> {
    bed.grow_to(24.0)?;
    let cut = bed.lose_next()?;
    // W_max - 0.7 W_max takes 14 segments: 27 round trips.
    let growth = slope(bed, 20)?;
    demand!(bed.window() <= cut.before, "it is beyond the window before the loss");
    // 3 (1 - 0.7) / (1 + 0.7) = 0.53; W_est / cwnd acknowledges a little less than a window.
    bed.expect("segments per round trip", growth, 0.42..=0.62)
}

/// The cubic would take three seconds to this window, and Reno less than half of the time.
pub(crate) const BELOW_PRIOR: Case = Case {
    name: "below-renos-window-it-grows-as-reno",
    clause: clause("4.3", Level::Should),
    path: SHORT,
    demanded: "on a short path the window grows by 0.53 segments per round trip",
    program: below_prior,
    ..BASE
};

pub(crate) const DELAYED_ACKS: Case = Case {
    name: "delayed-acks-count-all-their-segments",
    clause: clause("4.3", Level::Rule),
    setup: Setup { acks: AckPolicy::Delayed { max: Span::from_millis(40) }, ..Setup::DEFAULT },
    path: SHORT,
    demanded: "an ACK of two segments counts as two: 0.53 segments per round trip",
    program: below_prior,
    ..BASE
};

pub(crate) const ABOVE_PRIOR: Case = Case {
    name: "from-the-last-window-on-it-grows-a-segment",
    clause: clause("4.3", Level::Should),
    path: SHORT,
    demanded: "from the window before the loss on, it grows by a segment per round trip",
    program: |_, bed| {
        bed.grow_to(12.0)?;
        let cut = bed.lose_next()?;
        while bed.round_trip()? < cut.before + 1.0 {
            demand!(bed.seconds_since(cut.at) < 3.0, "it does not come back to {}", cut.before);
        }
        let growth = slope(bed, 12)?;
        bed.expect("segments per round trip", growth, 0.85..=1.15)
    },
    ..BASE
};
