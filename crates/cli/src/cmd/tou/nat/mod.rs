//! `windlass tou nat`: what is between this host and the Internet.

pub(crate) mod args;
mod print;

use crate::failure::Failure;
use crate::{interrupt, stdout};
use args::TouNat;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;
use windlass_rendezvous::behavior::{Findings, discover};

/// The port by which a relay is reached where UDP is blocked.
const TLS_PORT: u16 = 443;
const TLS_PATIENCE: Duration = Duration::from_secs(4);

/// Results of the discovery over one version of IP.
struct Found {
    server: SocketAddr,
    result: io::Result<Findings>,
    /// Whether TCP port 443 of the server takes connections; `None` if it was not tried.
    tcp443: Option<bool>,
}

/// Runs `windlass tou nat`.
pub(crate) fn main(args: &TouNat) -> Result<(), Failure> {
    interrupt::watch();
    let addresses = one_of_each_family(&args.via.resolve(args.family)?);
    let found: Vec<Found> = thread::scope(|scope| {
        let threads: Vec<_> =
            addresses.iter().map(|server| scope.spawn(|| examine(*server))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Found>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    stdout::line(&if args.json { print::json(&found) } else { print::text(&found) })?;
    if found.iter().any(Found::is_answered) {
        return Ok(());
    }
    Err(Failure::Work(format!("{}: no answer from port {} by UDP", args.via.host, args.via.port)))
}

impl Found {
    fn is_answered(&self) -> bool {
        self.result.as_ref().is_ok_and(|findings| findings.mapped.is_some())
    }
}

/// The first address of each version of IP.
fn one_of_each_family(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let mut first: Vec<SocketAddr> = vec![];
    for address in addresses {
        if first.iter().all(|other| other.is_ipv4() != address.is_ipv4()) {
            first.push(*address);
        }
    }
    first
}

fn examine(server: SocketAddr) -> Found {
    let result = discover(server);
    let silent = result.as_ref().is_ok_and(|findings| findings.mapped.is_none());
    Found { server, result, tcp443: silent.then(|| takes_tcp(server.ip())) }
}

fn takes_tcp(server: IpAddr) -> bool {
    TcpStream::connect_timeout(&SocketAddr::new(server, TLS_PORT), TLS_PATIENCE).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_of_each_version_is_asked() {
        let addresses = ["192.0.2.1:1", "[2001:db8::1]:1", "192.0.2.2:1"]
            .map(|text| text.parse().expect("one"));
        assert_eq!(one_of_each_family(&addresses), addresses[..2]);
    }
}
