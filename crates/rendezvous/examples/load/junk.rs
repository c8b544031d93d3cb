//! A flood of datagrams that deserve no answer, or a short one.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windlass_base::Rng;
use windlass_identity::SecretKey;
use windlass_rendezvous::message::{Content, Introduce, Message, Nonce, REGISTER, Register};

/// Addresses that the flood comes from.
const SOURCES: u8 = 200;

/// Sends `rate` datagrams a second until `stop`. Returns how many there were.
pub(crate) fn flood(to: SocketAddr, rate: u32, stop: &AtomicBool) -> io::Result<u64> {
    let source = |last| -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((IpAddr::from([127, 66, 0, last]), 0))?;
        socket.connect(to)?;
        Ok(socket)
    };
    let sockets: Vec<_> = (1..=SOURCES).map(source).collect::<io::Result<_>>()?;
    let kinds = kinds();
    let mut rng = Rng::new(4);
    let start = Instant::now();
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        let due = (start.elapsed().as_secs_f64() * f64::from(rate)) as u64;
        if sent >= due {
            std::thread::sleep(Duration::from_micros(200));
        }
        while sent < due {
            let socket = &sockets[rng.below(sockets.len() as u64) as usize];
            let kind = &kinds[rng.below(kinds.len() as u64) as usize];
            // A full queue is what a flood meets.
            let _ = socket.send(kind);
            sent += 1;
        }
    }
    Ok(sent)
}

/// Random bytes; STUN that says hello, and asks for the address; registrations and introductions
/// with a nonce that the server never gave.
fn kinds() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(5);
    let random = |rng: &mut Rng, len| (0..len).map(|_| rng.bits() as u8).collect::<Vec<u8>>();
    let key = SecretKey::from_seed([99; 32]);
    let nonce = || Nonce::new("0123456789abcdef").expect("a nonce");
    let introduce = Introduce::signed(&key, nonce(), Some(key.public_key()), [1; 16], vec![7; 600]);
    let contents = [
        Content::Hello(REGISTER),
        Content::Register(Register::signed(&key, nonce(), [1; 16], 60)),
        Content::Introduce(introduce),
    ];
    let encode = |content| Message { transaction: 9.into(), content }.encode();
    let mut kinds: Vec<Vec<u8>> = contents.map(encode).into();
    kinds.extend([random(&mut rng, 12), random(&mut rng, 200), random(&mut rng, 1400)]);
    let mut binding = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    binding.extend(random(&mut rng, 12));
    kinds.push(binding);
    kinds
}
