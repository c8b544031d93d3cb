mod proof;

use super::*;
use crate::message::{
    INTRODUCE, Introduce, KeepAlive, Nonce, REGISTER, Refused, Register, Registered,
};

const TOKEN: [u8; 16] = [9; 16];

fn secret(number: u8) -> SecretKey {
    SecretKey::from_seed([number; 32])
}

fn key(number: u8) -> PublicKey {
    secret(number).public_key()
}

fn nonce(text: &str) -> Nonce {
    Nonce::new(text).expect("a nonce")
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// A client with a server that the test plays.
struct Script {
    client: Client,
    now: Time,
}

impl Script {
    fn new(publish: bool, transport: Transport) -> Self {
        Self::expecting(None, publish, transport)
    }

    fn expecting(server_key: Option<PublicKey>, publish: bool, transport: Transport) -> Self {
        let secret = secret(1);
        let config = Config { secret, instance: [7; 16], publish, transport, server_key };
        let now = Time::ZERO + Span::from_secs(1000);
        Self { client: Client::new(config, Rng::new(1), now), now }
    }

    /// A client that is registered, with drained events.
    fn registered() -> Self {
        let mut script = Self::new(true, Transport::Datagram);
        script.challenge("n1");
        script.grant();
        while script.client.poll_event().is_some() {}
        script
    }

    fn wait(&mut self, span: Span) {
        let end = self.now + span;
        while self.client.poll_timeout() <= end {
            self.now = self.client.poll_timeout();
            self.client.handle_timeout(self.now);
        }
        self.now = end;
    }

    /// The only message that the client sends.
    fn sent(&mut self) -> Message {
        let bytes = self.client.poll_transmit().expect("a message");
        assert_eq!(self.client.poll_transmit(), None);
        Message::parse(&bytes).expect("a valid message")
    }

    fn answer(&mut self, transaction: TransactionId, content: Content) {
        assert!(self.client.handle(self.now, &Message { transaction, content }.encode()));
    }

    /// Answers the request under way with a challenge.
    fn challenge(&mut self, text: &str) -> Content {
        let Message { transaction, content } = self.sent();
        let challenge = Refused::challenge(content.method(), nonce(text), address("1.2.3.4:5"));
        self.answer(transaction, Content::Refused(challenge));
        content
    }

    fn refuse(&mut self, code: u16, lifetime_s: Option<u32>) {
        let Message { transaction, content } = self.sent();
        let refused = Refused::with_code(content.method(), code);
        self.answer(transaction, Content::Refused(Refused { lifetime_s, ..refused }));
    }

    /// Grants the registration or keep-alive under way.
    fn grant(&mut self) -> Content {
        self.grant_by(None)
    }

    /// The same by a server that proves this key.
    fn grant_by(&mut self, prover: Option<SecretKey>) -> Content {
        let Message { transaction, content } = self.sent();
        let (token, turn) = match content {
            Content::Register(_) => (
                self.client.context.config.publish.then_some(TOKEN),
                Some(TurnCredentials { username: "u".into(), password: "p".into() }),
            ),
            _ => (None, None),
        };
        let (mapped, nonce) = (address("1.2.3.4:5"), Some(nonce("n2")));
        let mut registered = Registered { mapped, lifetime_s: 60, nonce, token, turn, proof: None };
        if let (Some(prover), Content::Register(register)) = (prover, &content) {
            let challenge = register.challenge.expect("the client asks for a proof");
            registered.prove(&prover, &register.key, &challenge);
        }
        self.answer(transaction, Content::Registered(registered));
        content
    }

    fn event(&mut self) -> Event {
        self.client.poll_event().expect("an event")
    }

    fn nothing(&mut self) {
        assert_eq!(self.client.poll_event(), None);
        assert_eq!(self.client.poll_transmit(), None);
    }

    /// Passes an offer or a body of host 2 to the client.
    fn incoming(&mut self, transaction: u128, target: Option<PublicKey>, body: &[u8]) {
        let introduce = Introduce::signed(&secret(2), nonce("n3"), target, [3; 16], body.to_vec());
        let seen = Some(address("5.6.7.8:9"));
        let content = Content::Introduce(Introduce { seen, ..introduce });
        self.answer(TransactionId::from(transaction), content);
    }
}

#[test]
fn registers_after_a_challenge() {
    let mut script = Script::new(true, Transport::Datagram);
    assert_eq!(script.challenge("n1"), Content::Hello(REGISTER));
    let expected = Register::signed(&secret(1), nonce("n1"), [7; 16], 60);
    assert_eq!(script.grant(), Content::Register(expected));
    assert_eq!(script.event(), Event::Mapped(address("1.2.3.4:5")));
    assert_eq!(script.event(), Event::Registered);
    assert!(matches!(script.event(), Event::Credentials(turn) if turn.username == "u"));
    assert!(script.client.is_registered());
    script.nothing();
}

#[test]
fn keeps_the_registration_every_25_s() {
    let mut script = Script::registered();
    for _ in 0..3 {
        script.wait(Span::from_millis(24_999));
        script.nothing();
        script.wait(Span::from_millis(1));
        let expected = KeepAlive { token: TOKEN, lifetime_s: 60 };
        assert_eq!(script.grant(), Content::KeepAlive(expected));
    }
    script.nothing();
}

/// The server was restarted, or a NAT changed the mapping.
#[test]
fn registers_again_when_a_keep_alive_is_refused() {
    let mut script = Script::registered();
    script.wait(Span::from_secs(25));
    let Message { transaction, .. } = script.sent();
    let challenge = Refused::challenge(REGISTER, nonce("n9"), address("1.2.3.4:6"));
    script.answer(transaction, Content::Refused(challenge));
    let Content::Register(register) = script.sent().content else { panic!("no REGISTER") };
    assert_eq!(register.nonce, nonce("n9"));
    assert_eq!(script.event(), Event::Mapped(address("1.2.3.4:6")));
}

#[test]
fn renews_the_credentials() {
    for publish in [true, false] {
        let mut script = Script::new(publish, Transport::Datagram);
        script.challenge("n1");
        script.grant();
        let end = script.now + Span::from_secs(1800);
        let content = loop {
            script.wait(script.client.poll_timeout() - script.now);
            if let content @ Content::Register(_) = script.grant() {
                break content;
            }
        };
        assert!(script.now.saturating_since(end) <= Span::from_secs(25));
        let Content::Register(register) = content else { unreachable!() };
        assert_eq!(register.lifetime_s, if publish { 60 } else { 0 });
    }
}

#[test]
fn reports_a_silent_server_once_and_goes_on() {
    let mut script = Script::new(true, Transport::Datagram);
    script.wait(Span::from_millis(1500));
    assert_eq!(script.event(), Event::Silent);
    for _ in 0..3 {
        assert!(script.client.poll_transmit().is_some());
    }
    script.wait(Span::from_millis(38_000));
    assert!(!script.client.is_registered());
    while script.client.poll_transmit().is_some() {}
    script.wait(Span::from_secs(5));
    assert_eq!(script.challenge("n1"), Content::Hello(REGISTER));
    script.grant();
    assert_eq!(script.event(), Event::Mapped(address("1.2.3.4:5")));
    assert_eq!(script.event(), Event::Registered);
}

#[test]
fn asks_again_when_keep_alives_are_lost() {
    let mut script = Script::registered();
    // 250 ms after a fast answer, doubled four times, then 16 times 250 ms.
    script.wait(Span::from_millis(25_000 + 3750 + 4000));
    let mut kinds = Vec::new();
    while let Some(bytes) = script.client.poll_transmit() {
        kinds.push(Message::parse(&bytes).expect("valid").content);
    }
    let keep_alive = Content::KeepAlive(KeepAlive { token: TOKEN, lifetime_s: 60 });
    assert_eq!(kinds[..5], vec![keep_alive; 5]);
    assert_eq!(kinds[5..], [Content::Hello(REGISTER)]);
    assert!(!script.client.is_registered());
}

#[test]
fn waits_until_the_other_instance_has_expired() {
    let mut script = Script::new(true, Transport::Datagram);
    script.challenge("n1");
    script.refuse(Refused::CONFLICT, Some(17));
    assert_eq!(script.event(), Event::Mapped(address("1.2.3.4:5")));
    let pause = Span::from_secs(17);
    assert_eq!(script.event(), Event::Refused { code: Refused::CONFLICT, pause });
    script.wait(pause);
    assert_eq!(script.challenge("n1"), Content::Hello(REGISTER));
}

#[test]
fn a_server_that_only_challenges_causes_no_flood() {
    let mut script = Script::new(true, Transport::Datagram);
    let mut sent = 0;
    while script.client.context.transmits.front().is_some() {
        script.challenge("n1");
        sent += 1;
    }
    assert_eq!(sent, 1 + CHALLENGES);
    let pause = script.client.poll_timeout().saturating_since(script.now);
    assert!(pause >= Span::from_secs(5), "{pause}");
}

/// The first challenge answers the Hello.
const CHALLENGES: u32 = 3;

#[test]
fn a_lifetime_of_zero_causes_no_flood() {
    let mut script = Script::new(true, Transport::Datagram);
    script.challenge("n1");
    let Message { transaction, .. } = script.sent();
    script.answer(
        transaction,
        Content::Registered(Registered {
            mapped: address("1.2.3.4:5"),
            lifetime_s: 0,
            nonce: None,
            token: Some(TOKEN),
            turn: None,
            proof: None,
        }),
    );
    assert_eq!(script.client.poll_timeout(), script.now + Span::from_secs(1));
}

#[test]
fn a_response_with_another_transaction_changes_nothing() {
    let mut script = Script::new(true, Transport::Datagram);
    let challenge = Refused::challenge(REGISTER, nonce("n9"), address("6.6.6.6:6"));
    script.answer(TransactionId::from(1), Content::Refused(challenge));
    assert_eq!(script.challenge("n1"), Content::Hello(REGISTER));
    assert_eq!(script.event(), Event::Mapped(address("1.2.3.4:5")));
}

#[test]
fn close_ends_the_registration() {
    let mut script = Script::registered();
    script.client.close(script.now);
    assert!(!script.client.is_closed());
    let expected = KeepAlive { token: TOKEN, lifetime_s: 0 };
    assert_eq!(script.grant(), Content::KeepAlive(expected));
    assert!(script.client.is_closed());
    assert_eq!(script.client.poll_timeout(), Time::MAX);

    let mut script = Script::registered();
    script.client.close(script.now);
    script.wait(Span::from_secs(10));
    assert!(script.client.is_closed());
}

#[test]
fn an_offer_gets_its_answer() {
    let mut script = Script::registered();
    let introduction = script.client.introduce(script.now, key(2), b"offer".to_vec());
    let Message { transaction, content } = script.sent();
    let Content::Introduce(introduce) = content else { panic!("no INTRODUCE") };
    assert_eq!(introduce.verify(), Ok(()));
    assert_eq!((introduce.key, introduce.target), (key(1), Some(key(2))));
    assert_eq!(introduce.body, b"offer");

    let answer = Introduced::signed(&secret(2), introduction, b"answer".to_vec());
    let forged = Introduced { body: b"forged".to_vec(), ..answer.clone() };
    let other = Introduced::signed(&secret(3), introduction, b"other".to_vec());
    for wrong in [forged, other] {
        script.answer(transaction, Content::Introduced(wrong));
        script.nothing();
    }
    script.answer(transaction, Content::Introduced(answer.clone()));
    let from = key(2);
    let expected = Event::Answer { introduction, from, body: b"answer".to_vec() };
    assert_eq!(script.event(), expected);
    script.answer(transaction, Content::Introduced(answer));
    script.nothing();
}

#[test]
fn an_offer_waits_for_the_first_nonce() {
    let mut script = Script::new(false, Transport::Datagram);
    script.client.introduce(script.now, key(2), b"offer".to_vec());
    script.challenge("n1");
    let contents = [(); 2].map(|()| {
        let bytes = script.client.poll_transmit().expect("a message");
        Message::parse(&bytes).expect("valid").content
    });
    assert!(matches!(&contents[0], Content::Introduce(offer) if offer.nonce == nonce("n1")));
    assert!(matches!(&contents[1], Content::Register(_)));
}

#[test]
fn an_offer_that_has_not_left_can_be_revised() {
    let mut script = Script::new(false, Transport::Datagram);
    let introduction = script.client.introduce(script.now, key(2), b"offer".to_vec());
    assert!(script.client.revise(script.now, introduction, || b"before the nonce".to_vec()));
    script.challenge("n1");
    let now = script.now;
    assert!(script.client.revise(now, introduction, || b"with the address".to_vec()));
    let mut offers = vec![];
    while let Some(bytes) = script.client.poll_transmit() {
        match Message::parse(&bytes).expect("valid").content {
            Content::Introduce(offer) => offers.push(offer.body),
            other => assert!(matches!(other, Content::Register(_))),
        }
    }
    assert_eq!(offers, [b"with the address".to_vec()], "one offer, the last");
    let left = || unreachable!("the offer has left");
    assert!(!script.client.revise(now, introduction, left));
    script.wait(Span::from_secs(3));
    assert!(!script.client.revise(now, introduction, left), "its repetition waits in the queue");
}

#[test]
fn a_stale_nonce_costs_an_offer_one_round_trip() {
    let mut script = Script::registered();
    script.client.introduce(script.now, key(2), b"offer".to_vec());
    script.challenge("n5");
    let Content::Introduce(introduce) = script.sent().content else { panic!("no INTRODUCE") };
    assert_eq!(introduce.nonce, nonce("n5"));
    assert_eq!(introduce.verify(), Ok(()));
}

#[test]
fn offers_fail_with_a_reason() {
    let mut script = Script::registered();
    let introduction = script.client.introduce(script.now, key(2), b"offer".to_vec());
    script.refuse(Refused::NOT_FOUND, None);
    let failure = Failure::Refused(Refused::NOT_FOUND);
    assert_eq!(script.event(), Event::Failed { introduction, failure });

    let mut script = Script::new(false, Transport::Datagram);
    script.challenge("n1");
    script.grant();
    while script.client.poll_event().is_some() {}
    let introduction = script.client.introduce(script.now, key(2), b"offer".to_vec());
    script.wait(Span::from_secs(60));
    let failure = Failure::Silent;
    assert_eq!(script.event(), Event::Failed { introduction, failure });
}

#[test]
fn an_incoming_offer_is_answered_once_and_again_when_repeated() {
    let mut script = Script::registered();
    script.incoming(1, Some(key(1)), b"offer");
    let Event::Offer(offer) = script.event() else { panic!("no offer") };
    assert_eq!((offer.from, &offer.body[..]), (key(2), &b"offer"[..]));
    assert_eq!(offer.seen_address, Some(address("5.6.7.8:9")));
    // Repeated before the answer: the answer goes to the newest.
    script.incoming(2, Some(key(1)), b"offer");
    script.nothing();
    assert!(script.client.answer(offer.introduction, b"answer".to_vec()));
    let first = script.sent();
    assert_eq!(first.transaction, TransactionId::from(2));
    script.incoming(3, Some(key(1)), b"offer");
    let second = script.sent();
    assert_eq!((second.transaction, &second.content), (TransactionId::from(3), &first.content));
    let Content::Introduced(introduced) = first.content else { panic!("no answer") };
    assert_eq!((introduced.verify(), introduced.body), (Ok(()), b"answer".to_vec()));
    assert!(!script.client.answer(offer.introduction, vec![]), "answered twice");
    script.nothing();
}

#[test]
fn a_refusal_is_repeated_too() {
    let mut script = Script::registered();
    script.incoming(1, Some(key(1)), b"offer");
    assert!(script.client.refuse([3; 16], Refused::FORBIDDEN));
    script.incoming(2, Some(key(1)), b"offer");
    for transaction in [1, 2] {
        let bytes = script.client.poll_transmit().expect("a refusal");
        let refused = Refused::with_code(INTRODUCE, Refused::FORBIDDEN);
        let message = Message {
            transaction: TransactionId::from(transaction),
            content: Content::Refused(refused),
        };
        assert_eq!(Message::parse(&bytes), Ok(message));
    }
    // Further bodies of a refused host are refused.
    script.incoming(3, None, b"more");
    assert!(matches!(script.sent().content, Content::Refused(refused) if refused.code == 404));
}

#[test]
fn bodies_follow_in_both_directions() {
    let mut script = Script::registered();
    script.incoming(1, Some(key(1)), b"offer");
    script.incoming(2, None, b"more");
    script.incoming(3, None, b"more");
    assert!(matches!(script.event(), Event::Offer(_)));
    let (introduction, from) = ([3; 16], key(2));
    assert_eq!(script.event(), Event::Body { introduction, from, body: b"more".to_vec() });
    for transaction in [2, 3] {
        let bytes = script.client.poll_transmit().expect("an acknowledgement");
        let message = Message::parse(&bytes).expect("valid");
        assert_eq!(message.transaction, TransactionId::from(transaction));
        assert!(matches!(message.content, Content::Introduced(_)));
    }
    script.nothing();

    assert!(script.client.send(script.now, introduction, b"back".to_vec()));
    let Message { transaction, content } = script.sent();
    assert!(matches!(content, Content::Introduce(sent) if sent.target.is_none()));
    let acknowledgement = Introduced::signed(&secret(2), introduction, vec![]);
    script.answer(transaction, Content::Introduced(acknowledgement));
    script.wait(Span::from_secs(1));
    script.nothing();

    assert!(script.client.send(script.now, introduction, b"lost".to_vec()));
    script.refuse(Refused::NOT_FOUND, None);
    let failure = Failure::Refused(Refused::NOT_FOUND);
    let expected = Event::Undelivered { introduction, body: b"lost".to_vec(), failure };
    assert_eq!(script.event(), expected);
    assert!(!script.client.send(script.now, [4; 16], vec![]), "unknown introduction");
}

#[test]
fn offers_that_only_a_lying_server_forwards_are_ignored() {
    let mut script = Script::registered();
    // For another host.
    script.incoming(1, Some(key(3)), b"offer");
    // Of this host.
    let own = Introduce::signed(&secret(1), nonce("n"), Some(key(1)), [4; 16], vec![]);
    script.answer(TransactionId::from(2), Content::Introduce(own));
    // With a changed body.
    let offer = Introduce::signed(&secret(2), nonce("n"), Some(key(1)), [5; 16], vec![1]);
    let changed = Introduce { body: vec![2], ..offer };
    script.answer(TransactionId::from(3), Content::Introduce(changed));
    script.nothing();
    // Under the name of an introduction of another host.
    script.incoming(4, Some(key(1)), b"offer");
    assert!(matches!(script.event(), Event::Offer(_)));
    let stolen = Introduce::signed(&secret(4), nonce("n"), Some(key(1)), [3; 16], vec![]);
    script.answer(TransactionId::from(5), Content::Introduce(stolen));
    assert!(matches!(script.sent().content, Content::Refused(refused) if refused.code == 403));
    let stolen = Introduce::signed(&secret(4), nonce("n"), None, [3; 16], vec![]);
    script.answer(TransactionId::from(6), Content::Introduce(stolen));
    assert!(matches!(script.sent().content, Content::Refused(refused) if refused.code == 404));
    script.nothing();
}

#[test]
fn a_flood_of_offers_keeps_state_bounded() {
    let mut script = Script::registered();
    for number in 0..5000u32 {
        let introduction = std::array::from_fn(|i| number.to_be_bytes()[i % 4]);
        let offer = Introduce::signed(&secret(2), nonce("n"), Some(key(1)), introduction, vec![]);
        script.answer(TransactionId::from(u128::from(number)), Content::Introduce(offer));
        assert!(matches!(script.client.poll_event(), Some(Event::Offer(_))));
    }
    assert_eq!(script.client.incoming.len(), 64);
    assert_eq!(script.client.introductions.len(), 1024);
}

#[test]
fn a_new_stream_repeats_what_was_not_answered() {
    let mut script = Script::new(false, Transport::Stream);
    script.challenge("n1");
    script.grant();
    script.client.introduce(script.now, key(2), b"offer".to_vec());
    assert!(matches!(script.sent().content, Content::Introduce(_)));
    script.client.restart(script.now);
    let contents = [(); 2].map(|()| {
        let bytes = script.client.poll_transmit().expect("a message");
        Message::parse(&bytes).expect("valid").content
    });
    assert_eq!(contents[0], Content::Hello(REGISTER));
    assert!(matches!(contents[1], Content::Introduce(_)));
}

/// The stream itself loses nothing, but the server may reach the other host over UDP.
#[test]
fn an_offer_over_a_stream_is_repeated_until_the_other_host_answers() {
    let mut script = Script::new(false, Transport::Stream);
    script.challenge("n1");
    script.grant();
    script.client.introduce(script.now, key(2), b"offer".to_vec());
    let first = script.sent();
    script.wait(Span::from_secs(2));
    assert_eq!(script.client.poll_transmit(), Some(first.encode()));
}

#[test]
fn times_of_one_transport_say_nothing_about_another() {
    let mut script = Script::new(true, Transport::Stream);
    script.wait(Span::from_secs(20));
    script.challenge("n1");
    script.wait(Span::from_secs(20));
    script.grant();
    script.client.restart_over(script.now, Transport::Datagram);
    while script.client.poll_event().is_some() {}
    script.wait(Span::from_millis(1500));
    assert_eq!(script.event(), Event::Silent);
}

#[test]
fn a_changed_local_address_is_checked_at_once() {
    let mut script = Script::registered();
    script.client.refresh(script.now);
    assert!(matches!(script.grant(), Content::KeepAlive(_)));
}

#[test]
fn messages_of_other_protocols_are_left_to_the_caller() {
    let mut script = Script::registered();
    let mut binding =
        Message { transaction: TransactionId::from(1), content: Content::Hello(REGISTER) }.encode();
    assert!(script.client.handle(script.now, &binding));
    binding[..2].copy_from_slice(&[0, 1]);
    assert!(!script.client.handle(script.now, &binding));
    assert!(!script.client.handle(script.now, b"junk"));
    script.nothing();
}
