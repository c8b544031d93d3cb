//! The bodies of the fuzz targets, with random bytes, with changed messages, and with the inputs
//! that once found a fault (`fuzz/regressions`). The targets themselves are in `fuzz/`.

#[path = "fuzz_bodies/behavior.rs"]
mod behavior;
#[path = "fuzz_bodies/rendezvous_client.rs"]
mod rendezvous_client;
#[path = "fuzz_bodies/rendezvous_message.rs"]
mod rendezvous_message;
#[path = "fuzz_bodies/rendezvous_server.rs"]
mod rendezvous_server;

use proptest::prelude::*;
use windlass_identity::SecretKey;
use windlass_rendezvous::message::{
    Content, INTRODUCE, Introduce, Introduced, KeepAlive, Message, Nonce, REGISTER, Refused,
    Register, Registered, TransactionId, TurnCredentials,
};
use windlass_testbed::replay;

/// One message of each kind, with every optional attribute.
fn samples() -> Vec<Vec<u8>> {
    let secret = SecretKey::from_seed([1; 32]);
    let nonce = Nonce::new("nonce").expect("a nonce");
    let mapped = "[2001:db8::1]:4000".parse().expect("an address");
    let turn = TurnCredentials { username: "user".into(), password: "word".into() };
    let introduce = Introduce::signed(
        &secret,
        nonce.clone(),
        Some(secret.public_key()),
        [2; 16],
        b"offer".to_vec(),
    );
    let contents = [
        Content::Hello(INTRODUCE),
        Content::Register(Register::signed(&secret, nonce.clone(), [3; 16], 60)),
        Content::KeepAlive(KeepAlive { token: [4; 16], lifetime_s: 60 }),
        Content::Registered(Registered {
            mapped,
            lifetime_s: 60,
            nonce: Some(nonce.clone()),
            token: Some([4; 16]),
            turn: Some(turn),
            proof: None,
        }),
        Content::Introduce(Introduce { seen: Some(mapped), ..introduce }),
        Content::Introduced(Introduced::signed(&secret, [2; 16], b"answer".to_vec())),
        Content::Refused(Refused {
            lifetime_s: Some(9),
            ..Refused::challenge(REGISTER, nonce, mapped)
        }),
    ];
    contents
        .map(|content| Message { transaction: TransactionId::from(5), content }.encode())
        .to_vec()
}

proptest! {
    #[test]
    fn the_discovery_takes_any_datagrams(bytes in prop::collection::vec(any::<u8>(), 0..1_000)) {
        behavior::run(&bytes);
    }

    #[test]
    fn parsing_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        rendezvous_message::run(&bytes);
    }

    #[test]
    fn the_client_takes_any_server(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        rendezvous_client::run(&bytes);
    }

    #[test]
    fn the_server_takes_any_hosts(bytes in prop::collection::vec(any::<u8>(), 0..1500)) {
        rendezvous_server::run(&bytes);
    }

    #[test]
    fn parsing_takes_changed_messages(at: prop::sample::Index, to: u8) {
        for mut message in samples() {
            let at = at.index(message.len());
            message[at] = to;
            rendezvous_message::run(&message);
        }
    }
}

#[test]
fn parsing_passes_its_regressions() {
    replay("rendezvous_message", rendezvous_message::run);
}

#[test]
fn the_discovery_passes_its_regressions() {
    replay("behavior", behavior::run);
}

#[test]
fn the_client_passes_its_regressions() {
    replay("rendezvous_client", rendezvous_client::run);
}

#[test]
fn the_server_passes_its_regressions() {
    replay("rendezvous_server", rendezvous_server::run);
}
