//! A video client over a link of constant throughput, against buffers that are computed by hand.

use windlass_base::{BitRate, Rng, Span, Time};
use windlass_traffic::ConfigError;
use windlass_traffic::video::{Client, Figures, Rule, Video};

fn mbit(rate: u64) -> BitRate {
    BitRate::from_bits_per_sec(rate * 1_000_000).expect("not zero")
}

/// Segments of 4 s at 1, 2 or 4 Mbit/s; playback begins with two of them, and the buffer holds five.
fn video(rule: Rule, segments: u64) -> Video {
    Video {
        ladder: vec![mbit(1), mbit(2), mbit(4)],
        segment: Span::from_secs(4),
        segments: Some(segments),
        startup: Span::from_secs(8),
        buffer: Span::from_secs(20),
        variation: 0.0,
        rule,
    }
}

/// Times in seconds of requests and arrivals, and the buffer after each arrival.
type Log = Vec<(f64, f64, f64)>;

/// Plays over a link with this throughput, up to the arrival of the last segment.
fn play(video: Video, mbit_per_second: f64) -> (Client, Time, Log) {
    let mut client = Client::new(video, Rng::new(1));
    let (mut now, mut log) = (Time::ZERO, Log::new());
    while let Some(request) = client.next_request(now) {
        assert_eq!(client.next_request(now), None, "one request at a time");
        now = request.at + Span::from_secs_f64(request.bytes as f64 * 8e-6 / mbit_per_second);
        client.segment_arrived(now);
        let buffer = client.buffer(now).as_secs_f64();
        log.push((request.at.as_secs_f64(), now.as_secs_f64(), buffer));
    }
    (client, now, log)
}

/// The figures when the last segment arrives.
fn figures(video: Video, mbit_per_second: f64) -> Figures {
    let (client, now, _) = play(video, mbit_per_second);
    client.figures(now)
}

const FIXED: Rule = Rule::Fixed { level: 1 };
const RATE: Rule = Rule::Rate { window: 5, safety: 0.9 };
const BBA: Rule = Rule::Bba0 { reservoir: Span::from_secs(4), cushion: Span::from_secs(12) };

/// A segment of 8 Mbit takes 2 s at 4 Mbit/s, in which half of its 4 s are played.
#[test]
fn the_buffer_fills_by_the_surplus_and_then_waits() {
    let (client, now, log) = play(video(FIXED, 9), 4.0);
    let expected = [
        (0.0, 2.0, 4.0),
        // Playback begins here.
        (2.0, 4.0, 8.0),
        (4.0, 6.0, 10.0),
        (6.0, 8.0, 12.0),
        (8.0, 10.0, 14.0),
        (10.0, 12.0, 16.0),
        (12.0, 14.0, 18.0),
        // 18 s leave no space for 4: the request waits until they are 16.
        (16.0, 18.0, 18.0),
        (20.0, 22.0, 18.0),
    ];
    assert_eq!(log, expected);
    let found = client.figures(now);
    assert_eq!((found.startup, found.rebuffers), (Some(Span::from_secs(4)), 0));
    assert_eq!((found.segments, found.mean_bitrate, found.switches), (9, 2e6, 0));
    assert_eq!(found.played, Span::from_secs(18));
}

/// At 1.6 Mbit/s a segment of 8 Mbit takes 5 s, and the buffer loses one in each. Playback begins at
/// 10 s with 8 s; at 30 s it has 4, at 34 none. Two more segments, at 35 and 40 s, let it resume.
#[test]
fn playback_stalls_until_the_threshold_is_reached_again() {
    let (client, now, log) = play(video(FIXED, 8), 1.6);
    let buffers: Vec<f64> = log.iter().map(|(_, _, buffer)| *buffer).collect();
    assert_eq!(buffers, [4.0, 8.0, 7.0, 6.0, 5.0, 4.0, 4.0, 8.0]);
    let stalled = client.figures(Time::ZERO + Span::from_secs(40));
    assert_eq!((stalled.rebuffers, stalled.rebuffering), (1, Span::from_secs(6)));
    assert_eq!((now.as_secs_f64(), stalled.played), (40.0, Span::from_secs(24)));
    assert_eq!(stalled.rebuffering_ratio(), 0.2);
    // The rest of the buffer is played, and its end is no stall.
    let end = client.figures(now + Span::from_secs(100));
    assert_eq!((end.rebuffers, end.played), (1, Span::from_secs(32)));
}

#[test]
fn a_video_shorter_than_the_threshold_is_played() {
    let (client, now, _) = play(video(FIXED, 1), 4.0);
    let end = client.figures(now + Span::from_secs(9));
    assert_eq!((end.startup, end.played), (Some(Span::from_secs(2)), Span::from_secs(4)));
    assert_eq!(end.rebuffers, 0);
    assert!(client.is_complete());
}

