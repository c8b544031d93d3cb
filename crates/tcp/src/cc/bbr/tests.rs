//! The state machine, driven by the ACKs of a path that delivers at a given rate.

use super::*;
use crate::cc::tests::params;
use crate::recovery::DeliveryRate;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

const MSS: u64 = 1000;

/// A bottleneck of `rate` bytes per second with an endless queue, and the RTT without it. It sends as the controller
/// says, and returns an ACK for each packet.
struct Path {
    rate: f64,
    rtt: Span,
    now: Time,
    /// Packets in the network: the number, when it was sent, when its ACK arrives.
    packets: VecDeque<(u64, Time, Time)>,
    sent: u64,
    /// When the pacer lets the next packet out.
    due: Time,
    least_rtt: Span,
    rates: DeliveryRate,
    /// One of so many packets is lost.
    loses: Option<u64>,
}

impl Path {
    fn new(mbit_per_s: f64, rtt_ms: u64) -> Path {
        let rtt = Span::from_millis(rtt_ms);
        Path {
            rate: mbit_per_s * 1e6 / 8.0,
            rtt,
            now: Time::ZERO,
            packets: VecDeque::new(),
            sent: 0,
            due: Time::ZERO,
            least_rtt: Span::from_secs(3600),
            rates: DeliveryRate::default(),
            loses: None,
        }
    }

    fn in_flight(&self) -> u64 {
        self.packets.len() as u64 * MSS
    }

    fn run(&mut self, bbr: &mut BbrController, ms: u64, mut look: impl FnMut(&BbrController)) {
        let end = self.now + Span::from_millis(ms);
        while self.now < end {
            let ack = self.packets.front().map(|packet| packet.2);
            let may_send = self.in_flight() + MSS <= bbr.cwnd() as u64;
            if may_send && ack.is_none_or(|at| self.due <= at) {
                self.now = self.now.max(self.due);
                self.send(bbr);
            } else if let Some(at) = ack {
                self.now = self.now.max(at);
                self.acknowledge(bbr);
            }
            look(bbr);
        }
    }

    fn send(&mut self, bbr: &mut BbrController) {
        let in_flight = self.in_flight();
        self.rates.sent(self.now, self.sent * MSS..(self.sent + 1) * MSS, in_flight);
        let (now, bytes) = (self.now, MSS);
        let is_retransmission = false;
        bbr.on_sent(&Sent { now, bytes, in_flight, is_retransmission, is_app_limited: false });
        let service = Span::from_secs_f64(MSS as f64 / self.rate);
        let last = self.packets.back().map_or(Time::ZERO, |packet| packet.2);
        let arrives = (self.now + self.rtt).max(last + service);
        self.packets.push_back((self.sent, self.now, arrives));
        self.sent += 1;
        self.due = self.now + Span::from_secs_f64(MSS as f64 / bbr.pacing_rate);
    }

    fn acknowledge(&mut self, bbr: &mut BbrController) {
        let in_flight_before = self.in_flight();
        let Some((number, sent, _)) = self.packets.pop_front() else { return };
        let range = number * MSS..(number + 1) * MSS;
        let is_lost = self.loses.is_some_and(|one_of| number % one_of == 0);
        if is_lost {
            self.rates.lost(self.now, range, &mut |lost| bbr.on_lost(&lost));
        } else {
            self.rates.delivered(self.now, range);
        }
        let rtt = self.now.saturating_since(sent);
        self.least_rtt = self.least_rtt.min(rtt);
        bbr.on_delivery(&Delivery {
            now: self.now,
            delivered: if is_lost { 0 } else { MSS },
            lost: if is_lost { MSS } else { 0 },
            delivered_total: self.rates.delivered_total(),
            in_flight_before,
            in_flight: self.in_flight(),
            rtt: (!is_lost).then_some(rtt),
            smoothed_rtt: rtt,
            min_rtt: Some(self.least_rtt),
            is_window_limited: true,
            sample: self.rates.sample(),
        });
    }
}

/// After a second on a path of 10 Mbit/s and 50 ms, in PROBE_BW.
fn settled() -> (BbrController, Path) {
    let (mut bbr, mut path) = (bbr(), Path::new(10.0, 50));
    path.run(&mut bbr, 2000, |_| ());
    assert_eq!(bbr.mode, Mode::ProbeBw);
    (bbr, path)
}

fn bbr() -> BbrController {
    BbrController::new(&params())
}

#[test]
fn startup_doubles_until_the_rate_stands_and_its_queue_is_drained() {
    let (mut bbr, mut path) = (bbr(), Path::new(10.0, 50));
    let mut modes = Vec::new();
    path.run(&mut bbr, 2000, |bbr| {
        if modes.last() != Some(&bbr.mode) {
            modes.push(bbr.mode);
        }
    });
    assert_eq!(modes, [Mode::Startup, Mode::Drain, Mode::ProbeBw]);
    let ratio = bbr.bw.get() / path.rate;
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
    // Twice the BDP, and room for bursts.
    let bdp = path.rate * 0.05 / MSS as f64;
    assert!((2.0 * bdp..2.0 * bdp + 15.0).contains(&bbr.cwnd), "{} for {bdp}", bbr.cwnd);
}

