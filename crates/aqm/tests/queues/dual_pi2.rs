//! RFC 9332, with the numbers of Linux where the RFC leaves a choice.

use crate::harness::{Harness, TestPacket};
use windlass_aqm::{
    Decides, DropReason, DualPi2, DualPi2Config, Limit, LowLatency, Overload, Packet, Queue, Step,
};
use windlass_base::{Ecn, Span};

type DualPi20 = Harness<DualPi2<TestPacket>>;

const MS: Span = Span::from_millis(1);

fn dual(config: DualPi2Config) -> DualPi20 {
    Harness::new(DualPi2::new(config).expect("valid"), 1)
}

/// Puts so many packets of 1,000 bytes into the queue at once.
fn arrive(h: &mut DualPi20, packets: u64, ecn: Ecn) {
    (0..packets).for_each(|id| h.arrive(TestPacket::new(id, ecn)));
}

fn left(h: &mut DualPi20) -> TestPacket {
    h.leave().expect("a packet waits")
}

/// A hundred classic packets wait.
fn fill(h: &mut DualPi20) {
    while h.queue.len_packets() < 100 {
        arrive(h, 1, Ecn::NotEct);
    }
}

/// A standing classic queue until the base probability is at least `base`.
fn raise(h: &mut DualPi20, base: f64) {
    while h.queue.base_probability() < base {
        fill(h);
        h.wait(MS);
        h.leave();
    }
    fill(h);
}

/// The last packets of 1,000 bytes: behind them less than two of 1,500 wait.
const UNTOUCHED: u64 = 3;

/// Sends packets of low latency beside a classic queue, without a time in the queue: how many were marked and
/// dropped.
fn send_low(h: &mut DualPi20, packets: u64) -> (u64, u64) {
    let before = h.lost.len();
    arrive(h, packets, Ecn::Ect1);
    let (mut marked, mut unmarked, mut dropped) = (0, 0, 0);
    while marked + unmarked + dropped < packets {
        match h.leave().map(|packet| packet.ecn()) {
            Some(Ecn::Ce) => marked += 1,
            Some(Ecn::Ect1) => unmarked += 1,
            _ => {}
        }
        let lost = &h.lost[before..];
        dropped = lost.iter().filter(|(packet, _)| packet.ecn == Ecn::Ect1).count() as u64;
    }
    (marked, dropped)
}

/// §2.4: the low-latency queue goes first.
#[test]
fn ect1_and_ce_overtake_the_rest() {
    let mut h = dual(DualPi2Config::default());
    for (id, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].into_iter().enumerate() {
        h.arrive(TestPacket::new(id as u64, ecn));
    }
    let order: Vec<u64> = (0..4).map(|_| left(&mut h).id).collect();
    assert_eq!(order, [2, 3, 0, 1]);
}

#[test]
fn any_ect_can_be_of_low_latency() {
    let config = DualPi2Config { low_latency: LowLatency::AnyEct, ..DualPi2Config::default() };
    let mut h = dual(config);
    for (id, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1].into_iter().enumerate() {
        h.arrive(TestPacket::new(id as u64, ecn));
    }
    let order: Vec<u64> = (0..3).map(|_| left(&mut h).id).collect();
    assert_eq!(order, [1, 2, 0]);
}

/// §4.2.2: the classic queue gets its tenth while both wait.
#[test]
fn low_latency_does_not_starve_the_rest() {
    // No drops: the target is out of reach.
    let target = Span::from_secs(3600);
    let mut h = dual(DualPi2Config { target, ..DualPi2Config::default() });
    arrive(&mut h, 2000, Ecn::Ect1);
    arrive(&mut h, 2000, Ecn::NotEct);
    let classic = (0..1000).filter(|_| left(&mut h).ecn() == Ecn::NotEct).count();
    assert!((95..=105).contains(&classic), "{classic} of 1000");
}

/// §2.4: the native AQM of the low-latency queue.
#[test]
fn what_has_waited_longer_than_the_step_is_marked() {
    let mut h = dual(DualPi2Config::default());
    h.arrive(TestPacket::new(0, Ecn::Ect1));
    h.wait(MS);
    assert_eq!(left(&mut h).ecn(), Ecn::Ect1, "not longer than 1 ms");
    h.arrive(TestPacket::new(1, Ecn::Ect1));
    h.wait(MS + Span::from_nanos(1));
    assert_eq!(left(&mut h).ecn(), Ecn::Ce);
    assert_eq!(h.queue.stats().marked, 1);
}

#[test]
fn a_step_in_packets_counts_those_behind() {
    let config = DualPi2Config { step: Step::Packets(2), ..DualPi2Config::default() };
    let mut h = dual(config);
    arrive(&mut h, 5, Ecn::Ect1);
    let marks: Vec<bool> = (0..5).map(|_| left(&mut h).ecn() == Ecn::Ce).collect();
    assert_eq!(marks, [true, true, false, false, false]);
}

#[test]
fn the_step_spares_packets_that_found_a_short_queue() {
    let mut h = dual(DualPi2Config { step_from_packets: 2, ..DualPi2Config::default() });
    arrive(&mut h, 4, Ecn::Ect1);
    h.wait(MS * 2);
    let marks: Vec<bool> = (0..4).map(|_| left(&mut h).ecn() == Ecn::Ce).collect();
    assert_eq!(marks, [false, false, true, true]);
}