#[test]
fn by_rate_the_level_is_the_highest_that_the_throughput_carries() {
    // Nine tenths of 3 Mbit/s carry 2; the first segment has 1.
    let between = figures(video(RATE, 101), 3.0);
    assert_eq!((between.switches, between.rebuffers), (1, 0));
    assert!((between.mean_bitrate - (1e6 + 200e6) / 101.0).abs() < 1.0);
    let above = figures(video(RATE, 101), 40.0);
    assert!((above.mean_bitrate - (1e6 + 400e6) / 101.0).abs() < 1.0);
    // Half of the lowest bitrate: a second is played for each two that a segment takes.
    let below = figures(video(RATE, 101), 0.5);
    assert_eq!((below.mean_bitrate, below.switches), (1e6, 0));
    assert!((below.rebuffering_ratio() - 0.5).abs() < 0.02, "{}", below.rebuffering_ratio());
}

/// A buffer can stand still only if what is requested is as fast as what comes: BBA-0 alternates
/// between the levels around the throughput, and its mean bitrate is the throughput.
#[test]
fn by_buffer_the_mean_bitrate_is_the_throughput() {
    let between = figures(video(BBA, 1000), 3.0);
    assert!((between.mean_bitrate / 3e6 - 1.0).abs() < 0.01, "{}", between.mean_bitrate);
    assert!(between.switches > 50, "{}", between.switches);
    assert_eq!(between.rebuffers, 0);
    let above = figures(video(BBA, 1000), 40.0);
    assert!(above.mean_bitrate > 3.95e6 && above.rebuffers == 0, "{}", above.mean_bitrate);
    let below = figures(video(BBA, 100), 0.5);
    assert!(below.mean_bitrate < 1.1e6 && below.rebuffers > 10, "{}", below.mean_bitrate);
}

#[test]
fn sizes_vary_as_much_as_they_may() {
    let mut client = Client::new(Video { variation: 0.25, ..video(FIXED, 2000) }, Rng::new(2));
    let (mut now, mut bytes) = (Time::ZERO, Vec::new());
    while let Some(request) = client.next_request(now) {
        bytes.push(request.bytes);
        now = request.at + Span::from_secs(1);
        client.segment_arrived(now);
    }
    let [least, most] = [bytes.iter().min(), bytes.iter().max()].map(|found| *found.expect("some"));
    assert!((750_000..752_000).contains(&least) && (1_248_000..=1_250_000).contains(&most));
    let mean = bytes.iter().sum::<u64>() as f64 / bytes.len() as f64;
    // A uniform draw of width 500 kB has a standard deviation of 144 kB.
    assert!((mean - 1e6).abs() < 3.0 * 144_338.0 / (bytes.len() as f64).sqrt(), "{mean}");
}

#[test]
fn nothing_is_known_before_the_first_request() {
    let client = Client::new(video(FIXED, 5), Rng::new(1));
    let found = client.figures(Time::ZERO + Span::from_secs(9));
    assert_eq!((found.startup, found.segments, found.mean_bitrate), (None, 0, 0.0));
    assert_eq!((found.rebuffering_ratio(), found.played), (0.0, Span::ZERO));
}

#[test]
fn videos_that_cannot_be_played_are_refused() {
    let usual = || video(FIXED, 5);
    assert_eq!(usual().validate(), Ok(()));
    assert_eq!(video(BBA, 5).validate(), Ok(()));
    let refused = |video: Video| video.validate().expect_err("cannot be played");
    assert_eq!(refused(Video { ladder: vec![], ..usual() }), ConfigError::Ladder);
    assert_eq!(refused(Video { ladder: vec![mbit(2), mbit(2)], ..usual() }), ConfigError::Ladder);
    assert_eq!(refused(Video { segment: Span::ZERO, ..usual() }), ConfigError::Buffer);
    assert_eq!(refused(Video { segments: Some(0), ..usual() }), ConfigError::Buffer);
    // Four segments of 5 s fill 20 s; 21 s never come together.
    let segment = Span::from_secs(5);
    assert_eq!(Video { segment, startup: Span::from_secs(20), ..usual() }.validate(), Ok(()));
    let startup = Span::from_secs(21);
    assert_eq!(refused(Video { segment, startup, ..usual() }), ConfigError::Buffer);
    assert_eq!(refused(Video { variation: 1.0, ..usual() }), ConfigError::Variation);
    for rule in [
        Rule::Fixed { level: 3 },
        Rule::Rate { window: 0, safety: 0.9 },
        Rule::Rate { window: 1, safety: 0.0 },
        Rule::Bba0 { reservoir: Span::from_secs(4), cushion: Span::from_secs(13) },
        Rule::Bba0 { reservoir: Span::from_secs(4), cushion: Span::ZERO },
    ] {
        assert_eq!(refused(video(rule, 5)), ConfigError::Rule, "{rule:?}");
    }
}
