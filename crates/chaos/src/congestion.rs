//! Invariants of congestion control, checked from outside the sender: RFC 5681, RFC 3465 and RFC
//! 3168 §6.1.2.

use crate::ensure::ensure;
use windlass_tcp::cc::NAMES;
use windlass_tcp::config::{Growth, ReductionBase};
use windlass_tcp::conn::Stats;
use windlass_tcp::{Config, Connection, Flags, Segment, State};

/// An ECN echo leaves at most this part of the window; New-ECN's factor is the largest.
const ECN_CUT_LEAVES: f64 = 0.9;
/// Duplicate ACKs that begin a repair (RFC 5681 section 3.2).
const DUPLICATES_OF_A_LOSS: u32 = 3;
/// Bytes by which a window may miss a bound: fractions of a byte are the controller's own.
const SLACK: f64 = 1.0;

/// The sender's state before or after a segment arrived.
#[derive(Copy, Clone)]
pub(crate) struct Sender {
    stats: Stats,
    cwnd: f64,
    /// The window in force, with what fast recovery without SACK inflates it by.
    window: u64,
    /// Bytes of the stream acknowledged.
    acked: u64,
    /// The position after the highest one acknowledged, a FIN included.
    una: u64,
    state: State,
}

impl Sender {
    pub(crate) fn of(connection: &Connection) -> Sender {
        Sender {
            stats: *connection.stats(),
            cwnd: connection.cwnd(),
            window: connection.congestion_window_in_force(),
            acked: connection.bytes_acked(),
            una: connection.bytes_acked() + 1 + u64::from(connection.state() == State::FinWait2),
            state: connection.state(),
        }
    }
}

/// How far an end has got when a segment arrives.
#[derive(Copy, Clone)]
pub(crate) struct Positions {
    /// After the highest position sent.
    pub(crate) sent: u64,
    /// After the highest position that the segment SACKs; 0 without any.
    pub(crate) reported: u64,
}

/// A state in which data may be sent or acknowledged.
fn is_open(state: State) -> bool {
    !matches!(
        state,
        State::Closed | State::Listen | State::SynSent | State::SynReceived | State::TimeWait
    )
}

/// A reduction starts from a window that duplicate ACKs have inflated (ns-2): it may leave a larger
/// cwnd than before.
pub(crate) fn reduces_inflated_window(connection: &Connection) -> bool {
    connection.config().window.reduction_base == ReductionBase::Window
        && !connection.sack_negotiated()
}

/// Judges each change of an end's congestion window.
pub(crate) struct CongestionWatch {
    /// Without congestion control nothing is judged.
    controlled: bool,
    /// The window grows by what ACKs acknowledge. New-ECN's grows by a slope of its own.
    grows_by_acks: bool,
    /// How much an echo reduces the window is known.
    cuts_are_known: bool,
    /// The position after the highest one sent at the last cut; 0 is the SYN's, 1 the first byte's.
    cut_until: u64,
    /// The last cut was by an ECN echo.
    cut_by_echo: bool,
    /// The same position for a cut that a tail loss probe may have brought: the ACK that tells that the probe
    /// has repaired a loss is a sign of congestion like any other (RFC 8985 section 7.4.2).
    cut_by_probe_until: u64,
    /// Tail loss probes whose answers have been waited for.
    probes_answered: u64,
    /// The position after the highest one sent when the last of them was.
    probed_until: u64,
    /// Segments retransmitted before the last cut. A later repair ends the hold of the window.
    retransmitted: u64,
    /// Duplicate ACKs since the last ACK of new data.
    duplicates: u32,
    /// So many duplicate ACKs came after the last cut that a repair has begun, although its
    /// retransmission may still wait for the pacer.
    repair_has_begun: bool,
    /// The window may be cut again, or need not be: a timeout or an undo came since the last cut.
    unsure: bool,
}

impl CongestionWatch {
    pub(crate) fn new(config: &Config) -> CongestionWatch {
        let name = config.congestion.name();
        let known = NAMES.contains(&name);
        CongestionWatch {
            controlled: !["prague", "bbr", "bbr3", "none"].contains(&name),
            grows_by_acks: known && name != "new-ecn",
            // DCTCP's is half of the marked share.
            cuts_are_known: known && name != "dctcp",
            cut_until: 0,
            cut_by_echo: false,
            cut_by_probe_until: 0,
            probes_answered: 0,
            probed_until: 0,
            retransmitted: 0,
            duplicates: 0,
            repair_has_begun: false,
            unsure: false,
        }
    }

    /// A timer of this end expired; `sent` is the position after the highest one sent so far.
    pub(crate) fn expired(&mut self, before: &Sender, now: &Connection, sent: u64) {
        let after = Sender::of(now);
        self.unsure |= after.stats.timeouts > before.stats.timeouts;
        self.note_cuts(before, &after, sent);
    }

    /// A segment arrived.
    pub(crate) fn arrived(
        &mut self,
        before: &Sender,
        segment: &Segment,
        now: &Connection,
        positions: Positions,
    ) -> Result<(), String> {
        let sent = positions.sent;
        let after = Sender::of(now);
        if !self.controlled || !is_open(before.state) || !is_open(after.state) {
            return Ok(());
        }
        self.note_duplicates(before, &after, segment);
        self.note_probes(before, &after, sent);
        let undone = after.stats.undone_cuts > before.stats.undone_cuts;
        if !undone {
            self.check_growth(before, &after, now)?;
            self.check_echo(before, &after, segment, now, positions)?;
        }
        if undone || after.stats.timeouts > before.stats.timeouts {
            self.unsure = true;
        }
        self.note_cuts(before, &after, sent);
        Ok(())
    }

