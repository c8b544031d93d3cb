use super::reno::RenoController;
use super::{Controller, ControllerFactory, FastRecovery, Params};
use alloc::boxed::Box;

/// Tahoe: slow start from one segment after every loss. An ECN echo halves the window without slow
/// start (Hamann 1999, section 2.3).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tahoe;

impl ControllerFactory for Tahoe {
    fn name(&self) -> &'static str {
        "tahoe"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        RenoController::boxed(FastRecovery::Tahoe, params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionCause;
    use crate::cc::tests::{congestion, params};

    fn after(cause: CongestionCause) -> (f64, u64) {
        let mut tahoe = Tahoe.build(&params());
        tahoe.on_congestion(&congestion(cause, 20_000.0));
        (tahoe.cwnd(), tahoe.ssthresh())
    }

    #[test]
    fn every_loss_starts_again_from_one_segment() {
        assert_eq!(after(CongestionCause::FastRetransmit), (1000.0, 10_000));
        assert_eq!(after(CongestionCause::Timeout), (1000.0, 10_000));
    }

    #[test]
    fn an_ecn_echo_halves_without_slow_start() {
        assert_eq!(after(CongestionCause::Ecn), (10_000.0, 10_000));
    }
}
