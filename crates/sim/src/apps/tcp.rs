//! The applications of TCP flows, as the hosts see them.
//!
//! Calls change a [`TcpSource`]. After each call the host ([`Hosts`](crate::host::Hosts)) settles it: it
//! schedules the times at which the application wants to act. At each of these times it calls
//! [`TcpSource::act`], and carries out the actions of [`TcpSource::poll_action`].

use super::barrier::Barrier;
use super::draw::start_time;
use super::program::{Action, Carries, Figures, Orders, Program, program};
use crate::model::{Flow, Scenario, TcpApp};
use crate::random_stream;
use windlass_base::{Rng, Time};

impl TcpApp {
    /// Bytes that each connection carries, if all carry the same; `None`: no end, or each its own.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            TcpApp::Transfer { bytes } | TcpApp::Repeated { bytes, .. } => Some(*bytes),
            TcpApp::Bulk
            | TcpApp::Arriving { .. }
            | TcpApp::Limited { .. }
            | TcpApp::Requests(_)
            | TcpApp::Pages(_)
            | TcpApp::Video(_) => None,
        }
    }

    /// True if the application may act again after its start, unless it is stopped.
    pub(crate) fn acts_again(&self) -> bool {
        !matches!(self, TcpApp::Bulk | TcpApp::Transfer { .. })
    }

    /// True if the receiver opens connections or sends more than ACKs.
    pub(crate) fn receiver_acts(&self) -> bool {
        matches!(self, TcpApp::Requests(_) | TcpApp::Pages(_) | TcpApp::Video(_))
    }

    /// True if several connections may be open at a time.
    pub fn is_concurrent(&self) -> bool {
        matches!(self, TcpApp::Arriving { .. } | TcpApp::Pages(_))
    }

    /// True if results count each transfer by its size.
    pub(crate) fn has_sizes(&self) -> bool {
        matches!(self, TcpApp::Arriving { .. }) || self.receiver_acts()
    }

    fn barrier(&self) -> Option<usize> {
        match self {
            TcpApp::Requests(requests) => requests.barrier,
            _ => None,
        }
    }
}

/// The application of a flow: it opens connections and says what each carries.
#[derive(Debug)]
pub(crate) struct TcpSource {
    program: Box<dyn Program>,
    orders: Orders,
    start: Time,
    stop: Option<Time>,
    begun: bool,
    stopped: bool,
    finished: bool,
    /// Calls of [`TcpSource::act`] to come that only carry out actions.
    flushes: u32,
    barrier: Option<usize>,
    /// The connection that was opened last.
    pub(crate) current: Option<u32>,
}

impl TcpSource {
    fn new(flow: &Flow, scenario: &Scenario, mut rng: Rng) -> TcpSource {
        let start = start_time(flow.start, scenario.jitter, &mut rng);
        let stop = flow.stop.map(|stop| Time::ZERO + stop);
        let program = program(&flow.app, Time::ZERO + scenario.steady_from, &mut rng);
        let mut orders = Orders::new(rng);
        orders.wakes.extend([start].into_iter().chain(stop));
        TcpSource {
            program,
            orders,
            start,
            stop,
            begun: false,
            stopped: false,
            finished: false,
            flushes: 0,
            barrier: flow.app.barrier(),
            current: None,
        }
    }

    /// A time at which it wanted to act has come.
    pub(crate) fn act(&mut self, now: Time) {
        let TcpSource { program, orders, .. } = self;
        // Of a start and a stop at the same time the start comes first.
        if !self.begun && now == self.start {
            self.begun = true;
            program.start(now, orders);
        } else if !self.stopped && self.stop.is_some_and(|stop| stop <= now) {
            self.stopped = true;
            program.stop(now, orders);
        } else if self.flushes > 0 {
            self.flushes -= 1;
        } else {
            program.wake(now, orders);
        }
    }

