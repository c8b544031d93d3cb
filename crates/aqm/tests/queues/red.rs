//! Floyd and Jacobson 1993, and the details of ns-2's RED that move the New-ECN results.

use crate::harness::{Harness, TestPacket};
use windlass_aqm::DropReason::{AboveMax, Early, Full};
use windlass_aqm::{
    AboveMax as Above, ConfigError, EarlyAction, Limit, Queue, Red, RedConfig, Spacing, Unit,
};
use windlass_base::{BitRate, Ecn, Span};

type Red0 = Harness<Red<TestPacket>>;

/// Non-gentle, with weight 1: the average is the queue that an arrival finds.
fn sharp(min: f64, max: f64, max_p: f64) -> RedConfig {
    let (max, weight) = (Some(max), Some(1.0));
    RedConfig { min, max, max_p, weight, gentle: false, ..RedConfig::default() }
}

fn red(config: RedConfig, seed: u64) -> Red0 {
    Harness::new(Red::new(config, None).expect("valid"), seed)
}

fn ect(id: u64) -> TestPacket {
    TestPacket::new(id, Ecn::Ect0)
}

fn not_ect(id: u64) -> TestPacket {
    TestPacket::new(id, Ecn::NotEct)
}

fn fill(h: &mut Red0, packets: usize) {
    while h.queue.len_packets() < packets {
        h.arrive(ect(0));
    }
    assert!(h.lost.is_empty() && h.queue.stats().marked == 0, "filled without a mark");
}

/// One arrival at a queue whose length stays; true if it was marked or dropped.
fn is_chosen(h: &mut Red0) -> bool {
    let before = h.queue.stats().marked;
    let len = h.queue.len_packets();
    let lost = h.fate(ect(0)).is_some();
    while h.queue.len_packets() > len {
        h.leave();
    }
    lost || h.queue.stats().marked > before
}

/// Distances between marks or drops, in arrivals, at a queue that stays at 12 with p = 1/8.
fn distances(spacing: Spacing, action: EarlyAction) -> Vec<usize> {
    let mut h = red(RedConfig { spacing, action, ..sharp(8.0, 16.0, 0.25) }, 5);
    while h.queue.len_packets() < 12 {
        h.arrive(ect(0));
    }
    let mut found = Vec::new();
    let mut distance = 0;
    while found.len() <= 40_000 {
        distance += 1;
        if is_chosen(&mut h) {
            found.push(distance);
            distance = 0;
        }
    }
    found.split_off(1)
}

/// Every distance of `range` is as frequent as any other, to five standard deviations.
fn assert_uniform(distances: &[usize], range: std::ops::RangeInclusive<usize>) {
    assert!(distances.iter().all(|d| range.contains(d)));
    let values = range.clone().count() as f64;
    let expected = distances.len() as f64 / values;
    let sd = (expected * (1.0 - 1.0 / values)).sqrt();
    for value in range {
        let seen = distances.iter().filter(|&&d| d == value).count() as f64;
        assert!((seen - expected).abs() < 5.0 * sd, "distance {value}: {seen} of {expected}");
    }
}

#[test]
fn with_wait_marks_are_uniformly_one_to_two_times_one_over_p_apart() {
    assert_uniform(&distances(Spacing::Wait, EarlyAction::Mark), 8..=15);
}

#[test]
fn with_the_printed_formula_marks_are_uniformly_up_to_one_over_p_apart() {
    assert_uniform(&distances(Spacing::NoWait, EarlyAction::Mark), 1..=7);
}

#[test]
fn early_drops_are_as_far_apart_as_marks() {
    assert_uniform(&distances(Spacing::Wait, EarlyAction::Drop), 8..=15);
}

#[test]
fn the_average_takes_the_length_that_an_arrival_finds() {
    let mut h = red(RedConfig { weight: Some(0.5), ..RedConfig::default() }, 1);
    let averages: Vec<_> = (0..4)
        .map(|id| {
            h.arrive(ect(id));
            h.queue.average_packets()
        })
        .collect();
    assert_eq!(averages, [Some(0.0), Some(0.5), Some(1.25), Some(2.125)]);
}

