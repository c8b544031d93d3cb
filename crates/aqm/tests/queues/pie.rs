//! RFC 8033.

use crate::harness::{Harness, TestPacket};
use crate::responsive::{Run, mean};
use windlass_aqm::{Config, DropReason, Pie, PieConfig, Queue};
use windlass_base::{Ecn, Span};

type Pie0 = Harness<Pie<TestPacket>>;

fn pie(config: PieConfig) -> Pie0 {
    Harness::new(Pie::new(config).expect("valid"), 1)
}

/// So many packets come for one that is served in each of so many milliseconds.
fn load(h: &mut Pie0, packets: u64, ms: u64, ecn: Ecn) {
    for _ in 0..ms {
        for _ in 0..packets {
            h.arrive(TestPacket::new(0, ecn));
        }
        h.leave();
        h.wait(Span::from_millis(1));
    }
}

#[test]
fn the_probability_rises_under_overload_and_falls_back_to_zero() {
    let mut h = pie(PieConfig::default());
    load(&mut h, 2, 500, Ecn::NotEct);
    let early = h.queue.probability();
    load(&mut h, 2, 1500, Ecn::NotEct);
    let late = h.queue.probability();
    assert!(0.0 < early && early < late, "{early} {late}");
    // The load is twice the rate of the link.
    assert!((0.3..=1.0).contains(&late), "{late}");
    load(&mut h, 0, 20_000, Ecn::NotEct);
    assert_eq!(h.queue.probability(), 0.0);
}

/// §4.4
#[test]
fn a_burst_passes_untouched_for_max_burst() {
    let mut h = pie(PieConfig::default());
    load(&mut h, 3, 150, Ecn::NotEct);
    assert!(h.lost.is_empty());
    load(&mut h, 3, 2000, Ecn::NotEct);
    assert!(h.lost.iter().any(|(_, why)| *why == DropReason::Early));
}

/// §5.1: mark up to 10 percent, drop above.
#[test]
fn ecn_capable_packets_are_marked_at_low_probability_and_dropped_at_high() {
    let mut h = pie(PieConfig::default());
    let mut seen = [false; 2];
    for _ in 0..2000 {
        let (marked, lost) = (h.queue.stats().marked, h.lost.len());
        load(&mut h, 2, 1, Ecn::Ect0);
        if h.queue.stats().marked > marked {
            assert!(h.queue.probability() <= 0.12, "{}", h.queue.probability());
            seen[0] = true;
        }
        if h.lost.len() > lost {
            assert!(h.queue.probability() > 0.1);
            seen[1] = true;
        }
    }
    assert_eq!(seen, [true, true]);
}

/// §5.4: no two drops closer than 0.85 / p.
#[test]
fn derandomized_drops_keep_their_distance() {
    let shortest = |derandomize| {
        let mut h = pie(PieConfig { derandomize, ..PieConfig::default() });
        load(&mut h, 2, 400, Ecn::NotEct);
        let (mut since, mut shortest) = (None, f64::MAX);
        for _ in 0..400 {
            for _ in 0..2 {
                let p = h.queue.probability();
                let lost = h.fate(TestPacket::new(0, Ecn::NotEct)).is_some();
                since = since.map(|sum| sum + p);
                if lost {
                    shortest = shortest.min(since.unwrap_or(f64::MAX));
                    since = Some(0.0);
                }
            }
            h.leave();
            h.wait(Span::from_millis(1));
        }
        shortest
    };
    assert!(shortest(true) >= 0.80, "{}", shortest(true));
    assert!(shortest(false) < 0.5, "{}", shortest(false));
}

#[test]
fn senders_that_back_off_wait_about_the_target() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut run = Run::new(Config::Pie(PieConfig::default()), 20.0, ecn);
        run.run(30.0);
        run.run(60.0);
        let delay = mean(&run.delays_ms);
        assert!((10.0..20.0).contains(&delay), "{ecn:?}: {delay} ms");
    }
}

/// §4.1: with a couple of packets waiting nothing is dropped, whatever the probability.
#[test]
fn a_short_queue_is_left_alone() {
    let mut h = pie(PieConfig::default());
    while h.queue.probability() < 0.5 {
        load(&mut h, 3, 1, Ecn::NotEct);
    }
    for id in 0..1000 {
        while h.queue.len_bytes() > 2 * 1024 {
            h.leave();
        }
        assert_eq!(h.fate(TestPacket::new(id, Ecn::NotEct)), None);
    }
    // One more packet waiting, and the same probability drops.
    assert!(h.queue.probability() >= 0.5);
    let lost = (0..100).filter(|&id| h.fate(TestPacket::new(id, Ecn::NotEct)).is_some());
    assert!(lost.count() > 20);
}
