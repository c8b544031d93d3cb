//! Two connections over a path with a virtual clock ([`Pair`]), and one against a script
//! ([`script::Script`]).

mod accurate;
mod accurate_path;
mod carrier;
mod close;
mod compared;
mod data;
mod ecn;
mod fast_paths;
mod found_by_chaos;
mod frto;
mod handshake;
mod keepalive;
mod kernel_echoes;
mod limited_slow_start;
mod linux_host;
mod loss;
mod lost_retransmission;
mod no_control;
mod pacing;
mod paths;
mod prr;
mod rack;
mod rate_limited;
mod sack;
mod script;
mod sender_limits;
mod small_windows;
mod split;
mod tail_probe;
mod timeout;
mod trace;
mod transfer;
mod undo;
mod validate;
mod window;

use super::{Connection, Run};
use crate::{Config, Ecn, Profile, Segment, SeqNumber, Span, Time};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use compared::Compared;

/// The treatment of a packet by the path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Pass,
    Drop,
    Mark,
}

/// One end, the segments that it sent, and the segments in flight to it.
pub(super) struct End {
    connection: Compared,
    arriving: VecDeque<(Time, Segment, Ecn)>,
    /// Everything it sent, lost or not.
    pub(super) sent: Vec<Run>,
    /// The path's change of each of its packets.
    pub(super) mangle: fn(&mut Segment, &mut Ecn),
}

/// Two ends, `a` and `b`, and a path of constant delay between them.
pub(super) struct Pair {
    pub(super) now: Time,
    pub(super) one_way: Span,
    pub(super) a: End,
    pub(super) b: End,
}

pub(super) fn config(profile: Profile, controller: &str) -> Config {
    profile.config(1000, profile.controller(controller).expect("a controller of the crate"))
}

impl End {
    fn new(make: impl Fn() -> Connection) -> End {
        let mut connection = Compared::new(make);
        connection.compare_seldom();
        End { connection, arriving: VecDeque::new(), sent: Vec::new(), mangle: |_, _| {} }
    }

    fn next_time(&self) -> Option<Time> {
        let arrival = self.arriving.front().map(|(at, ..)| *at);
        let timeout = self.connection.poll_timeout();
        arrival.into_iter().chain(timeout).min()
    }

    /// Handles one arrival or timer that is due; false if none is. One at a time, because the
    /// contract requires a poll after each.
    fn work(&mut self, now: Time) -> bool {
        if self.arriving.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, segment, ecn) = self.arriving.pop_front().expect("looked at");
            self.connection.handle_segment(now, &segment, ecn, &mut ());
            return true;
        }
        let due = self.connection.poll_timeout().is_some_and(|at| at <= now);
        if due {
            self.connection.handle_timeout(now, &mut ());
        }
        due
    }

    fn send(
        &mut self,
        now: Time,
        peer: &mut End,
        delay: Span,
        fate: &mut impl FnMut(&Segment) -> Fate,
    ) {
        while let Some(run) = self.connection.poll_transmit(now, 1, &mut ()) {
            self.sent.push(run);
            let fate = fate(&run.first);
            let marked = fate == Fate::Mark && run.ecn.is_capable();
            let (mut segment, mut ecn) = (run.first, if marked { Ecn::Ce } else { run.ecn });
            (self.mangle)(&mut segment, &mut ecn);
            if fate != Fate::Drop {
                peer.arriving.push_back((now + delay, segment, ecn));
            }
        }
    }
}

impl Pair {
    pub(super) fn new(client: Config, server: Config) -> Pair {
        let now = Time::from_nanos(1_000_000_000);
        Pair {
            now,
            one_way: Span::from_millis(50),
            a: End::new(|| Connection::connect(client.clone(), now, SeqNumber(u32::MAX - 5000))),
            b: End::new(|| Connection::listen(server.clone(), SeqNumber(7))),
        }
    }

    /// Runs until `until`, or until nothing is left to happen; `forth` and `back` decide on each
    /// segment of `a` and `b`.
    pub(super) fn run(
        &mut self,
        until: Time,
        mut forth: impl FnMut(&Segment) -> Fate,
        mut back: impl FnMut(&Segment) -> Fate,
    ) {
        loop {
            let worked = self.a.work(self.now);
            self.a.send(self.now, &mut self.b, self.one_way, &mut forth);
            let worked = self.b.work(self.now) || worked;
            self.b.send(self.now, &mut self.a, self.one_way, &mut back);
            if worked {
                continue;
            }
            let next = self.a.next_time().into_iter().chain(self.b.next_time()).min();
            match next.filter(|next| *next <= until) {
                Some(next) => self.now = self.now.max(next),
                None => break,
            }
        }
        self.now = until;
    }

    pub(super) fn run_for(&mut self, span: Span) {
        self.run(self.now + span, |_| Fate::Pass, |_| Fate::Pass);
    }
}
