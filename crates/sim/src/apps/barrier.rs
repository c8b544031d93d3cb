//! A barrier: flows that send each next request together, as when one host asks many others and needs all
//! their responses before it goes on (incast).

use windlass_base::{Span, Time};

/// Flows that wait for each other after each response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// The flows that still take part, and whether each has its response.
    members: Vec<(u32, bool)>,
    /// The first request of this round.
    begun: Option<Time>,
    /// From the first request of each round to the last response.
    rounds: Vec<Span>,
}

impl Barrier {
    pub(super) fn join(&mut self, flow: u32) {
        self.members.push((flow, false));
    }

    /// A member sends a request.
    pub(super) fn asked(&mut self, now: Time) {
        self.begun.get_or_insert(now);
    }

    /// A member has its response.
    pub(super) fn arrive(&mut self, flow: u32) {
        for member in self.members.iter_mut().filter(|member| member.0 == flow) {
            member.1 = true;
        }
    }

    /// A member takes part no longer.
    pub(super) fn leave(&mut self, flow: u32) {
        self.members.retain(|member| member.0 != flow);
    }

    /// Ends the round if every member has its response. Returns the members that go on.
    pub(super) fn pass(&mut self, now: Time) -> Vec<u32> {
        if !self.members.iter().all(|member| member.1) {
            return vec![];
        }
        if let Some(begun) = self.begun.take() {
            self.rounds.push(now - begun);
        }
        self.members.iter_mut().for_each(|member| member.1 = false);
        self.members.iter().map(|member| member.0).collect()
    }

    /// The lengths of the rounds that ended, in order.
    pub(crate) fn rounds(&self) -> &[Span] {
        &self.rounds
    }
}
