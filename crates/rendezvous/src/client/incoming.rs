//! Bodies that other hosts send to this one, through the server: an offer, which names this host as its
//! target and begins an introduction, and further bodies of that introduction. Their bytes are the
//! caller's: ToU's sessions put addresses and credentials there.

use std::collections::VecDeque;

use windlass_identity::PublicKey;

use super::context::Context;
use super::introductions::Introductions;
use super::{Event, Offer, TransactionId};
use crate::message::{Content, INTRODUCE, Introduce, Introduced, IntroductionId, Refused};

/// Bodies remembered, so that a repeated request gets the same answer and is no second event. A
/// server that floods this host pushes out older ones.
const CACHE_LEN: usize = 64;

/// A body that another host sent.
#[derive(Debug)]
struct Incoming {
    introduction: IntroductionId,
    from: PublicKey,
    offer: bool,
    body: Vec<u8>,
    /// Of the newest repetition.
    transaction: TransactionId,
    /// Absent while the caller has not decided.
    reply: Option<Content>,
}

impl Incoming {
    fn is_repetition(&self, introduce: &Introduce) -> bool {
        self.introduction == introduce.introduction
            && self.from == introduce.key
            && self.offer == introduce.target.is_some()
            && self.body == introduce.body
    }
}

/// The newest bodies of other hosts.
#[derive(Debug, Default)]
pub(super) struct IncomingBodies(VecDeque<Incoming>);

impl IncomingBodies {
    /// Takes an offer, or a further body of an introduction.
    pub(super) fn handle_introduce(
        &mut self,
        transaction: TransactionId,
        introduce: Introduce,
        introductions: &mut Introductions,
        context: &mut Context,
    ) {
        if let Some(known) = self.0.iter_mut().find(|known| known.is_repetition(&introduce)) {
            // The answer was lost, or the caller has not decided: the newest request gets it.
            known.transaction = transaction;
            if let Some(reply) = known.reply.clone() {
                context.respond(transaction, reply);
            }
            return;
        }
        let for_this_host = introduce.target.is_none_or(|target| target == context.key);
        // Only a lying server forwards what it had to refuse.
        if !for_this_host || introduce.key == context.key || introduce.verify().is_err() {
            return;
        }
        let peer = introductions.peer(introduce.introduction);
        if introduce.target.is_some() {
            // The name of an introduction belongs to the host that used it first.
            if peer.is_some_and(|peer| peer != introduce.key) {
                return refuse(transaction, Refused::FORBIDDEN, context);
            }
            introductions.insert(introduce.introduction, introduce.key);
            self.handle_offer(transaction, introduce, context);
        } else {
            self.handle_body(transaction, introduce, peer, context);
        }
    }

    fn handle_offer(
        &mut self,
        transaction: TransactionId,
        introduce: Introduce,
        context: &mut Context,
    ) {
        let Introduce { key: from, introduction, body, seen, .. } = introduce;
        context.events.push_back(Event::Offer(Offer {
            introduction,
            from,
            body: body.clone(),
            seen_address: seen,
        }));
        self.push(Incoming { introduction, from, offer: true, body, transaction, reply: None });
    }

    fn handle_body(
        &mut self,
        transaction: TransactionId,
        introduce: Introduce,
        peer: Option<PublicKey>,
        context: &mut Context,
    ) {
        if peer != Some(introduce.key) {
            return refuse(transaction, Refused::NOT_FOUND, context);
        }
        let Introduce { key: from, introduction, body, .. } = introduce;
        let reply = Introduced::signed(&context.config.secret, introduction, Vec::new());
        let reply = Content::Introduced(reply);
        context.respond(transaction, reply.clone());
        context.events.push_back(Event::Body { introduction, from, body: body.clone() });
        let reply = Some(reply);
        self.push(Incoming { introduction, from, offer: false, body, transaction, reply });
    }

    fn push(&mut self, incoming: Incoming) {
        // The oldest makes room: its host has got its answer, or has given up.
        if self.0.len() == CACHE_LEN {
            self.0.pop_front();
        }
        self.0.push_back(incoming);
    }

    /// Answers the offer of an introduction. False if there is none that waits for an answer.
    pub(super) fn reply(
        &mut self,
        introduction: IntroductionId,
        reply: &Content,
        context: &mut Context,
    ) -> bool {
        let waits =
            |known: &&mut Incoming| known.introduction == introduction && known.reply.is_none();
        let Some(known) = self.0.iter_mut().rfind(waits) else {
            return false;
        };
        known.reply = Some(reply.clone());
        context.respond(known.transaction, reply.clone());
        true
    }
}

fn refuse(transaction: TransactionId, code: u16, context: &mut Context) {
    context.respond(transaction, Content::Refused(Refused::with_code(INTRODUCE, code)));
}

#[cfg(test)]
impl IncomingBodies {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
