//! Prague (draft-briscoe-iccrg-prague-congestion-control-04). Where the draft leaves a choice, it is that of its
//! authors' reference class, `PragueCC` of L4STeam/udp_prague.

mod classic_queue;
mod marked_share;
mod round_trips;
#[cfg(test)]
mod tests;
mod window;

use super::{
    Ack, Congestion, CongestionCause, Controller, ControllerFactory, Delivery, Lost, Marks, Params,
    RepairEnd, Sent, Start, TRACE_VALUES,
};
use crate::ecn_echo::EcnEcho;
use alloc::boxed::Box;
use classic_queue::ClassicQueue;
use marked_share::MarkedShare;
use round_trips::{Hold, RoundTrips};
use windlass_base::{Ecn, Time};
use window::PragueWindow;

/// Prague: DCTCP for the Internet. Its packets are ECT(1), for queues of low latency (RFC 9331); it paces, and below
/// an RTT of 25 ms it competes as if the RTT were 25 ms.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Prague {
    /// Reduces as much as CUBIC does at a mark, once RTTs show that the marks are those of a classic queue (RFC
    /// 3168), which other flows share. Default: off, as in Linux.
    pub classic_fallback: bool,
    /// Adds a millisecond's data per virtual RTT, in place of a segment, after some of them without a mark. The
    /// reference class does so, the draft and Linux do not. Default: off.
    pub fast_growth: bool,
}

impl Prague {
    /// The name of the estimated share of marked data, from 0 to 1. 0 before the first mark.
    pub const ALPHA: &'static str = "alpha";
    /// The name of the score of [`Prague::classic_fallback`]: from 0 for a queue of low latency to 17 for a classic
    /// one. From 8 on it has an influence, from 9 on the full one.
    pub const CLASSIC_SCORE: &'static str = "classic_score";
}

impl ControllerFactory for Prague {
    fn name(&self) -> &'static str {
        "prague"
    }

    fn needs_marks(&self) -> bool {
        true
    }

    fn echo(&self) -> Option<EcnEcho> {
        Some(EcnEcho::Accurate)
    }

    fn paces(&self) -> bool {
        true
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(PragueController::new(self, params))
    }
}

/// The reports of an ACK that come before [`Controller::on_delivery`].
#[derive(Copy, Clone, Debug, Default)]
struct News {
    delivered: u64,
    marked: u64,
    is_lost: bool,
}

#[derive(Clone, Debug)]
struct PragueController {
    window: PragueWindow,
    share: MarkedShare,
    round_trips: RoundTrips,
    /// After a reduction, until another one is due.
    hold: Option<Hold>,
    news: News,
    /// The time of the last report.
    now: Time,
    /// Bytes delivered on the connection.
    delivered: u64,
    /// Without SACK losses are reported one a round trip, and before any delivery.
    has_sack: bool,
    /// When a loss halved the window last.
    halved_at: Option<Time>,
    classic: Option<ClassicQueue>,
}

impl PragueController {
    fn new(prague: &Prague, params: &Params) -> PragueController {
        PragueController {
            window: PragueWindow::new(params, prague.fast_growth),
            share: MarkedShare::default(),
            round_trips: RoundTrips::default(),
            hold: None,
            news: News::default(),
            now: Time::ZERO,
            delivered: 0,
            has_sack: true,
            halved_at: None,
            classic: prague.classic_fallback.then(ClassicQueue::default),
        }
    }

    /// Ends a round of the estimates, once an RTT and a virtual RTT have passed.
    fn end_round(&mut self, delivery: &Delivery) {
        if self.window.is_in_slow_start() {
            // The rounds begin with the end of slow start.
            self.share.begin(delivery);
        } else if self.share.end_round(delivery, self.round_trips.virtual_rtt()) {
            self.window.note_round();
            if self.share.has_marks()
                && let (Some(classic), Some(min_rtt)) = (&mut self.classic, delivery.min_rtt)
            {
                classic.end_round(min_rtt);
            }
        }
    }

    /// The share of marked data to which the window reacts.
    fn alpha(&self) -> f64 {
        let floor = self.classic.as_ref().map_or(0.0, ClassicQueue::least_alpha);
        self.share.alpha().max(floor)
    }

    fn is_held_by_loss(&self) -> bool {
        self.hold.is_some_and(|hold| hold.is_for_loss)
    }

    /// Halves the window, at most once per RTT and virtual RTT.
    fn reduce_by_loss(&mut self) {
        if !self.is_held_by_loss() {
            self.window.halve(self.round_trips.virtual_rtt());
            self.hold = Some(Hold::new(self.now, self.delivered, true));
            self.halved_at = Some(self.now);
        }
    }

    /// Reduces by half of alpha, unless a reduction came within an RTT and virtual RTT.
    fn reduce_by_marks(&mut self) {
        if self.hold.is_none() {
            self.window.reduce(self.alpha());
            self.hold = Some(Hold::new(self.now, self.delivered, false));
        }
    }

