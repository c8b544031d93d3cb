//! The script of a trial: how the probe delays, drops and marks the server's packets, stage by
//! stage.

use serde::{Deserialize, Serialize};
use std::fmt;
use windlass_base::Span;

/// One stage: what the path is like, what happens when the stage begins, and when it ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stage {
    /// The property of the controller that it shows.
    pub(crate) show: Show,
    /// The round-trip time in multiples of the script's.
    pub(crate) rtt_factor: f64,
    /// The loss or the mark at its beginning.
    pub(crate) event: Event,
    /// It ends after this many rounds; after a loss the rounds begin with the end of the recovery.
    pub(crate) rounds: u32,
    /// It ends earlier once this many segments are in flight.
    pub(crate) until_window: Option<u32>,
}

/// The property that a stage shows.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Show {
    /// Slow start, up to the window at which the first packet is lost.
    SlowStart,
    /// The answer to a loss without any queue before it, and the growth after it.
    Loss,
    /// The answer to a round-trip time that rises and stays.
    Delay,
    /// The answer to a loss while the round-trip time is high.
    LossAtDelay,
    /// The growth after the round-trip time has fallen again.
    Relief,
    /// The answer to one CE mark, echoed as RFC 3168 has it.
    Mark,
    /// The answer to CE marks on a part of the packets, each echoed on its own ACK.
    Marks,
    /// No mark, after all those: what the window does then is no answer to them.
    Calm,
    /// The answer to CE marks on every packet.
    MarksAll,
}

impl fmt::Display for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Show::SlowStart => "slow start",
            Show::Loss => "after a loss",
            Show::Delay => "while the RTT is high",
            Show::LossAtDelay => "after a loss at a high RTT",
            Show::Relief => "after the RTT has fallen",
            Show::Mark => "after a mark",
            Show::Marks => "while a quarter is marked",
            Show::Calm => "without marks again",
            Show::MarksAll => "while all are marked",
        })
    }
}

/// A loss or a mark at the beginning of a stage.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// No event.
    None,
    /// The next new packet is lost.
    LoseOne,
    /// The next packet counts as marked: ECE until CWR (RFC 3168 section 6.1.3).
    MarkOne,
    /// Every packet of this many counts as marked, and its own ACK alone says so, as receivers of DCTCP
    /// do (RFC 8257 section 3.2).
    MarkEvery(u32),
}

/// The stages of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    /// The round-trip time that the probe makes of the path's shorter one.
    pub(crate) rtt: Span,
    /// The rate of the bottleneck, in packets a second: it spaces the ACKs.
    pub(crate) packets_per_s: u32,
    /// The stages, in their order.
    pub(crate) stages: Vec<Stage>,
}

/// The round-trip times of scripts. A path gets the first that leaves room for its own.
pub(crate) const RTTS: [Span; 2] = [Span::from_millis(160), Span::from_millis(320)];

/// The window at which slow start ends by a loss, in segments. The window is twice as large when the
/// server learns of it.
const WINDOW_AT_LOSS: u32 = 60;
/// The window from which a fall shows, in segments: after many marks the server has two.
const WINDOW_BEFORE_ALL: u32 = 12;
/// Enough for a window of a few hundred segments in the shortest round-trip time of a script.
pub(super) const PACKETS_PER_S: u32 = 2_000;
/// The rise of the round-trip time in the stages with a delay.
const RISE: f64 = 1.375;

impl Script {
    /// The stages that distinguish controllers, at this round-trip time.
    pub(crate) fn standard(rtt: Span) -> Script {
        let stage = |show, rtt_factor, event, rounds| Stage {
            show,
            rtt_factor,
            event,
            rounds,
            until_window: None,
        };
        let first = Stage {
            until_window: Some(WINDOW_AT_LOSS),
            ..stage(Show::SlowStart, 1.0, Event::None, 20)
        };
        let recovered = Stage {
            until_window: Some(WINDOW_BEFORE_ALL),
            ..stage(Show::Calm, 1.0, Event::None, 10)
        };
        Script {
            rtt,
            packets_per_s: PACKETS_PER_S,
            stages: vec![
                first,
                stage(Show::Loss, 1.0, Event::LoseOne, 16),
                stage(Show::Delay, RISE, Event::None, 10),
                stage(Show::LossAtDelay, RISE, Event::LoseOne, 3),
                stage(Show::Relief, 1.0, Event::None, 10),
                stage(Show::Mark, 1.0, Event::MarkOne, 6),
                stage(Show::Marks, 1.0, Event::MarkEvery(4), 8),
                stage(Show::Calm, 1.0, Event::None, 4),
                recovered,
                stage(Show::MarksAll, 1.0, Event::MarkEvery(1), 6),
            ],
        }
    }

    /// The script for a path with this round-trip time; `None` if the path's is too long for all.
    pub(crate) fn for_path(path_rtt: Span) -> Option<Script> {
        let room = |rtt: &Span| path_rtt + Span::from_millis(10) <= *rtt;
        RTTS.into_iter().find(room).map(Script::standard)
    }
}
