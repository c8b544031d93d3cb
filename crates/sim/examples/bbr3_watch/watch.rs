//! A BBRv3 sender under watch. It does what it does without.

use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::cc::{
    Ack, Congestion, Controller, ControllerFactory, Delivery, Lost, Params, RepairEnd, Sent, Start,
    TRACE_VALUES,
};

/// The number of Drain among the states that the controller publishes.
const DRAIN: u8 = 1;

/// Makes controllers that note what they do.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    inner: Arc<dyn ControllerFactory>,
    log: Arc<Mutex<Log>>,
}

/// The notes on a flow. Times are in seconds.
#[derive(Debug, Default)]
struct Log {
    /// When a state began, and its number.
    states: Vec<(f64, u8)>,
    /// When BBR.min_rtt changed, and its value in milliseconds.
    min_rtt: Vec<(f64, f64)>,
    drains: Vec<Drain>,
}

/// A stay in Drain.
#[derive(Debug)]
struct Drain {
    began_s: f64,
    ended_s: Option<f64>,
    /// The last RTT samples before its begin and its end, in milliseconds.
    rtt_ms: [f64; 2],
    /// Round trips by BBR.round_count.
    rounds: f64,
    /// At its end: data in flight, as a multiple of Inflight(1.0).
    flight: f64,
    /// BBR.round_count when the flight first was Inflight(1.0) or less, from its begin on.
    empty_after: Option<f64>,
    /// BBR.drain_start_round.
    start_round: f64,
}

impl Watched {
    pub(crate) fn new(inner: Arc<dyn ControllerFactory>) -> Watched {
        Watched { inner, log: Arc::default() }
    }

    /// The notes as JSON.
    pub(crate) fn report(&self, name: &str) -> Value {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let drains: Vec<Value> = log.drains.iter().map(Drain::report).collect();
        json!({ "flow": name, "states": log.states, "min_rtt": log.min_rtt, "drains": drains })
    }
}

impl Drain {
    fn report(&self) -> Value {
        json!({
            "began_s": self.began_s,
            "ended_s": self.ended_s,
            "rtt_ms": self.rtt_ms,
            "rounds": self.rounds,
            "flight": self.flight,
            "empty_after": self.empty_after,
        })
    }
}

impl ControllerFactory for Watched {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn paces(&self) -> bool {
        self.inner.paces()
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let (controller, log) = (self.inner.build(params), Arc::clone(&self.log));
        Box::new(WatchedController { controller, log, rtt: Span::ZERO })
    }
}

#[derive(Debug)]
struct WatchedController {
    controller: Box<dyn Controller>,
    log: Arc<Mutex<Log>>,
    rtt: Span,
}

impl WatchedController {
    fn variable_or_nan(&self, name: &str) -> f64 {
        self.controller.variable(name).unwrap_or(f64::NAN)
    }

    fn note(&mut self, delivery: &Delivery) {
        let [_, min_rtt_ms, _, state] = self.controller.trace_values();
        let (now_s, state) = (seconds(delivery.now), state as u8);
        let before_ms = self.rtt.as_millis_f64();
        self.rtt = delivery.rtt.unwrap_or(self.rtt);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.min_rtt.last().is_none_or(|last| last.1 != min_rtt_ms) {
            log.min_rtt.push((now_s, min_rtt_ms));
        }
        let last = log.states.last().map(|last| last.1);
        if last != Some(state) {
            log.states.push((now_s, state));
        }
        if state == DRAIN && last != Some(DRAIN) {
            let start_round = self.variable_or_nan("drain_start_round");
            log.drains.push(Drain::begin(now_s, before_ms, start_round));
        }
        let Some(drain) = log.drains.last_mut().filter(|drain| drain.is_open()) else { return };
        let flight = delivery.in_flight as f64 / self.variable_or_nan("inflight");
        let rounds = self.variable_or_nan("round_count") - drain.start_round;
        if flight <= 1.0 {
            drain.empty_after.get_or_insert(rounds);
        }
        if state != DRAIN && drain.ended_s.is_none() {
            (drain.ended_s, drain.rounds, drain.flight) = (Some(now_s), rounds, flight);
            drain.rtt_ms[1] = self.rtt.as_millis_f64();
        }
    }
}

impl Drain {
    fn begin(began_s: f64, rtt_ms: f64, start_round: f64) -> Drain {
        let unknown = f64::NAN;
        let rtt_ms = [rtt_ms, unknown];
        let (rounds, flight) = (unknown, unknown);
        Drain { began_s, ended_s: None, rtt_ms, rounds, flight, empty_after: None, start_round }
    }

    /// Something of it is still to be noted.
    fn is_open(&self) -> bool {
        self.ended_s.is_none() || self.empty_after.is_none()
    }
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

impl Controller for WatchedController {
    fn cwnd(&self) -> f64 {
        self.controller.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.controller.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.controller.on_ack(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.controller.on_congestion(congestion);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.controller.on_idle_restart(restart);
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.controller.on_mss_change(mss);
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.controller.pacing_rate()
    }

    fn send_quantum(&self) -> Option<u64> {
        self.controller.send_quantum()
    }

    fn ecn_codepoint(&self) -> Ecn {
        self.controller.ecn_codepoint()
    }

    fn reduces_by_itself(&self) -> bool {
        self.controller.reduces_by_itself()
    }

    fn needs_rates(&self) -> bool {
        self.controller.needs_rates()
    }

    fn limits_samples(&self) -> bool {
        self.controller.limits_samples()
    }

    fn trace_names(&self) -> &'static [&'static str] {
        self.controller.trace_names()
    }

    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        self.controller.trace_values()
    }

    fn on_start(&mut self, start: &Start) {
        self.controller.on_start(start);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.controller.on_sent(sent);
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.controller.on_lost(lost);
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        self.controller.on_delivery(delivery);
        self.note(delivery);
    }

    fn on_repair_end(&mut self, end: RepairEnd) {
        self.controller.on_repair_end(end);
    }
}
