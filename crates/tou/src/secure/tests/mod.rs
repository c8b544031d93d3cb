//! Both ends in memory, and rustls's own record layer as an independent peer.

mod in_place;

use super::channel::{ROOM_MIN, Receiver, Sender};
use super::record::{OVERHEAD, PAYLOAD_MAX, RECORD_MAX};
use super::verifier::{Accepted, Verifier};
use super::{Allow, Error, Handshake, Identity, handshake};
use proptest::prelude::*;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConnection, ServerConnection};
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use windlass_identity::{PublicKey, SecretKey};

fn identity(seed: u8) -> Identity {
    Identity::new(&SecretKey::from_seed([seed; 32]))
}

fn key(seed: u8) -> PublicKey {
    identity(seed).public_key()
}

/// A client with the key 1 and a server with the key 2, which expect each other.
fn ends() -> [Handshake; 2] {
    let client = Handshake::client(&identity(1), key(2)).expect("randomness");
    let server = Handshake::server(&identity(2), &Allow::keys([key(1)])).expect("a configuration");
    [client, server]
}

/// Carries the output of both ends, in pieces of `piece` bytes, until no more is there. Returns
/// their results.
fn carry(ends: &mut [Handshake; 2], piece: usize) -> [Result<(), Error>; 2] {
    let mut results = [Ok(()), Ok(())];
    for from in [0, 1].into_iter().cycle() {
        let output = ends[from].take_output();
        for bytes in output.chunks(piece) {
            if results[1 - from].is_ok() {
                results[1 - from] = ends[1 - from].handle_input(bytes);
            }
        }
        let is_over = |end: usize| ends[end].is_complete() || results[end].is_err();
        if output.is_empty() && (is_over(0) || is_over(1)) {
            return results;
        }
    }
    results
}

struct End {
    sender: Sender,
    receiver: Receiver,
}

/// Whether the peer has closed its direction and everything before that was read.
fn has_ended(receiver: &mut Receiver) -> bool {
    receiver.read(&mut [0]) == Ok(Some(0))
}

fn open(end: Handshake) -> End {
    let (sender, receiver, _) = end.finish().expect("complete");
    End { sender, receiver }
}

fn pair() -> [End; 2] {
    let mut ends = ends();
    assert_eq!(carry(&mut ends, usize::MAX), [Ok(()), Ok(())]);
    ends.map(open)
}

/// The records of `bytes`, with room for all.
fn seal(sender: &mut Sender, bytes: &[u8]) -> Vec<u8> {
    let mut records = Vec::new();
    let taken = sender.seal(bytes, usize::MAX, &mut records).expect("keys");
    assert_eq!(taken, bytes.len());
    records
}

/// A receiver, and records for it of payloads with these lengths, in which one byte is changed.
fn changed_records(lens: &[usize], at: prop::sample::Index, xor: u8) -> (End, Vec<u8>) {
    let [mut client, server] = pair();
    let mut records: Vec<u8> =
        lens.iter().flat_map(|len| seal(&mut client.sender, &pattern(*len))).collect();
    client.sender.close(&mut records);
    let at = at.index(records.len());
    records[at] ^= xor;
    (server, records)
}

/// Feeds records in pieces of `piece` bytes, and reads everything in reads of `read` bytes.
fn feed(
    receiver: &mut Receiver,
    records: &[u8],
    piece: usize,
    read: usize,
) -> Result<Vec<u8>, (Vec<u8>, Error)> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; read]);
    for mut piece in records.chunks(piece) {
        while !piece.is_empty() {
            let space = receiver.space();
            let len = piece.len().min(space.len());
            space[..len].copy_from_slice(&piece[..len]);
            receiver.filled(len);
            piece = &piece[len..];
            loop {
                match receiver.read(&mut buffer) {
                    Ok(Some(taken)) if taken > 0 => bytes.extend_from_slice(&buffer[..taken]),
                    Ok(_) => break,
                    Err(error) => return Err((bytes, error)),
                }
            }
        }
    }
    Ok(bytes)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

#[test]
fn each_end_learns_the_key_of_the_other() {
    let mut ends = ends();
    assert_eq!(carry(&mut ends, 1), [Ok(()), Ok(())]);
    let peers = ends.map(|end| end.finish().expect("complete").2);
    assert_eq!(peers, [key(2), key(1)]);
}

#[test]
fn the_client_is_done_after_one_round_trip() {
    let [mut client, mut server] = ends();
    server.handle_input(&client.take_output()).expect("a client");
    let flight = server.take_output();
    assert!(flight.len() < 1200, "the server's messages fit into one datagram: {}", flight.len());
    assert!(!server.is_complete(), "the client has not proved possession of its key");
    client.handle_input(&flight).expect("a server");
    assert!(client.is_complete());
    server.handle_input(&client.take_output()).expect("the client's key");
    assert!(server.is_complete() && server.take_output().is_empty(), "no tickets");
}

