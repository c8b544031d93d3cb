//! The congestion controller as the engine calls it: for ACKs (`acknowledge`), for congestion
//! (`congestion`) and to take a reduction back (`undo`).

use crate::Config;
use crate::cc::{
    Ack, Congestion, Controller, ControllerState, Delivery, Engine, FastRecovery, LimitedSlowStart,
    Lost, Marks, Params, RepairEnd, Sent, Start, TRACE_VALUES, TraceValue,
};
use alloc::boxed::Box;
use windlass_base::Ecn;

/// A connection's controller and a copy of its state, so that the engine does not make dynamic calls
/// for every segment. The state changes only in the methods of this type.
#[derive(Debug)]
pub(super) struct CachedController {
    controller: Box<dyn Controller>,
    state: ControllerState,
    /// maxFS of rate-limited increase: the largest flight since the last reduction, or the initial window. `None`
    /// without that option.
    max_flight: Option<u64>,
    limited_slow_start: Option<LimitedSlowStart>,
    /// Whether one of the two options above is on: most connections have neither, and an ACK asks once.
    limits_growth: bool,
    counts_marks: bool,
    needs_rates: bool,
    /// The names of the values that the controller publishes.
    trace_names: &'static [&'static str],
    /// The values that observers know.
    published: [f64; TRACE_VALUES],
}

