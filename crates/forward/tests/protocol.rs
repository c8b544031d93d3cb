//! The service protocol: round trips, refused texts, and the body of the fuzz target with random bytes
//! and with the inputs that once found a fault (`fuzz/regressions`).

#[path = "fuzz_bodies/forward_protocol.rs"]
mod forward_protocol;

use proptest::prelude::*;
use std::io::ErrorKind;
use windlass_forward::protocol::{
    ANSWER_HEADER, Answer, Malformed, REQUEST_HEADER, Refusal, Request, Status, TEXT_MAX,
};

fn decode(bytes: &[u8]) -> Result<Request, Malformed> {
    let (header, text) = bytes.split_first_chunk::<REQUEST_HEADER>().expect("a header");
    Request::decode(*header, text)
}

fn request() -> impl Strategy<Value = Request> {
    let host = prop_oneof![
        // No top-level domain is a number (RFC 1123 section 2.1).
        r"([a-z0-9-]{1,60}\.){0,3}[a-z]{2,60}",
        any::<std::net::Ipv4Addr>().prop_map(|ip| ip.to_string()),
        any::<std::net::Ipv6Addr>().prop_map(|ip| ip.to_string()),
    ];
    prop_oneof![
        "[A-Za-z0-9._-]{1,255}".prop_map(Request::Service),
        (host, 1_u16..).prop_map(|(host, port)| Request::Connect { host, port }),
        Just(Request::Resolve),
    ]
}

#[test]
fn a_host_that_the_resolver_would_take_for_an_address_is_refused() {
    for host in ["0x7f.1", "2130706433", "127.1", "010.0.0.1", "a.example.7", "0x7f000001", "a.0x"]
    {
        let request = Request::Connect { host: host.to_owned(), port: 80 };
        assert_eq!(request.encode(), Err(Malformed::Text), "{host}");
        assert_eq!(windlass_forward::protocol::parse_host_port(&format!("{host}:80")), None);
    }
}

proptest! {
    #[test]
    fn requests_are_read_as_they_were_written(request in request()) {
        let bytes = request.encode().expect("a valid request");
        prop_assert_eq!(decode(&bytes), Ok(request));
    }

    #[test]
    fn answers_are_read_as_they_were_written(code in 0_u8..=10, text in ".{0,600}") {
        let status = Status::from_code(code).expect("a status");
        prop_assert_eq!(status.code(), code);
        let answer = Answer::new(status, text);
        let bytes = answer.encode();
        let (header, text) = bytes.split_first_chunk::<ANSWER_HEADER>().expect("a header");
        prop_assert!(text.len() <= TEXT_MAX);
        prop_assert_eq!(Answer::decode(*header, text), Ok(answer));
    }

    #[test]
    fn parsing_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        forward_protocol::run(&bytes);
    }

    #[test]
    fn parsing_takes_changed_requests(request in request(), at: prop::sample::Index, to: u8) {
        let mut bytes = request.encode().expect("a valid request");
        let at = at.index(bytes.len());
        bytes[at] = to;
        forward_protocol::run(&bytes);
    }

    #[test]
    fn parsing_takes_changed_socks_requests(kind in 0_u8..6, rest in prop::collection::vec(any::<u8>(), 0..270)) {
        forward_protocol::run(&[&[5, 1, 0, kind], &rest[..]].concat());
    }
}

#[test]
fn parsing_passes_its_regressions() {
    windlass_testbed::replay("forward_protocol", forward_protocol::run);
}

#[test]
fn texts_that_name_nothing_are_not_sent() {
    let long = "a".repeat(256);
    for name in ["", "a b", "a/b", "é", &long] {
        assert_eq!(Request::Service(name.into()).encode(), Err(Malformed::Text), "{name}");
    }
    for (host, port) in [("", 1), ("a", 0), ("a b", 1), ("a]b", 1), ("u@h", 1), (&long[..254], 1)] {
        let request = Request::Connect { host: host.into(), port };
        assert_eq!(request.encode(), Err(Malformed::Text), "{host}:{port}");
    }
}

#[test]
fn headers_of_others_are_refused_with_a_hint() {
    let refused = |header| Request::text_len(header).expect_err("no request");
    assert_eq!(refused([1, 9, 0, 1]), Malformed::Kind(9));
    assert_eq!(refused([1, 1, 1, 0]), Malformed::Length(256));
    assert_eq!(refused([1, 3, 0, 1]), Malformed::Length(1));
    assert!(refused([0x16, 3, 1, 0]).to_string().contains("uses encryption"));
    let alert = Answer::text_len([0x15, 3, 3]).expect_err("no answer");
    assert!(alert.to_string().contains("expects encryption"));
}

#[test]
fn a_refusal_is_an_error_of_its_kind() {
    let answer = Answer::new(Status::Refused, "cannot connect\x1b[2J");
    let error = answer.into_result().expect_err("a refusal");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(Refusal::status_in(&error), Some(Status::Refused));
    assert_eq!(error.to_string(), "the peer refused: cannot connect\\u001b[2J");
    assert!(Answer::new(Status::Connected, "").into_result().is_ok());
}
