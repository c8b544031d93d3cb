//! A cipher for tests: records that are encrypted and authenticated with a key from the seed. It
//! stands for TLS, which would draw its keys at random. It protects against the changes that the
//! simulated networks make, and against nothing else.

use windlass_base::Rng;

/// The largest payload of a record, in bytes.
const PAYLOAD_MAX: usize = 1000;
/// Length of the header: the payload's length.
const HEADER: usize = 2;
/// Length of the tag.
const TAG: usize = 8;

/// The key of one direction of one connection.
fn key(seed: u64, number: u32, from: usize) -> u64 {
    Rng::fork(seed ^ u64::from(number) << 32, 40 + from as u64).bits()
}

/// The key stream of a record, and the tag of its plain text.
fn record(key: u64, serial: u64, plain: &[u8]) -> (Rng, u64) {
    let mut tag = Rng::fork(key, serial).bits() ^ plain.len() as u64;
    // A draw for eight bytes: a draw for each took half the time of a run.
    for bytes in plain.chunks(8) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        tag = Rng::new(tag ^ u64::from_le_bytes(word)).bits();
    }
    (Rng::fork(key.rotate_left(17), serial), tag)
}

fn apply(stream: &mut Rng, bytes: &mut [u8]) {
    for bytes in bytes.chunks_mut(8) {
        let word = stream.bits().to_le_bytes();
        bytes.iter_mut().zip(word).for_each(|(byte, key)| *byte ^= key);
    }
}

/// Makes the records of one direction. An empty record is the last one.
pub(super) struct Sealer {
    key: u64,
    serial: u64,
}

impl Sealer {
    pub(super) fn new(seed: u64, number: u32, from: usize) -> Sealer {
        Sealer { key: key(seed, number, from), serial: 0 }
    }

    /// Appends the records of `plain` to `out`.
    pub(super) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        plain.chunks(PAYLOAD_MAX).for_each(|part| self.seal_record(part, out));
    }

    /// Appends the record that ends the stream.
    pub(super) fn seal_end(&mut self, out: &mut Vec<u8>) {
        self.seal_record(&[], out);
    }

    fn seal_record(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        let (mut stream, tag) = record(self.key, self.serial, plain);
        self.serial += 1;
        out.extend((plain.len() as u16).to_be_bytes());
        let at = out.len();
        out.extend(plain);
        apply(&mut stream, &mut out[at..]);
        out.extend(tag.to_be_bytes());
    }
}

/// A record is not what its sender made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotAuthentic;

/// Opens the records of one direction.
pub(super) struct Opener {
    key: u64,
    serial: u64,
    pending: Vec<u8>,
    has_ended: bool,
}

impl Opener {
    pub(super) fn new(seed: u64, number: u32, from: usize) -> Opener {
        Opener { key: key(seed, number, from), serial: 0, pending: Vec::new(), has_ended: false }
    }

    /// The record that ends the stream has arrived.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes bytes of the stream, and appends the plain text of the records that are complete.
    pub(super) fn open(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), NotAuthentic> {
        self.pending.extend(bytes);
        while let Some(header) = self.pending.first_chunk::<HEADER>() {
            let len = usize::from(u16::from_be_bytes(*header));
            let whole = HEADER + len + TAG;
            if len > PAYLOAD_MAX || self.has_ended {
                return Err(NotAuthentic);
            }
            if self.pending.len() < whole {
                break;
            }
            let mut plain: Vec<u8> = self.pending.drain(..whole).collect();
            let tag = plain.split_off(HEADER + len);
            plain.drain(..HEADER);
            // The key stream does not depend on the plain text.
            apply(&mut record(self.key, self.serial, &[]).0, &mut plain);
            if record(self.key, self.serial, &plain).1.to_be_bytes() != tag[..] {
                return Err(NotAuthentic);
            }
            self.serial += 1;
            self.has_ended = len == 0;
            out.extend(plain);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(plain: &[u8]) -> Vec<u8> {
        let mut sealer = Sealer::new(7, 1, 0);
        let mut bytes = Vec::new();
        sealer.seal(plain, &mut bytes);
        sealer.seal_end(&mut bytes);
        bytes
    }

    #[test]
    fn records_open_to_what_was_sealed_in_any_pieces() {
        let plain: Vec<u8> = (0..2500_u32).map(|at| at as u8).collect();
        let mut opener = Opener::new(7, 1, 0);
        let mut opened = Vec::new();
        for piece in sealed(&plain).chunks(313) {
            assert!(!opener.has_ended());
            opener.open(piece, &mut opened).expect("authentic");
        }
        assert!(opener.has_ended());
        assert_eq!(opened, plain);
    }

    #[test]
    fn a_changed_bit_and_a_repeated_record_are_refused() {
        let bytes = sealed(b"windlass");
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let (mut opener, mut opened) = (Opener::new(7, 1, 0), Vec::new());
            let result = opener.open(&changed, &mut opened);
            assert!(result.is_err() || !opener.has_ended(), "bit {bit}");
            assert!(opened.is_empty() || opened == b"windlass", "bit {bit}");
        }
        let first = HEADER + 8 + TAG;
        let (mut opener, mut opened) = (Opener::new(7, 1, 0), Vec::new());
        opener.open(&bytes[..first], &mut opened).expect("authentic");
        assert_eq!(opener.open(&bytes[..first], &mut opened), Err(NotAuthentic));
    }
}