#[test]
fn a_client_that_is_not_allowed_and_its_server_learn_why() {
    let client = Handshake::client(&identity(1), key(2)).expect("randomness");
    let server = Handshake::server(&identity(2), &Allow::keys([key(3)])).expect("a configuration");
    let mut ends = [client, server];
    let [_, server] = carry(&mut ends, usize::MAX);
    assert_eq!(server, Err(Error::NotAllowed(key(1))));
    // The client's handshake was over before: the alert arrives as a record.
    let [client, _] = ends;
    let error = open(client).receiver.read(&mut [0; 10]).expect_err("refused");
    assert_eq!(error, Error::Refused { own: key(1) });
    assert!(error.to_string().contains(&key(1).to_string()));
}

#[test]
fn a_server_with_another_key_is_refused() {
    let client = Handshake::client(&identity(1), key(3)).expect("randomness");
    let server = Handshake::server(&identity(2), &Allow::any()).expect("a configuration");
    let mut ends = [client, server];
    let wrong = Error::WrongPeer { expected: key(3), found: key(2) };
    assert_eq!(carry(&mut ends, usize::MAX), [Err(wrong), Err(Error::Refused { own: key(2) })]);
}

#[test]
fn bytes_that_are_not_tls_are_recognized() {
    let [mut client, mut server] = ends();
    assert_eq!(server.handle_input(b"GET / HTTP/1.1\r\n"), Err(Error::NotTls));
    assert_eq!(client.handle_input(b"SSH-2.0-OpenSSH"), Err(Error::NotTls));
}

/// A peer that speaks TLS with certificates, or another protocol over it, gets no further.
#[test]
fn another_protocol_over_tls_is_refused() {
    let verifier = Verifier::new(Accepted::Only(key(2)));
    for protocols in [vec![], vec![b"h2".to_vec()]] {
        let mut config = handshake::client_config(&identity(1), &verifier).expect("complete");
        config.alpn_protocols = protocols.clone();
        let mut client = ClientConnection::new(Arc::new(config), no_name()).expect("a client");
        let [_, mut server] = ends();
        let mut result = Ok(());
        for _ in 0..4 {
            let mut bytes = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut bytes).expect("memory");
            }
            result = result.and_then(|()| server.handle_input(&bytes));
            let answer = server.take_output();
            let mut answer = &answer[..];
            while !answer.is_empty() {
                client.read_tls(&mut answer).expect("memory");
            }
            let _ = client.process_new_packets();
        }
        assert!(matches!(result, Err(Error::Protocol(_))), "{protocols:?}: {result:?}");
        assert!(!server.is_complete());
    }
}

#[test]
fn data_behind_the_clients_last_message_is_read() {
    let [mut client, mut server] = ends();
    server.handle_input(&client.take_output()).expect("a client");
    client.handle_input(&server.take_output()).expect("a server");
    let mut last = client.take_output();
    let mut client = open(client);
    last.extend(seal(&mut client.sender, &pattern(100_000)));
    server.handle_input(&last).expect("the client's key");
    let mut server = open(server);
    assert_eq!(feed(&mut server.receiver, &[], 1, 1000), Ok(vec![]));
    let mut bytes = vec![0; 200_000];
    let taken = server.receiver.read(&mut bytes).expect("sound").expect("there");
    assert!(bytes[..taken] == pattern(100_000));
}

#[test]
fn the_end_of_a_direction_is_authenticated() {
    let [mut client, mut server] = pair();
    let mut records = seal(&mut client.sender, b"all of it");
    client.sender.close(&mut records);
    client.sender.close(&mut records);
    assert_eq!(client.sender.seal(b"more", usize::MAX, &mut records), Ok(0));
    assert!(!has_ended(&mut server.receiver));
    assert_eq!(feed(&mut server.receiver, &records, 5, 4), Ok(b"all of it".to_vec()));
    assert!(has_ended(&mut server.receiver));
    // The other direction stays open.
    let back = seal(&mut server.sender, b"and back");
    assert_eq!(feed(&mut client.receiver, &back, 5, 4), Ok(b"and back".to_vec()));
}

#[test]
fn data_leaves_room_for_close_notify() {
    let [mut client, _] = pair();
    for room in [0, 1, ROOM_MIN - 1, ROOM_MIN, 100, 16_000, RECORD_MAX, RECORD_MAX + 70, 40_000] {
        let mut records = Vec::new();
        let taken = client.sender.seal(&pattern(100_000), room, &mut records).expect("keys");
        assert_eq!(taken > 0, room >= ROOM_MIN, "room {room}");
        assert!(records.len() + 2 + OVERHEAD <= room || taken == 0, "room {room}");
        if room > 1000 {
            assert!(taken * 100 > room * 98, "room {room} is used: {taken}");
        }
    }
}

