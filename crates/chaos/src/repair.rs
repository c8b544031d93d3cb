//! Invariants of retransmissions: one that is lost reduces the window once more, within two round
//! trips or one RTO (RFC 5681 §4.3, RFC 6298, RFC 8985 §6), and one that arrives moves SND.UNA on
//! within two.

use crate::congestion::reduces_inflated_window;
use crate::setup::EndSetup;
use core::ops::Range;
use windlass_base::{Span, Time};
use windlass_tcp::{Connection, RangeSet, State};

/// A segment that was retransmitted and lost.
struct Lost {
    range: Range<u64>,
    /// When it was retransmitted, or since when SND.UNA waits for it.
    since: Time,
    before: Windows,
    /// It was retransmitted after a timeout for the same SND.UNA, which RFC 5681 §3.1 lets ssthresh
    /// stay the same at the next one.
    after_timeout: bool,
}

/// A sender's window and the reductions so far.
#[derive(Copy, Clone)]
struct Windows {
    cwnd: f64,
    ssthresh: u64,
    reductions: u64,
    timeouts: u64,
    echoes: u64,
    undone: u64,
}

impl Windows {
    fn of(connection: &Connection) -> Windows {
        let stats = connection.stats();
        Windows {
            cwnd: connection.cwnd(),
            ssthresh: connection.ssthresh(),
            reductions: stats.timeouts + stats.fast_retransmits + stats.ecn_cuts,
            timeouts: stats.timeouts,
            echoes: stats.ecn_cuts,
            undone: stats.undone_cuts,
        }
    }
}

/// Data that a retransmission completed at an end.
#[derive(Copy, Clone)]
struct Filled {
    at: Time,
    /// Bytes of the stream received in order by then.
    received: u64,
}

pub(crate) struct RepairWatch {
    /// BBR goes by rates, and without congestion control nothing reduces a window.
    controlled: bool,
    /// The longest that the path and the peer allow.
    round_trip: Span,
    /// A tail loss probe takes the place of the first timeout (RFC 8985 §7.2).
    probes_tail: bool,
    lost: Vec<Lost>,
    /// The longest RTO that the timer at hand can have been set to, and since when.
    rto: (Span, Time),
    /// Bytes acknowledged, and timeouts until that last grew.
    progress: (u64, u64),
    /// A retransmission that arrived here and is not acknowledged yet.
    filled: Option<Filled>,
}

impl RepairWatch {
    pub(crate) fn new(setup: &EndSetup, round_trip: Span) -> RepairWatch {
        RepairWatch {
            controlled: !["prague", "bbr", "bbr3", "none"]
                .contains(&setup.config.congestion.name()),
            round_trip,
            probes_tail: setup.config.recovery.tail_loss_probe,
            lost: Vec::new(),
            rto: (Span::ZERO, Time::ZERO),
            progress: (0, 0),
            filled: None,
        }
    }

    /// A packet of this end is lost; `again` are the positions of the payload that it retransmits. An
    /// ACK that is lost with it need not be known to the peer.
    pub(crate) fn lost(&mut self, now: Time, again: Option<Range<u64>>, connection: &Connection) {
        self.filled = None;
        if let Some(range) = again.filter(|_| self.controlled) {
            let before = Windows::of(connection);
            let after_timeout = before.timeouts > self.progress.1;
            self.lost.push(Lost { range, since: now, before, after_timeout });
        }
    }

    /// A retransmission arrived here: `received` bytes are in order now.
    pub(crate) fn filled(&mut self, now: Time, received: u64) {
        self.filled = self.filled.or(Some(Filled { at: now, received }));
    }

    /// The peer has taken ACKs of `acked` bytes. True if it should know of the retransmission.
    pub(crate) fn is_overdue(&mut self, now: Time, acked: u64) -> bool {
        self.filled = self.filled.filter(|filled| filled.received > acked);
        let late = |filled: Filled| now.saturating_since(filled.at) > self.round_trip * 2;
        self.filled.is_some_and(late)
    }

    /// Checks every lost retransmission of this end. `sacked`: the data that the peer has SACKed.
    pub(crate) fn check(
        &mut self,
        now: Time,
        connection: &Connection,
        sacked: &RangeSet,
    ) -> Result<(), String> {
        let acked = connection.bytes_acked();
        let moves = acked > self.progress.0;
        if moves {
            self.progress = (acked, connection.stats().timeouts);
        }
        self.note_rto(now, connection.rto());
        if self.lost.is_empty() {
            return Ok(());
        }
        if !is_open(connection) || connection.peer_window_edge() <= acked {
            // Where the peer has closed its window, probes take the place of retransmissions.
            self.lost.clear();
            return Ok(());
        }
        let windows = Windows::of(connection);
        let mut lost = core::mem::take(&mut self.lost);
        // Segments that were late, not lost, have arrived.
        lost.retain(|lost| lost.range.end > acked + 1 && !sacked.contains(&lost.range));
        for lost in &mut lost {
            if moves {
                lost.since = now;
            }
            if windows.reductions > lost.before.reductions {
                check_reduction(lost, windows, connection)?;
                continue;
            }
            // It may have grown since, before the reduction.
            lost.before.cwnd = lost.before.cwnd.max(windows.cwnd);
            if now.saturating_since(lost.since) > self.patience() {
                let (range, since) = (&lost.range, lost.since);
                return Err(format!(
                    "the retransmission of {range:?}, lost at {since}, has not reduced the window"
                ));
            }
        }
        lost.retain(|lost| windows.reductions == lost.before.reductions);
        self.lost = lost;
        Ok(())
    }

    /// A partial ACK need not restart the timer (RFC 6582 §3.2 step 3), so it may run since an RTO that was longer.
    fn note_rto(&mut self, now: Time, rto: Span) {
        let (longest, since) = self.rto;
        if rto >= longest || now.saturating_since(since) > longest {
            self.rto = (rto, now);
        }
    }

    /// The ACK of a segment that was sent before the retransmission may restart the timer, up to a
    /// round trip later.
    fn patience(&self) -> Span {
        let timeouts = if self.probes_tail { self.rto.0 * 2 } else { self.rto.0 };
        self.round_trip + self.round_trip.max(timeouts)
    }
}

pub(crate) fn is_open(connection: &Connection) -> bool {
    use State::{CloseWait, Closing, Established, FinWait1, LastAck};
    matches!(connection.state(), Established | CloseWait | FinWait1 | Closing | LastAck)
}

fn check_reduction(lost: &Lost, now: Windows, connection: &Connection) -> Result<(), String> {
    let config = connection.config();
    let before = &lost.before;
    let timed_out = now.timeouts > before.timeouts;
    let held = timed_out
        && (config.ecn.cut_after_timeout
            || (lost.after_timeout && config.recovery.hold_ssthresh_on_repeated_timeout));
    // RFC 5681 §3.1, equation 4.
    let least = 2 * u64::from(connection.mss());
    let lowered = now.ssthresh <= least || now.ssthresh < before.ssthresh.max(before.cwnd as u64);
    // DCTCP's share of a small window is rounded down to whole segments, and can be none.
    let by_nothing = now.echoes > before.echoes
        && config.window.whole_segment_cuts
        && config.congestion.name() == "dctcp";
    let excused = held || by_nothing || now.undone > before.undone;
    if lowered || excused || reduces_inflated_window(connection) {
        return Ok(());
    }
    Err(format!(
        "the lost retransmission of {:?} leaves ssthresh at {} of {}, cwnd was {:.0}",
        lost.range, now.ssthresh, before.ssthresh, before.cwnd
    ))
}
