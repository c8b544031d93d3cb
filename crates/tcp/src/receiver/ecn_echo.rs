use crate::config::EcnEcho;

/// The receiver's answer to CE.
#[derive(Clone, Debug)]
pub(crate) struct EcnEchoState {
    policy: EcnEcho,
    /// The next ACK has ECE.
    owed: bool,
}

impl EcnEchoState {
    pub(crate) fn new(policy: EcnEcho) -> EcnEchoState {
        EcnEchoState { policy, owed: false }
    }

    /// A data packet arrived. CWR ends the echo of older marks before a mark of its own begins a
    /// new one (RFC 3168 §6.1.3).
    pub(crate) fn data(&mut self, ce: bool, cwr: bool) {
        match self.policy {
            _ if ce => self.owed = true,
            EcnEcho::UntilCwr if cwr => self.owed = false,
            EcnEcho::UntilCwr | EcnEcho::OncePerCe => {}
        }
    }

    /// The next echo is for one packet alone: a run of several would repeat it.
    pub(crate) fn is_for_one(&self) -> bool {
        self.owed && self.policy == EcnEcho::OncePerCe
    }

    /// Whether the ACK that goes out now has ECE. It echoes every mark that came before it: were one
    /// echo owed for each of many that came at once (joined datagrams have one ACK), marks of long ago
    /// would cut the window, once in each round trip.
    pub(crate) fn take(&mut self) -> bool {
        let echo = self.owed;
        self.owed &= self.policy == EcnEcho::UntilCwr;
        echo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3168_the_echo_lasts_until_cwr() {
        let mut echo = EcnEchoState::new(EcnEcho::UntilCwr);
        echo.data(true, false);
        assert!(echo.take() && echo.take());
        echo.data(false, true);
        assert!(!echo.take());
        echo.data(true, true);
        assert!(echo.take(), "a mark on the packet with CWR is news");
    }

    #[test]
    fn papers_002_one_echo_for_each_mark() {
        let mut echo = EcnEchoState::new(EcnEcho::OncePerCe);
        for _ in 0..2 {
            echo.data(true, false);
            assert_eq!([echo.take(), echo.take()], [true, false]);
        }
    }

    #[test]
    fn marks_that_come_before_one_ack_are_echoed_by_that_one_alone() {
        let mut echo = EcnEchoState::new(EcnEcho::OncePerCe);
        for _ in 0..500 {
            echo.data(true, false);
        }
        assert_eq!([echo.take(), echo.take()], [true, false]);
    }
}