#[test]
fn a_forged_record_ends_the_stream_for_good() {
    let [mut client, mut server] = pair();
    let first = seal(&mut client.sender, b"first");
    let mut second = seal(&mut client.sender, b"second");
    *second.last_mut().expect("bytes") ^= 1;
    let third = seal(&mut client.sender, b"third");
    let records = [first, second, third.clone()].concat();
    let (bytes, error) = feed(&mut server.receiver, &records, 1000, 100).expect_err("forged");
    assert_eq!((&bytes[..], error), (&b"first"[..], Error::Forged));
    assert_eq!(feed(&mut server.receiver, &third, 1000, 100), Err((vec![], Error::Forged)));
    let mut alert = Vec::new();
    server.sender.fail(&Error::Forged, &mut alert);
    let (_, error) = feed(&mut client.receiver, &alert, 100, 100).expect_err("an alert");
    assert_eq!(error, Error::Alert("BadRecordMac".into()));
}

#[test]
fn records_that_are_repeated_exchanged_or_missing_are_found() {
    for change in [vec![0, 0], vec![1, 0], vec![0, 2]] {
        let [mut client, mut server] = pair();
        let records = [0, 1, 2].map(|byte| seal(&mut client.sender, &[byte; 10]));
        let sent: Vec<_> = change.iter().flat_map(|number| records[*number].clone()).collect();
        let (_, error) = feed(&mut server.receiver, &sent, 1000, 100).expect_err("not in order");
        assert_eq!(error, Error::Forged, "{change:?}");
    }
}

#[test]
fn records_without_encryption_or_too_long_are_refused() {
    let refused = |header: [u8; 5]| {
        let [_, mut server] = pair();
        let record = [&header[..], &[0; 20_000]].concat();
        feed(&mut server.receiver, &record, 1000, 100).expect_err("refused").1
    };
    // change_cipher_spec, alert and handshake: none may be plain after the handshake.
    for kind in 20..=22 {
        assert!(matches!(refused([kind, 3, 3, 0, 2]), Error::Protocol(_)), "{kind}");
    }
    assert_eq!(refused([23, 3, 3, 0x41, 1]), Error::Oversized);
    assert_eq!(refused([23, 3, 3, 0x41, 0]), Error::Forged);
    assert_eq!(refused([24, 3, 3, 0, 2]), Error::NotTls);
}

#[test]
fn keys_are_replaced_after_the_limit_and_on_request() {
    let [mut client, mut server] = pair();
    client.sender.set_record_limit(3);
    let data = pattern(20 * PAYLOAD_MAX);
    let records = seal(&mut client.sender, &data);
    // Six updates, each before the fourth record.
    assert_eq!(records.len(), 20 * RECORD_MAX + 6 * (5 + OVERHEAD));
    assert_eq!(feed(&mut server.receiver, &records, 5000, 3000), Ok(data));
    let back = seal(&mut server.sender, b"not asked for an update");
    assert_eq!(back.len(), 23 + OVERHEAD);
    assert!(feed(&mut client.receiver, &back, 5000, 3000).is_ok());
}

fn no_name() -> ServerName<'static> {
    ServerName::IpAddress(Ipv4Addr::UNSPECIFIED.into())
}

/// rustls with its own record layer, as either end.
enum Rustls {
    Client(ClientConnection),
    Server(ServerConnection),
}

macro_rules! with_rustls {
    ($rustls:expr, $connection:ident => $body:expr) => {
        match $rustls {
            Rustls::Client($connection) => $body,
            Rustls::Server($connection) => $body,
        }
    };
}

impl Rustls {
    fn client() -> Rustls {
        let verifier = Verifier::new(Accepted::Only(key(2)));
        let config = handshake::client_config(&identity(1), &verifier).expect("complete");
        Rustls::Client(ClientConnection::new(Arc::new(config), no_name()).expect("a client"))
    }

    fn server() -> Rustls {
        let verifier = Verifier::new(Accepted::Allowed(Allow::keys([key(1)])));
        let mut config = handshake::server_config(&identity(2), &verifier).expect("complete");
        // Tickets must be skipped.
        config.send_tls13_tickets = 2;
        config.session_storage = rustls::server::ServerSessionMemoryCache::new(4);
        Rustls::Server(ServerConnection::new(Arc::new(config)).expect("a server"))
    }

    fn output(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        with_rustls!(self, connection => while connection.wants_write() {
            connection.write_tls(&mut bytes).expect("memory");
        });
        bytes
    }

