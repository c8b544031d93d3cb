//! The choice of how CUBIC leaves slow start: `hystart`, `ack_trains`, or losses alone.

use super::ack_trains::AckTrains;
use super::hystart::{HyStartPlusPlus, Pace};
use super::{Ack, CongestionCause, Window};
use windlass_base::Span;

/// How CUBIC leaves slow start before packets are lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HyStart {
    /// Only losses and ECN echoes end slow start.
    #[default]
    Off,
    /// The first slow start slows down, then ends, when the RTT grows (HyStart++, RFC 9406).
    Rfc9406,
    /// Every slow start ends at once when the ACKs of a round trip arrive in a train as long as the
    /// path, or when their minimum RTT exceeds the path's (HyStart before RFC 9406; Linux).
    AckTrains,
}

/// The rule that ends slow start before packets are lost.
#[derive(Clone, Debug)]
pub(super) enum Exit {
    /// HyStart++ (RFC 9406).
    HyStart(HyStartPlusPlus),
    /// The HyStart of Linux.
    AckTrains(AckTrains),
}

impl Exit {
    /// The rule at the beginning of a connection; `None` if only a loss or an ECN echo ends slow
    /// start.
    pub(super) fn of(hystart: HyStart, paced_from: Option<Span>) -> Option<Exit> {
        match hystart {
            HyStart::Off => None,
            HyStart::Rfc9406 => Some(Exit::HyStart(HyStartPlusPlus::default())),
            HyStart::AckTrains => Some(Exit::AckTrains(AckTrains::new(paced_from))),
        }
    }

    /// The rule after a reduction. RFC 9406 applies to the first slow start only (§4.3); Linux
    /// applies its rule again after a timeout.
    pub(super) fn after(
        cause: CongestionCause,
        hystart: HyStart,
        paced_from: Option<Span>,
    ) -> Option<Exit> {
        let anew = hystart == HyStart::AckTrains && cause == CongestionCause::Timeout;
        if anew { Exit::of(hystart, paced_from) } else { None }
    }

    /// How fast slow start continues after `ack`.
    pub(super) fn on_ack(&mut self, ack: &Ack, window: &Window) -> Pace {
        match self {
            Exit::HyStart(hystart) => hystart.on_ack(ack),
            Exit::AckTrains(trains) => {
                let in_slow_start = window.in_slow_start();
                let over = in_slow_start && trains.is_over(ack, window.cwnd(), window.mss());
                if over { Pace::Over } else { Pace::Full }
            }
        }
    }

    /// The window with which congestion avoidance begins after [`Pace::Over`], in bytes.
    pub(super) fn leaves(&self, window: &Window) -> f64 {
        match self {
            Exit::HyStart(_) => window.cwnd(),
            Exit::AckTrains(trains) => trains.leaves(window.cwnd(), window.mss()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_rule_of_linux_applies_again_and_only_after_a_timeout() {
        let after = |cause, hystart| Exit::after(cause, hystart, None).is_some();
        assert!(after(CongestionCause::Timeout, HyStart::AckTrains));
        assert!(!after(CongestionCause::FastRetransmit, HyStart::AckTrains));
        assert!(!after(CongestionCause::Ecn, HyStart::AckTrains));
        assert!(!after(CongestionCause::Timeout, HyStart::Rfc9406));
        assert!(!after(CongestionCause::Timeout, HyStart::Off));
    }
}
