//! ECE of outgoing ACKs (RFC 3168 §6.1.3): `conn::deliver` reports marks, and `conn::emit`
//! asks for each ACK.

use crate::config::{EcnConfig, EcnEcho};

/// Decides which ACKs carry ECE, the echo of CE.
#[derive(Clone, Debug)]
pub(crate) struct EcnEchoState {
    policy: EcnEcho,
    /// ACKs that echo a mark, with [`EcnEcho::OncePerCe`].
    acks: u8,
    /// The next ACKs, so many of them, have ECE.
    owed: u8,
    /// DCTCP.CE: the last data had CE (RFC 8257 §3.2).
    ce: bool,
    /// DCTCP.CE as it was, for the ACK of the data before its change.
    before_change: Option<bool>,
}

impl EcnEchoState {
    pub(crate) fn new(config: &EcnConfig) -> EcnEchoState {
        EcnEchoState {
            policy: config.echo,
            acks: config.echo_acks.max(1),
            owed: 0,
            ce: false,
            before_change: None,
        }
    }

    /// Takes the marks of a data packet. CWR ends the echo of older marks; a CE mark on the same
    /// packet begins a new echo (RFC 3168 §6.1.3).
    pub(crate) fn data(&mut self, ce: bool, cwr: bool) {
        match self.policy {
            EcnEcho::Dctcp => self.ce = ce,
            _ if ce => self.owed = self.acks,
            EcnEcho::UntilCwr | EcnEcho::Accurate if cwr => self.owed = 0,
            EcnEcho::UntilCwr | EcnEcho::Accurate | EcnEcho::OncePerCe => {}
        }
    }

    /// False for a data packet without CE and CWR that changes nothing: [`EcnEchoState::data`] need not be called.
    #[inline]
    pub(crate) fn is_changed_by(&self, ce: bool, cwr: bool) -> bool {
        ce | cwr | self.ce
    }

    /// True if a data packet with or without CE changes DCTCP.CE: data before it is to be acknowledged by an ACK
    /// of its own, with the old state (RFC 8257 §3.2).
    pub(crate) fn changes_with(&self, ce: bool) -> bool {
        self.policy == EcnEcho::Dctcp && self.ce != ce
    }

    /// True while ACKs echo a mark: a further one is no news.
    pub(crate) fn lasts(&self) -> bool {
        self.owed > 0 || self.ce
    }

    /// Keeps the present state for one ACK.
    pub(crate) fn keep_for_one(&mut self) {
        self.before_change = Some(self.ce);
    }

    /// True if only one segment may carry the next echo: a run of several would repeat it.
    pub(crate) fn is_for_one(&self) -> bool {
        self.before_change.is_some() || (self.owed > 0 && self.policy == EcnEcho::OncePerCe)
    }

    /// Whether the ACK sent now carries ECE. One ACK echoes all marks that arrived before it. Many
    /// marks may arrive before one ACK (coalesced datagrams have one ACK); with an echo for each of
    /// them, old marks would reduce the window once per round trip.
    pub(crate) fn take(&mut self) -> bool {
        if self.policy == EcnEcho::Dctcp {
            return self.before_change.take().unwrap_or(self.ce);
        }
        let echo = self.owed > 0;
        // Hamann 1999, section 3.1: one echo for each CE; footnote 13: several.
        if self.policy == EcnEcho::OncePerCe {
            self.owed = self.owed.saturating_sub(1);
        }
        echo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(echo: EcnEcho, echo_acks: u8) -> EcnEchoState {
        EcnEchoState::new(&EcnConfig { echo, echo_acks, ..EcnConfig::default() })
    }

    #[test]
    fn footnote_13_of_hamann_1999_an_echo_in_several_acks() {
        let mut echo = state(EcnEcho::OncePerCe, 3);
        echo.data(true, false);
        assert_eq!([0; 4].map(|_| echo.take()), [true, true, true, false]);
        // A mark begins anew.
        echo.data(true, false);
        assert!(echo.take());
        echo.data(true, false);
        assert_eq!([0; 4].map(|_| echo.take()), [true, true, true, false]);
    }

    #[test]
    fn rfc3168_the_echo_lasts_until_cwr() {
        let mut echo = state(EcnEcho::UntilCwr, 1);
        echo.data(true, false);
        assert!(echo.take() && echo.take());
        echo.data(false, true);
        assert!(!echo.take());
        echo.data(true, true);
        assert!(echo.take(), "a mark on the packet with CWR is news");
    }

    #[test]
    fn rfc8257_an_ack_has_the_state_of_its_data() {
        let mut echo = state(EcnEcho::Dctcp, 1);
        assert!(!echo.changes_with(false) && echo.changes_with(true));
        echo.keep_for_one();
        echo.data(true, false);
        assert!(echo.is_for_one());
        assert_eq!([0; 3].map(|_| echo.take()), [false, true, true]);
        // CWR means nothing.
        echo.data(true, true);
        assert!(echo.take() && !echo.changes_with(true));
        echo.data(false, false);
        assert!(!echo.take());
    }

    #[test]
    fn hamann_1999_one_echo_for_each_mark() {
        let mut echo = state(EcnEcho::OncePerCe, 1);
        for _ in 0..2 {
            echo.data(true, false);
            assert_eq!([echo.take(), echo.take()], [true, false]);
        }
    }

    #[test]
    fn marks_that_come_before_one_ack_are_echoed_by_that_one_alone() {
        let mut echo = state(EcnEcho::OncePerCe, 1);
        for _ in 0..500 {
            echo.data(true, false);
        }
        assert_eq!([echo.take(), echo.take()], [true, false]);
    }
}
