//! A server whose table of registrations is full: the CPU time of requests, without sockets.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};

use windlass_base::{Rng, Span, Time};
use windlass_identity::SecretKey;
use windlass_rendezvous::message::{Content, KeepAlive, Message, Nonce, REGISTER, Register, Token};
use windlass_rendezvous::server::{Config, Path, Server, Transmit};

/// Requests of each kind.
const REQUESTS: u32 = 20_000;
const NOW: Time = Time::from_nanos(1_000_000_000_000);

/// Hosts of two networks for each thousand keys, so that none is greater than others.
fn path(number: u32) -> Path {
    let ip = Ipv4Addr::from_bits(0x0b00_0000 + (number % 200) * 0x0001_0000 + number / 200 % 7);
    Path::Stream { id: number.into(), address: SocketAddr::from((ip, 1000)) }
}

fn secret(number: u32) -> SecretKey {
    let mut seed = [0; 32];
    seed[..4].copy_from_slice(&number.to_be_bytes());
    SecretKey::from_seed(seed)
}

fn answer(server: &mut Server, path: Path, content: Content) -> Option<Content> {
    server.handle(NOW, path, &Message { transaction: 5.into(), content }.encode());
    match server.poll_transmit()? {
        Transmit::Host { bytes, .. } => Some(Message::parse(&bytes).ok()?.content),
        Transmit::Peer { .. } => None,
    }
}

fn nonce(server: &mut Server, number: u32) -> Option<Nonce> {
    match answer(server, path(number), Content::Hello(REGISTER))? {
        Content::Refused(refused) => refused.nonce,
        _ => None,
    }
}

/// A registration to send, and where from.
fn registration(server: &mut Server, number: u32) -> Option<(Path, Content)> {
    let nonce = nonce(server, number)?;
    let register = Register::signed(&secret(number), nonce, [1; 16], 120);
    Some((path(number), Content::Register(register)))
}

/// Prints the CPU time of each kind of request.
pub(crate) fn measure(keys: u32) -> Option<()> {
    let mut config = Config::new([3; 16]);
    config.limits.registrations = keys as usize;
    config.limits.requests_burst = 1_000_000;
    let mut server = Server::new(config, Rng::new(1));
    let mut tokens: Vec<Token> = Vec::new();
    for number in 0..keys {
        let (path, content) = registration(&mut server, number)?;
        if let Some(Content::Registered(registered)) = answer(&mut server, path, content) {
            tokens.extend(registered.token);
        }
    }
    println!("{} keys are registered", server.counters().registrations);
    println!("| request | requests | each | requests/s |");
    println!("|---|---|---|---|");
    let mut asked = Vec::new();
    for number in keys..keys + REQUESTS {
        asked.push(registration(&mut server, number)?);
    }
    timed("a registration that is refused", asked, |(path, content)| {
        answer(&mut server, path, content);
    });
    let kept = (0..REQUESTS).map(|one| one * 7 % keys);
    timed("a keep-alive", kept.clone(), |number| {
        let keep = KeepAlive { token: tokens[number as usize], lifetime_s: 120 };
        answer(&mut server, path(number), Content::KeepAlive(keep));
    });
    timed("a greeting", kept.clone(), |number| drop(nonce(&mut server, number)));
    timed("the end of a stream", kept, |number| server.stream_closed(NOW, number.into()));
    println!("{} keys are left", server.counters().registrations);
    server.handle_timeout(NOW + Span::from_secs(500));
    Some(())
}

fn timed<T>(name: &str, inputs: impl IntoIterator<Item = T>, mut one: impl FnMut(T)) {
    let inputs: Vec<T> = inputs.into_iter().collect();
    let (start, count) = (cpu_ns(), inputs.len() as f64);
    inputs.into_iter().for_each(&mut one);
    let each_us = (cpu_ns() - start) / count / 1e3;
    println!("| {name} | {count:.0} | {each_us:.1} µs | {:.0} |", 1e6 / each_us);
}

/// CPU time of this thread, in nanoseconds.
fn cpu_ns() -> f64 {
    let read = || -> Result<f64, Box<dyn Error>> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
        Ok(text.split_whitespace().next().ok_or("empty")?.parse()?)
    };
    read().unwrap_or(f64::NAN)
}
