use crate::harness::{Harness, TestPacket};
use windlass_aqm::{ConfigError, DropReason, DropTail, DropTailConfig, Limit, Queue};
use windlass_base::Ecn;

fn queue(limit: Limit) -> Harness<DropTail<TestPacket>> {
    Harness::new(DropTail::new(DropTailConfig { limit }).expect("valid"), 1)
}

#[test]
fn packets_to_a_full_queue_are_lost_and_no_others() {
    let mut h = queue(Limit::Packets(3));
    for id in 0..5 {
        h.arrive(TestPacket::new(id, Ecn::Ect0));
    }
    let lost: Vec<_> = h.lost.iter().map(|(p, why)| (p.id, *why)).collect();
    assert_eq!(lost, [(3, DropReason::Full), (4, DropReason::Full)]);
    let left: Vec<_> = core::iter::from_fn(|| h.leave()).map(|p| (p.id, p.ecn)).collect();
    assert_eq!(left, [(0, Ecn::Ect0), (1, Ecn::Ect0), (2, Ecn::Ect0)]);
    assert_eq!((h.queue.stats().offered, h.queue.stats().dropped_full), (5, 2));
    assert_eq!(h.queue.average_packets(), None);
}

#[test]
fn a_limit_in_bytes_lets_a_small_packet_in_where_a_large_one_does_not_fit() {
    let mut h = queue(Limit::Bytes(2500));
    h.arrive(TestPacket::new(0, Ecn::NotEct));
    h.arrive(TestPacket::new(1, Ecn::NotEct));
    assert_eq!(h.fate(TestPacket::new(2, Ecn::NotEct)), Some(DropReason::Full));
    assert_eq!(h.fate(TestPacket { size: 500, ..TestPacket::new(3, Ecn::NotEct) }), None);
    assert_eq!(h.queue.len_bytes(), 2500);
}

#[test]
fn a_queue_that_can_hold_nothing_is_refused() {
    let config = DropTailConfig { limit: Limit::Bytes(0) };
    assert_eq!(DropTail::<TestPacket>::new(config).err(), Some(ConfigError::ZeroLimit));
}
