//! The trace of a trial: the window of each round.

use super::script::{PACKETS_PER_S, Script, Show};
use serde::{Deserialize, Serialize};
use windlass_base::Span;

/// The windows of a connection.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Trace {
    /// The round-trip time of the script, in milliseconds.
    pub rtt_ms: f64,
    /// The round-trip time of the path itself, in milliseconds.
    pub path_rtt_ms: f64,
    /// How much longer than that the handshake of this connection took, in milliseconds: a queue of others.
    #[serde(default)]
    pub queued_ms: f64,
    /// Payload of the longest packet, in bytes.
    pub mss: u32,
    /// The server negotiated ECN.
    pub ecn: bool,
    /// The feedback is that of AccECN (RFC 9768).
    #[serde(default)]
    pub accurate: bool,
    /// The script came to its end.
    pub complete: bool,
    /// Packets that the path lost, and which were acknowledged all the same.
    pub path_losses: u32,
    /// Packets that the path marked. The first one is fed back, and ends the script with its round.
    #[serde(default)]
    pub path_marks: u32,
    /// The path lost so many packets that the script ended.
    pub lossy: bool,
    /// The server reset the connection.
    #[serde(default)]
    pub reset: bool,
    /// Packets that the server sent again without a loss of the script.
    pub repeated: u32,
    /// Packets that others overtook on the path.
    #[serde(default)]
    pub reordered: u32,
    /// Copies of packets that the path made.
    #[serde(default)]
    pub duplicated: u32,
    /// The most packets a second that arrived, over 40 in a row; 0 if fewer came.
    #[serde(default)]
    pub packets_per_s: f64,
    /// All bytes that arrived.
    pub bytes: u64,
    /// The data in flight when the server learned of each loss of the script, in segments.
    pub losses: Vec<f64>,
    /// The rounds, in their order.
    pub rounds: Vec<Round>,
}

/// A round: from an ACK to the ACK of the data that it brought.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The stage.
    pub show: Show,
    /// When it ended, in milliseconds since the handshake.
    pub at_ms: f64,
    /// The most data in flight, in segments.
    pub window: f64,
    /// A loss of the script was not yet repaired: the window is no steady one.
    pub recovering: bool,
    /// An ACK of it fed back a mark.
    pub marked: bool,
    /// ACKs of it that fed back a mark.
    #[serde(default)]
    pub marks: u32,
}

/// Packets in a row that show how fast the path is.
pub(crate) const TRAIN: usize = 40;
/// A path is slow if packets come more slowly than at this share of the rate of the script's bottleneck.
const SLOW_BELOW: f64 = 0.9;
/// Packets fill a round if this share of the round-trip time is what they need at their fastest. A sender that
/// paces was faster in slow start.
const FILLED_FROM: f64 = 0.8;
/// So many rounds are filled on a slow path, at least.
const FILLED_ROUNDS_MIN: usize = 3;

/// A dip: a window falls below this share of the one before without a loss, as BBR's does when it
/// measures the round-trip time, once in ten seconds. The time of a dip has nothing to do with the
/// script.
const DIP_BELOW: f64 = 1.0 / 6.0;
/// A dip has ended when the window has this share of the one before it.
const DIP_UNTIL: f64 = 0.5;
/// Windows below this say nothing when they fall, in segments.
const DIP_FROM: f64 = 64.0;
/// A window that stays down for more rounds is no dip: BBR's lasts for 200 ms and a round trip. An application
/// that has become slow sends less for good.
const DIP_ROUNDS_MAX: usize = 4;

impl Trace {
    /// Packets that arrived, full-sized ones if their number is not known.
    pub(crate) fn packets(&self) -> f64 {
        self.bytes as f64 / f64::from(self.mss.max(1))
    }

    /// How much longer rounds lasted than the script makes them, in milliseconds: the upper quartile. The
    /// script's own bottleneck sends a window in so many packets a second, and so holds up a large one.
    pub(crate) fn held_up_ms(&self) -> f64 {
        let more = |pair: &[Round]| {
            // The script may lengthen the round-trip time from one stage to the next.
            let own = self.rtt_ms * factor(pair[1].show).max(factor(pair[0].show));
            let sending = pair[1].window.max(pair[0].window) * 1e3 / f64::from(PACKETS_PER_S);
            let steady = !pair[1].recovering && !pair[0].recovering;
            steady.then(|| pair[1].at_ms - pair[0].at_ms - own.max(sending))
        };
        let mut more: Vec<f64> = self.rounds.windows(2).filter_map(more).collect();
        more.sort_by(f64::total_cmp);
        more.get(more.len() * 3 / 4).copied().unwrap_or(0.0).max(0.0)
    }

