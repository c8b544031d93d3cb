//! The DNS forwarder: queries over UDP and TCP, and their answers.

use super::flow::{Flow, Phase, Role};
use super::tcp_names::OutOfStep;
use super::{Event, FlowId, QueryId, Stack};
use crate::dns;
use crate::packet::{self, Ends};
use std::collections::BTreeMap;
use windlass_base::{Span, Time};

/// The port of DNS.
pub(super) const PORT: u16 = 53;
/// A query without an answer fails after this time. Common stub resolvers ask again after five
/// seconds, and give up after ten.
const ANSWER_WITHIN: Span = Span::from_secs(15);
/// The longest query over UDP. Anything near it is no query of a stub resolver.
const UDP_QUERY_LEN_MAX: usize = 4096;

/// Queries that wait for their answers.
#[derive(Debug)]
pub(super) struct Names {
    /// In the order of arrival, which is that of their expiry.
    waiting: BTreeMap<QueryId, Waiting>,
    next: u64,
    max: usize,
}

#[derive(Debug)]
struct Waiting {
    asker: Asker,
    message: Vec<u8>,
    since: Time,
}

#[derive(Copy, Clone, Debug)]
enum Asker {
    Udp(Ends),
    Tcp(FlowId),
}

impl Names {
    pub(super) fn new(max: usize) -> Names {
        Names { waiting: BTreeMap::new(), next: 0, max }
    }

    /// The event of a query that arrived in a datagram.
    pub(super) fn take_datagram(&mut self, now: Time, ends: Ends, payload: &[u8]) -> Option<Event> {
        let takes = self.waiting.len() < self.max && payload.len() <= UDP_QUERY_LEN_MAX;
        (takes && dns::is_query(payload))
            .then(|| self.take(now, Asker::Udp(ends), payload.to_vec()))
    }

    fn take(&mut self, since: Time, asker: Asker, message: Vec<u8>) -> Event {
        let query = QueryId(self.next);
        self.next += 1;
        self.waiting.insert(query, Waiting { asker, message: message.clone(), since });
        Event::Query { query, message }
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.waiting.values().next().map(|oldest| oldest.since + ANSWER_WITHIN)
    }

    /// A query that has waited for too long. It stays until it is answered.
    pub(super) fn expired(&self, now: Time) -> Option<QueryId> {
        let (query, oldest) = self.waiting.iter().next()?;
        (oldest.since + ANSWER_WITHIN <= now).then_some(*query)
    }
}

impl Stack {
    /// Answers a query with a DNS message; `None`, or a message that is no answer to the query,
    /// becomes a server failure. Over UDP a long answer is cut, and the command asks again over TCP.
    pub fn answer(&mut self, now: Time, query: QueryId, answer: Option<Vec<u8>>) {
        let Some(waiting) = self.names.waiting.remove(&query) else { return };
        let Waiting { asker, message, .. } = waiting;
        let answer = answer
            .filter(|answer| dns::is_answer_to(answer, &message))
            .or_else(|| dns::server_failure(&message));
        match asker {
            Asker::Udp(ends) => {
                let answer = answer.and_then(|answer| dns::for_udp(&message, answer));
                self.reply(answer.and_then(|answer| packet::udp(&ends, &answer)));
            }
            Asker::Tcp(id) => self.answer_over_tcp(now, id, &answer.unwrap_or_default()),
        }
    }

    fn answer_over_tcp(&mut self, now: Time, id: FlowId, answer: &[u8]) {
        let Some((index, flow)) = self.table.get(id) else { return };
        let Role::Names(names) = &mut flow.role else { return };
        names.answer(answer);
        self.serve_names(now, index);
        self.enqueue(index);
    }

    /// Moves queries out of a connection to the forwarder, and answers into it.
    pub(super) fn serve_names(&mut self, now: Time, index: u32) {
        let Some(flow) = self.table.at(index) else { return };
        let id = flow.id(index);
        let Flow { phase: Phase::Open(stream), role: Role::Names(own), .. } = flow else {
            return;
        };
        own.send(stream);
        loop {
            match own.take_query(stream) {
                Ok(Some(message)) => {
                    self.events.push_back(self.names.take(now, Asker::Tcp(id), message));
                }
                Ok(None) => break,
                Err(OutOfStep) => return self.abort(id),
            }
        }
        own.close_after_last(now, stream);
    }
}
