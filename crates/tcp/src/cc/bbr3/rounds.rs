//! "Tracking Packet-Timed Round Trips".

use super::super::Sent;
use super::Bbr3Controller;
use super::ack::Rate;

/// The round trips so far, and whether the window has limited the sender in the last ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// BBR.round_count.
    pub(super) count: u32,
    /// BBR.round_start.
    pub(super) is_start: bool,
    /// BBR.next_round_delivered.
    end: u64,
    /// A round trip begins with the ACK that is being processed, whose data is not counted in C.delivered yet.
    pub(super) begins_with_ack: bool,
    /// BBR.rounds_since_probe_up.
    pub(super) since_probe_up: u32,
    /// The window was full in this round trip, and in the one before.
    is_limited: bool,
    was_limited: bool,
}

impl Rounds {
    /// C.is_cwnd_limited: the window was full at some moment of the last round trip.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.is_limited || self.was_limited
    }

    /// Data is sent. The window is full if it has no room for another segment.
    pub(super) fn note_sent(&mut self, sent: &Sent, cwnd: f64, smss: f64) {
        self.is_limited |= (sent.in_flight + sent.bytes) as f64 + smss > cwnd;
    }
}

impl Bbr3Controller {
    /// UpdateRound: whether the ACK ends a round trip.
    pub(super) fn update_round(&mut self, rate: &Rate) {
        self.rounds.is_start = rate.prior_delivered >= self.rounds.end;
        if self.rounds.is_start {
            self.start_round();
            self.rounds.count += 1;
            self.rounds.since_probe_up += 1;
            self.rounds.was_limited = core::mem::take(&mut self.rounds.is_limited);
        }
    }

    /// StartRound: a round trip begins with the data that is sent now.
    pub(super) fn start_round(&mut self) {
        self.rounds.end = self.delivered;
    }
}
