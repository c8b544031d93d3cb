//! The rendezvous servers that have not answered since the command began.

use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;
use windlass_tou::session::{Event, RendezvousAddress};

/// A user who has mistyped an address learns it after this time. UDP counts as silent after half of it,
/// and TLS has the other half.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(3);

/// Which servers have not answered yet, until the time comes to say so.
pub(super) struct Unanswered {
    servers: BTreeSet<usize>,
    count: usize,
    until: Option<Instant>,
}

impl Unanswered {
    /// The servers of `via`, which are asked from now on.
    pub(super) fn new(via: &[RendezvousAddress]) -> Unanswered {
        let servers = (0..via.len()).collect();
        Unanswered { servers, count: via.len(), until: Some(Instant::now() + ANSWER_MAX) }
    }

    /// Notes an event: any word of a server is an answer.
    pub(super) fn note(&mut self, event: &Event) {
        if let Event::Registered { server, .. }
        | Event::RegistrationRefused { server, .. }
        | Event::WrongKey { server, .. } = event
        {
            self.servers.remove(server);
        }
    }

    /// The output of `work`; `None` if the time to call [`Unanswered::take`] comes first.
    pub(super) async fn unless_due<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match self.until {
            Some(until) => tokio::time::timeout_at(until, work).await.ok(),
            None => Some(work.await),
        }
    }

    /// Another server has answered.
    pub(super) fn has_other(&self) -> bool {
        self.servers.len() < self.count
    }

    /// The servers without an answer. They are due once.
    pub(super) fn take(&mut self) -> BTreeSet<usize> {
        self.until = None;
        std::mem::take(&mut self.servers)
    }
}