#[test]
fn probe_bw_has_one_probing_and_one_draining_phase_in_eight() {
    let (mut bbr, mut path) = settled();
    let (mut gains, mut last) = (Vec::new(), usize::MAX);
    path.run(&mut bbr, 3000, |bbr| {
        if bbr.cycle_index != last {
            last = bbr.cycle_index;
            gains.push(bbr.pacing_gain());
        }
    });
    let first = gains.iter().position(|&gain| gain == 1.25).expect("it probes");
    let cycles: Vec<&[f64]> = gains[first..].chunks_exact(8).collect();
    assert!(cycles.len() >= 4, "{gains:?}");
    assert!(cycles.iter().all(|cycle| *cycle == CYCLE), "{gains:?}");
}

#[test]
fn the_queue_stays_short_and_the_link_is_used() {
    let (mut bbr, mut path) = settled();
    let (begin, delivered) = (path.now, path.rates.delivered_total());
    let (mut sum, mut count) = (0.0, 0.0);
    for _ in 0..500 {
        path.run(&mut bbr, 10, |_| ());
        sum += path.in_flight() as f64;
        count += 1.0;
    }
    let seconds = path.now.saturating_since(begin).as_secs_f64();
    let rate = (path.rates.delivered_total() - delivered) as f64 / seconds;
    assert!(rate > 0.97 * path.rate, "{rate}");
    let bdp = path.rate * 0.05;
    assert!(sum / count < 1.2 * bdp, "{} bytes in flight on average", sum / count);
}

#[test]
fn a_faster_path_is_found_within_some_cycles_and_a_slower_one_within_ten_rounds() {
    let (mut bbr, mut path) = settled();
    path.rate *= 2.0;
    path.run(&mut bbr, 3000, |_| ());
    assert!(bbr.bw.get() > 0.95 * path.rate, "{} of {}", bbr.bw.get(), path.rate);
    path.rate /= 4.0;
    // The queue of the faster time makes the rounds longer.
    path.run(&mut bbr, 8000, |_| ());
    assert!(bbr.bw.get() < 1.05 * path.rate, "{} of {}", bbr.bw.get(), path.rate);
}

#[test]
fn ten_seconds_after_the_least_rtt_four_packets_look_for_it_again() {
    let (mut bbr, mut path) = settled();
    // No later RTT is as short.
    path.rtt = Span::from_millis(51);
    let (mut begun, mut ended, mut least) = (None, None, f64::MAX);
    let end = path.now + Span::from_secs(12);
    while path.now < end {
        path.run(&mut bbr, 1, |_| ());
        match (bbr.mode, begun, ended) {
            (Mode::ProbeRtt, None, _) => begun = Some(path.now),
            (Mode::ProbeRtt, ..) => least = least.min(bbr.cwnd),
            (_, Some(_), None) => ended = Some(path.now),
            _ => {}
        }
    }
    let lasted = ended.expect("it ends").saturating_since(begun.expect("it begins"));
    let (least_span, most) = (Span::from_millis(200), Span::from_millis(400));
    assert!((least_span..most).contains(&lasted), "{lasted:?}: and the rounds before and after");
    assert_eq!(least, 4.0);
    assert_eq!(bbr.min_rtt, Some(Span::from_millis(51)));
    let ratio = bbr.bw.get() / path.rate;
    assert!((0.97..1.03).contains(&ratio), "the probe does not lower the rate: {ratio}");
}

#[test]
fn losses_do_not_lower_the_rate_and_the_window_comes_back_after_the_repair() {
    let (mut bbr, mut path) = settled();
    let (window, rate) = (bbr.cwnd, bbr.bw.get());
    bbr.on_congestion(&crate::cc::tests::congestion(CongestionCause::FastRetransmit, 0.0));
    path.loses = Some(10);
    path.run(&mut bbr, 40, |_| ());
    assert!(bbr.cwnd < window, "it keeps to what is delivered");
    path.loses = None;
    bbr.on_repair_end(RepairEnd::Complete);
    path.run(&mut bbr, 100, |_| ());
    assert!((bbr.bw.get() / rate - 1.0).abs() < 0.05);
    assert!(bbr.cwnd >= window - 4.0, "{} of {window}", bbr.cwnd);
}

#[test]
fn after_a_timeout_it_begins_with_one_packet_and_has_its_window_again_after_the_repair() {
    let (mut bbr, mut path) = settled();
    let window = bbr.cwnd;
    bbr.on_congestion(&crate::cc::tests::congestion(CongestionCause::Timeout, 0.0));
    assert_eq!(bbr.cwnd, 1.0);
    bbr.on_repair_end(RepairEnd::Complete);
    path.run(&mut bbr, 100, |_| ());
    assert!(bbr.cwnd >= window - 4.0, "{} of {window}", bbr.cwnd);
}

#[test]
fn marks_change_nothing() {
    let (mut bbr, _) = settled();
    let window = bbr.cwnd;
    bbr.on_congestion(&crate::cc::tests::congestion(CongestionCause::Ecn, 0.0));
    assert_eq!(bbr.cwnd, window);
}
