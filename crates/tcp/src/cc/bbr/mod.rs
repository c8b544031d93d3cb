//! BBR version 1 as Linux has it (`net/ipv4/tcp_bbr.c`; Cardwell and others, "BBR: Congestion-Based Congestion
//! Control", ACM Queue 2016).

mod aggregation;
mod policer;
#[cfg(test)]
mod tests;

use super::path_model::{MaxFilter, draws};
use super::{
    Ack, Congestion, CongestionCause, Controller, ControllerFactory, Delivery, Lost, Params,
    RateSample, RepairEnd, Sent, TRACE_VALUES,
};
use aggregation::Aggregation;
use alloc::boxed::Box;
use core::ops::Range;
use policer::{Policer, Totals};
use windlass_base::{Span, Time};

/// 2 / ln 2, as Linux rounds it: the least gain with which the rate can double in each round.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// Its inverse: empties in a round what STARTUP has queued.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// The gain of the window in PROBE_BW: delayed and aggregated ACKs need a second BDP.
const CWND_GAIN: f64 = 2.0;
/// The pacing gains of PROBE_BW: probe, drain, six rounds in between.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Pacing a little below the estimate keeps the queue short.
const PACING_MARGIN: f64 = 0.99;
/// How many rounds the maximum of the rate lasts: a cycle and two more.
const BW_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// How long the minimum of the RTT lasts, and how long PROBE_RTT at least.
const MIN_RTT_LASTS: Span = Span::from_secs(10);
const PROBE_RTT_LASTS: Span = Span::from_millis(200);
/// The least window in packets: with delayed ACKs, two are in flight each way.
const CWND_MIN: f64 = 4.0;
/// STARTUP is over after so many rounds without a growth of the rate by this factor.
const FULL_BW_ROUNDS: u32 = 3;
const FULL_BW_GROWTH: f64 = 1.25;
/// Packets of the initial window (Linux: TCP_INIT_CWND).
const INITIAL_PACKETS: f64 = 10.0;
/// The most packets of a burst that the window makes room for.
const BURST_PACKETS_MAX: f64 = 127.0;
/// Below this rate in bytes per second (1.2 Mbit/s) single packets are sent.
const SINGLE_PACKETS_BELOW: f64 = 150_000.0;

/// BBR version 1: the rate is the largest that was delivered within ten rounds, the window twice the product of that
/// and the least RTT of ten seconds. It does not react to marks, and to losses only while it repairs them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Bbr;

impl ControllerFactory for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn paces(&self) -> bool {
        true
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(BbrController::new(params))
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Windows are in packets, rates in bytes per second.
#[derive(Clone, Debug)]
struct BbrController {
    mss: f64,
    mode: Mode,
    cwnd: f64,
    /// The window before a repair or PROBE_RTT.
    prior_cwnd: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    bw: MaxFilter,
    round: u32,
    is_round_start: bool,
    /// The round ends once data sent from here on is delivered.
    round_end: u64,
    delivered: u64,
    lost: u64,
    full_bw: f64,
    full_bw_rounds: u32,
    full_bw_reached: bool,
    cycle_index: usize,
    cycle_begin: Time,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    /// Data sent at these totals of delivery was sent in PROBE_RTT, whose small window limits the rate.
    limited: Range<u64>,
    /// The application was idle; the next ACK ends it.
    idle_restart: bool,
    /// A repair of losses is under way; in its first round the window follows what is delivered.
    repairs: bool,
    enters_repair: bool,
    leaves_repair: bool,
    conserves_packets: bool,
    policer: Policer,
    aggregation: Aggregation,
}

impl BbrController {
    fn new(params: &Params) -> BbrController {
        let mss = f64::from(params.mss);
        let mut bbr = BbrController {
            mss,
            mode: Mode::Startup,
            cwnd: params.initial_window as f64 / mss,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            bw: MaxFilter::default(),
            round: 0,
            is_round_start: false,
            round_end: 0,
            delivered: 0,
            lost: 0,
            full_bw: 0.0,
            full_bw_rounds: 0,
            full_bw_reached: false,
            cycle_index: 0,
            cycle_begin: Time::ZERO,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            limited: 0..0,
            idle_restart: false,
            repairs: false,
            enters_repair: false,
            leaves_repair: false,
            conserves_packets: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
        };
        bbr.init_pacing_rate(Span::ZERO);
        bbr
    }