/// Appendix A.1, Figure 6: p' += alpha (delay - target) + beta (delay - last delay), every Tupdate.
#[test]
fn the_base_probability_follows_the_longer_delay() {
    let mut h = dual(DualPi2Config::default());
    h.arrive(TestPacket::new(0, Ecn::NotEct));
    h.wait(MS * 16);
    h.arrive(TestPacket::new(1, Ecn::Ect1));
    let first = 0.16 * 0.001 + 3.2 * 0.016;
    assert!((h.queue.base_probability() - first).abs() < 1e-12);
    h.wait(MS * 16);
    h.arrive(TestPacket::new(2, Ecn::Ect1));
    let second = first + 0.16 * 0.017 + 3.2 * 0.016;
    assert!((h.queue.base_probability() - second).abs() < 1e-12);
    // Empty: the delay is 0 at the next update.
    while h.leave().is_some() {}
    h.wait(MS * 16);
    h.leave();
    let third = second - 0.16 * 0.015 - 3.2 * 0.032;
    assert!((h.queue.base_probability() - third.max(0.0)).abs() < 1e-12);
}

#[test]
fn updates_that_were_missed_are_made_up_for() {
    let base = |steps: u64| {
        let mut h = dual(DualPi2Config::default());
        h.arrive(TestPacket::new(0, Ecn::NotEct));
        for _ in 0..64 / steps {
            h.wait(MS * steps);
            h.arrive(TestPacket::new(1, Ecn::NotEct));
        }
        h.queue.base_probability()
    };
    assert!((base(1) - base(64)).abs() < 1e-12, "{} {}", base(1), base(64));
    assert!(base(1) > 0.2);
}

/// §2.1: marks with k p' in one queue, drops with the square of p' in the other.
#[test]
fn the_two_probabilities_are_coupled() {
    const PACKETS: u64 = 20_000;
    // Four standard deviations of the mean of so many draws are less than this.
    const MARGIN: f64 = 0.015;
    for wanted in [0.05, 0.2, 0.4] {
        let mut h = dual(DualPi2Config { limit: Limit::Packets(30_000), ..Default::default() });
        raise(&mut h, wanted);
        // No time passes from here: p' stays, and nothing is beyond the step.
        let base = h.queue.base_probability();
        let (marked, dropped) = send_low(&mut h, PACKETS);
        assert_eq!(dropped, 0, "of low latency");
        let share = marked as f64 / PACKETS as f64;
        assert!((share - 2.0 * base).abs() < MARGIN, "{share} for {base}");

        let before = h.lost.len();
        arrive(&mut h, PACKETS, Ecn::NotEct);
        while h.leave().is_some() {}
        let share = (h.lost.len() - before) as f64 / PACKETS as f64;
        assert!((share - base * base).abs() < MARGIN, "{share} for {base}");
        assert!(h.lost.iter().all(|(_, why)| *why == DropReason::Early));
    }
}

#[test]
fn ect0_is_marked_where_others_are_dropped() {
    let mut h = dual(DualPi2Config::default());
    raise(&mut h, 0.4);
    let (lost, mut marked) = (h.lost.len(), 0);
    arrive(&mut h, 2000, Ecn::Ect0);
    while let Some(packet) = h.leave() {
        marked += u64::from(packet.ecn() == Ecn::Ce);
    }
    assert!((200..440).contains(&marked), "{marked} of 2000, at 0.16");
    assert!(h.lost[lost..].iter().all(|(packet, _)| packet.ecn == Ecn::NotEct));
}

/// §4.2.3: where marks do not help, drops keep the delay low.
#[test]
fn an_overload_drops_packets_of_low_latency_too() {
    let mut h = dual(DualPi2Config::default());
    raise(&mut h, 0.7);
    let (marked, dropped) = send_low(&mut h, 2000);
    assert!((800..1200).contains(&dropped), "{dropped} of 2000, at 0.49 or a little more");
    assert!(marked + dropped >= 2000 - UNTOUCHED, "{marked} + {dropped}");
}

#[test]
fn an_overflow_marks_all_and_drops_none_of_low_latency() {
    let config = DualPi2Config { overload: Overload::Overflow, ..DualPi2Config::default() };
    let mut h = dual(config);
    raise(&mut h, 0.5);
    h.wait(Span::from_secs(10));
    h.arrive(TestPacket::new(0, Ecn::NotEct));
    assert_eq!(h.queue.base_probability(), 0.5, "1/k: both signals keep their ratio");
    assert_eq!(send_low(&mut h, 1000), (1000 - UNTOUCHED, 0));
}

#[test]
fn two_packets_of_the_link_may_always_wait() {
    let mut h = dual(DualPi2Config::default());
    raise(&mut h, 0.9);
    while h.queue.len_bytes() > 2000 {
        h.leave();
    }
    let before = h.lost.len();
    for id in 0..1000 {
        h.arrive(TestPacket::new(id, Ecn::NotEct));
        left(&mut h);
    }
    assert_eq!(h.lost.len(), before);
}

#[test]
fn a_decision_at_enqueue_drops_the_arrival() {
    let config = DualPi2Config { decides: Decides::Enqueue, ..DualPi2Config::default() };
    let mut h = dual(config);
    raise(&mut h, 0.9);
    let lost = (0..1000).filter(|&id| h.fate(TestPacket::new(id, Ecn::NotEct)).is_some()).count();
    assert!((750..900).contains(&lost), "{lost} of 1000, at 0.81");
}
