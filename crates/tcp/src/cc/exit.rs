use super::ack_trains::AckTrains;
use super::hystart::{HyStartPlusPlus, Pace};
use super::{Ack, CongestionCause, HyStart, Window};
use windlass_base::Span;

/// What ends slow start before packets are lost.
#[derive(Clone, Debug)]
pub(super) enum Exit {
    /// RFC 9406.
    HyStart(HyStartPlusPlus),
    /// As Linux.
    AckTrains(AckTrains),
}

impl Exit {
    /// What a connection begins with, if anything.
    pub(super) fn of(hystart: HyStart, paced_from: Option<Span>) -> Option<Exit> {
        match hystart {
            HyStart::Off => None,
            HyStart::Rfc9406 => Some(Exit::HyStart(HyStartPlusPlus::default())),
            HyStart::AckTrains => Some(Exit::AckTrains(AckTrains::new(paced_from))),
        }
    }

    /// What holds after a cut. RFC 9406 is for the first slow start alone (§4.3); Linux begins anew
    /// after a timeout.
    pub(super) fn after(
        cause: CongestionCause,
        hystart: HyStart,
        paced_from: Option<Span>,
    ) -> Option<Exit> {
        let anew = hystart == HyStart::AckTrains && cause == CongestionCause::Timeout;
        if anew { Exit::of(hystart, paced_from) } else { None }
    }

    /// How slow start goes on with an ACK, if it does still.
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

    /// The window in bytes that congestion avoidance begins with, after [`Pace::Over`].
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
    fn only_linux_after_a_timeout_looks_for_the_end_of_slow_start_again() {
        let after = |cause, hystart| Exit::after(cause, hystart, None).is_some();
        assert!(after(CongestionCause::Timeout, HyStart::AckTrains));
        assert!(!after(CongestionCause::FastRetransmit, HyStart::AckTrains));
        assert!(!after(CongestionCause::Ecn, HyStart::AckTrains));
        assert!(!after(CongestionCause::Timeout, HyStart::Rfc9406));
        assert!(!after(CongestionCause::Timeout, HyStart::Off));
    }
}
