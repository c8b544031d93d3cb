//! RED as `tc red` and the kernel have it, with the parameters of the ECN proxy paper.

use crate::harness::{Harness, TestPacket};
use windlass_aqm::DropReason::{AboveMax, Early, Full};
use windlass_aqm::{Queue, TcRed, TcRedConfig};
use windlass_base::{Ecn, Span};

/// limit 40000 min 2000 max 8000 avpkt 1000 burst 4 probability 0.3 ecn: a weight of 1/8.
fn paper() -> TcRedConfig {
    TcRedConfig {
        limit_bytes: 40_000,
        min_bytes: 2_000,
        max_bytes: 8_000,
        burst: 4,
        probability: 0.3,
        ..TcRedConfig::default()
    }
}

fn red(config: TcRedConfig) -> Harness<TcRed<TestPacket>> {
    Harness::new(TcRed::new(config).expect("valid"), 7)
}

fn packet(ecn: Ecn) -> TestPacket {
    TestPacket::new(0, ecn)
}

/// Fills the queue to `packets` and lets arrivals find it so until the average has settled there.
fn settled(config: TcRedConfig, packets: usize) -> Harness<TcRed<TestPacket>> {
    let mut h = red(config);
    for _ in 0..20_000 {
        h.arrive(packet(Ecn::Ect0));
        while h.queue.len_packets() > packets {
            h.leave();
        }
    }
    h.lost.clear();
    h
}

fn average_bytes(h: &Harness<TcRed<TestPacket>>) -> f64 {
    h.queue.average_packets().expect("RED has one") * 1_000.0
}

#[test]
fn the_average_is_of_bytes_and_takes_an_eighth_of_each_sample() {
    let mut h = red(paper());
    // The first arrival ends the idle time and finds nothing.
    for found in [0.0, 1_000.0 / 8.0, 1_000.0 / 8.0 * 7.0 / 8.0 + 2_000.0 / 8.0] {
        h.arrive(packet(Ecn::Ect0));
        assert_eq!(average_bytes(&h), found);
    }
}

#[test]
fn above_max_ect_packets_are_marked_and_the_others_dropped() {
    let mut h = settled(paper(), 12);
    assert!(average_bytes(&h) > 8_000.0);
    let before = h.queue.stats().marked;
    assert_eq!(h.fate(packet(Ecn::Ect0)), None);
    assert_eq!(h.fate(packet(Ecn::Ect1)), None);
    assert_eq!(h.queue.stats().marked, before + 2);
    assert_eq!(h.fate(packet(Ecn::NotEct)), Some(AboveMax));
    let mut h = settled(TcRedConfig { ecn: false, ..paper() }, 12);
    assert_eq!(h.fate(packet(Ecn::Ect0)), Some(AboveMax));
}

#[test]
fn a_packet_that_does_not_fit_is_lost_even_if_it_was_marked() {
    let mut h = settled(paper(), 40);
    while h.queue.len_bytes() < 40_000 {
        h.arrive(packet(Ecn::Ect0));
    }
    assert_eq!(h.fate(packet(Ecn::Ect0)), Some(Full));
}

/// Between the thresholds marks come uniformly from one to 1/p packets apart.
#[test]
fn marks_are_uniform_up_to_one_over_p_apart() {
    // Halfway between the thresholds: p = 0.15, 1/p = 6.7.
    let mut h = settled(paper(), 5);
    let mut gaps = [0u32; 8];
    let mut gap = 0;
    for _ in 0..70_000 {
        let marked = h.queue.stats().marked;
        h.arrive(packet(Ecn::Ect0));
        h.leave();
        gap += 1;
        if h.queue.stats().marked > marked {
            gaps[gap] += 1;
            gap = 0;
        }
    }
    assert_eq!(gaps[0], 0);
    let total: u32 = gaps.iter().sum();
    // The last gap is shorter by a third: 6.67 is no whole number.
    for (gap, weight) in
        [(1, 0.15), (2, 0.15), (3, 0.15), (4, 0.15), (5, 0.15), (6, 0.15), (7, 0.1)]
    {
        let share = f64::from(gaps[gap]) / f64::from(total);
        assert!((share - weight).abs() < 0.02, "gap {gap}: {share}");
    }
}

#[test]
fn below_min_nothing_happens_and_non_ect_packets_are_dropped_early_above_it() {
    let mut h = settled(paper(), 1);
    let before = *h.queue.stats();
    for _ in 0..1_000 {
        h.arrive(packet(Ecn::NotEct));
        h.leave();
    }
    assert_eq!(
        (h.queue.stats().marked, h.queue.stats().dropped()),
        (before.marked, before.dropped())
    );
    let mut h = settled(paper(), 5);
    let fates: Vec<_> = (0..1_000)
        .map(|_| {
            let fate = h.fate(packet(Ecn::NotEct));
            while h.queue.len_packets() > 5 {
                h.leave();
            }
            fate
        })
        .collect();
    assert!(fates.contains(&Some(Early)) && fates.contains(&None));
}

#[test]
fn idle_time_lowers_the_average() {
    let mut h = settled(paper(), 6);
    while h.leave().is_some() {}
    let before = average_bytes(&h);
    h.wait(Span::from_secs(10));
    h.arrive(packet(Ecn::Ect0));
    assert!(before > 4_000.0 && average_bytes(&h) < 1.0);
}
