use crate::{
    CoDel, Custom, DropReason, DropTail, FixedProbability, FqCoDel, Packet, Pie, Queue, Red, Sred,
    Stats, TcRed,
};
use windlass_base::{Rng, Time};

/// Any of the queue disciplines. All but custom ones are dispatched without virtual calls.
/// [`Config::build`](crate::Config::build) creates it.
#[derive(Debug)]
pub enum Discipline<P> {
    /// First in, first out.
    DropTail(DropTail<P>),
    /// Random Early Detection.
    Red(Red<P>),
    /// Controlled Delay.
    CoDel(CoDel<P>),
    /// Deficit round robin over flows, with Controlled Delay in each.
    FqCoDel(FqCoDel<P>),
    /// Proportional Integral controller Enhanced.
    Pie(Pie<P>),
    /// The same probability for each packet.
    FixedProbability(FixedProbability<P>),
    /// Stabilized RED.
    Sred(Sred<P>),
    /// Random Early Detection as in Linux.
    TcRed(TcRed<P>),
    /// A discipline from outside this crate.
    Custom(Custom<P>),
}

/// Calls the same method on whichever discipline this is.
macro_rules! each {
    ($self:expr, $queue:ident => $call:expr) => {
        match $self {
            Discipline::DropTail($queue) => $call,
            Discipline::Red($queue) => $call,
            Discipline::CoDel($queue) => $call,
            Discipline::FqCoDel($queue) => $call,
            Discipline::Pie($queue) => $call,
            Discipline::FixedProbability($queue) => $call,
            Discipline::Sred($queue) => $call,
            Discipline::TcRed($queue) => $call,
            Discipline::Custom($queue) => $call,
        }
    };
}

impl<P: Packet> Queue<P> for Discipline<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        each!(self, queue => queue.enqueue(now, packet, rng, dropped))
    }

    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        each!(self, queue => queue.dequeue(now, rng, dropped))
    }

    fn pass(
        &mut self,
        now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        each!(self, queue => queue.pass(now, packet, rng, dropped))
    }

    fn len_packets(&self) -> usize {
        each!(self, queue => queue.len_packets())
    }

    fn len_bytes(&self) -> u64 {
        each!(self, queue => queue.len_bytes())
    }

    fn average_packets(&self) -> Option<f64> {
        each!(self, queue => queue.average_packets())
    }

    fn stats(&self) -> &Stats {
        each!(self, queue => queue.stats())
    }
}
