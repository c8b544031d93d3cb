//! Any bytes as packets through a NAT: nothing panics, the table stays bounded, and what passes is
//! a packet with the right checksums if it was one before.

use windlass_base::Time;
use windlass_nat::{Config, Dependence, Nat, PortAllocation, Side};
use windlass_tcp::segment::ip;

const BINDINGS_MAX: usize = 16;

/// One input of the target `nat`: packets, each behind its side and time in one byte, and its length in
/// another.
pub(crate) fn run(bytes: &[u8]) {
    whole(bytes);
    let (first, mut rest) = bytes.split_first().unwrap_or((&0, &[]));
    let mut nat = nat(*first);
    let mut now = Time::ZERO;
    while let [side, len, after @ ..] = rest {
        let (packet, after) = after.split_at(usize::from(*len).min(after.len()));
        let from = if side & 1 == 0 { Side::Inside } else { Side::Outside };
        now = Time::from_nanos(now.as_nanos() + u64::from(*side) * 1_000_000_000);
        pass(&mut nat, now, from, &mut packet.to_vec());
        assert!(nat.bindings(now) <= BINDINGS_MAX);
        rest = after;
    }
}

fn whole(bytes: &[u8]) {
    for from in [Side::Inside, Side::Outside] {
        pass(&mut nat(0), Time::ZERO, from, &mut bytes.to_vec());
    }
}

fn pass(nat: &mut Nat, now: Time, from: Side, packet: &mut [u8]) {
    let valid = ip::parse(packet).is_ok();
    if nat.handle_packet(now, from, packet).is_ok() {
        assert_eq!(ip::parse(packet).is_ok(), valid, "{packet:02x?}");
    }
}

fn nat(choice: u8) -> Nat {
    let of = |n: u8| Dependence::ALL[usize::from(n % 3)];
    let external = ["192.0.2.1", "192.0.2.2", "2001:db8::1"];
    let external = external.iter().map(|text| text.parse().expect("an address")).collect();
    let ports = match choice & 0x40 {
        0 => PortAllocation::Preserve,
        _ => PortAllocation::Random,
    };
    let config = Config { bindings_max: BINDINGS_MAX, ports, ..Config::new(external) };
    Nat::new(config.behaving(of(choice), of(choice / 3)), 1)
}
