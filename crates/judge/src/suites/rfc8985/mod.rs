//! RACK-TLP (RFC 8985): losses found by time, and tail loss probes.

mod detection;
mod probe_losses;
mod probes;
mod reordering;
mod retransmissions;

use super::suite;
#[cfg(test)]
use super::transport::tests;
use super::transport::{CASE, LINK, WINDOWS};
use crate::bed::{Bed, Fate, Traffic};
use crate::case::{Case, Clause, Concerns, Fault, Level, Verdict};
use crate::subject::Setup;
use windlass_base::Span;

const fn clause(section: &'static str, level: Level) -> Clause {
    Clause { document: "RFC 8985", section, level }
}

/// The fields in which most cases agree.
const RACK: Case = Case { setup: Setup { receive_buffer: 1 << 18, ..Setup::DEFAULT }, ..CASE };

/// Those that do not send without a limit.
const LIMITED: Concerns = Concerns::Except(&["none"]);

suite!("rfc8985", "RACK-TLP", include_str!("coverage.toml"), tests::engines(), {
    one_later_segment_shows_a_loss_in_time: detection::BY_TIME,
    a_segment_that_is_little_late_is_not_lost: detection::LITTLE_LATE,
    three_sacked_segments_show_a_loss_at_once: detection::DUP_THRESH,
    after_reordering_three_sacked_segments_wait: reordering::SEEN,
    a_duplicate_widens_the_reordering_window: reordering::DSACK,
    the_reordering_window_shrinks_after_sixteen_recoveries: reordering::PERSIST,
    the_reordering_window_is_an_rtt_at_most: reordering::LIMIT,
    a_lost_retransmission_is_found: retransmissions::FOUND,
    lost_retransmission_reduces_again: retransmissions::REDUCES,
    a_late_original_condemns_no_others: retransmissions::LATE_ORIGINAL,
    a_probe_leaves_after_two_rtts: probes::TWO_RTTS,
    a_single_segment_waits_for_a_delayed_ack: probes::DELAYED_ACK,
    the_probe_is_the_last_segment: probes::LAST,
    the_probe_is_new_data_if_there_is_any: probes::NEW_DATA,
    one_probe_for_a_tail: probes::ONE,
    a_probe_restarts_the_timer: probes::RESTARTS,
    no_probe_in_a_recovery: probes::NOT_IN_RECOVERY,
    a_probe_reveals_a_lost_tail: probe_losses::REVEALS,
    a_loss_that_the_probe_repairs_reduces: probe_losses::REPAIRED,
    a_needless_probe_costs_nothing: probe_losses::NEEDLESS,
});

/// The first segment that is sent from now on for the first time arrives so much later.
fn delay_first(bed: &mut Bed, by: Span) {
    let mut first = true;
    bed.on_data(move |_, again| {
        let late = !again && core::mem::take(&mut first);
        if late { Fate::Late(by) } else { Fate::Pass }
    });
}

/// Sends so many segments of which the first one is late; returns how many retransmissions that brings.
fn late_segment(bed: &mut Bed, segments: u64, by: Span) -> Result<u64, Fault> {
    bed.grow_and_drain(segments)?;
    let before = bed.wire().resent();
    delay_first(bed, by);
    bed.write_segments(segments);
    bed.drain()?;
    // A retransmission that was needless is still to be acknowledged.
    bed.run_for(Span::from_millis(2 * bed.path.rtt_ms));
    Ok(bed.wire().resent() - before)
}

/// A segment overtaken by two and not sent again: the sender sees reordering.
fn show_reordering(bed: &mut Bed) -> Verdict {
    let resent = late_segment(bed, 3, Span::from_millis(6))?;
    bed.expect("retransmissions of a segment that is a little late", resent as f64, 0.0..=0.0)
}
