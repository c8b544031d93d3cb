//! The server's proof of its key.

use super::*;

#[test]
fn offers_wait_until_the_server_has_proved_its_key() {
    let mut script = Script::expecting(Some(key(9)), false, Transport::Datagram);
    script.client.introduce(script.now, key(2), b"offer".to_vec());
    script.challenge("n1");
    // The registration only.
    script.grant_by(Some(secret(9)));
    assert!(matches!(script.sent().content, Content::Introduce(offer) if offer.body == b"offer"));
}

#[test]
fn a_server_with_another_key_is_not_used() {
    for prover in [Some(secret(8)), None] {
        let mut script = Script::expecting(Some(key(9)), true, Transport::Datagram);
        script.client.introduce(script.now, key(2), b"offer".to_vec());
        script.challenge("n1");
        let found = prover.as_ref().map(SecretKey::public_key);
        script.grant_by(prover);
        assert_eq!(script.event(), Event::Mapped(address("1.2.3.4:5")));
        assert_eq!(script.event(), Event::NotProved { found });
        let end = Content::KeepAlive(KeepAlive { token: TOKEN, lifetime_s: 0 });
        assert_eq!(script.sent().content, end, "it has published the key");
        script.nothing();
        assert!(!script.client.is_registered());
        script.wait(Span::from_millis(30_100));
        assert_eq!(script.sent().content, Content::Hello(REGISTER), "it tries again");
    }
}

#[test]
fn a_proof_is_of_one_response_to_one_request() {
    let mut registered = Registered {
        mapped: address("1.2.3.4:5"),
        lifetime_s: 60,
        nonce: None,
        token: Some(TOKEN),
        turn: None,
        proof: None,
    };
    let (host, challenge) = (key(1), [4; 16]);
    assert_eq!(registered.proved_key(&host, &challenge), Ok(None));
    registered.prove(&secret(9), &host, &challenge);
    assert_eq!(registered.proved_key(&host, &challenge), Ok(Some(key(9))));
    assert!(registered.proved_key(&host, &[5; 16]).is_err());
    assert!(registered.proved_key(&key(2), &challenge).is_err());
    let moved = Registered { mapped: address("1.2.3.4:6"), ..registered };
    assert!(moved.proved_key(&host, &challenge).is_err());
}

#[test]
fn over_a_stream_tls_has_proved_the_key() {
    let mut script = Script::expecting(Some(key(9)), true, Transport::Stream);
    script.challenge("n1");
    script.grant();
    assert!(script.client.is_registered());
}
