//! Both ends of an encrypted stream, and a network between them that changes, drops and adds bytes at
//! will. Neither end may panic. An end knows the other's key or fails, and each byte that it reads is
//! the one that was written there: what the network changed is an error, never data.

use std::sync::LazyLock;
use windlass_tou::secure::{
    Allow, Error, Handshake, Identity, PublicKey, Receiver, SecretKey, Sender,
};

const STEPS_MAX: usize = 400;
/// The room that a write has for records.
const ROOM: usize = 20_000;

enum State {
    Handshake(Box<Handshake>),
    Open(Box<(Sender, Receiver)>),
    Failed,
}

struct End {
    state: State,
    /// The key that the other end must have.
    peer: PublicKey,
    written: usize,
    closed: bool,
    read: usize,
}

/// Bytes on the way to one end.
#[derive(Default)]
struct Pipe(Vec<u8>);

struct World<'a> {
    bytes: std::slice::Iter<'a, u8>,
    ends: [End; 2],
    /// To the end with this index.
    pipes: [Pipe; 2],
}

/// Keys are made once: that is most of a run's time otherwise.
static IDENTITIES: LazyLock<[Identity; 2]> =
    LazyLock::new(|| [1, 2].map(|seed| Identity::new(&SecretKey::from_seed([seed; 32]))));

/// One input of the target `secure_channel`.
pub(crate) fn run(bytes: &[u8]) {
    exchange(bytes);
}

/// The same. Returns the bytes that each end has read.
pub(crate) fn exchange(bytes: &[u8]) -> [usize; 2] {
    let [client, server] = &*IDENTITIES;
    let (client_key, server_key) = (client.public_key(), server.public_key());
    let handshakes = [
        (Handshake::client(client, server_key), server_key),
        (Handshake::server(server, &Allow::keys([client_key])), client_key),
    ];
    let ends = handshakes.map(|(handshake, peer)| End {
        state: State::Handshake(Box::new(handshake.expect("randomness"))),
        peer,
        written: 0,
        closed: false,
        read: 0,
    });
    let mut world = World { bytes: bytes.iter(), ends, pipes: Default::default() };
    world.collect(0);
    for _ in 0..STEPS_MAX {
        let Some(&kind) = world.bytes.next() else { break };
        world.step(kind);
    }
    world.ends.map(|end| end.read)
}

/// The byte that the end `from` writes at an offset.
fn byte_at(from: usize, offset: usize) -> u8 {
    (offset.wrapping_mul(31) >> 3) as u8 ^ (from as u8) << 7
}

