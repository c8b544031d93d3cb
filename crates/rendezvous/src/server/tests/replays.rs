//! Copies of messages, sent again from a forged address.

use super::*;

const START: Time = Time::from_nanos(1_000_000_000_000);

fn encode(content: Content) -> Vec<u8> {
    Message { transaction: 5.into(), content }.encode()
}

/// The answers to a message.
fn ask(server: &mut Server, now: Time, path: Path, bytes: &[u8]) -> Vec<Content> {
    server.handle(now, path, bytes);
    let sent = std::iter::from_fn(|| server.poll_transmit());
    let contents = sent.filter_map(|transmit| match transmit {
        Transmit::Host { bytes, .. } => Some(Message::parse(&bytes).ok()?.content),
        Transmit::Peer { .. } => None,
    });
    contents.collect()
}

fn challenge(answers: &[Content]) -> Option<crate::message::Nonce> {
    match answers {
        [Content::Refused(refused)] => {
            assert_eq!(refused.code, Refused::UNAUTHORIZED);
            refused.nonce.clone()
        }
        _ => None,
    }
}

/// A REGISTER of the key 1 with a new nonce.
fn register(server: &mut Server, now: Time, path: Path) -> Vec<u8> {
    let nonce = server.nonces.draw(now, path.address());
    encode(Content::Register(Register::signed(&secret(1), nonce, [1; 16], 60)))
}

fn registered_at(server: &Server, now: Time) -> Option<Path> {
    server.registrations.get(now, &key(1)).map(|one| one.path)
}

#[test]
fn a_copied_registration_does_not_move_it_back() {
    let mut server = server();
    let (old, new) = (udp("192.0.2.1:1000"), udp("198.51.100.1:1000"));
    let copy = register(&mut server, START, old);
    ask(&mut server, START, old, &copy);
    let later = START + Span::from_secs(10);
    let moved = register(&mut server, later, new);
    ask(&mut server, later, new, &moved);
    assert_eq!(registered_at(&server, later), Some(new));
    let answers = ask(&mut server, later, old, &copy);
    assert!(challenge(&answers).is_some(), "{answers:?}");
    assert_eq!(registered_at(&server, later), Some(new));
    server.check();
}

#[test]
fn a_copied_registration_does_not_begin_again_after_its_end() {
    let mut server = server();
    let host = udp("192.0.2.1:1000");
    let copy = register(&mut server, START, host);
    let answers = ask(&mut server, START, host, &copy);
    let [Content::Registered(Registered { token: Some(token), .. })] = answers[..] else {
        panic!("{answers:?}")
    };
    let end = encode(Content::KeepAlive(KeepAlive { token, lifetime_s: 0 }));
    ask(&mut server, START, host, &end);
    let later = START + Span::from_secs(1);
    assert!(challenge(&ask(&mut server, later, host, &copy)).is_some());
    assert_eq!(registered_at(&server, later), None);
    // Nor after the end of the server, which keeps its secret and forgets everything else.
    let mut restarted = Server::new(Config::new([3; 16]), Rng::new(9));
    assert!(challenge(&ask(&mut restarted, later, host, &copy)).is_some());
    assert_eq!(registered_at(&restarted, later), None);
}

/// The answer was lost, and the host sends the same bytes again (RFC 8489, section 6.2.1).
#[test]
fn a_repeated_registration_gets_the_same_answer() {
    let mut server = server();
    let host = udp("192.0.2.1:1000");
    let bytes = register(&mut server, START, host);
    let token = |answers: Vec<Content>| match &answers[..] {
        [Content::Registered(registered)] => (registered.token, registered.lifetime_s),
        _ => panic!("{answers:?}"),
    };
    let (first, lifetime_s) = token(ask(&mut server, START, host, &bytes));
    assert_eq!(lifetime_s, 60);
    let later = START + Span::from_secs(7);
    assert_eq!(token(ask(&mut server, later, host, &bytes)), (first, 53), "it is not extended");
    assert_eq!(server.counters().registered, 1);
}

/// A host of an earlier version takes any nonce for as good as new, and answers a challenge with what
/// it contains.
#[test]
fn a_host_that_uses_a_nonce_twice_registers_in_another_round_trip() {
    let mut server = server();
    let host = udp("192.0.2.1:1000");
    let hello = encode(Content::Hello(REGISTER));
    let nonce = challenge(&ask(&mut server, START, host, &hello)).expect("a nonce");
    let signed = |nonce, lifetime_s| {
        encode(Content::Register(Register::signed(&secret(1), nonce, [1; 16], lifetime_s)))
    };
    ask(&mut server, START, host, &signed(nonce.clone(), 60));
    let later = START + Span::from_secs(20);
    // A longer lifetime makes it another message, with the same nonce.
    ask(&mut server, later, udp("192.0.2.1:1001"), &hello);
    let kept = registered_at(&server, later);
    let token = server.registrations.get(later, &key(1)).expect("registered").token;
    let end = encode(Content::KeepAlive(KeepAlive { token, lifetime_s: 0 }));
    ask(&mut server, later, host, &end);
    let answers = ask(&mut server, later, host, &signed(nonce, 60));
    let fresh = challenge(&answers).expect("a new nonce");
    let answers = ask(&mut server, later, host, &signed(fresh, 60));
    assert!(matches!(answers[..], [Content::Registered(_)]), "{answers:?}");
    assert_eq!(registered_at(&server, later), kept);
}

#[test]
fn a_copied_introduction_does_not_move_a_host_back() {
    let mut server = server();
    let (old, new, target) =
        (udp("192.0.2.1:1000"), udp("192.0.2.2:1000"), udp("198.51.100.1:1000"));
    let nonce = server.nonces.draw(START, target.address());
    let register = Register::signed(&secret(2), nonce, [2; 16], 60);
    ask(&mut server, START, target, &encode(Content::Register(register)));
    let introduce = |server: &mut Server, path: Path, number: u8, target: Option<PublicKey>| {
        let nonce = server.nonces.draw(START, path.address());
        let body = vec![number];
        let one = Introduce::signed(&secret(number), nonce, target, [7; 16], body);
        encode(Content::Introduce(one))
    };
    let copy = introduce(&mut server, old, 1, Some(key(2)));
    ask(&mut server, START, old, &copy);
    let more = introduce(&mut server, new, 1, None);
    ask(&mut server, START, new, &more);
    assert!(challenge(&ask(&mut server, START, old, &copy)).is_some());
    let back = introduce(&mut server, target, 2, None);
    server.handle(START, target, &back);
    let Some(Transmit::Host { path, .. }) = server.poll_transmit() else { panic!("nothing") };
    assert_eq!(path, new, "the other host's body goes where the asking host is");
    // A message that was only late is no copy of one before a move.
    assert!(challenge(&ask(&mut server, START, new, &more)).is_none());
    server.check();
}
