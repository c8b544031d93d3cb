//! Reports to controllers that model the path ([`Controller::needs_rates`](crate::cc::Controller::needs_rates)):
//! what is sent, delivered and lost, with the samples of `recovery::DeliveryRate`. Other connections have no such
//! state, and each function here returns at once.

use super::Connection;
use crate::cc::{Delivery, RepairEnd, Sent, Start};
use crate::recovery::{DeliveryRate, Phase};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use windlass_base::Time;

/// The state before an ACK.
#[derive(Copy, Clone)]
pub(super) struct RatesBefore {
    delivered: u64,
    lost: u64,
    in_flight: u64,
    rtt_samples: u64,
    is_window_limited: bool,
}

impl Connection {
    /// Begins to keep rates if the controller needs them, or ends it.
    pub(super) fn set_up_rates(&mut self) {
        let needs = self.congestion.needs_rates();
        self.recovery.rates = needs.then(|| Box::new(DeliveryRate::default()));
        self.recovery.rack.collect_losses(needs);
    }

    /// Data may be sent: the controller's beginning, if this is the first time.
    pub(super) fn report_start(&mut self, now: Time) {
        let Some(rates) = &mut self.recovery.rates else { return };
        if !core::mem::replace(&mut rates.has_started, true) {
            let has_sample = self.rtt.samples() > 0;
            let smoothed_rtt = Some(self.rtt.smoothed()).filter(|rtt| has_sample && !rtt.is_zero());
            let has_sack = self.agreed.sack;
            self.congestion.on_start(&Start { now, smoothed_rtt, has_sack });
        }
    }

    /// An ACK begins.
    pub(super) fn rates_before_ack(&mut self) -> Option<RatesBefore> {
        self.recovery.rates.as_ref()?;
        self.check_app_limit();
        let in_flight = self.pipe();
        let is_window_limited = self.is_cwnd_limited(self.in_flight());
        let rates = self.recovery.rates.as_ref()?;
        Some(RatesBefore {
            delivered: rates.delivered_total(),
            lost: rates.lost_total(),
            in_flight,
            rtt_samples: self.rtt.samples(),
            is_window_limited,
        })
    }

    /// An ACK ends.
    pub(super) fn report_delivery(&mut self, now: Time, before: RatesBefore) {
        let in_flight = self.pipe();
        let Some(rates) = &mut self.recovery.rates else { return };
        let (delivered_total, lost) = (rates.delivered_total(), rates.lost_total() - before.lost);
        let delivered = delivered_total - before.delivered;
        let sample = rates.sample();
        if delivered == 0 && lost == 0 {
            return;
        }
        let sampled = self.rtt.samples() > before.rtt_samples;
        self.congestion.on_delivery(&Delivery {
            now,
            delivered,
            lost,
            delivered_total,
            in_flight_before: before.in_flight,
            in_flight,
            rtt: sampled.then(|| self.rtt.last_sample()),
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min_rtt(),
            is_window_limited: before.is_window_limited,
            sample,
        });
        if self.congestion.limits_samples()
            && let Some(rates) = &mut self.recovery.rates
        {
            rates.note_limited(in_flight);
        }
    }

    /// Data has arrived.
    pub(super) fn note_rate_delivered(&mut self, now: Time, range: Range<u64>) {
        if let Some(rates) = &mut self.recovery.rates {
            rates.delivered(now, range);
        }
    }

    /// Data is about to be sent. Without RACK, data that is sent again counts as lost now.
    pub(super) fn report_sent(&mut self, now: Time, range: Range<u64>, is_retransmission: bool) {
        if self.recovery.rates.is_none() {
            return;
        }
        if is_retransmission && !self.has_rack() {
            self.report_lost(now, range.clone());
        }
        let in_flight = self.pipe();
        let Some(rates) = &mut self.recovery.rates else { return };
        let bytes = range.end - range.start;
        let is_app_limited = rates.is_limited();
        rates.sent(now, range, in_flight);
        self.congestion.on_sent(&Sent { now, bytes, in_flight, is_retransmission, is_app_limited });
    }

    /// The losses that RACK has found since the last call.
    pub(super) fn report_losses(&mut self, now: Time) {
        for range in self.recovery.rack.take_losses() {
            self.report_lost(now, range);
        }
    }

    /// All data that is in flight is lost, after a timeout.
    pub(super) fn report_all_lost(&mut self, now: Time) {
        if self.recovery.rates.is_some() {
            let all = self.tx.una..self.tx.max;
            let missing: Vec<_> = self.recovery.scoreboard.sacked().gaps(all).collect();
            missing.into_iter().for_each(|range| self.report_lost(now, range));
        }
    }

    fn report_lost(&mut self, now: Time, range: Range<u64>) {
        let Some(rates) = &mut self.recovery.rates else { return };
        let congestion = &mut self.congestion;
        rates.lost(now, range, &mut |lost| congestion.on_lost(&lost));
    }

    /// A repair of losses ends.
    pub(super) fn report_repair_end(&mut self, end: RepairEnd) {
        if self.recovery.rates.is_some() {
            self.congestion.on_repair_end(end);
        }
    }

    /// Notes where the application limits the sender (CheckIfApplicationLimited): nothing waits to be sent, not
    /// even a retransmission, and the window has room.
    pub(super) fn check_app_limit(&mut self) {
        if self.recovery.rates.is_none() || self.tx.has_unsent() {
            return;
        }
        let in_flight = self.pipe();
        let repairs = self.recovery.phase != Phase::Open && self.recovery.rack.lost_bytes() > 0;
        if in_flight < self.congestion.cwnd_bytes()
            && !repairs
            && let Some(rates) = &mut self.recovery.rates
        {
            rates.note_limited(in_flight);
        }
    }
}
