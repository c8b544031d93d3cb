//! Events that other threads report to the loop: connections that are ready, and answers to DNS
//! queries.

use crate::stack::{FlowId, QueryId};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Shared by the loop and by everything that wakes it.
pub(super) struct Wakes {
    heard: Mutex<Heard>,
    poll: mio::Waker,
}

/// Events since the last [`Wakes::take`].
#[derive(Default)]
pub(super) struct Heard {
    pub(super) flows: Vec<FlowId>,
    pub(super) answers: Vec<(QueryId, Option<Vec<u8>>)>,
}

impl Wakes {
    pub(super) fn new(poll: mio::Waker) -> Arc<Wakes> {
        Arc::new(Wakes { heard: Mutex::default(), poll })
    }

    pub(super) fn take(&self) -> Heard {
        std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The waker of a connection.
    pub(super) fn waker(self: &Arc<Wakes>, flow: FlowId) -> Waker {
        Waker::from(Arc::new(FlowWaker { flow, wakes: Arc::clone(self) }))
    }

    pub(super) fn answer(&self, query: QueryId, answer: Option<Vec<u8>>) {
        self.add(|heard| heard.answers.push((query, answer)));
    }

    fn add(&self, add: impl FnOnce(&mut Heard)) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let first = heard.flows.is_empty() && heard.answers.is_empty();
        add(&mut heard);
        drop(heard);
        if first {
            // It fails only if the loop has ended.
            let _ = self.poll.wake();
        }
    }
}

struct FlowWaker {
    flow: FlowId,
    wakes: Arc<Wakes>,
}

impl Wake for FlowWaker {
    fn wake(self: Arc<FlowWaker>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<FlowWaker>) {
        self.wakes.add(|heard| heard.flows.push(self.flow));
    }
}
