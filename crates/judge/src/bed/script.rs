//! Steps of many programs: waiting for a window, a flight of known size, the loss of chosen packets, acknowledgments
//! in the receiver's place.

use super::{Bed, Event, EventKind, Fate, Packet, Traffic};
use crate::verdict::{Fault, demand};
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::{Flags, Segment};

/// How long a program waits for what must happen. A timer's back-off comes to less.
const PATIENCE: Span = Span::from_secs(20);

/// An ACK or a retransmission comes at once if it comes within this.
pub(crate) const AT_ONCE: Span = Span::from_millis(15);

/// A flight that [`Bed::write_segments`] sent.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Burst {
    /// The offset of its first byte.
    pub(crate) base: u64,
    /// Payload of its segments, in bytes.
    pub(crate) segment: u64,
    /// When it was written.
    pub(crate) at: Time,
}

impl Burst {
    /// The offset of a segment, counted from 0.
    pub(crate) fn offset(&self, segment: u64) -> u64 {
        self.base + segment * self.segment
    }
}

/// A repair: FlightSize in segments at its first retransmission and right after its end.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Repaired {
    pub(crate) before: f64,
    pub(crate) after: f64,
}

impl Repaired {
    /// The part of the flight that the repair left.
    pub(crate) fn ratio(&self) -> f64 {
        self.after / self.before
    }
}

/// Waiting for something.
impl Bed {
    /// Runs until the condition holds, before the sender reacts; fails where it does not within a long time.
    pub(crate) fn await_that(
        &mut self,
        what: &str,
        mut holds: impl FnMut(&Bed) -> bool,
    ) -> Result<(), Fault> {
        let found = holds(self) || self.run_until(PATIENCE, holds);
        demand!(found, "{what} within {} s", PATIENCE.as_secs_f64());
        Ok(())
    }

    /// The same for a condition about what the sender sends, right after it has done so.
    pub(crate) fn await_sent(
        &mut self,
        what: &str,
        holds: impl Fn(&Bed) -> bool,
    ) -> Result<(), Fault> {
        let end = self.now + PATIENCE;
        while !holds(self) {
            let left = end.saturating_since(self.now);
            let any = !left.is_zero() && self.run_until(left, |_| true);
            demand!(any, "{what} within {} s", PATIENCE.as_secs_f64());
        }
        Ok(())
    }

    /// Runs until FlightSize has reached so many segments.
    pub(crate) fn fill(&mut self, segments: u64) -> Result<(), Fault> {
        self.await_sent("no such window", |bed| {
            bed.wire().segment() > 1 && bed.segments_in_flight() >= segments as f64
        })
    }

    /// Runs until what was sent by now is acknowledged: a round trip.
    pub(crate) fn round(&mut self) -> Result<(), Fault> {
        let target = self.wire().sent();
        self.await_that("no acknowledgment", |bed| bed.wire().acked() >= target)
    }

    /// Runs until data is sent again.
    pub(crate) fn await_resent(&mut self) -> Result<Event, Fault> {
        let (resent, seen) = (self.wire().resent(), self.wire().events().len());
        self.await_sent("no retransmission", |bed| bed.wire().resent() > resent)?;
        let mut events = self.wire().events()[seen..].iter();
        let event = events.find(|event| event.kind == EventKind::Resent);
        event.copied().ok_or_else(|| Fault::Failed("no retransmission".to_owned()))
    }

    /// Runs through a repair that begins with the next retransmission.
    pub(crate) fn through_repair(&mut self) -> Result<Repaired, Fault> {
        let first = self.await_resent()?;
        let point = self.wire().sent();
        let before = first.flight as f64 / self.wire().segment() as f64;
        self.await_that("no end of the repair", |bed| bed.wire().acked() >= point)?;
        let after = self.largest_flight(Span::from_millis(self.path.rtt_ms) / 2);
        Ok(Repaired { before, after })
    }

    /// The largest FlightSize from now on, in segments.
    pub(crate) fn largest_flight(&mut self, span: Span) -> f64 {
        let mut largest = self.segments_in_flight();
        self.run_until(span, |bed| {
            largest = largest.max(bed.segments_in_flight());
            false
        });
        largest.max(self.segments_in_flight())
    }

    /// The application has data without end until the window has so many segments. Then it writes nothing until all
    /// is acknowledged.
    pub(crate) fn grow_and_drain(&mut self, segments: u64) -> Result<(), Fault> {
        self.traffic = Traffic::Bulk;
        self.fill(segments)?;
        self.traffic = Traffic::Pause;
        self.drain()
    }

    /// Runs until all that was written is acknowledged.
    pub(crate) fn drain(&mut self) -> Result<(), Fault> {
        self.await_that("not all is acknowledged", |bed| bed.wire().acked() >= bed.written)
    }

