//! Bodies that this host sends: offers, and further bodies of introductions.

use windlass_base::Time;
use windlass_identity::PublicKey;

use super::context::Context;
use super::request::{Due, Request};
use super::{Event, Failure, TransactionId};
use crate::message::{Content, Introduce, Introduced, IntroductionId, Refused};

/// Challenges that one body answers. A nonce can expire under way, once.
const CHALLENGES_MAX: u32 = 3;

/// A body that the other host has not yet acknowledged.
#[derive(Debug)]
struct Outgoing {
    introduction: IntroductionId,
    /// The other host, whose signature the answer must have.
    peer: PublicKey,
    /// True if the body starts the introduction, and its answer has a body.
    offer: bool,
    body: Vec<u8>,
    /// Absent until there is a nonce.
    request: Option<Request>,
    challenges: u32,
}

/// All bodies under way. There are as many as the caller sends.
#[derive(Debug, Default)]
pub(super) struct OutgoingBodies(Vec<Outgoing>);

impl OutgoingBodies {
    pub(super) fn send(
        &mut self,
        now: Time,
        (introduction, peer): (IntroductionId, PublicKey),
        offer: bool,
        body: Vec<u8>,
        context: &mut Context,
    ) {
        let request = None;
        let mut outgoing = Outgoing { introduction, peer, offer, body, request, challenges: 0 };
        outgoing.transmit(now, context);
        self.0.push(outgoing);
    }

    /// Replaces the body of an offer that has not left this host yet; false if it has.
    pub(super) fn revise(
        &mut self,
        now: Time,
        introduction: IntroductionId,
        body: impl FnOnce() -> Vec<u8>,
        context: &mut Context,
    ) -> bool {
        let offer = |one: &&mut Outgoing| one.offer && one.introduction == introduction;
        let Some(outgoing) = self.0.iter_mut().find(offer) else { return false };
        if let Some(request) = &outgoing.request {
            let waiting = context.transmits.iter().position(|bytes| *bytes == request.bytes);
            let Some(waiting) = waiting.filter(|_| !request.was_repeated()) else { return false };
            context.transmits.remove(waiting);
        }
        outgoing.body = body();
        outgoing.transmit(now, context);
        true
    }

    /// Stops sending the bodies of an introduction.
    pub(super) fn forget(&mut self, introduction: IntroductionId) {
        self.0.retain(|outgoing| outgoing.introduction != introduction);
    }

    pub(super) fn awaits(&self, transaction: TransactionId) -> bool {
        self.position(transaction).is_some()
    }

    fn position(&self, transaction: TransactionId) -> Option<usize> {
        self.0.iter().position(|outgoing| {
            outgoing.request.as_ref().is_some_and(|request| request.transaction == transaction)
        })
    }

    /// Sends what waited for a nonce.
    pub(super) fn handle_nonce(&mut self, now: Time, context: &mut Context) {
        for outgoing in self.0.iter_mut().filter(|outgoing| outgoing.request.is_none()) {
            outgoing.transmit(now, context);
        }
    }

    /// Sends everything again, over a new stream to the server.
    pub(super) fn restart(&mut self, now: Time, context: &mut Context) {
        for outgoing in &mut self.0 {
            outgoing.transmit(now, context);
        }
    }

    /// The other host acknowledged a body.
    pub(super) fn handle_introduced(
        &mut self,
        transaction: TransactionId,
        introduced: Introduced,
        context: &mut Context,
    ) {
        let Some(at) = self.position(transaction) else { return };
        let outgoing = &self.0[at];
        // A server that lies can forge neither key nor signature. It can keep the true answer
        // back: then the request fails in time.
        if introduced.introduction != outgoing.introduction
            || introduced.key != outgoing.peer
            || introduced.verify().is_err()
        {
            return;
        }
        let outgoing = self.0.remove(at);
        if outgoing.offer {
            let (introduction, from) = (outgoing.introduction, outgoing.peer);
            context.events.push_back(Event::Answer { introduction, from, body: introduced.body });
        }
    }

    /// The server or the other host refused a body.
    pub(super) fn handle_refused(
        &mut self,
        now: Time,
        transaction: TransactionId,
        refused: &Refused,
        context: &mut Context,
    ) {
        let Some(at) = self.position(transaction) else { return };
        let outgoing = &mut self.0[at];
        outgoing.challenges += 1;
        // RFC 8489, section 9.2.5: 401 brings a nonce, with which the request is sent again.
        let again = refused.code == Refused::UNAUTHORIZED && refused.nonce.is_some();
        if again && outgoing.challenges <= CHALLENGES_MAX {
            outgoing.transmit(now, context);
        } else {
            self.0.remove(at).fail(Failure::Refused(refused.code), context);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Time, context: &mut Context) {
        let failed = self.0.extract_if(.., |outgoing| {
            let Some(request) = &mut outgoing.request else { return false };
            let due = request.handle_timeout(now);
            if let Due::Send { .. } = due {
                context.transmits.push_back(request.bytes.clone());
            }
            due == Due::Failed
        });
        let failed: Vec<_> = failed.collect();
        for outgoing in failed {
            outgoing.fail(Failure::Silent, context);
        }
    }

    pub(super) fn poll_timeout(&self) -> Time {
        let requests = self.0.iter().filter_map(|outgoing| outgoing.request.as_ref());
        requests.map(Request::due).min().unwrap_or(Time::MAX)
    }
}

impl Outgoing {
    fn transmit(&mut self, now: Time, context: &mut Context) {
        let Some(nonce) = context.nonce_for_offers() else { return };
        let secret = &context.config.secret;
        let target = self.offer.then_some(self.peer);
        let (introduction, body) = (self.introduction, self.body.clone());
        let introduce = Introduce::signed(secret, nonce, target, introduction, body);
        self.request = Some(context.forwarded_request(now, Content::Introduce(introduce)));
    }

    fn fail(self, failure: Failure, context: &mut Context) {
        let introduction = self.introduction;
        context.events.push_back(if self.offer {
            Event::Failed { introduction, failure }
        } else {
            Event::Undelivered { introduction, body: self.body, failure }
        });
    }
}
