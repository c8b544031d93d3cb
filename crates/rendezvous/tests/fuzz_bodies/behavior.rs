//! Any bytes as the datagrams that a discovery receives: nothing panics, it ends in time, and sends a
//! bounded number of requests.

use std::net::SocketAddr;
use windlass_base::{Rng, Span, Time};
use windlass_rendezvous::behavior::{Discovery, Socket, Transmit};

/// The longest discovery: all four phases time out, with 15 initial timeouts of half a second each.
const END: Span = Span::from_secs(30);
/// The tests, with four requests each.
const REQUESTS_MAX: usize = 8 * 4;

/// One input of the target `behavior`: datagrams, each behind one byte of choices and its length.
pub(crate) fn run(bytes: &[u8]) {
    let local = endpoint("10.0.0.2:5000");
    let mut rest = bytes;
    let mut now = Time::ZERO;
    let mut discovery = Discovery::new(now, endpoint("203.0.113.10:3478"), local, Rng::new(1));
    let mut requests: Vec<Transmit> = vec![];
    while discovery.result().is_none() {
        requests.extend(std::iter::from_fn(|| discovery.poll_transmit()));
        assert!(requests.len() <= REQUESTS_MAX);
        let Some(timeout) = discovery.poll_timeout() else { break };
        if let [choice, len, after @ ..] = rest {
            let (datagram, after) = after.split_at(usize::from(*len).min(after.len()));
            rest = after;
            receive(&mut discovery, now, *choice, &requests, datagram);
        } else {
            now = timeout;
            discovery.handle_timeout(now);
        }
    }
    assert_eq!(discovery.poll_timeout(), None);
    assert!(now <= Time::ZERO + END);
    let findings = discovery.result().expect("over");
    assert_eq!(findings.peers().is_some(), findings.mapped.is_none() || is_known(findings));
}

fn is_known(findings: &windlass_rendezvous::behavior::Findings) -> bool {
    findings.mapping.is_some() && findings.filtering.is_some()
}

/// The datagram may get the transaction id of a request, which a fuzzer cannot guess.
fn receive(
    discovery: &mut Discovery,
    now: Time,
    choice: u8,
    requests: &[Transmit],
    datagram: &[u8],
) {
    let mut datagram = datagram.to_vec();
    let request = requests.iter().rev().nth(usize::from(choice >> 4));
    if let (Some(request), Some(header)) = (request, datagram.get_mut(4..20)) {
        header.copy_from_slice(&request.bytes[4..20]);
    }
    let socket = if choice & 1 == 0 { Socket::First } else { Socket::Second };
    let sources = ["203.0.113.10:3478", "203.0.113.10:3479", "203.0.113.11:3479", "192.0.2.9:1"];
    let source = endpoint(sources[usize::from(choice >> 1 & 3)]);
    discovery.handle_datagram(now, socket, source, &datagram);
}

fn endpoint(text: &str) -> SocketAddr {
    text.parse().expect("an endpoint")
}