impl CachedController {
    /// The controller that a config has.
    pub(super) fn of(config: &Config, params: &Params) -> CachedController {
        let controller = config.congestion.build(params);
        let rate_limited = config.growth.rate_limited_increase;
        let limited = config.growth.limited_slow_start;
        let state = controller.state(Engine);
        let (trace_names, published) = (controller.trace_names(), controller.trace_values());
        CachedController {
            counts_marks: controller.counts_marks(),
            needs_rates: controller.needs_rates(),
            controller,
            state,
            max_flight: rate_limited.then_some(state.cwnd as u64),
            limited_slow_start: limited.map(|most| LimitedSlowStart::new(most, params.mss)),
            limits_growth: rate_limited || limited.is_some(),
            trace_names,
            published,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if self.limits_growth {
            self.on_ack_with_limits(ack);
        } else {
            self.controller.on_ack_and_refresh(ack, &mut self.state, Engine);
        }
    }

    #[cold]
    fn on_ack_with_limits(&mut self, ack: &Ack) {
        let before = self.state.cwnd;
        let mut ack = *ack;
        if let Some(limited) = &mut self.limited_slow_start
            && before < self.state.ssthresh as f64
        {
            ack.credit = limited.limit(ack.credit, before);
        }
        self.controller.on_ack_and_refresh(&ack, &mut self.state, Engine);
        if self.max_flight.is_some() {
            self.limit_growth(before);
        }
    }

    /// `in_flight` bytes are in flight. Called before the ACKs that lower it.
    pub(super) fn note_flight(&mut self, in_flight: u64) {
        if let Some(max_flight) = &mut self.max_flight {
            *max_flight = (*max_flight).max(in_flight);
        }
    }

    /// Caps cwnd after an ACK, before which it was `before`.
    fn limit_growth(&mut self, before: f64) {
        self.note_reduction(before);
        if let Some(max_flight) = self.max_flight.filter(|flight| *flight > 0) {
            self.controller.limit_growth(max_flight);
            self.state = self.controller.state(Engine);
        }
    }

    /// Rate-limited increase: a reduction of cwnd, for any reason, resets maxFS.
    fn note_reduction(&mut self, before: f64) {
        if self.state.cwnd < before {
            self.max_flight = self.max_flight.map(|_| 0);
        }
    }

    pub(super) fn on_congestion(&mut self, congestion: &Congestion) {
        self.controller.on_congestion(congestion);
        self.refresh();
    }

    /// Whether the controller is to get [`CachedController::on_marks`].
    pub(super) fn counts_marks(&self) -> bool {
        self.counts_marks
    }

    /// Whether the controller is to get what `conn::rates` reports.
    pub(super) fn needs_rates(&self) -> bool {
        self.needs_rates
    }

    /// Whether the controller looks at every ACK.
    pub(super) fn follows_acks(&self) -> bool {
        self.counts_marks | self.needs_rates
    }

    pub(super) fn on_start(&mut self, start: &Start) {
        self.controller.on_start(start);
        self.refresh();
    }

    pub(super) fn on_sent(&mut self, sent: &Sent) {
        self.controller.on_sent(sent);
        self.refresh_if_changed();
    }

    pub(super) fn on_lost(&mut self, lost: &Lost) {
        self.controller.on_lost(lost);
        self.refresh_if_changed();
    }

    pub(super) fn on_delivery(&mut self, delivery: &Delivery) {
        self.controller.on_delivery(delivery);
        self.refresh_if_changed();
    }

    pub(super) fn on_repair_end(&mut self, end: RepairEnd) {
        self.controller.on_repair_end(end);
        self.refresh_if_changed();
    }

    /// A controller's reaction to marks is [`CachedController::on_congestion`]; counting them changes no window.
    pub(super) fn on_marks(&mut self, marks: &Marks) {
        self.controller.on_marks(marks);
    }

    pub(super) fn on_idle_restart(&mut self, restart: u64) {
        self.controller.on_idle_restart(restart);
        self.refresh();
    }

    /// A copy of the controller to restore later; `None` if its reductions are final.
    pub(super) fn snapshot(&self) -> Option<Box<dyn Controller>> {
        self.controller.snapshot()
    }

    /// Undoes an unnecessary reduction: restores the controller `before` it, with the current
    /// MSS, unless the window has grown beyond that in the meantime.
    pub(super) fn go_back_to(&mut self, before: Box<dyn Controller>, mss: u32) {
        if before.cwnd() > self.state.cwnd {
            self.controller = before;
            self.controller.on_mss_change(mss);
            self.refresh();
        }
    }

    pub(super) fn on_mss_change(&mut self, mss: u32) {
        self.controller.on_mss_change(mss);
        self.refresh();
    }

    fn refresh(&mut self) {
        let before = self.state.cwnd;
        self.state = self.controller.state(Engine);
        self.note_reduction(before);
    }

    /// The same after a report that need not change the window: PRR's goes on meanwhile.
    fn refresh_if_changed(&mut self) {
        let before = self.state;
        self.refresh();
        if self.state.cwnd == before.cwnd {
            self.state.flight_limit = before.flight_limit;
        }
    }

    /// Sends by a window of `bytes` instead of cwnd, until [`CachedController::allow_cwnd`] or the
    /// next change of the controller's state.
    pub(super) fn allow(&mut self, bytes: u64) {
        self.state.flight_limit = bytes;
    }

    pub(super) fn allow_cwnd(&mut self) {
        self.state.flight_limit = self.controller.flight_limit();
    }

    pub(super) fn state(&self) -> ControllerState {
        self.state
    }

    /// cwnd in bytes, with its fraction.
    pub(super) fn cwnd(&self) -> f64 {
        self.state.cwnd
    }

    pub(super) fn cwnd_bytes(&self) -> u64 {
        self.state.flight_limit
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.state.ssthresh
    }

    /// The value that the controller publishes under a name, or its variable of that name.
    pub(super) fn trace_value(&self, name: &str) -> Option<f64> {
        match self.trace_names.iter().position(|published| *published == name) {
            Some(index) => self.controller.trace_values().get(index).copied(),
            None => self.controller.variable(name),
        }
    }

    /// Passes on the published values that have changed since the last call.
    #[inline(always)]
    pub(super) fn publish_changed(&mut self, publish: &mut impl FnMut(TraceValue)) {
        // Most controllers publish nothing.
        if !self.trace_names.is_empty() {
            let values = self.controller.trace_values();
            let known = core::mem::replace(&mut self.published, values);
            for (name, (known, value)) in self.trace_names.iter().zip(known.into_iter().zip(values))
            {
                if known != value {
                    publish(TraceValue { name, value });
                }
            }
        }
    }

    pub(super) fn ecn_codepoint(&self) -> Ecn {
        self.state.ecn_codepoint
    }

    /// Not cached: most connections do not pace.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        self.controller.pacing_rate()
    }

    /// Not cached: most connections do not pace.
    pub(super) fn send_quantum(&self) -> Option<u64> {
        self.controller.send_quantum()
    }

    /// Not cached: asked of controllers that need rates only.
    pub(super) fn limits_samples(&self) -> bool {
        self.controller.limits_samples()
    }

    /// Not cached: the engine needs it only at a loss.
    pub(super) fn reduces_by_itself(&self) -> bool {
        self.controller.reduces_by_itself()
    }

    /// Not cached: the engine needs it only at a loss.
    pub(super) fn fast_recovery(&self) -> FastRecovery {
        self.controller.fast_recovery()
    }
}
