//! Header prediction: a short way for the two kinds of segments that a bulk transfer consists of, data in order and
//! ACKs of new data. Any other goes the general way, and a segment that goes the short one has the same effects there.

use super::{Accepted, Connection};
use crate::{Flags, Segment};
use windlass_base::{Ecn, Time};

impl Connection {
    /// Handles a segment at RCV.NXT that brings nothing but data, or nothing but an ACK of new data. `None`, without
    /// an effect, for any other.
    #[inline(always)]
    pub(super) fn handle_predicted(
        &mut self,
        now: Time,
        segment: &Segment,
        ecn: Ecn,
    ) -> Option<Accepted> {
        if !self.has_fast_paths() || !self.is_predicted(now, segment) || self.accurate.is_some() {
            return None;
        }
        let start = self.rx.reassembly.nxt();
        if segment.payload_len == 0 {
            return self.take_predicted_ack(now, segment, start).then(Accepted::default);
        }
        self.take_predicted_data(now, segment, start, ecn)
    }

    /// Data that repeats the last ACK, and has no mark.
    #[inline(always)]
    fn take_predicted_data(
        &mut self,
        now: Time,
        segment: &Segment,
        start: u64,
        ecn: Ecn,
    ) -> Option<Accepted> {
        let (ce, cwr) = (ecn == Ecn::Ce, segment.flags.contains(Flags::CWR));
        if self.rx.echo.is_changed_by(ce, cwr) || !self.repeats_last_ack(segment) {
            return None;
        }
        let accepted = self.take_next_data(now, segment, start)?;
        self.heard(now);
        self.tx.wl1 = self.tx.wl1.max(start);
        self.remember_timestamp(now, segment, start);
        Some(accepted)
    }

    /// An ACK of new data. False if steps of [`Connection::take_ack`] concern it.
    #[inline(always)]
    fn take_predicted_ack(&mut self, now: Time, segment: &Segment, start: u64) -> bool {
        let Some(ack) = self.plain_ack(segment) else { return false };
        self.heard(now);
        // With a higher ACK number it is newer than the segment that updated the window last.
        self.tx.set_window(ack, self.window_of(segment));
        self.tx.wl1 = self.tx.wl1.max(start);
        self.handle_new_ack(now, segment, ack, false);
        self.remember_timestamp(now, segment, start);
        true
    }

    /// SEG.WND in bytes, of any segment but a SYN.
    #[inline(always)]
    pub(super) fn window_of(&self, segment: &Segment) -> u64 {
        u64::from(segment.window) << self.agreed.scaling.unwrap_or(0)
    }
}
