use std::net::SocketAddr;

use proptest::prelude::*;
use windlass_identity::SecretKey;

use super::*;

fn address() -> impl Strategy<Value = SocketAddr> {
    any::<(std::net::IpAddr, u16)>().prop_map(SocketAddr::from)
}

fn nonce() -> impl Strategy<Value = Nonce> {
    "[ -~]{1,64}".prop_map(|text| Nonce::new(&text).expect("a nonce"))
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..=MAX_BODY_LEN)
}

fn key() -> impl Strategy<Value = PublicKey> {
    any::<[u8; 32]>().prop_filter_map("a weak key", PublicKey::from_bytes)
}

fn secret() -> impl Strategy<Value = SecretKey> {
    any::<[u8; 32]>().prop_map(SecretKey::from_seed)
}

fn method() -> impl Strategy<Value = Method> {
    prop_oneof![Just(REGISTER), Just(INTRODUCE)]
}

fn registered() -> impl Strategy<Value = Registered> {
    let turn = prop::option::of(("\\PC{0,32}", "\\PC{0,32}"));
    let values = (address(), any::<u32>(), prop::option::of(nonce()), any::<Option<Token>>(), turn);
    values.prop_map(|(mapped, lifetime_s, nonce, token, turn)| {
        let turn = turn.map(|(username, password)| TurnCredentials { username, password });
        Registered { mapped, lifetime_s, nonce, token, turn, proof: None }
    })
}

fn introduce() -> impl Strategy<Value = Introduce> {
    let seen = prop::option::of(address());
    let values = (secret(), nonce(), prop::option::of(key()), any::<[u8; 16]>(), body(), seen);
    values.prop_map(|(secret, nonce, target, introduction, body, seen)| Introduce {
        seen,
        ..Introduce::signed(&secret, nonce, target, introduction, body)
    })
}

fn refused() -> impl Strategy<Value = Refused> {
    let lifetime = any::<Option<u32>>();
    let options = (prop::option::of(nonce()), prop::option::of(address()), lifetime);
    (method(), 300u16..700, options).prop_map(|(method, code, (nonce, mapped, lifetime_s))| {
        Refused { nonce, mapped, lifetime_s, ..Refused::with_code(method, code) }
    })
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        method().prop_map(Content::Hello),
        (secret(), nonce(), any::<Instance>(), any::<u32>()).prop_map(
            |(secret, nonce, instance, lifetime_s)| {
                Content::Register(Register::signed(&secret, nonce, instance, lifetime_s))
            }
        ),
        any::<(Token, u32)>()
            .prop_map(|(token, lifetime_s)| Content::KeepAlive(KeepAlive { token, lifetime_s })),
        registered().prop_map(Content::Registered),
        introduce().prop_map(Content::Introduce),
        (secret(), any::<IntroductionId>(), body()).prop_map(|(secret, introduction, body)| {
            Content::Introduced(Introduced::signed(&secret, introduction, body))
        }),
        refused().prop_map(Content::Refused),
    ]
}

pub(super) fn message() -> impl Strategy<Value = Message> {
    (any::<u128>(), content()).prop_map(|(transaction, content)| {
        let transaction = TransactionId::from(transaction & ((1 << 96) - 1));
        Message { transaction, content }
    })
}

proptest! {
    #[test]
    fn parsing_gives_back_what_was_encoded(message in message()) {
        let bytes = message.encode();
        prop_assert_eq!(Message::parse(&bytes), Ok(message.clone()));
        prop_assert_eq!(message.content.verify(), Ok(()));
        // IPv6's smallest MTU, less its header and that of UDP. The longest message has 1176 bytes.
        prop_assert!(bytes.len() <= 1280 - 40 - 8, "{} bytes", bytes.len());
        if message.content.class() == stun_types::message::MessageClass::Request {
            prop_assert!(bytes.len() >= MIN_REQUEST_LEN);
        }
    }

    #[test]
    fn a_part_of_a_message_is_none(message in message(), cut in any::<prop::sample::Index>()) {
        let bytes = message.encode();
        prop_assert!(Message::parse(&bytes[..cut.index(bytes.len())]).is_err());
        prop_assert!(Message::parse(&[&bytes[..], &[0; 4]].concat()).is_err());
    }

    /// Each part of a signed message is covered, except those that the server changes.
    #[test]
    fn a_changed_part_breaks_the_signature(introduce in introduce(), other in introduce()) {
        let mutations = [
            Introduce { key: other.key, ..introduce.clone() },
            Introduce { target: other.target, ..introduce.clone() },
            Introduce { introduction: other.introduction, ..introduce.clone() },
            Introduce { body: other.body.clone(), ..introduce.clone() },
            Introduce { nonce: other.nonce.clone(), ..introduce.clone() },
            Introduce { signature: other.signature, ..introduce.clone() },
        ];
        for changed in mutations {
            prop_assert_eq!(changed.verify().is_ok(), changed == introduce);
        }
        let forwarded = Introduce { seen: other.seen, ..introduce };
        prop_assert_eq!(forwarded.verify(), Ok(()));
    }
}