    /// Whether packets came more slowly than the script's bottleneck lets them, and filled whole
    /// rounds so: the path held the server, or a limit of its own. The windows leave out packets
    /// that wait before a slow path.
    pub fn is_slow(&self) -> bool {
        let fills = |round: &&Round| {
            let round_ms = self.rtt_ms * factor(round.show);
            // Packets of the window take window / rate to arrive: nearly the whole round.
            round.window * 1e3 >= FILLED_FROM * self.packets_per_s * round_ms
        };
        let steady = self.rounds.iter().filter(|round| !round.recovering);
        (f64::MIN_POSITIVE..SLOW_BELOW * f64::from(PACKETS_PER_S)).contains(&self.packets_per_s)
            && steady.filter(fills).count() >= FILLED_ROUNDS_MIN
    }

    /// The windows of the steady rounds of a stage; `None` for a round in a dip.
    pub(crate) fn windows(&self, show: Show) -> Vec<Option<f64>> {
        let dips = self.dips();
        let of_stage = self.rounds.iter().zip(dips);
        let of_stage = of_stage.filter(|(round, _)| round.show == show && !round.recovering);
        of_stage.map(|(round, dips)| (!dips).then_some(round.window)).collect()
    }

    /// For each round whether it is in a dip.
    fn dips(&self) -> Vec<bool> {
        let (mut last, mut before_dip) = (None::<f64>, None::<f64>);
        let in_dip = |round: &Round| {
            if round.recovering {
                (last, before_dip) = (None, None);
                return false;
            }
            // The dip is over when half of the window before it is back.
            if before_dip.is_some_and(|before| round.window >= before * DIP_UNTIL) {
                before_dip = None;
            }
            let fallen = |last: &f64| *last >= DIP_FROM && round.window < *last * DIP_BELOW;
            before_dip = before_dip.or(last.filter(fallen));
            last = Some(round.window);
            before_dip.is_some()
        };
        let mut dips: Vec<bool> = self.rounds.iter().map(in_dip).collect();
        let is_long = |run: &&mut [bool]| run[0] && run.len() > DIP_ROUNDS_MAX;
        dips.chunk_by_mut(|a, b| a == b).filter(is_long).for_each(|run| run.fill(false));
        dips
    }
}

/// The round-trip time of a stage in multiples of the script's.
fn factor(show: Show) -> f64 {
    let stages = Script::standard(Span::ZERO).stages;
    stages.iter().find(|stage| stage.show == show).map_or(1.0, |stage| stage.rtt_factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(rounds: &[(f64, bool)]) -> Vec<Option<f64>> {
        let round = |&(window, recovering): &(f64, bool)| Round {
            show: Show::Delay,
            at_ms: 0.0,
            window,
            recovering,
            marked: false,
            marks: 0,
        };
        let rounds = rounds.iter().map(round).collect();
        Trace { rounds, ..Trace::default() }.windows(Show::Delay)
    }

    #[test]
    fn a_dip_is_left_out_until_the_window_is_back() {
        let steady = |window| (window, false);
        let found = windows(&[400.0, 4.0, 4.0, 90.0, 380.0, 190.0].map(steady));
        assert_eq!(found, [Some(400.0), None, None, None, Some(380.0), Some(190.0)]);
    }

    #[test]
    fn a_window_that_stays_down_is_no_dip() {
        let fallen = |rounds| [vec![(400.0, false)], vec![(4.0, false); rounds]].concat();
        assert_eq!(windows(&fallen(4))[1..], [None; 4]);
        assert_eq!(windows(&fallen(5))[1..], [Some(4.0); 5]);
    }

    #[test]
    fn a_fall_after_a_loss_or_from_a_small_window_is_no_dip() {
        let fall = windows(&[(400.0, false), (50.0, true), (10.0, false), (11.0, false)]);
        assert_eq!(fall, [Some(400.0), Some(10.0), Some(11.0)]);
        assert_eq!(windows(&[(40.0, false), (4.0, false)]), [Some(40.0), Some(4.0)]);
    }
}