    fn note_duplicates(&mut self, before: &Sender, after: &Sender, segment: &Segment) {
        if after.una > before.una {
            self.duplicates = 0;
        } else if segment.flags.contains(Flags::ACK) && segment.payload_len == 0 {
            self.duplicates += 1;
        }
        self.repair_has_begun |= self.duplicates >= DUPLICATES_OF_A_LOSS;
    }

    /// Each ACK may tell of a repair, up to the first one of data that was sent after the probe.
    fn note_probes(&mut self, before: &Sender, after: &Sender, sent: u64) {
        if before.stats.tail_probes > self.probes_answered {
            self.probes_answered = before.stats.tail_probes;
            self.probed_until = sent;
        }
        if before.una <= self.probed_until && after.una > before.una {
            self.cut_by_probe_until = sent;
        }
    }

    fn note_cuts(&mut self, before: &Sender, after: &Sender, sent: u64) {
        let echo = after.stats.ecn_cuts > before.stats.ecn_cuts;
        let loss = after.stats.fast_retransmits > before.stats.fast_retransmits;
        if echo || loss {
            self.cut_until = sent;
            self.cut_by_echo = echo;
            self.retransmitted = after.stats.retransmitted_segments;
            self.repair_has_begun = false;
            self.unsure = false;
        }
    }

    /// RFC 3465 §2: an ACK opens the window by what it acknowledges at most, and by a segment where
    /// ACKs are counted. A window that was cut by an echo stays until the cut is acknowledged.
    fn check_growth(
        &self,
        before: &Sender,
        after: &Sender,
        now: &Connection,
    ) -> Result<(), String> {
        let grown = after.cwnd - before.cwnd;
        let (config, mss) = (now.config(), u64::from(now.mss()));
        let acked = after.acked - before.acked;
        let credit = |growth: Growth| match growth {
            Growth::PerByte { limit } => acked.min(mss.saturating_mul(u64::from(limit))),
            _ => mss,
        };
        let avoidance = config.growth.avoidance_credit.map_or(0, credit);
        let most = credit(config.growth.credit).max(avoidance) + mss;
        ensure!(
            !self.grows_by_acks || reduces_inflated_window(now) || grown <= most as f64 + SLACK,
            "cwnd grew by {grown:.0} for {acked} bytes acknowledged, {most} at most"
        );
        let repaired =
            self.repair_has_begun || after.stats.retransmitted_segments > self.retransmitted;
        let held = config.ecn.hold_after_cut && self.cut_by_echo && !self.unsure && !repaired;
        ensure!(
            !held || after.una > self.cut_until || grown <= SLACK,
            "cwnd grew by {grown:.0} within the window of data that an echo cut"
        );
        Ok(())
    }

    /// RFC 3168 §6.1.2: one reduction for a window of data with an echo, not none and not two. Data
    /// that was sent after the last reduction and is SACKed belongs to another window, whatever
    /// SND.UNA waits for.
    fn check_echo(
        &self,
        before: &Sender,
        after: &Sender,
        segment: &Segment,
        now: &Connection,
        positions: Positions,
    ) -> Result<(), String> {
        let cuts = after.stats.ecn_cuts - before.stats.ecn_cuts;
        let covered = after.una > self.cut_until || positions.reported > self.cut_until;
        let exempt = self.unsure || now.config().ecn.cut_after_timeout;
        if cuts == 0 {
            let echo = match now.accurate_ecn() {
                Some(_) => after.stats.ece_received > before.stats.ece_received,
                None => {
                    segment.flags.contains(Flags::ACK | Flags::ECE)
                        && !segment.flags.intersects(Flags::SYN | Flags::RST)
                }
            };
            // The FIN alone carries no CWR, which must have been sent before the echo.
            let reports = positions.reported > self.cut_until + 1
                && after.stats.ece_received > before.stats.ece_received;
            let covered = after.una > self.cut_until || reports;
            let new = (after.acked > before.acked || reports) && now.ecn_negotiated();
            let cut = after.stats.fast_retransmits > before.stats.fast_retransmits;
            let after_probe = after.una <= self.cut_by_probe_until;
            ensure!(
                !(echo && new && covered) || cut || after_probe || exempt,
                "an ECN echo for new data did not reduce the window"
            );
            return Ok(());
        }
        ensure!(cuts == 1, "{cuts} reductions for one ACK");
        ensure!(covered || exempt, "a second reduction within a window of data");
        // RFC 5681 §3.1, equation 4: no reduction leaves less than two segments.
        let least = f64::from(now.config().window.least.max(2)) * f64::from(now.mss());
        let window = before.cwnd.max(before.window as f64);
        let most = (window * ECN_CUT_LEAVES).max(least);
        ensure!(
            exempt
                || !self.cuts_are_known
                || reduces_inflated_window(now)
                || after.cwnd <= most + SLACK,
            "an ECN echo left {:.0} of {window:.0} bytes, {most:.0} at most",
            after.cwnd
        );
        Ok(())
    }
}