    /// The next action of the host.
    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.orders.actions.pop_front()
    }

    /// The connection of an [`Action::Open`] has this number.
    pub(crate) fn opened(&mut self, connection: u32) {
        self.current = Some(connection);
        self.program.opened(connection);
    }

    /// The random numbers of the flow.
    pub(crate) fn rng(&mut self) -> &mut Rng {
        &mut self.orders.rng
    }

    /// Whether the application has done all that it ever will.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Figures of the application up to the end of the run, if it has some of its own.
    pub(crate) fn figures(&self, end: Time) -> Option<Figures> {
        self.program.figures(end)
    }

    /// The response to the request on a connection has arrived whole.
    pub(crate) fn response_done(&mut self, now: Time, connection: u32) {
        self.program.response_done(now, connection, &mut self.orders);
    }

    /// All data of a connection have arrived, or it has failed.
    pub(crate) fn connection_done(&mut self, now: Time, connection: u32) {
        self.program.connection_done(now, connection, &mut self.orders);
    }

    fn barrier_passed(&mut self, now: Time) {
        self.program.barrier_passed(now, &mut self.orders);
    }

    /// Passes on the times at which it wants to act. Returns 1 if it has finished, the first time.
    fn settle(&mut self, now: Time, mut wake: impl FnMut(Time)) -> usize {
        if !self.orders.actions.is_empty() {
            self.flushes += 1;
            wake(now);
        }
        self.orders.wakes.drain(..).for_each(wake);
        let finished = self.orders.over && !self.finished;
        self.finished |= finished;
        usize::from(finished)
    }
}

/// The applications of all TCP flows, and their barriers.
#[derive(Debug)]
pub(crate) struct Sources {
    list: Vec<TcpSource>,
    barriers: Vec<Barrier>,
}

impl Sources {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Sources {
        let source =
            |(number, flow)| TcpSource::new(flow, scenario, random_stream::tcp_flow(seed, number));
        let list: Vec<TcpSource> = (0..).zip(&scenario.flows).map(source).collect();
        let count =
            list.iter().filter_map(|source| source.barrier).max().map_or(0, |last| last + 1);
        let mut barriers = vec![Barrier::default(); count];
        for (flow, source) in (0..).zip(&list) {
            if let Some(barrier) = source.barrier {
                barriers[barrier].join(flow);
            }
        }
        Sources { list, barriers }
    }

    pub(crate) fn get(&self, flow: usize) -> Option<&TcpSource> {
        self.list.get(flow)
    }

    pub(crate) fn of(&mut self, flow: u32) -> &mut TcpSource {
        &mut self.list[flow as usize]
    }

    /// Numbers of all flows.
    pub(crate) fn flows(&self) -> std::ops::Range<u32> {
        0..self.list.len() as u32
    }

    /// The barriers, by number.
    pub(crate) fn barriers(&self) -> &[Barrier] {
        &self.barriers
    }

    /// The next action of a flow. Its barrier hears of requests.
    pub(crate) fn poll_action(&mut self, now: Time, flow: u32) -> Option<Action> {
        let source = &mut self.list[flow as usize];
        let action = source.poll_action()?;
        let asks = matches!(action, Action::Request { .. } | Action::Open(Carries::Exchanges(_)));
        if let Some(barrier) = source.barrier
            && asks
        {
            self.barriers[barrier].asked(now);
        }
        Some(action)
    }

    /// Ends a call that changed a flow: passes the times at which it wants to act to `wake`, also those of
    /// the flows that waited for it at a barrier. Returns how many flows have finished with it.
    pub(crate) fn settle(
        &mut self,
        now: Time,
        flow: u32,
        mut wake: impl FnMut(u32, Time),
    ) -> usize {
        let source = &mut self.list[flow as usize];
        let mut finished = source.settle(now, |at| wake(flow, at));
        let Some(number) = source.barrier else { return finished };
        let barrier = &mut self.barriers[number];
        if source.finished {
            barrier.leave(flow);
        } else if std::mem::take(&mut source.orders.at_barrier) {
            barrier.arrive(flow);
        } else {
            return finished;
        }
        for member in barrier.pass(now) {
            let source = &mut self.list[member as usize];
            source.barrier_passed(now);
            finished += source.settle(now, |at| wake(member, at));
            if source.finished {
                barrier.leave(member);
            }
        }
        finished
    }
}
