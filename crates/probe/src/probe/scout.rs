//! Connections that measure nothing: scouts, and those that open the way for the measured one.

use super::{Ending, Phase, Probe, Purpose};
use windlass_base::{Span, Time};

/// A scout that hears nothing new for this long, or three round trips, has heard the whole answer.
const SILENCE: Span = Span::from_secs(1);
/// As much of an answer as any measurement needs: 128 segments of Ethernet.
pub(super) const ENOUGH_BYTES: u64 = 128 * 1460;
/// How long a connection stays open for the measured one. Servers of FTP wait about as long for it.
pub(super) const HOLD_MAX: Span = Span::from_secs(60);

impl Probe {
    pub(super) fn advance_scout(&mut self, now: Time) {
        let talk = self.application.talk();
        let closed = self.stream.connection().peer_closed();
        if self.is_web() {
            if talk.head.is_some() || talk.not_http {
                self.finish(Ending::HeadRead);
            } else if closed {
                self.finish(Ending::NoAnswer);
            }
            return;
        }
        let silent = self.silent_at().is_some_and(|at| now >= at);
        if talk.ended || closed || silent || self.arrivals.end() >= ENOUGH_BYTES {
            let nothing = self.application.answer_bytes() == 0;
            self.finish(if nothing { Ending::NoAnswer } else { Ending::HeadRead });
        }
    }

    /// When a scout has heard the whole answer, unless more comes. `None` with HTTP, whose head it waits for.
    pub(super) fn silent_at(&self) -> Option<Time> {
        let scouts =
            matches!(self.order.purpose, Purpose::Scout | Purpose::Ecn(_)) && !self.is_web();
        let begun = scouts && self.application.answer_has_begun();
        let last = self.arrivals.last_new().filter(|_| begun)?;
        Some(last + SILENCE.max(self.rtt_or(Span::ZERO) * 3))
    }

    pub(super) fn advance_opening(&mut self, now: Time) {
        if self.stream.connection().peer_closed() {
            return self.finish(Ending::NoAnswer);
        }
        if self.application.talk().opened.is_some() && !self.is_held() {
            self.report = Some(self.make_report(Ending::HeadRead, None));
            self.phase = Phase::Held(now);
        }
    }

    /// Whether the connection has made its report and stays open, because the measured one needs it. Its
    /// caller still passes packets and the time to it, and calls [`Probe::abort`] when the other is over.
    pub fn is_held(&self) -> bool {
        matches!(self.phase, Phase::Held(_))
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }
}
