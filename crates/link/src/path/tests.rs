use super::*;
use crate::config::{GilbertElliott, Loss};
use crate::frame::tests::{packet, tcp, udp};
use proptest::prelude::*;
use std::sync::Arc;
use windlass_aqm::{AboveMax, DropTailConfig, Limit, RedConfig};
use windlass_base::Ecn;
use windlass_link_model::{
    Aggregation, DeliveryTrace, Outage, RateOverTime, Steps, TokenBucket, Variation, WifiJitter,
};

const MS: u64 = 1_000_000;

fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

fn mbit(rate: u64) -> Option<BitRate> {
    BitRate::from_bits_per_sec(rate * 1_000_000)
}

/// A UDP packet of `len` bytes.
fn sized(len: usize) -> Frame {
    Frame::new(packet(17, Ecn::NotEct, &vec![0; len - 20]))
}

/// Sends each packet into the path at its time; returns the arrivals and their times.
fn carry(path: &mut Path, frames: impl IntoIterator<Item = (Time, Frame)>) -> Vec<(Time, Frame)> {
    let mut arrived = Vec::new();
    for (now, frame) in frames {
        run_until(path, now, &mut arrived);
        path.handle_frame(now, frame);
    }
    run_until(path, Time::MAX, &mut arrived);
    arrived
}

fn run_until(path: &mut Path, now: Time, arrived: &mut Vec<(Time, Frame)>) {
    while let Some(due) = path.poll_timeout().filter(|due| *due <= now) {
        arrived.extend(path.handle_timeout(now).map(|frame| (due, frame)));
    }
}

fn path(config: &PathConfig) -> Path {
    Path::new(config, 1, 0).expect("settings that work")
}

#[test]
fn packets_leave_at_the_rate_and_arrive_after_the_delay() {
    let limit = Limit::Packets(1000);
    let config = PathConfig {
        rate: mbit(12),
        delay: Span::from_millis(40),
        queue: aqm::Config::DropTail(DropTailConfig { limit }),
        ..PathConfig::default()
    };
    let arrived = carry(&mut path(&config), (0..1000).map(|_| (at(5 * MS), sized(1500))));
    // 1500 bytes at 12 Mbit/s are 1 ms.
    let times: Vec<u64> = arrived.iter().map(|(time, _)| time.as_nanos()).collect();
    let expected: Vec<u64> = (1..=1000).map(|n| (5 + n + 40) * MS).collect();
    assert_eq!(times, expected);
}

#[test]
fn delays_are_those_from_arrival_to_transmission() {
    let config =
        PathConfig { rate: mbit(12), delay: Span::from_millis(40), ..PathConfig::default() };
    let mut path = path(&config);
    // 1500 bytes at 12 Mbit/s are 1 ms: packets wait for 0, 1, ... 49 ms.
    carry(&mut path, (0..50).map(|_| (at(5 * MS), sized(1500))));
    let delays = path.queue_delays().distribution().expect("packets");
    assert_eq!((delays.mean, delays.max), (Span::from_micros(24_500), Span::from_millis(49)));
    let median = delays.p50.as_millis_f64();
    assert!((median - 24.0).abs() <= 24.0 / 128.0, "{median}");
}

#[test]
fn a_full_queue_loses_what_arrives() {
    let config = PathConfig { rate: mbit(1), ..PathConfig::default() };
    let mut path = path(&config);
    let arrived = carry(&mut path, (0..150).map(|_| (at(0), sized(1500))));
    // One is being sent and 100 wait.
    assert_eq!((arrived.len(), path.stats().queue.dropped_full), (101, 49));
}

#[test]
fn packets_of_the_device_are_not_in_the_queue_and_leave_at_the_rate() {
    let config = PathConfig {
        rate: mbit(12),
        queue: aqm::Config::DropTail(DropTailConfig { limit: Limit::Packets(5) }),
        device_queue: Span::from_millis(10),
        ..PathConfig::default()
    };
    let mut path = path(&config);
    // 1500 bytes are 1 ms. The device takes the next one while it has no more than ten: eleven.
    let mut arrived = carry(&mut path, (0..30).map(|_| (at(0), sized(1500))));
    let times: Vec<u64> = arrived.iter().map(|(time, _)| time.as_nanos()).collect();
    let expected: Vec<u64> = (1..=11 + 5).map(|n| n * MS).collect();
    assert_eq!((times, path.stats().queue.dropped_full), (expected, 14));
    // A packet that finds room in the device does not wait in the queue.
    path.handle_frame(at(20 * MS), sized(1500));
    path.handle_frame(at(20 * MS), sized(1500));
    assert_eq!(path.stats().queue_packets, 0);
    arrived.clear();
    run_until(&mut path, Time::MAX, &mut arrived);
    let times: Vec<u64> = arrived.iter().map(|(time, _)| time.as_nanos()).collect();
    assert_eq!(times, [21 * MS, 22 * MS]);
}

