use crate::config::RttSampling;
use alloc::collections::VecDeque;
use windlass_base::Time;

/// When the segments were sent that are being timed. Only those sent once (Karn's rule: RFC 6298
/// §3): [`Timing::forget`] at every repair.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Timing {
    /// The position after the first of them; [`u64::MAX`] without any.
    first_end: u64,
    sampling: RttSampling,
    /// The position after each segment, ascending, and when it was sent.
    sent: VecDeque<(u64, Time)>,
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

impl Timing {
    pub(crate) fn new(sampling: RttSampling) -> Timing {
        Timing { sampling, first_end: u64::MAX, sent: VecDeque::new() }
    }

    /// A segment up to `end`, never sent before, goes out.
    pub(crate) fn start(&mut self, end: u64, now: Time) {
        let idle = self.first_end == u64::MAX;
        if idle || self.sampling == RttSampling::EverySegment {
            self.first_end = self.first_end.min(end);
            self.sent.push_back((end, now));
        }
    }

    /// Something is sent again.
    pub(crate) fn forget(&mut self) {
        self.sent.clear();
        self.first_end = u64::MAX;
    }

    /// Everything below `ack` is acknowledged.
    pub(crate) fn acknowledge(&mut self, ack: u64) -> Timed {
        if ack < self.first_end {
            return if self.first_end == u64::MAX { Timed::Nothing } else { Timed::Pending };
        }
        let mut timed = Timed::Nothing;
        while let Some(&(end, sent)) = self.sent.front()
            && end <= ack
        {
            self.sent.pop_front();
            timed = Timed::Sent(sent);
        }
        self.first_end = self.sent.front().map_or(u64::MAX, |(end, _)| *end);
        timed
    }
}
