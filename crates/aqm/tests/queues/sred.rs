//! Ott, Lakshman, Wong 1999.

use crate::harness::{Harness, TestPacket};
use crate::responsive::{Run, mean};
use windlass_aqm::{Config, Limit, Queue, Sred, SredConfig};
use windlass_base::Ecn;

/// The share of the arrivals that is marked while `waiting` of 60 packets wait, and packets of
/// `flows` flows come in turn.
fn marked_share(flows: u64, waiting: u64, full: bool) -> f64 {
    let config = SredConfig { limit: Limit::Packets(60), full, ..SredConfig::default() };
    let mut harness = Harness::new(Sred::new(config).expect("valid"), 5);
    let mut marked_before = 0;
    let (warm_up, measured) = (100_000, 400_000);
    for id in 0..warm_up + measured {
        if id == warm_up {
            marked_before = harness.queue.stats().marked;
        }
        // A random order: in turn, the list would hold each flow equally often.
        let flow = harness.rng.below(flows);
        harness.arrive(TestPacket { flow, ..TestPacket::new(id, Ecn::Ect0) });
        if harness.queue.len_packets() as u64 > waiting {
            harness.leave();
        }
    }
    (harness.queue.stats().marked - marked_before) as f64 / measured as f64
}

fn assert_near(share: f64, expected: f64) {
    assert!((0.85..1.15).contains(&(share / expected)), "{share}, expected {expected}");
}

/// p_zap of simple SRED: p_sred times the square of the number of flows over 256.
#[test]
fn simple_sred_marks_by_the_square_of_the_number_of_flows() {
    for flows in [32, 64, 128] {
        let of_flows = (flows as f64 / 256.0).powi(2);
        assert_near(marked_share(flows, 40, false), 0.15 * of_flows);
        assert_near(marked_share(flows, 15, false), 0.15 / 4.0 * of_flows);
    }
    assert_eq!(marked_share(128, 9, false), 0.0);
}

/// Full SRED doubles the mean probability: one arrival in n hits, and is chosen 1 + n times as often.
#[test]
fn full_sred_marks_twice_as_often_in_the_mean() {
    assert_near(marked_share(64, 40, true), 2.0 * 0.15 / 16.0);
}

/// From 256 flows on the probability does not grow.
#[test]
fn many_flows_count_as_256() {
    assert_near(marked_share(800, 40, false), 0.15);
}

#[test]
fn a_flow_with_more_than_its_share_is_marked_more_often() {
    let config = SredConfig { limit: Limit::Packets(60), ..SredConfig::default() };
    let mut harness = Harness::new(Sred::new(config).expect("valid"), 8);
    let mut sent = [0u32; 2];
    let mut marked = [0u32; 2];
    for id in 0..600_000 {
        // Flow 0 sends a quarter of the packets, 50 others the rest.
        let flow = if harness.rng.chance(0.25) { 0 } else { 1 + harness.rng.below(50) };
        harness.arrive(TestPacket { flow, ..TestPacket::new(id, Ecn::Ect0) });
        while harness.queue.len_packets() > 40 {
            let left = harness.leave().expect("more than 40 wait");
            let group = usize::from(left.flow != 0);
            sent[group] += 1;
            marked[group] += u32::from(left.ecn == Ecn::Ce);
        }
    }
    let share = |group: usize| f64::from(marked[group]) / f64::from(sent[group]);
    assert!(share(0) > 2.0 * share(1), "{} {}", share(0), share(1));
}

/// The paper's result: senders that halve their rate fill the buffer alike, few or many, as their
/// windows follow the inverse square root of the probability.
#[test]
fn many_senders_fill_the_buffer_no_further_than_few() {
    let mean_wait_ms = |flows: f64| {
        let config = SredConfig { limit: Limit::Packets(300), ..SredConfig::default() };
        let mut run = Run::new(Config::Sred(config), flows, Ecn::Ect0);
        run.run(60.0);
        run.run(60.0);
        mean(&run.delays_ms)
    };
    let (few, many) = (mean_wait_ms(30.0), mean_wait_ms(200.0));
    assert!(many < 1.5 * few && few < 1.5 * many, "{few} ms, {many} ms");
}
