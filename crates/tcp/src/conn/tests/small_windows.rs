//! Windows of less than a segment: single segments, in such intervals that the mean is cwnd per SRTT. The RTT is 10 ms.

use super::{Fate, Pair, config};
use crate::cc::{Ack, Congestion, Controller, ControllerFactory, Params};
use crate::config::AckPolicy;
use crate::{Config, Profile, Segment, Span};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A window of some segments until the first loss, and of others from then on.
#[derive(Copy, Clone, Debug)]
struct Steps {
    first: f64,
    after_loss: f64,
}

#[derive(Debug)]
struct StepsController {
    segments: f64,
    after_loss: f64,
    mss: f64,
}

impl ControllerFactory for Steps {
    fn name(&self) -> &'static str {
        "steps"
    }

    fn paces(&self) -> bool {
        true
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let mss = f64::from(params.mss);
        Box::new(StepsController { segments: self.first, after_loss: self.after_loss, mss })
    }
}

impl Controller for StepsController {
    fn cwnd(&self) -> f64 {
        self.segments * self.mss
    }

    fn flight_limit(&self) -> u64 {
        self.cwnd().max(self.mss) as u64
    }

    fn ssthresh(&self) -> u64 {
        self.flight_limit()
    }

    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, _: &Congestion) {
        self.segments = self.after_loss;
    }

    fn on_idle_restart(&mut self, _: u64) {
        panic!("the pauses of a small window are no idle time");
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.mss = f64::from(mss);
    }

    fn reduces_by_itself(&self) -> bool {
        true
    }
}

fn always(segments: f64) -> Steps {
    Steps { first: segments, after_loss: segments }
}

fn sender(steps: Steps) -> Config {
    config(Profile::Linux, "reno").with(|c| c.congestion = Arc::new(steps))
}

/// Connected to a receiver that acknowledges at once, or as the profile says.
fn pair(client: Config, policy: Option<AckPolicy>) -> Pair {
    let server = config(Profile::Linux, "reno").with(|c| {
        c.acks.policy = policy.unwrap_or(c.acks.policy);
    });
    let mut pair = Pair::new(client, server);
    pair.one_way = Span::from_millis(5);
    pair.run_for(Span::from_millis(20));
    pair
}

/// The times in ms at which segments with data leave within `ms`; `fate` decides on each.
fn departures(pair: &mut Pair, ms: u64, mut fate: impl FnMut(&Segment) -> Fate) -> Vec<u64> {
    let mut times = Vec::new();
    for at in 1..=ms {
        let before = pair.a.sent.len();
        pair.run(pair.now + Span::from_millis(1), &mut fate, |_| Fate::Pass);
        let data = pair.a.sent[before..].iter().filter(|run| run.first.payload_len > 0);
        times.extend(data.map(|_| at));
    }
    times
}

fn intervals(times: &[u64]) -> impl Iterator<Item = u64> {
    times.windows(2).map(|pair| pair[1] - pair[0])
}

#[test]
fn a_quarter_of_a_segment_and_10_ms_are_a_segment_in_40_ms() {
    let mut pair = pair(sender(always(0.25)), Some(AckPolicy::Immediate));
    pair.a.connection.write(1_000_000).expect("open");
    let times = departures(&mut pair, 4000, |_| Fate::Pass);
    assert!((99..=102).contains(&times.len()), "{}", times.len());
    assert!(intervals(&times).skip(1).all(|ms| (39..=41).contains(&ms)), "{times:?}");
    let stats = pair.a.connection.stats();
    assert_eq!((stats.timeouts, stats.tail_probes, stats.retransmitted_segments), (0, 0, 0));
}

#[test]
fn pauses_longer_than_the_rto_cause_neither_timeouts_nor_restarts() {
    let mut pair = pair(sender(always(0.01)), Some(AckPolicy::Immediate));
    assert!(pair.a.connection.rto() < Span::from_millis(500));
    pair.a.connection.write(1_000_000).expect("open");
    let times = departures(&mut pair, 20_000, |_| Fate::Pass);
    assert!(intervals(&times).skip(1).all(|ms| (980..=1020).contains(&ms)), "{times:?}");
    let stats = pair.a.connection.stats();
    assert_eq!((stats.timeouts, stats.retransmitted_segments), (0, 0));
}

#[test]
fn a_receiver_that_delays_acks_gets_all_in_time() {
    let mut pair = pair(sender(always(0.25)), None);
    pair.a.connection.write(20_000).expect("open");
    pair.run_for(Span::from_secs(8));
    assert_eq!(pair.b.connection.bytes_received(), 20_000);
    let stats = pair.a.connection.stats();
    assert_eq!((stats.timeouts, stats.retransmitted_segments), (0, 0));
}

#[test]
fn a_close_delivers_what_the_pacer_still_keeps_back() {
    let mut pair = pair(sender(always(0.25)), Some(AckPolicy::Immediate));
    pair.a.connection.write(5500).expect("open");
    pair.a.connection.close(pair.now);
    pair.run_for(Span::from_secs(1));
    assert!(pair.b.connection.peer_closed());
    assert_eq!(pair.b.connection.bytes_received(), 5500);
    assert_eq!(pair.a.connection.bytes_acked(), 5500);
    assert_eq!(pair.a.connection.stats().timeouts, 0);
}

#[test]
fn each_lost_segment_is_sent_once_more() {
    let mut pair = pair(sender(always(0.25)), Some(AckPolicy::Immediate));
    pair.a.connection.write(40_000).expect("open");
    pair.a.connection.close(pair.now);
    let mut number = 0u64;
    let fate = |segment: &Segment| {
        number += u64::from(segment.payload_len > 0);
        if segment.payload_len > 0 && number.is_multiple_of(7) { Fate::Drop } else { Fate::Pass }
    };
    pair.run(pair.now + Span::from_secs(20), fate, |_| Fate::Pass);
    assert!(pair.b.connection.peer_closed());
    let (stats, lost) = (*pair.a.connection.stats(), number / 7);
    assert!(stats.retransmitted_segments <= lost, "{} for {lost}", stats.retransmitted_segments);
    assert!(stats.timeouts <= lost, "{} for {lost}", stats.timeouts);
}

/// Eight segments are lost at once, and the window becomes a 50th of a segment: a segment in 500 ms, with an RTO of
/// 200 ms. While the pacer keeps retransmissions back, nothing is in the network, and no timer may expire for it.
#[test]
fn the_rto_waits_for_retransmissions_that_the_pacer_keeps_back() {
    let steps = Steps { first: 8.0, after_loss: 0.02 };
    let mut pair = pair(sender(steps), Some(AckPolicy::Immediate));
    pair.a.connection.write(20_000).expect("open");
    let mut dropped = 0;
    let times = departures(&mut pair, 10_000, |segment| {
        dropped += u32::from(segment.payload_len > 0);
        if segment.payload_len > 0 && dropped <= 9 { Fate::Drop } else { Fate::Pass }
    });
    let stats = pair.a.connection.stats();
    assert_eq!(stats.timeouts, 1, "{times:?}");
    assert!(stats.retransmitted_segments <= 10, "{}", stats.retransmitted_segments);
    let repairs: Vec<u64> = intervals(&times).skip(10).collect();
    assert!(repairs.len() > 5 && repairs.iter().all(|ms| (490..=560).contains(ms)), "{times:?}");
}
