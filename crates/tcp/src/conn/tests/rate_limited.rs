//! draft-ietf-ccwg-ratelimited-increase: how far cwnd grows while the application sends less than it allows.

use super::script::{Script, plain};
use crate::cc::NAMES;
use crate::{Config, Profile, Span};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// An initial window of ten segments of 1000 bytes.
fn limited(initial_ssthresh: Option<u64>) -> Script {
    Script::established(plain().with(|c| {
        c.window.initial = 10;
        c.window.initial_ssthresh = initial_ssthresh;
        c.growth.rate_limited_increase = true;
    }))
}

/// Sends so many segments at once; cwnd after the ACK of each. `sent` counts all segments so far.
fn round(s: &mut Script, sent: &mut u64, segments: u64) -> Vec<f64> {
    s.write(segments * 1000);
    s.skip();
    assert_eq!(s.connection.in_flight(), segments * 1000);
    s.advance_ms(100);
    let mut windows = Vec::new();
    for _ in 0..segments {
        *sent += 1;
        s.recv(&format!(". 1 ack {}", 1 + *sent * 1000));
        windows.push(s.connection.cwnd());
    }
    windows
}

/// "An Example Using cwnd Represented in Bytes": its four rounds, ACK by ACK.
#[test]
fn the_example_in_bytes() {
    let (mut s, mut sent) = (limited(None), 0);
    assert_eq!(s.connection.cwnd(), 10_000.0);
    let grown = [11_000.0, 12_000.0, 13_000.0, 14_000.0];
    assert_eq!(round(&mut s, &mut sent, 4), grown);
    let grown = [15_000.0, 16_000.0, 17_000.0, 18_000.0, 19_000.0, 20_000.0, 20_000.0, 20_000.0];
    assert_eq!(round(&mut s, &mut sent, 8), grown);
    assert_eq!(round(&mut s, &mut sent, 4), [20_000.0; 4]);
    let grown: Vec<f64> = (1..=20).map(|segment| 20_000.0 + 1000.0 * f64::from(segment)).collect();
    assert_eq!(round(&mut s, &mut sent, 20), grown);
}

/// "Example" in segments: ten, a pause, and four more.
#[test]
fn the_example_in_segments() {
    let (mut s, mut sent) = (limited(None), 0);
    assert_eq!(round(&mut s, &mut sent, 10).last(), Some(&20_000.0));
    assert_eq!(round(&mut s, &mut sent, 4), [20_000.0; 4]);
    let mut unconstrained = Script::established(plain().with(|c| {
        c.window.initial = 10;
        c.growth.cwnd_validation = false;
    }));
    let mut sent = 0;
    round(&mut unconstrained, &mut sent, 10);
    assert_eq!(round(&mut unconstrained, &mut sent, 4).last(), Some(&24_000.0));
}

#[test]
fn in_congestion_avoidance_a_segment_above_the_largest_flight_is_the_most() {
    let (mut s, mut sent) = (limited(Some(10_000)), 0);
    for _ in 0..30 {
        round(&mut s, &mut sent, 4);
    }
    // maxFS is the initial window.
    assert_eq!(s.connection.cwnd(), 11_000.0);
}

/// A reduction resets maxFS; the first flight after it counts.
#[test]
fn after_a_reduction_the_flights_since_then_count() {
    let (mut s, mut sent) = (limited(None), 0);
    round(&mut s, &mut sent, 10);
    s.write(1000);
    s.skip();
    s.advance_ms(1500);
    assert_eq!(s.connection.stats().timeouts, 1);
    s.skip();
    sent += 1;
    s.recv(&format!(". 1 ack {}", 1 + sent * 1000));
    assert_eq!(s.connection.cwnd(), 2000.0, "twice a flight of one segment");
    for _ in 0..10 {
        round(&mut s, &mut sent, 1);
    }
    assert!(s.connection.cwnd() <= 2000.0, "{}", s.connection.cwnd());
}

fn config(controller: &str, change: fn(&mut Config)) -> Config {
    super::config(Profile::Linux, controller).with(|c| {
        (c.extensions.timestamps, c.extensions.window_scaling) = (false, false);
        change(c);
    })
}

/// cwnd after five seconds of an application that writes four segments each 200 ms.
fn slow(controller: &str, change: fn(&mut Config)) -> f64 {
    let mut pair = super::Pair::new(config(controller, change), config(controller, change));
    pair.run_for(Span::from_millis(300));
    for _ in 0..25 {
        pair.a.connection.write(4000).expect("room");
        pair.run_for(Span::from_millis(200));
    }
    pair.a.connection.cwnd()
}

#[test]
fn every_window_controller_keeps_to_twice_its_initial_window_of_ten() {
    // Prague grows only while its window limits it, whatever the options say.
    let others = ["none", "bbr", "bbr3", "prague"];
    let windows = NAMES.into_iter().filter(|name| !others.contains(name));
    for controller in windows {
        let capped = slow(controller, |c| c.growth.rate_limited_increase = true);
        let free = slow(controller, |c| c.growth.cwnd_validation = false);
        assert!(capped <= 20_000.0 && capped < free, "{controller}: {capped} of {free}");
    }
}

#[test]
fn a_flow_that_the_window_limits_grows_as_without_the_option() {
    for controller in ["newreno", "cubic", "vegas"] {
        let windows = vec![false, true].into_iter().map(|option| {
            let change = match option {
                true => |c: &mut Config| c.growth.rate_limited_increase = true,
                false => |_: &mut Config| (),
            };
            let mut pair = super::Pair::new(config(controller, change), config(controller, change));
            pair.run_for(Span::from_millis(300));
            pair.a.connection.write(u64::MAX).expect("room");
            pair.run_for(Span::from_millis(600));
            pair.a.connection.cwnd()
        });
        let windows: Vec<f64> = windows.collect();
        let ratio = windows[1] / windows[0];
        assert!((0.95..1.5).contains(&ratio), "{controller}: {windows:?}");
    }
}
