//! Connections that acknowledge as usual: they find out whether a server answers, and what ECN it speaks, or open the
//! way for the measured one.

use super::Ending;
use super::channel::Channel;
use super::ecn::{Ask, Endpoint};
use super::run::{Next, Run, Setup};
use windlass_base::{Span, Time};

/// A scout that hears nothing new for this long, or three round trips, has heard the whole answer.
const SILENCE: Span = Span::from_secs(1);
/// As much of an answer as any measurement needs: 128 segments of Ethernet.
pub(crate) const ENOUGH_BYTES: u64 = 128 * 1460;

#[derive(Debug)]
pub(crate) struct Scout {
    /// The ECN that the SYN asks for.
    ask: Option<Ask>,
}

impl Scout {
    pub(crate) fn new(ask: Option<Ask>) -> Scout {
        Scout { ask }
    }
}

impl Run for Scout {
    fn setup(&self) -> Setup {
        let ecn = self.ask.map(|ask| Endpoint::new(ask, true));
        Setup { acks_as_usual: true, ecn, ..Setup::default() }
    }

    fn advance(&mut self, now: Time, channel: &mut Channel) -> Next {
        let talk = channel.application.talk();
        let closed = channel.stream.connection().peer_closed();
        if channel.is_web() {
            return match talk.head.is_some() || talk.not_http {
                true => Next::End(Ending::HeadRead),
                false if closed => Next::End(Ending::NoAnswer),
                false => Next::Wait,
            };
        }
        let silent = self.poll_timeout(channel).is_some_and(|at| now >= at);
        if talk.ended || closed || silent || channel.arrivals.end() >= ENOUGH_BYTES {
            return Next::End(channel.answered(Ending::HeadRead));
        }
        Next::Wait
    }

    /// When it has heard the whole answer, unless more comes. `None` with HTTP, whose head it waits for.
    fn poll_timeout(&self, channel: &Channel) -> Option<Time> {
        let begun = !channel.is_web() && channel.application.answer_has_begun();
        let last = channel.arrivals.last_new().filter(|_| begun)?;
        Some(last + SILENCE.max(channel.rtt_or(Span::ZERO) * 3))
    }
}

/// Opens the way for the measured connection.
#[derive(Debug)]
pub(crate) struct Open;

impl Run for Open {
    fn setup(&self) -> Setup {
        Setup { acks_as_usual: true, ..Setup::default() }
    }

    fn advance(&mut self, _: Time, channel: &mut Channel) -> Next {
        if channel.stream.connection().peer_closed() {
            return Next::End(Ending::NoAnswer);
        }
        match channel.application.talk().opened {
            Some(_) => Next::Hold,
            None => Next::Wait,
        }
    }
}
