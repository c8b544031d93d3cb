//! What holds for every controller, and the samples that the controllers' own tests use.

use super::*;

pub(super) const MSS: u32 = 1000;

/// Segments of 1000 bytes, an initial window of four.
pub(super) fn params() -> Params {
    Params { mss: MSS, initial_window: 4000, initial_ssthresh: u64::MAX, whole_segment_cuts: false }
}

/// An ACK of `credit` bytes at `ms`, on a path of 100 ms.
pub(super) fn ack(ms: u64, credit: u64) -> Ack {
    let rtt = Span::from_millis(100);
    Ack {
        now: Time::ZERO + Span::from_millis(ms),
        bytes_acked: credit,
        credit,
        rtt: Some(rtt),
        smoothed_rtt: rtt,
        min_rtt: Some(rtt),
        in_flight: credit,
        acked_total: 0,
        sent_total: 0,
    }
}

/// Congestion at the origin of time, with a window of `window` bytes.
pub(super) fn congestion(cause: CongestionCause, window: f64) -> Congestion {
    Congestion {
        now: Time::ZERO,
        cause,
        window,
        hold_ssthresh: false,
        smoothed_rtt: Span::from_millis(100),
    }
}