#[test]
fn red_marks_packets_that_can_be_marked_and_their_bytes_say_so() {
    let red = RedConfig {
        min: 1.0,
        max: Some(2.0),
        weight: Some(1.0),
        gentle: false,
        above_max: AboveMax::MarkEct,
        ..RedConfig::default()
    };
    let config =
        PathConfig { rate: mbit(1), queue: aqm::Config::Red(red), ..PathConfig::default() };
    let mut path = path(&config);
    let arrived = carry(&mut path, (0..50).map(|n| (at(0), tcp(1, n * 100, 100))));
    let ce =
        arrived.iter().filter(|(_, f)| Frame::new(f.bytes().to_vec()).ecn() == Ecn::Ce).count();
    assert_eq!((arrived.len(), ce as u64), (50, path.stats().queue.marked));
    assert!(ce > 40, "all but the first few find an average above max: {ce}");
}

#[test]
fn jitter_stays_in_its_bounds_and_keeps_the_order_unless_it_may_reorder() {
    for reorder in [false, true] {
        let (delay, jitter) = (Span::from_millis(20), Span::from_millis(5));
        let config = PathConfig { delay, jitter, reorder, ..PathConfig::default() };
        let sent = (0..1000u16).map(|n| (at(u64::from(n) * MS), udp(n)));
        let arrived = carry(&mut path(&config), sent);
        let order: Vec<u16> = arrived
            .iter()
            .map(|(_, frame)| u16::from_be_bytes([frame.bytes()[20], frame.bytes()[21]]))
            .collect();
        assert_eq!(order.is_sorted(), !reorder, "reorder = {reorder}");
        for ((time, _), n) in arrived.iter().zip(&order) {
            let delay = time.as_nanos() - u64::from(*n) * MS;
            assert!((15 * MS..=25 * MS).contains(&delay), "{delay} ns");
        }
    }
}

#[test]
fn random_loss_duplication_and_corruption_hit_the_share_that_was_asked_for() {
    let config = PathConfig {
        loss: Loss::Random(0.1),
        duplicate: 0.05,
        corrupt: 0.02,
        ..PathConfig::default()
    };
    let mut path = path(&config);
    let arrived = carry(&mut path, (0..20_000).map(|n| (at(n), udp(1))));
    let stats = path.stats();
    assert!((1800..2200).contains(&stats.lost), "{stats:?}");
    assert!((800..1000).contains(&stats.duplicated), "{stats:?}");
    assert!((300..420).contains(&stats.corrupted), "{stats:?}");
    assert_eq!(arrived.len() as u64, 20_000 - stats.lost + stats.duplicated);
}

#[test]
fn gilbert_losses_come_in_bursts() {
    let burst =
        GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
    let config = PathConfig { loss: Loss::GilbertElliott(burst), ..PathConfig::default() };
    let sent = 50_000u64;
    // One packet an hour: the time of an arrival identifies the packet.
    let hour = 3_600_000 * MS;
    let arrived = carry(&mut path(&config), (0..sent).map(|n| (at(n * hour), udp(1))));
    let mut lost = vec![true; sent as usize];
    for (time, _) in &arrived {
        lost[(time.as_nanos() / hour) as usize] = false;
    }
    let total = lost.iter().filter(|lost| **lost).count() as f64;
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    // In the bad state for 0.01 / (0.01 + 0.25) of the packets, four in a row.
    assert!((0.033..0.044).contains(&(total / sent as f64)), "{total}");
    assert!((3.6..4.4).contains(&(total / bursts)), "{}", total / bursts);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused = |config: PathConfig| Path::new(&config, 1, 0).map(|_| ()).expect_err("refused");
    let config = PathConfig { loss: Loss::Random(1.5), ..PathConfig::default() };
    assert_eq!(refused(config), ConfigError::Probability("loss"));
    let config = PathConfig { jitter: Span::from_millis(1), ..PathConfig::default() };
    assert_eq!(refused(config), ConfigError::Jitter);
}

fn any_config() -> impl Strategy<Value = PathConfig> {
    let rate = prop::option::of(1u64..200).prop_map(|rate| rate.and_then(mbit));
    let chance = 0.0..0.5f64;
    (rate, 0u64..50, 0u64..50, 0u64..5, any::<bool>(), chance.clone(), chance).prop_map(
        |(rate, delay, jitter, device_queue, reorder, loss, duplicate)| PathConfig {
            rate,
            device_queue: Span::from_millis(device_queue),
            delay: Span::from_millis(delay),
            jitter: Span::from_millis(jitter.min(delay)),
            reorder,
            loss: Loss::Random(loss),
            duplicate,
            ..PathConfig::default()
        },
    )
}

