//! The body of the fuzz target, with random bytes and with the inputs in `fuzz/regressions`. The
//! target itself is in `fuzz/`.

#[expect(dead_code, reason = "each test uses a part")]
mod common;
#[path = "fuzz_bodies/nat.rs"]
mod nat;

use common::packets::{error, udp};
use proptest::prelude::*;
use windlass_testbed::replay;

proptest! {
    #[test]
    fn the_nat_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..1_000)) {
        nat::run(&bytes);
    }

    #[test]
    fn the_nat_takes_damaged_packets(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let (host, external, server) = ("10.0.0.2:1024", "192.0.2.1:1024", "203.0.113.1:2");
        let mut packets = vec![
            (0, udp(host, server, b"out")),
            (1, error(&udp(external, server, b"out"))),
            (1, udp(server, external, b"back")),
            (0, error(&udp(server, host, b"back"))),
        ];
        for (at, octet) in damage {
            let (_, packet) = &mut packets[at.index(4)];
            let at = at.index(packet.len());
            packet[at] = octet;
        }
        nat::run(&input(&packets));
    }
}

/// An input of the target: packets with their sides.
fn input(packets: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut input = vec![0];
    for (side, packet) in packets {
        input.extend([*side, u8::try_from(packet.len()).expect("a short packet")]);
        input.extend(packet);
    }
    input
}

#[test]
fn the_nat_passes_its_regressions() {
    replay("nat", nat::run);
}