#[test]
fn a_request_and_its_answer_have_different_signatures() {
    let secret = SecretKey::from_seed([1; 32]);
    let nonce = Nonce::new("n").expect("a nonce");
    let introduced = Introduced::signed(&secret, [2; 16], vec![3]);
    let introduce = Introduce::signed(&secret, nonce.clone(), None, [2; 16], vec![3]);
    assert_ne!(introduced.signature, introduce.signature);

    let register = Register::signed(&secret, nonce, [4; 16], 60);
    let other = Register { instance: [5; 16], ..register.clone() };
    assert!(register.verify().is_ok() && other.verify().is_err());
}

/// A server that chooses the nonce must not be able to shift bytes from one part to another.
#[test]
fn parts_of_the_signed_text_have_lengths() {
    let secret = SecretKey::from_seed([1; 32]);
    let target = [b'a'; 32];
    let long = ["n", str::from_utf8(&target).expect("ASCII")].concat();
    let long = Nonce::new(&long).expect("fits");
    let without = Introduce::signed(&secret, long, None, [2; 16], vec![]);
    let shifted = Introduce {
        nonce: Nonce::new("n").expect("a nonce"),
        target: Some(PublicKey::from_bytes(target).expect("a key")),
        ..without
    };
    assert!(shifted.verify().is_err());
}

/// Fixed bytes: other programs implement this format.
#[test]
fn bytes_on_the_wire() {
    let keep_alive = Message {
        transaction: TransactionId::from(0x0102_0304_0506_0708_090a_0b0c),
        content: Content::KeepAlive(KeepAlive { token: [0xaa; 16], lifetime_s: 60 }),
    };
    let mut expected = vec![0x1e, 0x41, 0, 60, 0x21, 0x12, 0xa4, 0x42];
    expected.extend(1..=12u8);
    expected.extend([0xc0, 0xa3, 0, 16]);
    expected.extend([0xaa; 16]);
    expected.extend([0, 0x0d, 0, 4, 0, 0, 0, 60]);
    expected.extend([0, 0x26, 0, 28]);
    expected.extend([0; 28]);
    assert_eq!(keep_alive.encode(), expected);
}

#[test]
fn the_challenge_is_never_longer_than_a_request() {
    let nonce = Nonce::new(&"n".repeat(24)).expect("a nonce");
    for mapped in ["1.2.3.4:5", "[2001:db8::1]:65535"] {
        let mapped = mapped.parse().expect("an address");
        let challenge = Refused::challenge(REGISTER, nonce.clone(), mapped);
        let content = Content::Refused(challenge);
        let answer = Message { transaction: TransactionId::from(1), content };
        let content = Content::Hello(REGISTER);
        let request = Message { transaction: TransactionId::from(1), content };
        assert!(answer.encode().len() <= request.encode().len());
    }
}

#[test]
fn malformed_values_are_refused() {
    let secret = SecretKey::from_seed([1; 32]);
    let nonce = Nonce::new("n").expect("a nonce");
    let introduce = Introduce::signed(&secret, nonce, None, [2; 16], vec![3; 4]);
    let message =
        Message { transaction: TransactionId::from(1), content: Content::Introduce(introduce) };
    let bytes = message.encode();
    let changed = |at: usize, to: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        Message::parse(&bytes)
    };
    // The first attribute is NONCE: 20 bytes of header, then type and length.
    assert_eq!(changed(24, &[7]), Err(ParseError::Malformed(0x0015)));
    assert_eq!(changed(20, &[0, 0x16]), Err(ParseError::UnknownAttribute(0x0016)));
    assert_eq!(changed(28, &[0xc0, 0xff]), Err(ParseError::Missing(0xc0a0)));
    assert_eq!(changed(0, &[0, 1]), Err(ParseError::OtherMethod));
    assert_eq!(changed(4, &[0]), Err(ParseError::NotStun));
    assert_eq!(Nonce::new(""), None);
    assert_eq!(Nonce::new(&"a".repeat(65)), None);
    assert_eq!(Nonce::new("é"), None);
}
