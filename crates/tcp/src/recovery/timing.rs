use crate::config::RttSampling;
use alloc::collections::VecDeque;
use windlass_base::Time;

/// When the segments were sent that are being timed. Only those sent once (Karn's rule: RFC 6298
/// §3): [`Timing::forget`] at every repair.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
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
        Timing { sampling, sent: VecDeque::new() }
    }

    /// A segment up to `end`, never sent before, goes out.
    pub(crate) fn start(&mut self, end: u64, now: Time) {
        if self.sampling == RttSampling::EverySegment || self.sent.is_empty() {
            self.sent.push_back((end, now));
        }
    }

    /// Something is sent again.
    pub(crate) fn forget(&mut self) {
        self.sent.clear();
    }

    /// Everything below `ack` is acknowledged.
    pub(crate) fn acknowledge(&mut self, ack: u64) -> Timed {
        if self.sent.is_empty() {
            return Timed::Nothing;
        }
        let mut timed = Timed::Pending;
        while let Some(&(end, sent)) = self.sent.front()
            && end <= ack
        {
            self.sent.pop_front();
            timed = Timed::Sent(sent);
        }
        timed
    }
}
