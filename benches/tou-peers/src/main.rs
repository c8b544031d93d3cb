//! One bulk stream of another transport: `tou-peers PEER receive ADDRESS` and
//! `tou-peers PEER send ADDRESS SECONDS`, where PEER is `tcp:CONTROLLER`, `tls:aws-lc`,
//! `tls:ring`, `udp` or `quinn`.
//!
//! A receiver prints `ready` when it can be reached and, at the end, bytes and the seconds between
//! the first and the last of them; a sender the segments that it retransmitted. Both as JSON. The
//! caller measures their CPU time.

mod quic;
mod tcp;
mod tls;
mod udp;
mod verifier;

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Bytes that are written or read in one call.
const BLOCK: usize = 256 << 10;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (peer, role) = words.split_first().ok_or("expected PEER and what it does")?;
    match *role {
        ["receive", address] => receive(peer, address.parse()?),
        ["send", address, seconds] => {
            send(peer, address.parse()?, Duration::from_secs_f64(seconds.parse()?))
        }
        _ => Err("expected receive ADDRESS, or send ADDRESS SECONDS".into()),
    }
}

fn receive(peer: &str, address: SocketAddr) -> Result<()> {
    let received = match peer {
        "udp" => udp::receive(address)?,
        "quinn" => quic::receive(address)?,
        _ => match peer.strip_prefix("tls:") {
            Some(provider) => tls::receive(provider, address)?,
            None => tcp::receive(controller(peer)?, address)?,
        },
    };
    let seconds = received.last.duration_since(received.first).as_secs_f64();
    println!("{{\"bytes\": {}, \"seconds\": {seconds}}}", received.bytes);
    Ok(())
}

fn send(peer: &str, address: SocketAddr, time: Duration) -> Result<()> {
    let lost = match peer {
        "udp" => udp::send(address, time)?,
        "quinn" => quic::send(address, time)?,
        _ => match peer.strip_prefix("tls:") {
            Some(provider) => tls::send(provider, address, time)?,
            None => tcp::send(controller(peer)?, address, time)?,
        },
    };
    let lost = lost.map_or("null".into(), |lost| lost.to_string());
    println!("{{\"retransmitted\": {lost}}}");
    Ok(())
}

fn controller(peer: &str) -> Result<&str> {
    Ok(peer.strip_prefix("tcp:").ok_or("no such peer")?)
}

/// Bytes that a receiver has read, and the time that they took.
struct Received {
    bytes: u64,
    first: Instant,
    last: Instant,
}

impl Received {
    fn nothing() -> Received {
        let now = Instant::now();
        Received { bytes: 0, first: now, last: now }
    }

    fn add(&mut self, bytes: usize) {
        self.last = Instant::now();
        if self.bytes == 0 {
            self.first = self.last;
        }
        self.bytes += bytes as u64;
    }
}

fn ready() {
    println!("ready");
}
