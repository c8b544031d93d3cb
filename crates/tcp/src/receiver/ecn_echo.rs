use crate::config::EcnEcho;

/// Decides which ACKs carry ECE, the echo of CE.
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

    /// Takes the marks of a data packet. CWR ends the echo of older marks; a CE mark on the same
    /// packet begins a new echo (RFC 3168 §6.1.3).
    pub(crate) fn data(&mut self, ce: bool, cwr: bool) {
        match self.policy {
            _ if ce => self.owed = true,
            EcnEcho::UntilCwr if cwr => self.owed = false,
            EcnEcho::UntilCwr | EcnEcho::OncePerCe => {}
        }
    }

    /// True if only one segment may carry the next echo: a run of several would repeat it.
    pub(crate) fn is_for_one(&self) -> bool {
        self.owed && self.policy == EcnEcho::OncePerCe
    }

    /// Whether the ACK sent now carries ECE. One ACK echoes all marks that arrived before it. Many
    /// marks may arrive before one ACK (coalesced datagrams have one ACK); with an echo for each of
    /// them, old marks would reduce the window once per round trip.
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
    fn hamann_1999_one_echo_for_each_mark() {
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
