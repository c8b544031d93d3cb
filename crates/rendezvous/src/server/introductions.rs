//! Introductions under way, and requests that wait for the answer of another host.

use std::collections::{BTreeMap, VecDeque};

use windlass_base::{Span, Time};
use windlass_identity::PublicKey;

use super::Path;
use crate::message::{IntroductionId, TransactionId};

/// How long an introduction is kept after the last message of either host.
const INTRODUCTION_MAX: Span = Span::from_secs(60);
/// How long an answer may take. Requests are repeated for less than half a minute.
const ANSWER_MAX: Span = Span::from_secs(30);

/// A host of an introduction and where it was last.
#[derive(Clone, Copy, Debug)]
struct Side {
    key: PublicKey,
    path: Path,
}

#[derive(Clone, Copy, Debug)]
struct Introduction {
    sides: [Side; 2],
    used: Time,
}

/// A request that was forwarded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forwarded {
    /// Where the answer goes, and under which transaction.
    pub(super) back: (Path, u128),
    /// Where the answer comes from.
    pub(super) to: Path,
    at: Time,
}

/// Both tables are bounded: the oldest entries make room.
pub(super) struct Introductions {
    known: BTreeMap<IntroductionId, Introduction>,
    forwarded: BTreeMap<u128, Forwarded>,
    by_request: BTreeMap<(Path, u128), u128>,
    /// The forwarded requests, the oldest first.
    order: VecDeque<u128>,
    max: usize,
}

impl Introductions {
    pub(super) fn new(max: usize) -> Introductions {
        Introductions {
            known: BTreeMap::new(),
            forwarded: BTreeMap::new(),
            by_request: BTreeMap::new(),
            order: VecDeque::new(),
            max,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Begins or repeats an introduction. False if its name belongs to other hosts.
    pub(super) fn begin(
        &mut self,
        now: Time,
        id: IntroductionId,
        (asking, from): (PublicKey, Path),
        (target, to): (PublicKey, Path),
    ) -> bool {
        let sides = [Side { key: asking, path: from }, Side { key: target, path: to }];
        if let Some(known) = self.known.get(&id) {
            let same = known.sides[0].key == asking && known.sides[1].key == target;
            if !same && now.saturating_since(known.used) <= INTRODUCTION_MAX {
                return false;
            }
        } else if self.known.len() >= self.max {
            self.expire(now);
            if self.known.len() >= self.max {
                let oldest = self.known.iter().min_by_key(|(_, one)| one.used).map(|(id, _)| *id);
                oldest.map(|id| self.known.remove(&id));
            }
        }
        self.known.insert(id, Introduction { sides, used: now });
        true
    }

    /// The other host of an introduction, for a host that sends more: its key and its last place.
    pub(super) fn other(
        &mut self,
        now: Time,
        id: &IntroductionId,
        (key, path): (PublicKey, Path),
    ) -> Option<(PublicKey, Path)> {
        let known = self.known.get_mut(id)?;
        let own = known.sides.iter().position(|side| side.key == key)?;
        known.sides[own].path = path;
        known.used = now;
        let Side { key, path } = known.sides[1 - own];
        Some((key, path))
    }

    /// Notes a request to forward and returns the transaction under which it goes on: the same for
    /// each repetition. `fresh` is the one for a new request.
    pub(super) fn forward(
        &mut self,
        now: Time,
        (from, transaction): (Path, TransactionId),
        to: Path,
        fresh: u128,
    ) -> TransactionId {
        let request = (from, u128::from(transaction));
        let known = self.by_request.get(&request).copied();
        if let Some(entry) = known.and_then(|own| self.forwarded.get_mut(&own)) {
            entry.to = to;
            return known.expect("found").into();
        }
        while self.order.len() >= self.max
            || self.oldest().is_some_and(|at| now.saturating_since(at) > ANSWER_MAX)
        {
            self.forget_oldest();
        }
        let own = u128::from(TransactionId::from(fresh));
        self.forwarded.insert(own, Forwarded { back: request, to, at: now });
        self.by_request.insert(request, own);
        self.order.push_back(own);
        own.into()
    }

    fn oldest(&self) -> Option<Time> {
        self.order.front().and_then(|own| self.forwarded.get(own)).map(|entry| entry.at)
    }

    fn forget_oldest(&mut self) {
        let Some(own) = self.order.pop_front() else { return };
        if let Some(entry) = self.forwarded.remove(&own) {
            self.by_request.remove(&entry.back);
        }
    }

    /// The request that an answer under this transaction belongs to. It stays known, since the
    /// answer may be lost and the request repeated.
    pub(super) fn answered(&self, transaction: TransactionId, from: Path) -> Option<Forwarded> {
        let entry = self.forwarded.get(&u128::from(transaction))?;
        (entry.to == from).then_some(*entry)
    }

    /// Removes what is over.
    pub(super) fn expire(&mut self, now: Time) {
        self.known.retain(|_, one| now.saturating_since(one.used) <= INTRODUCTION_MAX);
        while self.oldest().is_some_and(|at| now.saturating_since(at) > ANSWER_MAX) {
            self.forget_oldest();
        }
    }
}