    /// The application writes so many segments.
    pub(crate) fn write_segments(&mut self, segments: u64) -> Burst {
        let (base, segment, at) = (self.wire().sent(), self.wire().segment(), self.now);
        self.write(segments * segment);
        Burst { base, segment, at }
    }
}

/// Looking at packets.
impl Bed {
    /// FlightSize in segments, of the size that the sender uses.
    pub(crate) fn segments_in_flight(&self) -> f64 {
        self.flight() / self.wire().segment() as f64
    }

    /// The retransmissions from `since` on.
    pub(crate) fn resent_since(&self, since: Time) -> impl Iterator<Item = Event> {
        self.wire().data_since(since).filter(|event| event.kind == EventKind::Resent).copied()
    }

    /// The times at which data at this offset was sent again, from `since` on.
    pub(crate) fn copies_since(&self, since: Time, offset: u64) -> Vec<Time> {
        let of_offset = |event: &Event| self.wire().offset(event.packet.segment.seq) == offset;
        self.resent_since(since).filter(of_offset).map(|event| event.at).collect()
    }
}

/// Losing packets, and making them.
impl Bed {
    /// Loses some of the next segments that are sent for the first time, counted from 0.
    pub(crate) fn lose(&mut self, which: &'static [u64]) {
        let mut count = 0;
        self.on_data(move |_, again| {
            let lost = !again && which.contains(&count);
            count += u64::from(!again);
            if lost { Fate::Drop } else { Fate::Pass }
        });
    }

    /// Loses so many of the next segments that are sent for the first time.
    pub(crate) fn lose_segments(&mut self, segments: u32) {
        let mut left = segments;
        self.on_data(move |_, again| {
            let lost = !again && left > 0;
            left -= u32::from(lost);
            if lost { Fate::Drop } else { Fate::Pass }
        });
    }

    /// As [`Bed::lose`], and also the first retransmissions, so many of them.
    pub(crate) fn lose_and_again(&mut self, which: &'static [u64], mut copies: u32) {
        let mut count = 0;
        self.on_data(move |_, again| {
            let lost = if again { copies > 0 } else { which.contains(&count) };
            count += u64::from(!again);
            copies -= u32::from(again && lost);
            if lost { Fate::Drop } else { Fate::Pass }
        });
    }

    /// Loses all data, and then so many retransmissions, before the next one passes and all that follows.
    pub(crate) fn lose_until_copy(&mut self, mut copies: u32) {
        let mut over = false;
        self.on_data(move |_, again| {
            over |= again && copies == 0;
            copies -= u32::from(again && copies > 0);
            if over { Fate::Pass } else { Fate::Drop }
        });
    }

    /// Loses all data from now on.
    pub(crate) fn lose_all(&mut self) {
        self.on_data(|_, _| Fate::Drop);
    }

    /// Only so many of the receiver's packets pass from now on.
    pub(crate) fn pass_acks(&mut self, mut left: u32) {
        self.on_acks(move |_| {
            let passes = left > 0;
            left = left.saturating_sub(1);
            if passes { Fate::Pass } else { Fate::Drop }
        });
    }

    /// An ACK up to this offset in the receiver's place, with these SACK blocks. It echoes the timestamp of the data
    /// that was sent last.
    pub(crate) fn ack_packet(&self, to: u64, sacked: &[(u64, u64)]) -> Option<Packet> {
        let wire = self.wire();
        let last = wire.events().iter().rev().find(|event| event.kind == EventKind::Arrived)?;
        let data = wire.events().iter().rev().find(|event| event.kind != EventKind::Arrived)?;
        let last = last.packet.segment;
        let mut segment = Segment {
            // The last one may be the SYN-ACK, which takes a number.
            seq: last.seq.at(u64::from(last.sequence_len())),
            ack: wire.seq(to),
            window: last.window,
            flags: Flags::ACK,
            ..Segment::default()
        };
        segment.options.timestamps = last.options.timestamps;
        for (left, right) in sacked {
            segment.options.sack.push(wire.seq(*left), wire.seq(*right));
        }
        if let (Some(own), Some(sent)) =
            (&mut segment.options.timestamps, data.packet.segment.options.timestamps)
        {
            own.echo_reply = sent.value;
        }
        Some(Packet { segment, ecn: Ecn::NotEct })
    }

    /// Sends such an ACK, which arrives at once.
    pub(crate) fn acknowledge(&mut self, to: u64, sacked: &[(u64, u64)]) {
        if let Some(packet) = self.ack_packet(to, sacked) {
            self.inject(packet);
        }
    }
}