impl World<'_> {
    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn step(&mut self, kind: u8) {
        let end = usize::from(kind & 1);
        match kind >> 1 & 7 {
            // Most steps let the ends go on.
            0..=2 => self.deliver(end),
            3 => self.write(end),
            4 => self.close(end),
            5 => {
                let (at, mask) = (self.byte(), self.byte());
                if let Some(byte) = self.pipes[end].0.get_mut(usize::from(at)) {
                    *byte ^= mask;
                }
            }
            6 => {
                let (at, len) = (usize::from(self.byte()), usize::from(self.byte() & 31));
                let added: Vec<u8> = (0..len).map(|_| self.byte()).collect();
                let pipe = &mut self.pipes[end].0;
                let at = at.min(pipe.len());
                pipe.splice(at..at, added);
            }
            _ => {
                let (at, len) = (usize::from(self.byte()), usize::from(self.byte()));
                let pipe = &mut self.pipes[end].0;
                let at = at.min(pipe.len());
                let to = (at + len).min(pipe.len());
                pipe.drain(at..to);
            }
        }
        for end in 0..2 {
            self.collect(end);
        }
    }

    /// Moves what an end wants to send to the other.
    fn collect(&mut self, end: usize) {
        let one = &mut self.ends[end];
        if let State::Handshake(handshake) = &mut one.state {
            self.pipes[1 - end].0.extend(handshake.take_output());
            if handshake.is_complete() {
                let State::Handshake(handshake) = std::mem::replace(&mut one.state, State::Failed)
                else {
                    unreachable!()
                };
                if let Ok((sender, receiver, peer)) = handshake.finish() {
                    assert_eq!(peer, one.peer, "an end took another for its peer");
                    one.state = State::Open(Box::new((sender, receiver)));
                }
            }
        }
    }

    /// Some of the bytes arrive, or all.
    fn deliver(&mut self, end: usize) {
        let some = usize::from(self.byte());
        let pipe = &mut self.pipes[end].0;
        let len = if some == 0 { pipe.len() } else { some.min(pipe.len()) };
        let arrived: Vec<u8> = pipe.drain(..len).collect();
        if let State::Handshake(handshake) = &mut self.ends[end].state {
            if handshake.handle_input(&arrived).is_err() {
                self.pipes[1 - end].0.extend(handshake.take_output());
                self.ends[end].state = State::Failed;
            }
            return;
        }
        let mut rest = &arrived[..];
        if some & 1 == 0 {
            rest = &rest[self.read_in_place(end, rest)..];
        }
        while let State::Open(open) = &mut self.ends[end].state {
            let space = open.1.space();
            let len = rest.len().min(space.len());
            space[..len].copy_from_slice(&rest[..len]);
            open.1.filled(len);
            rest = &rest[len..];
            self.read(end);
            if rest.is_empty() {
                break;
            }
        }
    }

    fn read(&mut self, end: usize) {
        let (written, closed) = (self.ends[1 - end].written, self.ends[1 - end].closed);
        let mut buffer = [0; 1000];
        loop {
            let one = &mut self.ends[end];
            let State::Open(open) = &mut one.state else { return };
            match open.1.read(&mut buffer) {
                Ok(None) => return,
                Ok(Some(0)) => {
                    assert!(closed && one.read == written, "an end that was not sent");
                    return;
                }
                Ok(Some(len)) => self.check(end, &buffer[..len]),
                Err(error) => self.fail(end, &error),
            }
        }
    }

    /// Opens whole records where they have arrived. Returns the bytes of records taken.
    fn read_in_place(&mut self, end: usize, arrived: &[u8]) -> usize {
        let State::Open(open) = &mut self.ends[end].state else { return 0 };
        if !open.1.is_empty() {
            return 0;
        }
        let len = Receiver::whole_records([arrived, &[]], usize::MAX);
        let mut records = arrived[..len].to_vec();
        match open.1.open_in_place(&mut records) {
            Ok(plain) => self.check(end, &records[..plain]),
            Err(error) => self.fail(end, &error),
        }
        len
    }

    /// An end has read these bytes.
    fn check(&mut self, end: usize, bytes: &[u8]) {
        let written = self.ends[1 - end].written;
        let one = &mut self.ends[end];
        for byte in bytes {
            assert_eq!(*byte, byte_at(1 - end, one.read), "byte {}", one.read);
            one.read += 1;
        }
        assert!(one.read <= written, "more than was written");
    }

    fn fail(&mut self, end: usize, error: &Error) {
        if let State::Open(open) = &mut self.ends[end].state {
            open.0.fail(error, &mut self.pipes[1 - end].0);
        }
        self.ends[end].state = State::Failed;
    }

    fn write(&mut self, end: usize) {
        let len = usize::from(self.byte()) * 64;
        let one = &mut self.ends[end];
        let State::Open(open) = &mut one.state else { return };
        let bytes: Vec<u8> = (0..len).map(|index| byte_at(end, one.written + index)).collect();
        let taken = open.0.seal(&bytes, ROOM, &mut self.pipes[1 - end].0).expect("keys");
        assert!(taken <= len && (one.closed || len == 0 || taken > 0));
        one.written += taken;
    }

    fn close(&mut self, end: usize) {
        let one = &mut self.ends[end];
        if let State::Open(open) = &mut one.state {
            open.0.close(&mut self.pipes[1 - end].0);
            one.closed = true;
        }
    }
}