    /// The rate in use: that of a policer, or the largest one delivered.
    fn rate(&self) -> f64 {
        self.policer.rate().unwrap_or(self.bw.get())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw if self.policer.rate().is_some() => 1.0,
            Mode::ProbeBw => CYCLE[self.cycle_index],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw => CWND_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// The pacing rate before the first sample: the window in a round trip, or in a millisecond.
    fn init_pacing_rate(&mut self, smoothed_rtt: Span) {
        let known = !smoothed_rtt.is_zero();
        self.has_seen_rtt |= known;
        let rtt = if known { smoothed_rtt } else { Span::from_millis(1) };
        let rate = self.cwnd * self.mss / rtt.as_secs_f64();
        self.pacing_rate = rate * HIGH_GAIN * PACING_MARGIN;
    }

    fn set_pacing_rate(&mut self, gain: f64, smoothed_rtt: Span) {
        if !self.has_seen_rtt && !smoothed_rtt.is_zero() {
            self.init_pacing_rate(smoothed_rtt);
        }
        let rate = self.rate() * gain * PACING_MARGIN;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// The product of rate and least RTT times a gain, in packets.
    fn bdp(&self, rate: f64, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_PACKETS };
        libm::ceil(rate * min_rtt.as_secs_f64() / self.mss * gain)
    }

    /// Room for three bursts, an even number of packets, and two more in the probing phase.
    fn with_bursts(&self, packets: f64) -> f64 {
        let least = if self.pacing_rate < SINGLE_PACKETS_BELOW { 1.0 } else { 2.0 };
        // A burst is a millisecond's data (Linux: sk_pacing_shift).
        let burst = libm::floor(self.pacing_rate / 1024.0 / self.mss).max(least);
        let packets = packets + 3.0 * burst.min(BURST_PACKETS_MAX);
        let even = libm::ceil(packets / 2.0) * 2.0;
        let probes = self.mode == Mode::ProbeBw && self.cycle_index == 0;
        if probes { even + 2.0 } else { even }
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.with_bursts(self.bdp(self.bw.get(), gain))
    }

    fn totals(&self, now: Time) -> Totals {
        Totals { at: now, delivered: self.delivered, lost: self.lost }
    }

    fn save_cwnd(&mut self) {
        let smaller = self.repairs || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if smaller { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn update_bw(&mut self, delivery: &Delivery) {
        self.is_round_start = false;
        let Some((sample, rate)) = self.valid_sample(delivery) else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = delivery.delivered_total;
            self.round += 1;
            self.is_round_start = true;
            self.conserves_packets = false;
        }
        let is_limited = self.is_app_limited(&sample);
        let (totals, is_cruising) = (self.totals(delivery.now), self.mode == Mode::ProbeBw);
        let (has_losses, begins) = (delivery.lost > 0, self.is_round_start);
        if self.policer.update(totals, has_losses, begins, is_limited, is_cruising) {
            self.enter_probe_bw(delivery.now);
        }
        // A sample that the application limits is a lower bound.
        if !is_limited || rate >= self.bw.get() {
            self.bw.update(BW_ROUNDS, self.round, rate);
        }
    }

    fn valid_sample(&self, delivery: &Delivery) -> Option<(RateSample, f64)> {
        let sample = delivery.sample?;
        Some((sample, sample.bytes_per_s(delivery.min_rtt)?))
    }

    fn is_app_limited(&self, sample: &RateSample) -> bool {
        sample.is_app_limited || self.limited.contains(&sample.prior_delivered)
    }

    fn update_cycle(&mut self, delivery: &Delivery) {
        if self.mode == Mode::ProbeBw && self.is_next_phase(delivery) {
            self.advance_cycle(delivery.now);
        }
    }

    fn is_next_phase(&self, delivery: &Delivery) -> bool {
        let min_rtt = self.min_rtt.unwrap_or_default();
        let is_long = delivery.now.saturating_since(self.cycle_begin) > min_rtt;
        let in_flight = delivery.in_flight_before as f64 / self.mss;
        match self.pacing_gain() {
            // Until the path is fuller, or shows that it cannot be.
            gain if gain > 1.0 => {
                is_long && (delivery.lost > 0 || in_flight >= self.inflight(gain))
            }
            // Until the queue of the phase before is empty.
            gain if gain < 1.0 => is_long || in_flight <= self.inflight(1.0),
            _ => is_long,
        }
    }

    fn advance_cycle(&mut self, now: Time) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.cycle_begin = now;
    }

    /// PROBE_BW begins in any phase but the draining one.
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        let others = CYCLE.len() as u64 - 1;
        let random = draws(now, self.delivered).below(others);
        self.cycle_index = CYCLE.len() - 1 - random as usize;
        self.advance_cycle(now);
    }

