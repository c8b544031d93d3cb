//! Is a segment acceptable? RFC 9293 §3.10.7.4 steps 1 to 4, hardened by RFC 5961, and PAWS
//! (RFC 7323 §5).

use super::{Connection, Error, State};
use crate::{Flags, Segment, Timestamps};
use windlass_base::Time;

impl Connection {
    /// A SYN that a listener may take in this connection's place: it is in TIME-WAIT, and the SYN
    /// begins beyond what it has received, or later by its timestamp (RFC 9293 §3.6.1, RFC 6191).
    pub fn makes_room_for(&self, syn: &Segment) -> bool {
        let beyond = self.rx.isn.at(self.rx.reassembly.nxt()).is_before(syn.seq);
        let later = match (self.rx.ts_recent, syn.options.timestamps) {
            (Some(newest), Some(timestamps)) => (timestamps.value.wrapping_sub(newest) as i32) > 0,
            _ => false,
        };
        let control = syn.flags & (Flags::SYN | Flags::ACK | Flags::RST);
        self.state == State::TimeWait && control == Flags::SYN && (beyond || later)
    }

    /// The position at which an acceptable segment begins; `None` if it was dealt with, or is to
    /// be dropped.
    pub(super) fn validate(&mut self, now: Time, segment: &Segment) -> Option<u64> {
        if self.has_fast_paths() && self.is_predicted(segment) {
            let nxt = self.rx.reassembly.nxt();
            self.remember_timestamp(segment, nxt);
            return Some(nxt);
        }
        self.validate_closely(now, segment)
    }

    fn validate_closely(&mut self, now: Time, segment: &Segment) -> Option<u64> {
        let start = segment.seq.unwrap_near(self.rx.isn, self.rx.reassembly.nxt());
        if self.is_repeated_syn(segment, start) {
            return None;
        }
        if self.fails_paws(segment) {
            return None;
        }
        let Some(start) = start.filter(|start| self.in_window(segment, *start)) else {
            self.answer_unacceptable(now, segment, start);
            return None;
        };
        if segment.flags.contains(Flags::RST) {
            self.handle_reset(now, start);
            return None;
        }
        if segment.flags.contains(Flags::SYN) {
            // RFC 5961 §4.2: a SYN here is an old duplicate, an attack, or a peer that restarted
            // and will answer the ACK with a reset.
            self.challenge(now);
            return None;
        }
        self.remember_timestamp(segment, start);
        segment.flags.contains(Flags::ACK).then_some(start)
    }

    /// The very segment that is expected, and nothing about it that needs a closer look: all but a
    /// few of a connection's segments, for which every test below would come out well.
    fn is_predicted(&self, segment: &Segment) -> bool {
        let nxt = self.rx.reassembly.nxt();
        let control = Flags::SYN | Flags::FIN | Flags::RST | Flags::ACK;
        segment.seq == self.rx.isn.at(nxt)
            && segment.flags & control == Flags::ACK
            && nxt + u64::from(segment.payload_len) <= self.rx.window.edge()
            && match segment.options.timestamps {
                None => !self.agreed.timestamps,
                Some(timestamps) => self.agreed.timestamps && !self.is_older(timestamps),
            }
    }

    /// The peer's SYN again: it has not had the SYN-ACK, which goes out once more.
    fn is_repeated_syn(&mut self, segment: &Segment, start: Option<u64>) -> bool {
        let control = segment.flags & (Flags::SYN | Flags::ACK | Flags::RST);
        let repeated =
            self.state == State::SynReceived && control == Flags::SYN && start == Some(0);
        if repeated {
            self.tx.nxt = 0;
            self.tx.timing.forget();
            // Without ECN the second time: the peer has taken its offer back (RFC 3168 §6.1.1.1).
            self.agreed.ecn &= segment.flags.contains(Flags::ECE | Flags::CWR);
        }
        repeated
    }

    /// The acceptability test of RFC 9293 §3.4 (table 6), but for the right edge itself: a peer
    /// that has used up the window sends its ACKs from there, also while a loss keeps RCV.NXT back.
    fn in_window(&self, segment: &Segment, start: u64) -> bool {
        let len = u64::from(segment.sequence_len());
        let nxt = self.rx.reassembly.nxt();
        let edge = self.rx.window.edge().max(nxt);
        match len {
            0 => (nxt..=edge).contains(&start),
            _ => start < edge && start + len > nxt,
        }
    }

    fn fails_paws(&mut self, segment: &Segment) -> bool {
        if !self.agreed.timestamps || segment.flags.contains(Flags::RST) {
            return false;
        }
        // RFC 7323 §3.2: once agreed, every segment carries timestamps; others are dropped.
        let Some(timestamps) = segment.options.timestamps else { return true };
        let old = self.is_older(timestamps);
        if old {
            self.rx.acks.send_pure_ack_now();
        }
        old
    }

    /// Older than TS.Recent.
    fn is_older(&self, timestamps: Timestamps) -> bool {
        let newest = self.rx.ts_recent.unwrap_or(timestamps.value);
        (timestamps.value.wrapping_sub(newest) as i32) < 0
    }

    /// RFC 7323 §5.3 R3: only from a segment in the window, or an attacker could turn PAWS
    /// against the peer.
    fn remember_timestamp(&mut self, segment: &Segment, start: u64) {
        if let Some(timestamps) = segment.options.timestamps
            && start <= self.rx.last_ack_sent
        {
            self.rx.ts_recent = Some(timestamps.value);
        }
    }

    /// RFC 9293 §3.10.7.4, first step: an ACK tells the peer where this end stands. What else the
    /// segment says is still news while no window is open: a probe's ACK, a repeated FIN.
    fn answer_unacceptable(&mut self, now: Time, segment: &Segment, start: Option<u64>) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        self.heard(now);
        self.rx.acks.send_pure_ack_now();
        self.note_duplicate(segment, start);
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) {
            self.enter_time_wait(now);
            return;
        }
        // In a simultaneous open the peer's SYN-ACK stands below the window and says what is new.
        let syn = segment.flags.contains(Flags::SYN) && self.state != State::SynReceived;
        if segment.flags.contains(Flags::ACK) && !syn {
            self.acknowledge_from_outside(now, segment);
        }
    }

    /// Payload that is all here already goes into the ACK (RFC 2883 §4).
    fn note_duplicate(&mut self, segment: &Segment, start: Option<u64>) {
        let Some(start) = start.filter(|start| *start > 0 && segment.payload_len > 0) else {
            return;
        };
        let end = start + u64::from(segment.payload_len);
        if end <= self.rx.reassembly.nxt() {
            self.rx.reassembly.insert(start..end);
            self.rx.acks.duplicate();
            self.stats.duplicates_received += 1;
        }
    }

    /// Asks by an ACK whether a suspicious segment was meant.
    pub(super) fn challenge(&mut self, now: Time) {
        if self.challenges.allow(now) {
            self.rx.acks.send_pure_ack_now();
        }
    }

    /// RFC 5961 §3.2: exactly at RCV.NXT a reset is believed, elsewhere in the window it is asked
    /// about by an ACK.
    fn handle_reset(&mut self, now: Time, start: u64) {
        if start != self.rx.reassembly.nxt() {
            return self.challenge(now);
        }
        match self.state {
            State::SynReceived => self.finish(Some(Error::Refused)),
            State::TimeWait => self.finish(None),
            _ => self.finish(Some(Error::Reset)),
        }
    }
}