    /// The end of a hold: data sent after the reduction is acknowledged, and a virtual RTT has passed.
    fn release(&mut self, delivery: &Delivery, for_loss: bool) {
        let virtual_rtt = self.round_trips.virtual_rtt();
        let stays =
            |hold: &Hold| hold.is_for_loss != for_loss || !hold.is_over(delivery, virtual_rtt);
        self.hold = self.hold.filter(stays);
    }

    fn take_rtt(&mut self, delivery: &Delivery) {
        let Some(rtt) = delivery.rtt else { return };
        self.round_trips.sample(rtt);
        if let Some(classic) = &mut self.classic {
            classic.sample(rtt, self.window.segments());
        }
    }
}

impl Controller for PragueController {
    fn cwnd(&self) -> f64 {
        self.window.bytes()
    }

    fn flight_limit(&self) -> u64 {
        self.window.flight_limit()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    /// The window grows in [`Controller::on_delivery`]: by data without a mark, in ACKs with an echo too.
    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.now = congestion.now;
        match congestion.cause {
            // The reactions are those of on_delivery, at most once per virtual RTT.
            CongestionCause::Ecn => {}
            CongestionCause::FastRetransmit => {
                self.news.is_lost = true;
                // The engine takes back its last reaction, which is not that of the loss before.
                self.window.forget_undo();
                // A duplicate ACK without SACK reports a loss and no delivery (RFC 5681 §3.2).
                if !self.has_sack && core::mem::take(&mut self.news.is_lost) {
                    self.reduce_by_loss();
                    if let Some(srtt) = self.round_trips.smoothed() {
                        self.window.end_update(srtt);
                    }
                }
            }
            CongestionCause::Timeout => {
                (self.news.is_lost, self.hold) = (false, None);
                self.window.restart(congestion.hold_ssthresh);
                if let Some(srtt) = self.round_trips.smoothed() {
                    self.window.end_update(srtt);
                }
            }
        }
    }

    /// Pacing replaces the restart after idle time, as for all controllers of Linux that pace by themselves.
    fn on_idle_restart(&mut self, _: u64) {}

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }

    fn pacing_rate(&self) -> Option<u64> {
        let half = self.round_trips.virtual_rtt() / 2;
        let is_late = self.now.saturating_since(self.share.begun()) >= half;
        self.window.pacing_rate(is_late)
    }

    fn send_quantum(&self) -> Option<u64> {
        self.window.send_quantum()
    }

    fn reduces_by_itself(&self) -> bool {
        true
    }

    fn ecn_codepoint(&self) -> Ecn {
        Ecn::Ect1
    }

    fn counts_marks(&self) -> bool {
        true
    }

    fn on_marks(&mut self, marks: &Marks) {
        self.news.delivered += marks.delivered;
        self.news.marked += marks.marked;
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn on_start(&mut self, start: &Start) {
        self.has_sack = start.has_sack;
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.now = sent.now;
    }

    /// Without SACK data sent before the last halving is of the same window, when its loss is found later than a round
    /// trip after the first one, too (RFC 6582 §3.2).
    fn on_lost(&mut self, lost: &Lost) {
        let is_of_another = self.halved_at.is_none_or(|halved| lost.sent >= halved);
        self.news.is_lost |= self.has_sack || is_of_another;
    }

    /// The steps of `PragueCC::ACKReceived`, in its order.
    fn on_delivery(&mut self, delivery: &Delivery) {
        (self.now, self.delivered) = (delivery.now, delivery.delivered_total);
        self.take_rtt(delivery);
        let news = core::mem::take(&mut self.news);
        let Some(srtt) = self.round_trips.smoothed() else { return };
        self.window.begin_update(srtt);
        self.share.take(news.delivered, news.marked);
        self.end_round(delivery);
        self.release(delivery, true);
        if news.is_lost {
            self.reduce_by_loss();
        }
        if !self.is_held_by_loss() && delivery.is_window_limited {
            // With AccECN, copies are marked as well.
            let unmarked = news.delivered.saturating_sub(news.marked);
            self.window.grow(unmarked, self.round_trips.share_of_virtual());
        }
        self.release(delivery, false);
        if news.marked > 0 {
            self.reduce_by_marks();
        }
        self.window.end_update(srtt);
    }

    fn on_repair_end(&mut self, end: RepairEnd) {
        if end == RepairEnd::Needless {
            self.window.undo();
            self.hold = None;
        }
    }

    fn trace_names(&self) -> &'static [&'static str] {
        match self.classic {
            Some(_) => &[Prague::ALPHA, Prague::CLASSIC_SCORE],
            None => &[Prague::ALPHA],
        }
    }

    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        let mut values = [0.0; TRACE_VALUES];
        values[0] = self.share.alpha();
        values[1] = self.classic.as_ref().map_or(0.0, ClassicQueue::score);
        values
    }
}
