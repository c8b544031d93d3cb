//! Endpoints and packets that several tests need.

pub(crate) mod packets;

use std::net::SocketAddr;
use windlass_base::Time;
use windlass_nat::{Config, Dropped, Flow, Nat, Protocol, Side};

pub(crate) fn endpoint(text: &str) -> SocketAddr {
    text.parse().expect("an endpoint")
}

pub(crate) fn config() -> Config {
    Config::new(vec!["192.0.2.1".parse().expect("an address")])
}

pub(crate) fn at(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

/// The external endpoint of a UDP packet from inside.
pub(crate) fn out(nat: &mut Nat, now: Time, source: &str, destination: &str) -> SocketAddr {
    try_out(nat, now, source, destination).expect("passes")
}

pub(crate) fn try_out(
    nat: &mut Nat,
    now: Time,
    from: &str,
    to: &str,
) -> Result<SocketAddr, Dropped> {
    let flow = Flow { protocol: Protocol::Udp, source: endpoint(from), destination: endpoint(to) };
    let (side, new) = nat.translate(now, Side::Inside, flow)?;
    assert_eq!((side, new.destination), (Side::Outside, flow.destination));
    Ok(new.source)
}

/// The inner endpoint that a UDP packet from outside reaches.
pub(crate) fn back(
    nat: &mut Nat,
    now: Time,
    source: &str,
    destination: SocketAddr,
) -> Result<SocketAddr, Dropped> {
    let flow = Flow { protocol: Protocol::Udp, source: endpoint(source), destination };
    let (side, new) = nat.translate(now, Side::Outside, flow)?;
    assert_eq!((side, new.source), (Side::Inside, flow.source));
    Ok(new.destination)
}
