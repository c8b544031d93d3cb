//! Any controller, with a count of the signals that reach it: what an agent sees of a flow besides the state of
//! its connection ([`windlass_tcp::cc::Controller`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use windlass_base::Ecn;
use windlass_tcp::cc::{
    Ack, Congestion, Controller, ControllerFactory, Delivery, FastRecovery, Lost, Marks, Params,
    RepairEnd, Sent, Start, TRACE_VALUES,
};
use windlass_tcp::config::EcnEcho;

/// Wraps the controllers of a flow, and counts the signals that they get or could get. The flow does what it
/// does without.
#[derive(Clone, Debug)]
pub struct Observed {
    inner: Arc<dyn ControllerFactory>,
    counts: Arc<Counts>,
}

/// Signals since the beginning, and the fastest sample since it was last taken.
#[derive(Debug, Default)]
struct Counts {
    lost: AtomicU64,
    marked: AtomicU64,
    samples: AtomicU64,
    limited_samples: AtomicU64,
    /// Bits of a rate in bytes per second.
    fastest: AtomicU64,
}

/// The signals of a flow's connections so far.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// Bytes that were found lost.
    pub lost_bytes: u64,
    /// Bytes delivered that count as marked.
    pub marked_bytes: u64,
    /// Samples of the delivery rate.
    pub samples: u64,
    /// Samples of data that the application, and not the window, had limited.
    pub limited_samples: u64,
    /// The fastest sample since [`Observed::take`] was called last, in bytes per second; 0 without one.
    pub fastest_bytes_per_s: f64,
}

impl Observed {
    /// The controllers that `inner` makes, observed.
    pub fn new(inner: Arc<dyn ControllerFactory>) -> Observed {
        Observed { inner, counts: Arc::default() }
    }

    /// The signals so far. The search for the fastest sample begins anew.
    pub fn take(&self) -> Signals {
        let Counts { lost, marked, samples, limited_samples, fastest } = &*self.counts;
        Signals {
            lost_bytes: lost.load(Relaxed),
            marked_bytes: marked.load(Relaxed),
            samples: samples.load(Relaxed),
            limited_samples: limited_samples.load(Relaxed),
            fastest_bytes_per_s: f64::from_bits(fastest.swap(0, Relaxed)),
        }
    }

    /// Forgets all signals, for another run.
    pub fn reset(&self) {
        let Counts { lost, marked, samples, limited_samples, fastest } = &*self.counts;
        for count in [lost, marked, samples, limited_samples, fastest] {
            count.store(0, Relaxed);
        }
    }
}

impl ControllerFactory for Observed {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn needs_marks(&self) -> bool {
        self.inner.needs_marks()
    }

    fn echo(&self) -> Option<EcnEcho> {
        self.inner.echo()
    }

    fn paces(&self) -> bool {
        self.inner.paces()
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        wrap(self.inner.build(params), &self.counts)
    }
}

fn wrap(controller: Box<dyn Controller>, counts: &Arc<Counts>) -> Box<dyn Controller> {
    Box::new(ObservedController {
        needs_rates: controller.needs_rates(),
        counts_marks: controller.counts_marks(),
        controller,
        counts: Arc::clone(counts),
    })
}

/// Passes everything on.
#[derive(Debug)]
struct ObservedController {
    controller: Box<dyn Controller>,
    needs_rates: bool,
    counts_marks: bool,
    counts: Arc<Counts>,
}

impl Controller for ObservedController {
    fn cwnd(&self) -> f64 {
        self.controller.cwnd()
    }

    fn flight_limit(&self) -> u64 {
        self.controller.flight_limit()
    }

    fn ssthresh(&self) -> u64 {
        self.controller.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.controller.on_ack(ack);
    }

    fn limit_growth(&mut self, max_flight: u64) {
        self.controller.limit_growth(max_flight);
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

    fn variable(&self, name: &str) -> Option<f64> {
        self.controller.variable(name)
    }

    fn reduces_by_itself(&self) -> bool {
        self.controller.reduces_by_itself()
    }

    fn fast_recovery(&self) -> FastRecovery {
        self.controller.fast_recovery()
    }

    fn ecn_codepoint(&self) -> Ecn {
        self.controller.ecn_codepoint()
    }

    fn trace_names(&self) -> &'static [&'static str] {
        self.controller.trace_names()
    }

    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        self.controller.trace_values()
    }

    fn counts_marks(&self) -> bool {
        true
    }

    fn on_marks(&mut self, marks: &Marks) {
        self.counts.marked.fetch_add(marks.marked, Relaxed);
        if self.counts_marks {
            self.controller.on_marks(marks);
        }
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn limits_samples(&self) -> bool {
        self.controller.limits_samples()
    }

    fn on_start(&mut self, start: &Start) {
        if self.needs_rates {
            self.controller.on_start(start);
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if self.needs_rates {
            self.controller.on_sent(sent);
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.counts.lost.fetch_add(lost.bytes, Relaxed);
        if self.needs_rates {
            self.controller.on_lost(lost);
        }
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        self.count_sample(delivery);
        if self.needs_rates {
            self.controller.on_delivery(delivery);
        }
    }

    fn on_repair_end(&mut self, end: RepairEnd) {
        if self.needs_rates {
            self.controller.on_repair_end(end);
        }
    }

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(wrap(self.controller.snapshot()?, &self.counts))
    }
}

impl ObservedController {
    fn count_sample(&self, delivery: &Delivery) {
        let Some(sample) = &delivery.sample else { return };
        let Some(rate) = sample.bytes_per_s(delivery.min_rtt) else { return };
        self.counts.samples.fetch_add(1, Relaxed);
        self.counts.limited_samples.fetch_add(u64::from(sample.is_app_limited), Relaxed);
        let fastest = f64::from_bits(self.counts.fastest.load(Relaxed)).max(rate);
        self.counts.fastest.store(fastest.to_bits(), Relaxed);
    }
}
