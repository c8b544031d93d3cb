//! Pacing as in Linux. The RTT of the handshake is 100 ms.

use super::Pair;
use super::script::{Script, plain};
use crate::config::Growth;
use crate::{Config, Profile, Span};
use alloc::format;
use alloc::vec::Vec;

fn paced() -> Config {
    let growth = Growth::PerByte { limit: u32::MAX };
    plain().with(|c| {
        c.sending.pacing = true;
        c.window.initial = 10;
        c.growth.credit = growth;
        c.growth.cwnd_validation = false;
    })
}

/// The initial window is acknowledged at once: twenty segments may be in flight.
fn second_flight(config: Config) -> Script {
    let mut s = Script::established(config);
    s.write(60_000);
    assert_eq!(s.skip().len(), 10, "the initial window is not paced");
    s.advance_ms(100);
    s.recv(". 1 ack 10001");
    s
}

/// The send times of all segments within `ms`, in milliseconds from now.
fn times_ms(s: &mut Script, ms: u64) -> Vec<u64> {
    let mut times: Vec<u64> = s.skip().iter().map(|_| 0).collect();
    for at in 1..=ms {
        s.advance_ms(1);
        times.extend(s.skip().iter().map(|_| at));
    }
    times
}

#[test]
fn slow_start_sends_two_windows_in_a_round_trip_two_segments_at_a_time() {
    let mut s = second_flight(paced());
    let times = times_ms(&mut s, 100);
    // Two of forty in 100 ms take 5 ms; the first burst is counted as half of one late.
    let expected: Vec<u64> =
        (0..20u64).map(|segment| (segment / 2 * 5).saturating_sub(2)).collect();
    assert_eq!(times, expected);
}

#[test]
fn congestion_avoidance_sends_a_fifth_more_than_its_window() {
    let mut s = second_flight(paced().with(|c| c.window.initial_ssthresh = Some(10_000)));
    let times = times_ms(&mut s, 100);
    // Two of 13.2 in 100 ms take 15.2 ms.
    assert_eq!(times, [0, 0, 8, 8, 23, 23, 38, 38, 54, 54, 69], "a window of eleven");
}

#[test]
fn a_run_is_a_burst() {
    let mut s = Script::established(paced());
    s.max_run = 44;
    s.write(60_000);
    s.skip();
    s.advance_ms(100);
    s.recv(". 1 ack 10001");
    s.expect(&[". 10001:11001 ack 1 x2"]);
    s.advance_ms(3);
    s.expect(&[". 12001:13001 ack 1 x2"]);
}

#[test]
fn a_fast_retransmit_waits_for_nothing() {
    let mut s = second_flight(paced());
    assert_eq!(s.skip().len(), 2);
    s.recv_times(3, ". 1 ack 10001");
    let again = s.skip();
    assert!(again.iter().any(|run| run.retransmission), "{again:?}");
}

#[test]
fn neither_does_an_ack() {
    let mut s = second_flight(paced());
    s.skip();
    s.recv(". 1:1001 ack 10001");
    s.expect(&[". 12001 ack 1001"]);
}

#[test]
fn neither_does_a_timeout() {
    let mut s = second_flight(paced());
    s.advance_ms(50);
    s.skip();
    s.advance_ms(2000);
    let sent = s.skip();
    let again = sent.iter().filter(|run| run.retransmission).count();
    assert_eq!((again as u64, s.connection.stats().timeouts), (1, 1));
}

#[test]
fn data_held_back_by_cwnd_or_the_application_sets_no_pacing_timer() {
    let mut s = Script::established(paced());
    s.write(11_000);
    s.advance_ms(100);
    s.recv(". 1 ack 10001");
    s.skip();
    assert_eq!(s.next_timer_ms(), Some(1000), "the retransmission timer");
    s.write(1000);
    s.expect(&["P. 11001:12001 ack 1"]);
}

#[test]
fn a_paced_connection_sends_its_last_data_and_its_fin() {
    let mut s = second_flight(paced());
    s.close();
    let times = times_ms(&mut s, 100);
    assert_eq!(times.len(), 20);
    s.recv(". 1 ack 30001");
    s.advance_ms(100);
    assert!(s.skip().iter().any(|run| run.first.flags.contains(crate::Flags::FIN)));
    s.recv(". 1 ack 60002");
    s.advance_ms(2000);
    assert_eq!(s.connection.stats().timeouts, 0);
}

/// Found by `windlass-chaos`: the peer was silent for five minutes, which raises SRTT for a long
/// time.
#[test]
fn data_after_an_outage_is_not_paced_by_its_rtt() {
    let mut s = Script::established(paced().with(|c| c.extensions.timestamps = true));
    s.write(9880);
    s.skip();
    s.advance_ms(300_000);
    s.recv(". 1 ack 9881 TS 2:10100");
    s.skip();
    s.write(40_000);
    assert!(s.connection.smoothed_rtt() > Some(Span::from_secs(30)));
    for round_trip in 1..=5 {
        s.advance_ms(100);
        let acked = 1 + s.connection.bytes_acked() + s.connection.in_flight();
        s.recv(&format!(". 1 ack {acked} TS {}:{}", round_trip + 2, 310_000 + 100 * round_trip));
    }
    let sent = s.skip().len();
    assert!(sent >= 10, "{sent} segments in five round trips");
}

#[test]
fn a_window_grows_as_without_pacing() {
    let grown = |pacing| {
        let cubic = alloc::sync::Arc::new(crate::cc::Cubic::default());
        let linux = Profile::Linux.config(1000, cubic).with(|c| c.sending.pacing = pacing);
        let mut pair = Pair::new(linux.clone(), linux);
        pair.run_for(Span::from_millis(150));
        pair.a.connection.write(4_000_000).expect("open");
        pair.b.connection.discard_incoming();
        // Shortly before a round trip is over.
        pair.run_for(Span::from_millis(690));
        pair.a.connection.cwnd()
    };
    let (paced, unpaced) = (grown(true), grown(false));
    assert!(paced > 0.9 * unpaced && paced <= unpaced, "{paced} and {unpaced} bytes");
}

#[test]
fn in_fast_recovery_the_pacer_wakes_up_as_long_as_the_window_has_room() {
    let mut s = second_flight(paced().with(|c| {
        c.extensions.sack = true;
        c.recovery.rack = true;
    }));
    s.advance_ms(97);
    s.skip();
    s.recv(". 1 ack 10001 sack 11001:29001");
    // One is in flight, and nine more fit.
    assert_eq!(times_ms(&mut s, 100), [0, 0, 4, 4, 11, 11, 18, 18, 23]);
}
