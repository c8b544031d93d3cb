//! The least RTT: "ProbeRTT Logic", UpdateMinRTT.

use super::super::Start;
use super::Bbr3Controller;
use super::ack::AckSample;
use windlass_base::{Span, Time};

/// BBR.MinRTTFilterLen.
const MIN_RTT_FILTER_LEN: Span = Span::from_secs(10);
/// BBR.ProbeRTTInterval.
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);

#[derive(Clone, Debug, Default)]
pub(super) struct MinRtt {
    /// BBR.min_rtt; `None` before the first sample.
    pub(super) least: Option<Span>,
    stamp: Time,
    /// BBR.probe_rtt_min_delay.
    pub(super) probe_rtt_min_delay: Option<Span>,
    pub(super) probe_rtt_min_stamp: Time,
    pub(super) probe_rtt_expired: bool,
}

impl MinRtt {
    pub(super) fn begin(&mut self, start: &Start) {
        self.least = start.smoothed_rtt;
        (self.stamp, self.probe_rtt_min_stamp) = (start.now, start.now);
    }
}

impl Bbr3Controller {
    /// UpdateMinRTT: the least RTT of ten seconds, and of the last five.
    pub(super) fn update_min_rtt(&mut self, ack: &AckSample) {
        let (now, min) = (ack.now, &mut self.min_rtt);
        min.probe_rtt_expired = now > min.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (min.probe_rtt_expired || min.probe_rtt_min_delay.is_none_or(|least| rtt < least))
        {
            (min.probe_rtt_min_delay, min.probe_rtt_min_stamp) = (Some(rtt), now);
        }
        let Some(delay) = min.probe_rtt_min_delay else { return };
        let has_expired = now > min.stamp + MIN_RTT_FILTER_LEN;
        if has_expired || min.least.is_none_or(|least| delay < least) {
            (min.least, min.stamp) = (Some(delay), min.probe_rtt_min_stamp);
        }
    }
}
