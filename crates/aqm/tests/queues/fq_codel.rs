//! RFC 8290.

use crate::harness::{Harness, TestPacket};
use windlass_aqm::{CoDelParams, DropReason, FqCoDel, FqCoDelConfig, Queue};
use windlass_base::{Ecn, Span};

fn fq(config: FqCoDelConfig) -> Harness<FqCoDel<TestPacket>> {
    Harness::new(FqCoDel::new(config).expect("valid"), 1)
}

fn packet(flow: u64, id: u64) -> TestPacket {
    TestPacket { flow, ..TestPacket::new(id, Ecn::NotEct) }
}

#[test]
fn a_sparse_flow_overtakes_a_standing_queue() {
    let mut h = fq(FqCoDelConfig::default());
    for id in 0..100 {
        h.arrive(packet(1, id));
    }
    // The first flow uses up its quantum as a new flow and becomes an old one.
    assert_eq!([h.leave(), h.leave()].map(|p| p.map(|p| p.flow)), [Some(1), Some(1)]);
    for round in 0..20 {
        h.leave();
        h.arrive(packet(2, round));
        assert_eq!(h.leave(), Some(packet(2, round)), "the sparse flow goes first");
        // In between it is forgotten, as it left nothing behind.
        for _ in 0..2 {
            h.leave();
        }
    }
}

#[test]
fn flows_share_by_bytes_not_by_packets() {
    let mut h = fq(FqCoDelConfig::default());
    let mut sent = [0u64; 2];
    for id in 0..20_000 {
        h.arrive(TestPacket { size: 1500, ..packet(1, id) });
        for _ in 0..5 {
            h.arrive(TestPacket { size: 300, ..packet(2, id) });
        }
        let mut budget = 1500i64;
        while budget > 0 {
            let Some(left) = h.leave() else { break };
            sent[left.flow as usize - 1] += u64::from(left.size);
            budget -= i64::from(left.size);
        }
    }
    let ratio = sent[0] as f64 / sent[1] as f64;
    assert!((0.99..1.01).contains(&ratio), "{sent:?}");
}

/// §4.1: what is too much is taken from the head of the flow with most bytes.
#[test]
fn a_fat_flow_pays_for_a_full_queue() {
    let config = FqCoDelConfig { limit_packets: 100, drop_batch: 8, ..FqCoDelConfig::default() };
    let mut h = fq(config);
    h.arrive(packet(2, 0));
    for id in 0..99 {
        h.arrive(packet(1, id));
    }
    assert!(h.lost.is_empty());
    h.arrive(packet(3, 0));
    let lost: Vec<_> = h.lost.iter().map(|(p, why)| (p.flow, p.id, *why)).collect();
    let head_of_the_fat: Vec<_> = (0..8).map(|id| (1, id, DropReason::Full)).collect();
    assert_eq!(lost, head_of_the_fat);
    assert_eq!(h.queue.len_packets(), 93);
}

#[test]
fn a_batch_takes_no_more_than_half_of_the_fat_flow() {
    let mut h = fq(FqCoDelConfig { limit_packets: 20, ..FqCoDelConfig::default() });
    for id in 0..21 {
        h.arrive(packet(1, id));
    }
    assert_eq!(h.lost.len(), 11);
}

#[test]
fn memory_is_bounded_in_bytes_too() {
    let mut h = fq(FqCoDelConfig { limit_bytes: 10_000, ..FqCoDelConfig::default() });
    for id in 0..200 {
        h.arrive(TestPacket { size: 1 + (id as u32 * 37) % 1500, ..packet(id % 7, id) });
        assert!(h.queue.len_bytes() <= 10_000);
    }
}

/// §4.2: a flow that comes back whenever it ran empty waits for the others' quantum; if it counted
/// as new each time, it would take three quarters of the link.
#[test]
fn an_ever_returning_flow_does_not_starve_a_standing_one() {
    let mut h = fq(FqCoDelConfig::default());
    let mut sent = [0u64; 2];
    for id in 0..1000 {
        h.arrive(TestPacket { size: 1500, ..packet(2, id) });
        let mut returning = false;
        while !returning {
            for _ in 0..3 {
                h.arrive(TestPacket { size: 500, ..packet(1, id) });
            }
            let left = h.leave().expect("two flows wait");
            sent[left.flow as usize - 1] += u64::from(left.size);
            returning = left.flow == 2;
        }
        // This look finds flow 2 empty and serves flow 1.
        sent[0] += h.leave().map_or(0, |p| u64::from(p.size));
    }
    let share = sent[0] as f64 / (sent[0] + sent[1]) as f64;
    assert!(share > 0.45, "{sent:?}");
}

#[test]
fn each_flow_has_a_codel_of_its_own() {
    let mut h = fq(FqCoDelConfig::default());
    for id in 0..1500u64 {
        // Flow 1 builds a standing queue; flow 2 sends one packet in four milliseconds.
        h.arrive(packet(1, 2 * id));
        h.arrive(packet(1, 2 * id + 1));
        if id % 4 == 0 {
            h.arrive(packet(2, id));
        }
        h.leave();
        h.wait(Span::from_millis(1));
    }
    assert!(h.lost.len() > 20);
    assert!(h.lost.iter().all(|(p, why)| p.flow == 1 && *why == DropReason::Sojourn));
}

#[test]
fn the_perturbation_changes_which_flows_share_a_bucket() {
    let shares = |perturbation| {
        let mut h = fq(FqCoDelConfig { flows: 2, perturbation, ..FqCoDelConfig::default() });
        (0..16)
            .map(|other| {
                while h.leave().is_some() {}
                h.arrive(TestPacket { size: 1514, ..packet(100, 0) });
                h.arrive(TestPacket { size: 1514, ..packet(100, 1) });
                h.arrive(packet(other, 2));
                h.leave();
                // In a bucket of its own the other flow is still new and goes first.
                h.leave().map(|p| p.flow) == Some(100)
            })
            .collect::<Vec<_>>()
    };
    assert_ne!(shares(1), shares(2));
    assert_eq!(shares(1), shares(1));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let sound = FqCoDelConfig::default();
    let none = CoDelParams { interval: Span::ZERO, ..sound.codel };
    let unsound = [
        FqCoDelConfig { limit_packets: 0, ..sound },
        FqCoDelConfig { limit_bytes: 0, ..sound },
        FqCoDelConfig { flows: 0, ..sound },
        FqCoDelConfig { flows: 65_537, ..sound },
        FqCoDelConfig { quantum_bytes: 0, ..sound },
        FqCoDelConfig { drop_batch: 0, ..sound },
        FqCoDelConfig { codel: none, ..sound },
    ];
    assert!(sound.validate().is_ok());
    for config in unsound {
        assert!(config.validate().is_err(), "{config:?}");
        assert!(FqCoDel::<TestPacket>::new(config).is_err(), "{config:?}");
    }
}
