//! Introductions under way, and requests that wait for the answer of another host.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use windlass_base::{Deadlines, Span, Time};
use windlass_identity::PublicKey;

use super::Path;
use super::nonces::Serial;
use super::shares::Shares;
use crate::message::{IntroductionId, TransactionId};

/// How long an introduction is kept after the last message of either host.
const INTRODUCTION_MAX: Span = Span::from_secs(60);
/// How long an answer may take. Requests are repeated for less than half a minute.
const ANSWER_MAX: Span = Span::from_secs(30);

/// The part of the table that hosts of one network may have: one in so many.
const SHARE: usize = 4;

/// A host of an introduction and where it was last.
#[derive(Clone, Copy, Debug)]
struct Side {
    key: PublicKey,
    path: Path,
    /// The newest nonce with which it sent something.
    serial: Option<Serial>,
}

impl Side {
    /// The host sends something. False for a copy of an older message from where it was before.
    fn moves(&mut self, path: Path, serial: Serial) -> bool {
        if path != self.path && self.serial > Some(serial) {
            return false;
        }
        (self.path, self.serial) = (path, self.serial.max(Some(serial)));
        true
    }
}

#[derive(Clone, Copy, Debug)]
struct Introduction {
    sides: [Side; 2],
    used: Time,
    /// The asking host's address at the beginning, which counts.
    counted: SocketAddr,
}

/// A host that sends something for an introduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) key: PublicKey,
    pub(super) path: Path,
    /// Of the nonce of its message.
    pub(super) serial: Serial,
}

/// Why an introduction does not begin or go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unintroduced {
    /// Its name belongs to other hosts.
    Conflict,
    /// The share of the asking host's network is used up.
    Full,
    /// No host has registered the target, or no introduction has this name.
    Unknown,
    /// The message is a copy of an older one.
    Stale,
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
    by_use: Deadlines<IntroductionId>,
    shares: Shares,
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
            by_use: Deadlines::default(),
            shares: Shares::new(max, (max / SHARE).max(1)),
            forwarded: BTreeMap::new(),
            by_request: BTreeMap::new(),
            order: VecDeque::new(),
            max,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Begins or repeats an introduction of `asking` to the host `target`, which is at `to`.
    pub(super) fn begin(
        &mut self,
        now: Time,
        id: IntroductionId,
        asking: Sender,
        (target, to): (PublicKey, Path),
    ) -> Result<(), Unintroduced> {
        self.expire(now);
        if let Some(known) = self.known.get_mut(&id) {
            // Hosts draw names at random: the same one for other hosts is guessed or overheard.
            if known.sides[0].key != asking.key || known.sides[1].key != target {
                return Err(Unintroduced::Conflict);
            }
            if !known.sides[0].moves(asking.path, asking.serial) {
                return Err(Unintroduced::Stale);
            }
            known.sides[1].path = to;
            self.use_again(now, id);
            return Ok(());
        }
        let counted = asking.path.address();
        // One network cannot take the whole table from the others.
        if self.shares.full(counted).is_some() {
            return Err(Unintroduced::Full);
        }
        while self.known.len() >= self.max
            && let Some((_, oldest)) = self.by_use.first()
        {
            self.remove(&oldest);
        }
        let Sender { key, path, serial } = asking;
        let sides = [
            Side { key, path, serial: Some(serial) },
            Side { key: target, path: to, serial: None },
        ];
        self.shares.add(counted);
        self.by_use.insert(now, id);
        self.known.insert(id, Introduction { sides, used: now, counted });
        Ok(())
    }

    fn use_again(&mut self, now: Time, id: IntroductionId) {
        if let Some(known) = self.known.get_mut(&id) {
            self.by_use.remove(known.used, id);
            known.used = now;
            self.by_use.insert(now, id);
        }
    }

    fn remove(&mut self, id: &IntroductionId) {
        if let Some(known) = self.known.remove(id) {
            self.by_use.remove(known.used, *id);
            self.shares.remove(known.counted);
        }
    }

    /// The other host of an introduction, for a host that sends more: its key and its last path.
    pub(super) fn other(
        &mut self,
        now: Time,
        id: &IntroductionId,
        from: Sender,
    ) -> Result<(PublicKey, Path), Unintroduced> {
        let known = self.known.get_mut(id).ok_or(Unintroduced::Unknown)?;
        let own = known.sides.iter().position(|side| side.key == from.key);
        let own = own.ok_or(Unintroduced::Unknown)?;
        if !known.sides[own].moves(from.path, from.serial) {
            return Err(Unintroduced::Stale);
        }
        let Side { key, path, .. } = known.sides[1 - own];
        self.use_again(now, *id);
        Ok((key, path))
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
        // Like other tables: the oldest request makes room, and its host asks again.
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
        // Only the host that was asked may answer.
        (entry.to == from).then_some(*entry)
    }

    /// Removes what is over.
    pub(super) fn expire(&mut self, now: Time) {
        while let Some((used, id)) = self.by_use.first()
            && now.saturating_since(used) > INTRODUCTION_MAX
        {
            self.remove(&id);
        }
        while self.oldest().is_some_and(|at| now.saturating_since(at) > ANSWER_MAX) {
            self.forget_oldest();
        }
    }

    /// Asserts that the tables agree, and are within their bounds.
    pub(super) fn check(&self) {
        assert!(self.known.len() <= self.max && self.forwarded.len() <= self.max);
        self.shares.check(self.known.values().map(|one| one.counted));
        assert_eq!(self.by_use, self.known.iter().map(|(id, one)| (one.used, *id)).collect());
        assert_eq!(self.order.len(), self.forwarded.len());
        let requests = self.forwarded.iter().map(|(own, one)| (one.back, *own));
        assert_eq!(self.by_request, requests.collect());
    }
}
