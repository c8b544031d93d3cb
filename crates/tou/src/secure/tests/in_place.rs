//! Records sealed in a ring, and opened in the memory of a read.

use super::super::output::{Output, Pieces};
use super::super::record::Sealer;
use super::*;
use rustls::ConnectionTrafficSecrets;
use rustls::crypto::cipher::{AeadKey, Iv};

/// Feeds records to a receiver that opens them in reads of `read` bytes, as a stream does: they arrive
/// in pieces of `piece` bytes, and the ring that they arrive in ends at `wrap`.
fn feed_in_place(
    receiver: &mut Receiver,
    records: &[u8],
    piece: usize,
    read: usize,
    wrap: usize,
) -> Result<Vec<u8>, (Vec<u8>, Error)> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; read]);
    let (mut taken, mut arrived) = (0, 0);
    loop {
        let opened = match receiver.prepare() {
            Ok(true) => match receiver.read(&mut buffer) {
                Ok(Some(0)) => return Ok(bytes),
                read => read.map(|taken| taken.expect("prepared")),
            },
            Ok(false) if receiver.is_empty() => {
                let (head, tail) = records[..arrived].split_at(wrap.clamp(taken, arrived));
                let len = Receiver::whole_records([&head[taken..], tail], read);
                buffer[..len].copy_from_slice(&records[taken..taken + len]);
                taken += len;
                receiver.open_in_place(&mut buffer[..len])
            }
            Ok(false) => Ok(0),
            Err(error) => Err(error),
        };
        match opened {
            Ok(len) if len > 0 => bytes.extend_from_slice(&buffer[..len]),
            Ok(_) if taken < arrived => {
                let space = receiver.space_in_record();
                let len = space.len().min(arrived - taken);
                space[..len].copy_from_slice(&records[taken..taken + len]);
                receiver.filled(len);
                taken += len;
            }
            Ok(_) if arrived == records.len() => return Ok(bytes),
            Ok(_) => arrived = records.len().min(arrived + piece),
            Err(error) => return Err((bytes, error)),
        }
    }
}

/// A sealer with keys that do not change, of a suite whose keys rustls makes from 32 bytes.
fn sealer() -> Sealer {
    let (key, iv) = (AeadKey::from([5; 32]), Iv::from([9; 12]));
    Sealer::new((3, ConnectionTrafficSecrets::Aes256Gcm { key, iv })).expect("a key")
}

#[test]
fn whole_records_are_counted_to_the_first_that_is_not() {
    let record = |len: usize| [&[23, 3, 3, 0, len as u8][..], &vec![0; len]].concat();
    let bytes = [record(20), record(30), record(40)].concat();
    for wrap in 0..bytes.len() {
        let (head, tail) = bytes.split_at(wrap);
        assert_eq!(Receiver::whole_records([head, tail], usize::MAX), 105, "{wrap}");
        assert_eq!(Receiver::whole_records([head, tail], 104), 60, "{wrap}");
        assert_eq!(
            Receiver::whole_records([head, &[]], 60),
            [0, 25, 60][usize::from(wrap >= 25) + usize::from(wrap >= 60)]
        );
    }
    let malformed = [record(20), b"GET / HTTP/1.1".to_vec()].concat();
    assert_eq!(Receiver::whole_records([&malformed, &[]], usize::MAX), 25);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(64)))]

    /// Records sealed in a ring are those sealed one after the other.
    #[test]
    fn records_in_a_ring_are_those_in_a_vector(
        lens in prop::collection::vec(0_usize..=PAYLOAD_MAX, 1..8),
        wrap: prop::sample::Index,
        spare in 0_usize..100,
    ) {
        let (mut one, mut other) = (sealer(), sealer());
        let mut records = Vec::new();
        for len in &lens {
            one.seal(23, &pattern(*len), &mut records);
        }
        let mut ring = vec![0; records.len() + spare];
        let at = wrap.index(ring.len());
        let (second, first) = ring.split_at_mut(at);
        let mut pieces = Pieces::new([first, second]);
        for len in &lens {
            prop_assert_eq!(pieces.seal(&mut other, 23, &pattern(*len)), len + OVERHEAD);
        }
        prop_assert_eq!(pieces.filled(), records.len());
        ring.rotate_left(at);
        prop_assert!(ring[..records.len()] == records);
        prop_assert!(ring[records.len()..].iter().all(|byte| *byte == 0));
    }

    /// Records opened in the memory of the read give the same stream, across key updates.
    #[test]
    fn records_opened_in_place_give_the_same_stream(
        writes in prop::collection::vec(0_usize..60_000, 1..6),
        limit in 1_u64..10,
        piece in 1_usize..200_000,
        read in RECORD_MAX..200_000,
        wrap: prop::sample::Index,
    ) {
        let [mut client, mut server] = pair();
        client.sender.set_record_limit(limit);
        let (mut records, mut data) = (Vec::new(), Vec::new());
        for len in writes {
            data.extend(pattern(len));
            records.extend(seal(&mut client.sender, &pattern(len)));
        }
        client.sender.close(&mut records);
        let (piece, wrap) = (piece.max(records.len() / 500), wrap.index(records.len()));
        let read = feed_in_place(&mut server.receiver, &records, piece, read, wrap);
        prop_assert!(read == Ok(data));
        prop_assert!(has_ended(&mut server.receiver));
        prop_assert_eq!(server.receiver.open_in_place(&mut records), Ok(0), "after the end");
    }

    /// No changed byte goes unnoticed where records are opened in place either.
    #[test]
    fn any_changed_byte_is_found_in_place(
        lens in prop::collection::vec(0_usize..100, 1..6),
        at: prop::sample::Index,
        xor in 1_u8..,
        piece in 1_usize..500,
    ) {
        let (mut server, records) = changed_records(&lens, at, xor);
        let result = feed_in_place(&mut server.receiver, &records, piece, RECORD_MAX, 0);
        let bytes = match result {
            Ok(bytes) => {
                prop_assert!(!has_ended(&mut server.receiver));
                bytes
            }
            Err((bytes, error)) => {
                let again = server.receiver.read(&mut [0]);
                prop_assert_eq!(again, Err(error), "the stream has ended for good");
                bytes
            }
        };
        let sent: Vec<_> = lens.iter().flat_map(|len| pattern(*len)).collect();
        prop_assert!(sent.starts_with(&bytes));
    }
}