proptest! {
    #[test]
    fn every_packet_is_accounted_for_and_the_same_seed_gives_the_same(
        config in any_config(),
        gaps_us in prop::collection::vec(0u64..2000, 1..300),
        seed in any::<u64>(),
    ) {
        let run = || {
            let mut path = Path::new(&config, seed, 0).expect("settings that work");
            let mut now = 0;
            let sent = gaps_us.iter().enumerate().map(|(n, gap)| {
                now += gap * 1000;
                (at(now), sized(28 + n))
            });
            let arrived = carry(&mut path, sent);
            let times: Vec<_> = arrived.iter().map(|(time, frame)| (*time, frame.bytes().len())).collect();
            (times, path.stats())
        };
        let (arrived, stats) = run();
        prop_assert_eq!(&(arrived.clone(), stats), &run());
        prop_assert!(arrived.is_sorted_by_key(|(time, _)| *time));
        let queue = stats.queue;
        prop_assert_eq!(queue.offered, gaps_us.len() as u64);
        prop_assert_eq!(queue.offered, queue.dequeued + queue.dropped());
        prop_assert_eq!(stats.delivered, queue.dequeued - stats.lost + stats.duplicated);
        prop_assert_eq!(stats.delivered, arrived.len() as u64);
        prop_assert_eq!(stats.delivered_bytes, arrived.iter().map(|(_, len)| *len as u64).sum::<u64>());
    }
}

/// The times in milliseconds at which ten packets of 1500 bytes arrive that are sent at once.
fn ten_at_once(variation: Variation, rate: Option<BitRate>) -> Vec<f64> {
    let config = PathConfig { rate, variation, ..PathConfig::default() };
    let arrived = carry(&mut path(&config), (0..10).map(|_| (at(0), sized(1500))));
    arrived.iter().map(|(time, _)| time.as_nanos() as f64 / 1e6).collect()
}

#[test]
fn a_path_delivers_at_the_times_of_its_trace() {
    let trace = DeliveryTrace::parse("1\n1\n5\n").expect("a trace");
    let rate = Some(RateOverTime::Trace(Arc::new(trace)));
    let times = ten_at_once(Variation { rate, ..Variation::default() }, None);
    assert_eq!(times, [1.0, 1.0, 5.0, 6.0, 6.0, 10.0, 11.0, 11.0, 15.0, 16.0]);
}

#[test]
fn a_path_polices_shapes_and_batches() {
    let bucket = TokenBucket { rate: mbit(6).expect("not zero"), burst_bytes: 4_500 };
    let policer = Variation { policer: Some(bucket), ..Variation::default() };
    assert_eq!(ten_at_once(policer.clone(), mbit(12)), [1.0, 2.0, 3.0]);
    let config = PathConfig { variation: policer, ..PathConfig::default() };
    let mut policed = path(&config);
    carry(&mut policed, (0..10).map(|_| (at(0), sized(1500))));
    assert_eq!((policed.stats().policed, policed.stats().queue.offered), (7, 3));

    let shaper = Variation { shaper: Some(bucket), ..Variation::default() };
    let times = ten_at_once(shaper, mbit(12));
    assert_eq!(times[..6], [1.0, 2.0, 3.0, 4.0, 5.0, 7.0], "then two a packet");
    let aggregation = Some(Aggregation { packets: Some(4), ..Aggregation::LTE });
    let times = ten_at_once(Variation { aggregation, ..Variation::default() }, mbit(12));
    assert_eq!(times, [10.0, 10.0, 10.0, 10.0, 20.0, 20.0, 20.0, 20.0, 30.0, 30.0]);
}

#[test]
fn a_path_has_outages_and_another_delay_after_a_while() {
    let span = Span::from_millis;
    let outage = |at, lose| Outage { at: span(at), lasts: span(2), every: None, lose };
    let outages = vec![outage(1, false), outage(6, true)];
    let delay = Steps::new(vec![(span(0), span(5)), (span(9), span(1))], None).expect("in order");
    let variation = Variation { outages, delay: Some(delay), ..Variation::default() };
    // Transmitted at 1, 4, 5 and then, of those at 6 and 7, none; the rest at 8 to 12.
    let times = ten_at_once(variation, mbit(12));
    assert_eq!(times, [6.0, 9.0, 10.0, 13.0, 13.0, 13.0, 13.0, 13.0]);
}

/// Packets of a link that reorders by its own jitter keep their order behind jitter of Wi-Fi.
#[test]
fn jitter_of_wifi_delays_packets_in_their_order() {
    let wifi_jitter = Some(WifiJitter::new(Steps::constant(Span::from_millis(20))));
    let config = PathConfig {
        delay: Span::from_millis(5),
        jitter: Span::from_millis(5),
        reorder: true,
        variation: Variation { wifi_jitter, ..Variation::default() },
        ..PathConfig::default()
    };
    let sizes = 100..1_100;
    let sent = sizes.clone().map(|size| (at((size - 100) as u64 * MS), sized(size)));
    let arrived = carry(&mut path(&config), sent);
    assert!(arrived.iter().map(|(_, frame)| frame.wire_bytes()).eq(sizes.map(|size| size as u32)));
    let delays = arrived.iter().zip(0..).map(|((time, _), sent)| time.as_nanos() - sent * MS);
    assert!(delays.filter(|delay| *delay > 60 * MS).count() > 100, "spikes hold up what follows");
}
