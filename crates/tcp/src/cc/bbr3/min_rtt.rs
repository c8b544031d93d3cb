//! The least RTT: "ProbeRTT Logic", UpdateMinRTT.

use super::super::Start;
use super::ack::AckSample;
use super::{Bbr3, Bbr3Controller};
use windlass_base::{Span, Time};

#[derive(Clone, Debug)]
pub(super) struct MinRtt {
    settings: Bbr3,
    /// BBR.min_rtt; `None` before the first sample.
    pub(super) least: Option<Span>,
    stamp: Time,
    /// BBR.probe_rtt_min_delay.
    pub(super) probe_rtt_min_delay: Option<Span>,
    pub(super) probe_rtt_min_stamp: Time,
    pub(super) probe_rtt_expired: bool,
}

impl MinRtt {
    pub(super) fn new(settings: &Bbr3) -> MinRtt {
        MinRtt {
            settings: *settings,
            least: None,
            stamp: Time::ZERO,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
        }
    }

    pub(super) fn begin(&mut self, start: &Start) {
        self.least = start.smoothed_rtt;
        (self.stamp, self.probe_rtt_min_stamp) = (start.now, start.now);
    }
}

impl Bbr3Controller {
    /// UpdateMinRTT: the least RTT of BBR.MinRTTFilterLen, and of the last BBR.ProbeRTTInterval.
    pub(super) fn update_min_rtt(&mut self, ack: &AckSample) {
        let (now, min) = (ack.now, &mut self.min_rtt);
        min.probe_rtt_expired = now > min.probe_rtt_min_stamp + min.settings.probe_rtt_interval;
        if let Some(rtt) = ack.rtt
            && (min.probe_rtt_expired || min.probe_rtt_min_delay.is_none_or(|least| rtt < least))
        {
            (min.probe_rtt_min_delay, min.probe_rtt_min_stamp) = (Some(rtt), now);
        }
        let Some(delay) = min.probe_rtt_min_delay else { return };
        let has_expired = now > min.stamp + min.settings.min_rtt_filter_len;
        if has_expired || min.least.is_none_or(|least| delay < least) {
            (min.least, min.stamp) = (Some(delay), min.probe_rtt_min_stamp);
        }
    }
}
