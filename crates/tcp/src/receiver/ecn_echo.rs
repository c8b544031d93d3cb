use crate::config::EcnEcho;

/// The receiver's answer to CE.
#[derive(Clone, Debug)]
pub(crate) struct EcnEchoState {
    policy: EcnEcho,
    /// CE packets not echoed yet ([`EcnEcho::OncePerCe`]), or 1 while echoing.
    owed: u32,
}

impl EcnEchoState {
    pub(crate) fn new(policy: EcnEcho) -> EcnEchoState {
        EcnEchoState { policy, owed: 0 }
    }

    /// A data packet arrived. CWR ends the echo of older marks before a mark of its own begins a
    /// new one (RFC 3168 §6.1.3).
    pub(crate) fn data(&mut self, ce: bool, cwr: bool) {
        match self.policy {
            EcnEcho::UntilCwr if ce => self.owed = 1,
            EcnEcho::UntilCwr if cwr => self.owed = 0,
            EcnEcho::OncePerCe => self.owed = self.owed.saturating_add(ce as u32),
            EcnEcho::UntilCwr => {}
        }
    }

    /// The next echo is for one packet alone: a run of several would repeat it.
    pub(crate) fn is_for_one(&self) -> bool {
        self.owed > 0 && self.policy == EcnEcho::OncePerCe
    }

    /// Whether the ACK that goes out now has ECE.
    pub(crate) fn take(&mut self) -> bool {
        let echo = self.owed > 0;
        if echo && self.policy == EcnEcho::OncePerCe {
            self.owed -= 1;
        }
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
        echo.data(true, false);
        echo.data(true, false);
        assert_eq!([echo.take(), echo.take(), echo.take()], [true, true, false]);
    }
}
