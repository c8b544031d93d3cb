use crate::config::RttSampling;
use alloc::collections::VecDeque;
use core::ops::Range;
use windlass_base::Time;

/// When the segments were sent that are being timed: only those sent once (Karn's rule: RFC 6298
/// §3). [`Timing::forget`] at every repair, unless RACK tells the copies apart.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Timing {
    /// The position after the first segment of them; [`u64::MAX`] without any.
    first_end: u64,
    sampling: RttSampling,
    /// Ascending by position and by time.
    sent: VecDeque<Flight>,
}

/// Segments of one size, sent at the same time for the first time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    from: u64,
    pub(crate) sent: Time,
    len: u32,
    /// Positions that one segment takes.
    segment: u32,
}

/// What an ACK says about the segments being timed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    /// None is being timed.
    Nothing,
    /// They are still on their way.
    Pending,
    /// The last segment that it acknowledges was sent then.
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

    /// Segments never sent before go out.
    pub(crate) fn start(&mut self, flight: Flight) {
        let idle = self.first_end == u64::MAX;
        let every = self.sampling == RttSampling::EverySegment;
        if idle || every {
            self.first_end = self.first_end.min(flight.first_end());
            self.sent.push_back(if every { flight } else { flight.first_segment() });
        }
    }

    /// Something is sent again.
    pub(crate) fn forget(&mut self) {
        self.sent.clear();
        self.first_end = u64::MAX;
    }

    /// As [`Timing::forget`]; what was being timed.
    pub(crate) fn take(&mut self) -> Timing {
        core::mem::replace(self, Timing::new(self.sampling))
    }

    /// `later` were sent later, and stand after these.
    pub(crate) fn append(&mut self, mut later: Timing) {
        self.sent.append(&mut later.sent);
        self.note_first();
    }

    /// Everything below `ack` is acknowledged.
    pub(crate) fn acknowledge(&mut self, ack: u64) -> Timed {
        if ack < self.first_end {
            return if self.first_end == u64::MAX { Timed::Nothing } else { Timed::Pending };
        }
        let mut timed = Timed::Nothing;
        while let Some(flight) = self.sent.front_mut() {
            if flight.end() > ack {
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

/// What RACK asks.
impl Timing {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.sent.iter()
    }

    /// The first ones are no longer of interest below `position`.
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

    /// The last ones neither, from `position` on: they are sent again.
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

    /// When the last part of `range` was sent that was sent once.
    pub(crate) fn last_sent_within(&self, range: Range<u64>) -> Option<Time> {
        let index = self.sent.partition_point(|flight| flight.from < range.end);
        let flight = self.sent.get(index.checked_sub(1)?)?;
        (flight.end() > range.start).then_some(flight.sent)
    }

    /// Where the last segment of what lies before `data_end` begins; a FIN beyond it goes with it.
    pub(crate) fn last_start(&self, data_end: u64) -> Option<u64> {
        let flight = self.sent.back()?;
        let segment = u64::from(flight.segment.max(1));
        let before = data_end.saturating_sub(flight.from + 1);
        Some(flight.from + before / segment * segment)
    }
}

#[cfg(test)]
mod tests;