    fn check_full_bw(&mut self, delivery: &Delivery) {
        let limited = delivery.sample.is_none_or(|sample| self.is_app_limited(&sample));
        if self.full_bw_reached || !self.is_round_start || limited {
            return;
        }
        if self.bw.get() >= self.full_bw * FULL_BW_GROWTH {
            (self.full_bw, self.full_bw_rounds) = (self.bw.get(), 0);
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_reached = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, delivery: &Delivery) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
        }
        let in_flight = delivery.in_flight as f64 / self.mss;
        if self.mode == Mode::Drain && in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(delivery.now);
        }
    }

    fn update_min_rtt(&mut self, delivery: &Delivery) {
        let now = delivery.now;
        let has_expired = now > self.min_rtt_at + MIN_RTT_LASTS;
        if let Some(rtt) = delivery.rtt
            && (has_expired || self.min_rtt.is_none_or(|least| rtt < least))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
        if has_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done = None;
            self.limited = self.delivered..self.delivered + 1;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(delivery);
        }
        if delivery.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, delivery: &Delivery) {
        // Data that is sent now shows no rate of the path.
        self.limited.end = self.delivered + delivery.in_flight + 1;
        if self.probe_rtt_done.is_none() && delivery.in_flight as f64 <= CWND_MIN * self.mss {
            self.probe_rtt_done = Some(delivery.now + PROBE_RTT_LASTS);
            self.probe_rtt_round_done = false;
            self.round_end = self.delivered;
        } else if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.is_round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(delivery.now);
            }
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        match self.full_bw_reached {
            true => self.enter_probe_bw(now),
            false => self.mode = Mode::Startup,
        }
    }

    fn set_cwnd(&mut self, delivery: &Delivery) {
        let acked = delivery.delivered as f64 / self.mss;
        if acked > 0.0 && !self.set_cwnd_in_repair(delivery, acked) {
            let rate = self.rate();
            let most = self.full_bw_reached.then(|| self.aggregation.packets(rate, self.mss));
            let target = self.bdp(rate, self.cwnd_gain()) + most.unwrap_or(0.0);
            let target = self.with_bursts(target);
            if self.full_bw_reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || (self.delivered as f64) < INITIAL_PACKETS * self.mss {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(CWND_MIN);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(CWND_MIN);
        }
    }

    /// In the first round of a repair a packet leaves for each that is delivered; at the end the window is that of
    /// before. True if this sets the window.
    fn set_cwnd_in_repair(&mut self, delivery: &Delivery, acked: f64) -> bool {
        let in_flight = delivery.in_flight as f64 / self.mss;
        self.cwnd = (self.cwnd - delivery.lost as f64 / self.mss).max(1.0);
        if core::mem::take(&mut self.enters_repair) {
            self.conserves_packets = true;
            self.round_end = self.delivered;
            self.cwnd = (in_flight + acked).max(1.0);
        } else if core::mem::take(&mut self.leaves_repair) {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserves_packets = false;
        }
        if self.conserves_packets {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
        self.conserves_packets
    }
}

impl Controller for BbrController {
    fn cwnd(&self) -> f64 {
        self.cwnd * self.mss
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, congestion: &Congestion) {
        match congestion.cause {
            CongestionCause::Ecn => {}
            CongestionCause::FastRetransmit if self.repairs => {}
            CongestionCause::FastRetransmit => {
                self.save_cwnd();
                (self.repairs, self.enters_repair) = (true, true);
            }
            CongestionCause::Timeout => {
                self.save_cwnd();
                (self.repairs, self.enters_repair) = (true, false);
                self.conserves_packets = false;
                self.full_bw = 0.0;
                self.is_round_start = true;
                // Linux: tcp_enter_loss() leaves what is in flight, which is nothing, and a packet.
                self.cwnd = 1.0;
            }
        }
    }

    /// Linux does not restart a window after idle time if the controller paces by itself.
    fn on_idle_restart(&mut self, _: u64) {}

    fn on_mss_change(&mut self, mss: u32) {
        let bytes = self.cwnd();
        self.mss = f64::from(mss);
        self.cwnd = (bytes / self.mss).max(1.0);
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate as u64)
    }

    fn reduces_by_itself(&self) -> bool {
        true
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.in_flight > 0 || !sent.is_app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.begin(sent.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(1.0, Span::ZERO),
            Mode::ProbeRtt => self.check_probe_rtt_done(sent.now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.lost += lost.bytes;
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        self.delivered = delivery.delivered_total;
        self.update_bw(delivery);
        if self.valid_sample(delivery).is_some() {
            let acked = delivery.delivered as f64 / self.mss;
            let (rate, cwnd) = (self.rate() / self.mss, self.cwnd);
            self.aggregation.update(delivery.now, acked, rate, cwnd, self.is_round_start);
        }
        self.update_cycle(delivery);
        self.check_full_bw(delivery);
        self.check_drain(delivery);
        self.update_min_rtt(delivery);
        self.set_pacing_rate(self.pacing_gain(), delivery.smoothed_rtt);
        self.set_cwnd(delivery);
    }

    fn on_repair_end(&mut self, end: RepairEnd) {
        if core::mem::take(&mut self.repairs) {
            (self.leaves_repair, self.enters_repair) = (true, false);
        }
        if end == RepairEnd::Needless {
            (self.full_bw, self.full_bw_rounds) = (0.0, 0);
            self.policer = Policer::default();
        }
    }

    fn trace_names(&self) -> &'static [&'static str] {
        &["bandwidth_mbit_per_s", "min_rtt_ms", "pacing_gain"]
    }

    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        let mut values = [0.0; TRACE_VALUES];
        let min_rtt = self.min_rtt.unwrap_or_default();
        values[..3].copy_from_slice(&[
            self.rate() * 8.0 / 1e6,
            min_rtt.as_secs_f64() * 1e3,
            self.pacing_gain(),
        ]);
        values
    }
}
