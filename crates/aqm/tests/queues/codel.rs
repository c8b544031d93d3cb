//! RFC 8289.

use crate::harness::{Harness, TestPacket};
use crate::responsive::{Run, mean};
use windlass_aqm::{CoDel, CoDelConfig, CoDelParams, Config, DropReason, Queue};
use windlass_base::{Ecn, Span, Time};

const SERVICE: Span = Span::from_millis(1);

fn codel(config: CoDelConfig) -> Harness<CoDel<TestPacket>> {
    Harness::new(CoDel::new(config).expect("valid"), 1)
}

/// Two packets come for each that is served, one a millisecond: a queue that only grows. Gives the
/// times at which packets were dropped, and those at which marked ones left.
fn overload(h: &mut Harness<CoDel<TestPacket>>, ms: u64, ecn: Ecn) -> (Vec<Time>, Vec<Time>) {
    let (mut drops, mut marks) = (Vec::new(), Vec::new());
    for id in 0..ms {
        h.arrive(TestPacket::new(2 * id, ecn));
        h.arrive(TestPacket::new(2 * id + 1, ecn));
        let before = h.lost.len();
        let left = h.leave();
        drops.extend((before..h.lost.len()).map(|_| h.now));
        marks.extend(left.filter(|p| p.ecn == Ecn::Ce).map(|_| h.now));
        h.wait(SERVICE);
    }
    (drops, marks)
}

/// §5.4: the k-th drop is followed by the next after interval / sqrt(k).
fn assert_control_law(times: &[Time]) {
    let mut due = times[0].as_secs_f64();
    for (k, time) in times.iter().enumerate() {
        let late = time.as_secs_f64() - due;
        assert!((-1e-6..=0.001).contains(&late), "drop {k} is late by {late} s");
        due += 0.1 / ((k + 1) as f64).sqrt();
    }
}

#[test]
fn drops_follow_the_control_law_in_a_standing_queue() {
    let (drops, marks) = overload(&mut codel(CoDelConfig::default()), 900, Ecn::NotEct);
    assert!(drops.len() > 12 && marks.is_empty());
    // The waiting time passes 5 ms at about 10 ms; a whole interval must follow.
    assert!((0.105..0.115).contains(&drops[0].as_secs_f64()), "{:?}", drops[0]);
    assert_control_law(&drops);
}

#[test]
fn ecn_capable_packets_are_marked_by_the_same_law_and_none_is_dropped() {
    let mut h = codel(CoDelConfig::default());
    let (drops, marks) = overload(&mut h, 900, Ecn::Ect0);
    assert!(drops.is_empty() && marks.len() > 12);
    assert_control_law(&marks);
    assert_eq!(h.queue.stats().marked, marks.len() as u64);
}

#[test]
fn without_ecn_even_capable_packets_are_dropped() {
    let params = CoDelParams { ecn: false, ..CoDelParams::default() };
    let mut h = codel(CoDelConfig { params, ..CoDelConfig::default() });
    let (drops, marks) = overload(&mut h, 300, Ecn::Ect0);
    assert!(!drops.is_empty() && marks.is_empty());
    assert!(h.lost.iter().all(|(p, why)| p.ecn == Ecn::Ect0 && *why == DropReason::Sojourn));
}

#[test]
fn a_burst_that_drains_within_an_interval_is_let_pass() {
    let mut h = codel(CoDelConfig::default());
    for id in 0..90 {
        h.arrive(TestPacket::new(id, Ecn::NotEct));
    }
    for _ in 0..90 {
        assert!(h.leave().is_some());
        h.wait(SERVICE);
    }
    assert!(h.lost.is_empty());
}

/// §5.6: with no more than a packet behind it, a packet is sent however old it is.
#[test]
fn the_last_packets_are_never_dropped() {
    let mut h = codel(CoDelConfig::default());
    for id in 0..50 {
        h.arrive(TestPacket::new(2 * id, Ecn::NotEct));
        h.arrive(TestPacket::new(2 * id + 1, Ecn::NotEct));
        h.wait(Span::from_secs(1));
        assert!(h.leave().is_some() && h.leave().is_some());
    }
    assert!(h.lost.is_empty());
}

/// §5.5: dropping that starts again soon goes on at the rate it had reached.
#[test]
fn dropping_resumes_at_its_former_rate() {
    let mut h = codel(CoDelConfig::default());
    let (first, _) = overload(&mut h, 900, Ecn::NotEct);
    while h.leave().is_some() {}
    h.wait(Span::from_millis(50));
    let (again, _) = overload(&mut h, 400, Ecn::NotEct);
    let gap = |times: &[Time]| (times[1] - times[0]).as_millis_f64();
    assert!(gap(&first) > 99.0 && gap(&again) < 40.0, "{} {}", gap(&first), gap(&again));
    while h.leave().is_some() {}
    h.wait(Span::from_secs(10));
    let (later, _) = overload(&mut h, 400, Ecn::NotEct);
    assert!(gap(&later) > 99.0, "{}", gap(&later));
}

/// The RFC leaves open for how long the former rate counts; sixteen intervals, as Linux has it
/// (`codel_dequeue` in include/net/codel_impl.h).
#[test]
fn the_former_rate_counts_for_sixteen_intervals() {
    let gap_after = |pause: Span| {
        let mut h = codel(CoDelConfig::default());
        overload(&mut h, 900, Ecn::NotEct);
        while h.leave().is_some() {}
        // The next overload drops first after some 110 ms.
        h.wait(pause);
        let (drops, _) = overload(&mut h, 400, Ecn::NotEct);
        (drops[1] - drops[0]).as_millis_f64()
    };
    for (pause_ms, resumes) in [(500, true), (1300, true), (1700, false), (4000, false)] {
        let gap = gap_after(Span::from_millis(pause_ms));
        assert_eq!(gap < 99.0, resumes, "{gap} ms between drops after a pause of {pause_ms} ms");
    }
}

#[test]
fn senders_that_back_off_wait_no_longer_than_about_the_target() {
    let config = Config::CoDel(CoDelConfig::default());
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut run = Run::new(config.clone(), 10.0, ecn);
        run.run(20.0);
        run.run(20.0);
        let delay = mean(&run.delays_ms);
        assert!((0.5..15.0).contains(&delay), "{ecn:?}: {delay} ms");
    }
}

/// §5.4: `while (now >= drop_next_)`: at that very moment, too.
#[test]
fn the_second_drop_comes_an_interval_after_the_first() {
    let mut h = codel(CoDelConfig::default());
    let (drops, _) = overload(&mut h, 400, Ecn::NotEct);
    assert_eq!(drops[1].saturating_since(drops[0]), CoDelParams::default().interval);
}
