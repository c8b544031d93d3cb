use super::reno::RenoController;
use super::{Controller, ControllerFactory, FastRecovery, Params};
use alloc::boxed::Box;

/// NewReno (RFC 6582): the window of Reno, with a fast recovery that lasts until all data sent
/// before the loss is acknowledged.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct NewReno;

impl ControllerFactory for NewReno {
    fn name(&self) -> &'static str {
        "newreno"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        RenoController::boxed(FastRecovery::NewReno, params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Reno;
    use crate::cc::tests::{ack, params};

    #[test]
    fn its_window_is_renos_and_its_recovery_is_not() {
        let (mut newreno, mut reno) = (NewReno.build(&params()), Reno.build(&params()));
        for ms in 0..50 {
            newreno.on_ack(&ack(ms, 1000));
            reno.on_ack(&ack(ms, 1000));
        }
        assert_eq!(newreno.cwnd(), reno.cwnd());
        assert_eq!(newreno.fast_recovery(), FastRecovery::NewReno);
        assert_eq!(reno.fast_recovery(), FastRecovery::Reno);
    }
}
