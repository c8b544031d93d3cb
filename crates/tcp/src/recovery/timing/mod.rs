//! Send times of segments. `conn::emit` enters them, `conn::acknowledge` takes RTT samples from them,
//! and RACK compares them.

use crate::config::RttSampling;
use alloc::collections::VecDeque;
use core::ops::Range;
use windlass_base::Time;

/// The send times of the segments that are being timed: only those sent once (Karn's rule, RFC 6298
/// §3). Every repair calls [`Timing::forget`], unless RACK distinguishes retransmissions from
/// originals.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Timing {
    /// The position after the first segment being timed; [`u64::MAX`] without one.
    first_end: u64,
    sampling: RttSampling,
    /// Ascending by position and by time.
    sent: VecDeque<Flight>,
}

/// Consecutive new segments of one size that were sent at the same time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    from: u64,
    pub(crate) sent: Time,
    len: u32,
    /// Positions that one segment takes.
    segment: u32,
}

/// The result of an ACK for the segments being timed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    /// No segment is being timed.
    Nothing,
    /// The ACK does not cover a segment being timed.
    Pending,
    /// The send time of the last timed segment that the ACK covers.
    Sent(Time),
}

impl Flight {
    pub(crate) fn new(range: Range<u64>, segment: u32, sent: Time) -> Flight {
        Flight { from: range.start, len: (range.end - range.start) as u32, segment, sent }
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.from..self.end()
    }

    fn end(&self) -> u64 {
        self.from + u64::from(self.len)
    }

    fn first_end(&self) -> u64 {
        self.end().min(self.from + u64::from(self.segment))
    }

    fn first_segment(self) -> Flight {
        Flight { len: (self.first_end() - self.from) as u32, ..self }
    }

    fn begin_at(&mut self, position: u64) {
        self.len = (self.end() - position) as u32;
        self.from = position;
    }
}

impl Timing {
    pub(crate) fn new(sampling: RttSampling) -> Timing {
        Timing { sampling, first_end: u64::MAX, sent: VecDeque::new() }
    }

    /// Starts to time new segments.
    pub(crate) fn start(&mut self, flight: Flight) {
        let idle = self.first_end == u64::MAX;
        let every = self.sampling == RttSampling::EverySegment;
        // RFC 6298 §3 asks for a sample in each round trip at least.
        if idle || every {
            self.first_end = self.first_end.min(flight.first_end());
            self.sent.push_back(if every { flight } else { flight.first_segment() });
        }
    }

    /// Stops timing all segments, after a retransmission.
    pub(crate) fn forget(&mut self) {
        self.sent.clear();
        self.first_end = u64::MAX;
    }

    /// As [`Timing::forget`]; returns the segments that were being timed.
    pub(crate) fn take(&mut self) -> Timing {
        core::mem::replace(self, Timing::new(self.sampling))
    }

    /// Appends `later`, whose segments have higher positions and were sent later.
    pub(crate) fn append(&mut self, mut later: Timing) {
        self.sent.append(&mut later.sent);
        self.note_first();
    }

    /// Takes an ACK of everything below `ack`.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: u64) -> Timed {
        if ack < self.first_end {
            return if self.first_end == u64::MAX { Timed::Nothing } else { Timed::Pending };
        }
        self.acknowledge_first(ack)
    }

    #[inline(never)]
    fn acknowledge_first(&mut self, ack: u64) -> Timed {
        let mut timed = Timed::Nothing;
        while let Some(flight) = self.sent.front_mut() {
            if flight.end() > ack {
                // The ACK covers whole segments of the flight; the others are still timed.
                if flight.first_end() <= ack {
                    timed = Timed::Sent(flight.sent);
                    flight.begin_at(ack);
                }
                break;
            }
            timed = Timed::Sent(flight.sent);
            self.sent.pop_front();
        }
        self.note_first();
        timed
    }

    fn note_first(&mut self) {
        self.first_end = self.sent.front().map_or(u64::MAX, Flight::first_end);
    }
}

/// Methods for RACK.
impl Timing {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.sent.iter()
    }

    /// Stops timing the segments below `position`.
    pub(crate) fn drop_below(&mut self, position: u64) {
        while let Some(flight) = self.sent.front_mut() {
            if flight.end() > position {
                if flight.from < position {
                    flight.begin_at(position);
                }
                break;
            }
            self.sent.pop_front();
        }
        self.note_first();
    }

    /// Stops timing the segments from `position` on, which are retransmitted.
    pub(crate) fn drop_from(&mut self, position: u64) {
        while let Some(flight) = self.sent.back_mut() {
            if flight.from < position {
                flight.len = flight.len.min((position - flight.from) as u32);
                break;
            }
            self.sent.pop_back();
        }
        self.note_first();
    }

    /// The send time of the last segment within `range` that was sent once.
    pub(crate) fn last_sent_within(&self, range: Range<u64>) -> Option<Time> {
        let index = self.sent.partition_point(|flight| flight.from < range.end);
        let flight = self.sent.get(index.checked_sub(1)?)?;
        (flight.end() > range.start).then_some(flight.sent)
    }

    /// The position of the last segment before `data_end`; a FIN at `data_end` belongs to that
    /// segment.
    pub(crate) fn last_start(&self, data_end: u64) -> Option<u64> {
        let flight = self.sent.back()?;
        let segment = u64::from(flight.segment.max(1));
        let before = data_end.saturating_sub(flight.from + 1);
        Some(flight.from + before / segment * segment)
    }
}

#[cfg(test)]
mod tests;
