use crate::harness::{Harness, TestPacket};
use windlass_aqm::{DropReason, HeadDrop, HeadDropConfig, Limit};
use windlass_base::Ecn;

#[test]
fn a_packet_to_a_full_queue_drops_the_oldest() {
    for limit in [Limit::Packets(3), Limit::Bytes(3500)] {
        let queue = HeadDrop::<TestPacket>::new(HeadDropConfig { limit }).expect("valid");
        let mut h = Harness::new(queue, 1);
        for id in 0..5 {
            h.arrive(TestPacket::new(id, Ecn::NotEct));
        }
        let lost: Vec<_> = h.lost.iter().map(|(p, why)| (p.id, *why)).collect();
        assert_eq!(lost, [(0, DropReason::Full), (1, DropReason::Full)]);
        let left: Vec<_> = core::iter::from_fn(|| h.leave()).map(|p| p.id).collect();
        assert_eq!(left, [2, 3, 4]);
    }
}