#[test]
fn idle_time_counts_as_packets_of_the_mean_size_at_the_links_rate() {
    let config = RedConfig { weight: Some(0.5), ..RedConfig::default() };
    let link = BitRate::from_bits_per_sec(10_000_000);
    let mut h = Harness::new(Red::new(config, link).expect("valid"), 1);
    for id in 0..4 {
        h.arrive(ect(id));
    }
    while h.leave().is_some() {}
    // 500 bytes take 0.4 ms: two whole packets in 1 ms, and the arrival itself.
    h.wait(Span::from_millis(1));
    h.arrive(ect(4));
    assert_eq!(h.queue.average_packets(), Some(2.125 / 8.0));
    // The link was given the packet at once and is not idle.
    h.leave();
    h.wait(Span::from_millis(1));
    h.arrive(ect(5));
    assert_eq!(h.queue.average_packets(), Some(2.125 / 16.0));
}

#[test]
fn nothing_is_chosen_while_at_most_one_packet_waits() {
    let mut h = red(sharp(0.5, 1.0, 1.0), 1);
    assert_eq!(h.fate(ect(0)), None);
    assert_eq!(h.fate(ect(1)), None);
    assert_eq!(h.fate(ect(2)), Some(AboveMax));
}

#[test]
fn above_max_every_packet_is_dropped_ect_or_not() {
    let mut h = red(sharp(2.0, 4.0, 0.01), 1);
    fill(&mut h, 4);
    for _ in 0..100 {
        assert_eq!(h.fate(ect(0)), Some(AboveMax));
        assert_eq!(h.fate(not_ect(0)), Some(AboveMax));
    }
    assert_eq!((h.queue.stats().marked, h.queue.stats().dropped_above_max), (0, 200));
}

#[test]
fn above_max_linux_marks_ect_and_drops_the_rest() {
    let mut h = red(RedConfig { above_max: Above::MarkEct, ..sharp(2.0, 4.0, 0.01) }, 1);
    fill(&mut h, 4);
    assert_eq!(h.fate(not_ect(0)), Some(AboveMax));
    assert_eq!(h.fate(ect(1)), None);
    assert_eq!(h.fate(TestPacket::new(2, Ecn::Ce)), None);
    assert_eq!((h.queue.stats().marked, h.queue.stats().already_ce), (1, 1));
    let codepoints: Vec<_> = core::iter::from_fn(|| h.leave()).skip(4).map(|p| p.ecn).collect();
    assert_eq!(codepoints, [Ecn::Ce, Ecn::Ce]);
}

#[test]
fn gentle_lets_packets_through_between_max_and_twice_max() {
    let mut h = red(RedConfig { gentle: true, ..sharp(2.0, 8.0, 0.01) }, 1);
    for _ in 0..12 {
        h.arrive(ect(0));
    }
    // p is 0.01 + 0.99 / 2 at 12: a mark every second to fourth arrival, and no drop.
    let marks = (0..3000).filter(|_| is_chosen(&mut h)).count();
    assert!((1000..1600).contains(&marks), "{marks}");
    assert!(h.lost.is_empty());
    while h.queue.len_packets() < 16 {
        h.arrive(ect(0));
    }
    assert_eq!(h.fate(ect(0)), Some(AboveMax));
}

/// Arrivals until the first mark at 12 waiting, where p = 1/32, after a climb to 16 in which 8
/// arrivals count and 10 arrivals above max. Shortest and longest of many runs.
fn first_marks_after_forced(above_max: Above, ecn: Ecn) -> (usize, usize) {
    let firsts = (0..400).map(|seed| {
        let mut h = red(RedConfig { above_max, ..sharp(8.0, 16.0, 1.0 / 16.0) }, seed);
        fill(&mut h, 16);
        for _ in 0..10 {
            h.arrive(TestPacket::new(0, ecn));
        }
        assert_eq!(h.queue.stats().marked + h.queue.stats().dropped_above_max, 10);
        while h.queue.len_packets() > 12 {
            h.leave();
        }
        (1..).find(|_| is_chosen(&mut h)).expect("one comes")
    });
    let firsts: Vec<usize> = firsts.collect();
    (firsts.iter().copied().min().unwrap_or(0), firsts.iter().copied().max().unwrap_or(0))
}

#[test]
fn forced_drops_count_as_arrivals_and_leave_the_count_alone() {
    let all = first_marks_after_forced(Above::DropAll, Ecn::Ect0);
    assert_eq!(all, (32 - 18, 63 - 18));
    let not_ect = first_marks_after_forced(Above::MarkEct, Ecn::NotEct);
    assert_eq!(not_ect, (32 - 18, 63 - 18));
}