    /// Takes records, and returns what they contain for the application.
    fn input(&mut self, mut records: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !records.is_empty() {
            with_rustls!(self, connection => {
                connection.read_tls(&mut records).expect("memory");
                connection.process_new_packets().expect("sound records");
                let _ = connection.reader().read_to_end(&mut bytes);
            });
        }
        bytes
    }

    fn seal(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut records = Vec::new();
        while !bytes.is_empty() {
            let taken = with_rustls!(self, connection => connection.writer().write(bytes));
            bytes = &bytes[taken.expect("open")..];
            records.extend(self.output());
        }
        records
    }

    fn update_keys(&mut self) {
        with_rustls!(self, connection => connection.refresh_traffic_keys()).expect("TLS 1.3");
    }

    fn close(&mut self) -> Vec<u8> {
        with_rustls!(self, connection => connection.send_close_notify());
        self.output()
    }

    fn has_seen_close(&mut self) -> bool {
        with_rustls!(self, connection => connection
            .process_new_packets().expect("sound").peer_has_closed())
    }
}

#[test]
fn the_record_layer_works_with_that_of_rustls() {
    let [client, server] = ends();
    for (mut rustls, mut own) in [(Rustls::server(), client), (Rustls::client(), server)] {
        for _ in 0..3 {
            own.handle_input(&rustls.output()).expect("sound");
            rustls.input(&own.take_output());
        }
        let mut own = open(own);
        own.sender.set_record_limit(2);
        for round in 0..5 {
            let data = pattern(50_000 + round);
            let records = seal(&mut own.sender, &data);
            assert!(rustls.input(&records) == data, "round {round}");
            // Asks for an update in return, which comes with the next data.
            rustls.update_keys();
            let records = rustls.seal(&data);
            assert_eq!(feed(&mut own.receiver, &records, 10_000, 30_000), Ok(data));
        }
        let mut end = Vec::new();
        own.sender.close(&mut end);
        assert!(rustls.input(&end).is_empty() && rustls.has_seen_close());
        assert_eq!(feed(&mut own.receiver, &rustls.close(), 3, 10), Ok(vec![]));
        assert!(has_ended(&mut own.receiver));
    }
}

#[test]
fn alerts_of_rustls_are_reported() {
    let [client, _] = ends();
    let (mut rustls, mut own) = (Rustls::server(), client);
    for _ in 0..3 {
        own.handle_input(&rustls.output()).expect("sound");
        rustls.input(&own.take_output());
    }
    let mut own = open(own);
    let mut forged = seal(&mut own.sender, b"forged on the way");
    forged[10] ^= 1;
    let Rustls::Server(connection) = &mut rustls else { unreachable!("a server") };
    connection.read_tls(&mut &forged[..]).expect("memory");
    connection.process_new_packets().expect_err("forged");
    let (_, error) = feed(&mut own.receiver, &rustls.output(), 5, 5).expect_err("an alert");
    assert_eq!(error, Error::of_alert(AlertDescription::BadRecordMac, key(1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(64)))]

    /// Any pieces of writes, of arriving bytes and of reads give the same stream.
    #[test]
    fn the_stream_does_not_depend_on_pieces(
        writes in prop::collection::vec(0_usize..40_000, 1..8),
        room in ROOM_MIN..80_000,
        piece in 1_usize..70_000,
        read in 1_usize..70_000,
    ) {
        let [mut client, mut server] = pair();
        let data = pattern(writes.iter().sum());
        let (mut records, mut rest) = (Vec::new(), &data[..]);
        for len in writes {
            let (mut part, after) = rest.split_at(len);
            while !part.is_empty() {
                let before = records.len();
                let taken = client.sender.seal(part, room, &mut records).expect("keys");
                prop_assert!(taken > 0 && records.len() - before <= room);
                part = &part[taken..];
            }
            rest = after;
        }
        // Tiny pieces of much data take too long.
        let piece = piece.max(records.len() / 500);
        let read = read.max(data.len() / 500);
        prop_assert!(feed(&mut server.receiver, &records, piece, read) == Ok(data));
    }

    /// No change of one byte goes unnoticed, and only bytes before it are delivered.
    #[test]
    fn any_changed_byte_is_found(
        lens in prop::collection::vec(0_usize..100, 1..6),
        at: prop::sample::Index,
        xor in 1_u8..,
        piece in 1_usize..50,
    ) {
        let (mut server, records) = changed_records(&lens, at, xor);
        let result = feed(&mut server.receiver, &records, piece, 50);
        let sent: Vec<_> = lens.iter().flat_map(|len| pattern(*len)).collect();
        let bytes = match result {
            Ok(bytes) => {
                // The stream waits for a record that its changed header makes longer.
                prop_assert!(!has_ended(&mut server.receiver));
                bytes
            }
            Err((bytes, _)) => bytes,
        };
        prop_assert!(sent.starts_with(&bytes));
    }
}