#[test]
fn marks_above_max_restart_the_count() {
    assert_eq!(first_marks_after_forced(Above::MarkEct, Ecn::Ect0), (32, 63));
}

/// The arrival that finds the average at min for the first time counts as the first, whatever came
/// before.
#[test]
fn the_count_starts_at_one_when_the_average_crosses_min_upwards() {
    let firsts = (0..200).map(|seed| {
        let mut h = red(sharp(12.0, 16.0, 0.125), seed);
        // 1,000 arrivals below min do not count.
        fill(&mut h, 11);
        for _ in 0..1000 {
            h.arrive(ect(0));
            h.leave();
        }
        fill(&mut h, 14);
        (1..).find(|_| is_chosen(&mut h)).expect("one comes")
    });
    // p = 1/16 at 14; the climb from 12 to 14 counted two.
    let firsts: Vec<i32> = firsts.collect();
    assert_eq!(firsts.iter().min(), Some(&(16 - 2)));
    assert_eq!(firsts.iter().max(), Some(&(31 - 2)));
}

#[test]
fn a_full_queue_drops_whatever_the_average_says() {
    let mut h = red(RedConfig { limit: Limit::Packets(3), ..RedConfig::default() }, 1);
    let fates: Vec<_> = (0..5).map(|id| h.fate(ect(id))).collect();
    assert_eq!(fates, [None, None, None, Some(Full), Some(Full)]);
}

#[test]
fn the_arriving_packet_is_the_one_chosen() {
    for (config, packet) in [
        (RedConfig { action: EarlyAction::Drop, ..sharp(8.0, 16.0, 1.0) }, ect(77)),
        (sharp(8.0, 16.0, 1.0), not_ect(77)),
    ] {
        let mut h = red(config, 1);
        for id in 0..12 {
            h.arrive(TestPacket { id, ..packet });
        }
        let fate = (0..4).find_map(|_| h.fate(packet));
        assert_eq!(fate, Some(Early));
        assert_eq!(h.lost.last().map(|(p, _)| p.id), Some(77));
        assert_eq!(h.queue.stats().marked, 0);
    }
}

/// Floyd and Jacobson 1993, section 4: with bytes, the chance grows with the packet's size.
#[test]
fn in_bytes_mode_large_packets_are_hit_in_proportion_to_their_size() {
    let config = RedConfig {
        unit: Unit::Bytes,
        min: 2_000.0,
        max: Some(200_000.0),
        weight: Some(0.002),
        limit: Limit::Packets(1000),
        // Rare marks: when one is overdue, size no longer matters.
        max_p: 0.01,
        spacing: Spacing::NoWait,
        ..RedConfig::default()
    };
    let mut h = red(config, 3);
    let mut sizes = windlass_base::Rng::new(9);
    let mut marked = [0u32; 2];
    for _ in 0..400_000 {
        let large = sizes.chance(0.5);
        let size = if large { 1000 } else { 100 };
        let before = h.queue.stats().marked;
        h.arrive(TestPacket { size, ..ect(0) });
        marked[usize::from(large)] += (h.queue.stats().marked - before) as u32;
        if h.queue.len_packets() > 100 {
            h.leave();
        }
    }
    let ratio = f64::from(marked[1]) / f64::from(marked[0]);
    assert!(marked[0] > 150 && (8.5..11.5).contains(&ratio), "{marked:?}");
    let average = h.queue.average_packets().expect("RED has one");
    assert!((100.0..125.0).contains(&average), "in packets of 500 bytes: {average}");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused = |config| Red::<TestPacket>::new(config, None).err();
    let default = RedConfig::default();
    assert_eq!(refused(default), None);
    assert_eq!(refused(RedConfig { max: Some(5.0), ..default }), Some(ConfigError::Thresholds));
    assert_eq!(refused(RedConfig { min: f64::NAN, ..default }), Some(ConfigError::Thresholds));
    assert_eq!(refused(RedConfig { weight: Some(0.0), ..default }), Some(ConfigError::Weight));
    let max_p = RedConfig { max_p: 1.5, ..default };
    assert_eq!(refused(max_p), Some(ConfigError::Probability("max_p")));
    let rate = Some(ConfigError::NeedsLinkRate("the queue weight"));
    assert_eq!(refused(RedConfig { weight: None, ..default }), rate);
}
