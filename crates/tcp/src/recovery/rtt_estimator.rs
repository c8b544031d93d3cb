//! The retransmission timeout. ACKs give RTT samples (`conn::acknowledge`, `conn::handshake`,
//! `conn::rack`); `conn::timers` backs it off.

use crate::config::{Clock, RtoConfig, RtoFloor, RtoRule};
use windlass_base::{Span, Time};

/// SRTT, RTTVAR and RTO (RFC 6298), in whole ticks of the connection's clock.
///
/// The filters are those of RFC 6298 §2.3 in integer arithmetic: SRTT is kept in eighths and RTTVAR
/// in quarters of a tick. With a tick of 1 ns the rounding is negligible; with one of 10 ms the
/// values are those of BSD and ns-2.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct RttEstimator {
    /// The RTO with back-off and bounds, to which every ACK sets the timer.
    rto: Span,
    min_rtt: Option<Span>,
    /// SRTT in eighths of a tick; 0 before the first sample, and after a long back-off.
    srtt_eighths: u64,
    clock: Clock,
    samples: u64,
    /// RTTVAR in quarters of a tick.
    rttvar_quarters: u64,
    /// The factor of the back-off: 1, 2, 4, ... 64.
    backoff: u64,
    /// The RTO before back-off and bounds.
    estimate: Span,
    last_sample: Span,
    /// The last sample by the carrier's clock, not rounded to ticks.
    last_exact: Span,
    limits: RtoConfig,
    /// Segments sent earlier say nothing about the present path.
    since: Time,
}

/// The largest back-off, as in BSD. RFC 6298 §5.5 has no such limit, but `max` usually comes first.
const MAX_BACKOFF: u64 = 64;
/// Beyond this back-off the old SRTT says nothing about the path any more (RFC 6298 §5.7 note).
const FORGET_SRTT_BEYOND: u64 = 8;
/// Lee 2009, footnote 2: the RTO after a timeout is the larger of the doubled one and 64 s.
const LEAST_BACKED_OFF_LEE2009: Span = Span::from_secs(64);

impl RttEstimator {
    pub(crate) fn new(clock: Clock, limits: RtoConfig) -> RttEstimator {
        let mut estimator = RttEstimator {
            clock,
            limits,
            srtt_eighths: 0,
            rttvar_quarters: 0,
            backoff: 1,
            estimate: limits.initial,
            rto: Span::ZERO,
            last_sample: Span::ZERO,
            last_exact: Span::ZERO,
            min_rtt: None,
            samples: 0,
            since: Time::ZERO,
        };
        estimator.bound_rto();
        estimator
    }

    /// Takes an RTT sample: a segment sent once, at `sent`, was acknowledged at `now`.
    pub(crate) fn sample(&mut self, sent: Time, now: Time) {
        if sent < self.since {
            return;
        }
        let ticks = (self.ticks(now) - self.ticks(sent)).max(1);
        // RFC 6298 §2.2: SRTT = R, RTTVAR = R / 2.
        if self.srtt_eighths == 0 {
            self.srtt_eighths = ticks << 3;
            self.rttvar_quarters = ticks << 1;
        } else {
            // RFC 6298 §2.3: RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT = 7/8 SRTT + 1/8 R'.
            let error = ticks as i64 - (self.srtt_eighths >> 3) as i64;
            let gain = self.gain_eighths();
            self.srtt_eighths = self.srtt_eighths.saturating_add_signed(gain * error).max(1);
            let deviation = error.abs() - (self.rttvar_quarters >> 2) as i64;
            self.rttvar_quarters = self.rttvar_quarters.saturating_add_signed(deviation).max(1);
        }
        self.estimate = self.clock.tick * self.rto_ticks();
        self.bound_rto();
        self.last_sample = self.clock.tick * ticks;
        self.last_exact = now - sent;
        self.min_rtt = Some(self.min_rtt.map_or(self.last_sample, |min| min.min(self.last_sample)));
        self.samples += 1;
    }

    /// The weight of a sample in SRTT, in eighths (RFC 6298 §2.3).
    fn gain_eighths(&self) -> i64 {
        match self.limits.rule {
            RtoRule::Rfc6298 => 1,
            RtoRule::Lee2009 => 7,
        }
    }

    /// SRTT + 4 RTTVAR in ticks (RFC 6298 §2.3), or 2 SRTT.
    fn rto_ticks(&self) -> u64 {
        if self.limits.rule == RtoRule::Lee2009 {
            return self.srtt_eighths >> 2;
        }
        let floor = match self.limits.min_of {
            RtoFloor::Rto => 0,
            RtoFloor::Variance => self.limits.min.as_nanos() / self.clock.tick.as_nanos(),
        };
        // RFC 6298 §2.3: SRTT + 4 RTTVAR, from eighths and quarters.
        (8 * self.rttvar_quarters.max(floor) + self.srtt_eighths) >> 3
    }

    fn ticks(&self, now: Time) -> u64 {
        now.as_nanos().saturating_add(self.clock.phase.as_nanos()) / self.clock.tick.as_nanos()
    }

    /// The RTO with its back-off and bounds (RFC 6298 §2.4, §2.5, §5.5).
    pub(crate) fn rto(&self) -> Span {
        self.rto
    }

    fn bound_rto(&mut self) {
        // RFC 6298 §2.4, §2.5, §5.5: at most `max`, at least `min` before the back-off.
        let backed_off = (self.base_rto() * self.backoff).min(self.limits.max);
        let least = match self.limits.rule {
            RtoRule::Lee2009 if self.backoff > 1 => LEAST_BACKED_OFF_LEE2009,
            // A timer on a coarse clock may expire up to a tick early, so two ticks are the minimum.
            _ => self.clock.tick * 2,
        };
        self.rto = backed_off.max(least);
    }

    /// The RTO before back-off.
    pub(crate) fn base_rto(&self) -> Span {
        self.estimate.max(self.limits.min)
    }

    /// Doubles the RTO after the timer has expired (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self) {
        if self.backoff < MAX_BACKOFF {
            self.backoff *= 2;
            self.bound_rto();
        }
        // RFC 6298 §5.7: SRTT may be wrong after many timeouts; the next sample begins it anew.
        if self.backoff > FORGET_SRTT_BEYOND && self.srtt_eighths != 0 {
            self.rttvar_quarters += self.srtt_eighths >> 3;
            self.srtt_eighths = 0;
        }
    }

    /// Ends the back-off after a new sample, or after the peer acknowledged a probe.
    pub(crate) fn end_back_off(&mut self) {
        self.backoff = 1;
        self.bound_rto();
    }

    /// Begins anew on another path at `now` (as RFC 9000 §9.4 has it for QUIC).
    pub(crate) fn restart(&mut self, now: Time) {
        *self = RttEstimator { since: now, ..RttEstimator::new(self.clock, self.limits) };
    }

    /// Sets the RTO for the first data after a lost SYN to at least 3 s (RFC 6298 §5.7).
    pub(crate) fn restart_after_lost_syn(&mut self) {
        if self.samples == 0 {
            self.estimate = self.estimate.max(Span::from_secs(3));
        }
        self.end_back_off();
    }

    /// SRTT in whole ticks; zero before the first sample.
    pub(crate) fn smoothed(&self) -> Span {
        self.clock.tick * (self.srtt_eighths >> 3)
    }

    /// SRTT in eighths of a tick, by which an observer sees every change of SRTT.
    pub(crate) fn smoothed_raw(&self) -> u64 {
        self.srtt_eighths
    }

    /// RTTVAR in whole ticks; zero before the first sample.
    pub(crate) fn variance(&self) -> Span {
        self.clock.tick * (self.rttvar_quarters >> 2)
    }

    pub(crate) fn last_sample(&self) -> Span {
        self.last_sample
    }

    pub(crate) fn last_exact(&self) -> Span {
        self.last_exact
    }

    pub(crate) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt
    }

    /// The number of samples so far.
    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Clock = Clock { tick: Span::from_nanos(1), phase: Span::ZERO };
    const COARSE: Clock = Clock { tick: Span::from_millis(10), phase: Span::from_millis(3) };
    const LIMITS: RtoConfig = RtoConfig {
        initial: Span::from_secs(1),
        min: Span::ZERO,
        max: Span::from_secs(60),
        min_of: RtoFloor::Rto,
        rule: RtoRule::Rfc6298,
    };

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn rfc6298_first_and_second_sample() {
        let mut rtt = RttEstimator::new(FINE, LIMITS);
        assert_eq!(rtt.rto(), Span::from_secs(1));
        rtt.sample(ms(0), ms(100));
        assert_eq!(rtt.smoothed(), Span::from_millis(100));
        assert_eq!(rtt.rto(), Span::from_millis(300), "SRTT + 4 * R/2");
        rtt.sample(ms(200), ms(380));
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110.
        assert_eq!(rtt.smoothed(), Span::from_millis(110));
        assert_eq!(rtt.rto(), Span::from_millis(340));
    }

    /// Lee 2009, footnotes 1 and 2.
    #[test]
    fn lee2009_doubles_a_quick_mean_and_waits_a_minute_after_a_timeout() {
        let mut rtt = RttEstimator::new(FINE, RtoConfig { rule: RtoRule::Lee2009, ..LIMITS });
        rtt.sample(ms(0), ms(100));
        assert_eq!(rtt.rto(), Span::from_millis(200));
        rtt.sample(ms(200), ms(380));
        assert_eq!(rtt.smoothed(), Span::from_millis(170), "100 / 8 + 180 * 7 / 8");
        assert_eq!(rtt.rto(), Span::from_millis(340));
        rtt.back_off();
        assert_eq!(rtt.rto(), Span::from_secs(64));
        rtt.end_back_off();
        assert_eq!(rtt.rto(), Span::from_millis(340));
    }

    #[test]
    fn a_coarse_clock_counts_its_ticks() {
        let mut rtt = RttEstimator::new(COARSE, LIMITS);
        // The clock ticks at 7, 17, 27, ... ms.
        rtt.sample(ms(8), ms(16));
        assert_eq!(rtt.last_sample(), Span::from_millis(10), "at least one tick");
        rtt.sample(ms(6), ms(18));
        assert_eq!(rtt.last_sample(), Span::from_millis(20));
        rtt.sample(ms(8), ms(26));
        assert_eq!(rtt.last_sample(), Span::from_millis(10));
    }

    #[test]
    fn a_minimum_of_the_variance_stands_above_srtt() {
        let min = Span::from_millis(200);
        let limits = RtoConfig { min, min_of: RtoFloor::Variance, ..LIMITS };
        let mut rtt = RttEstimator::new(FINE, limits);
        for n in 0..100 {
            rtt.sample(ms(200 * n), ms(200 * n + 150));
        }
        assert_eq!(rtt.rto(), Span::from_millis(350));
        rtt.sample(ms(30_000), ms(31_000));
        assert!(rtt.rto() > Span::from_millis(1000), "{}", rtt.rto());
    }

    #[test]
    fn two_ticks_bound_the_rto_of_a_coarse_clock() {
        let limits = RtoConfig { initial: Span::from_millis(5), ..LIMITS };
        assert_eq!(RttEstimator::new(COARSE, limits).rto(), Span::from_millis(20));
    }

    #[test]
    fn back_off_doubles_to_the_maximum_and_ends() {
        let mut rtt = RttEstimator::new(FINE, LIMITS);
        rtt.sample(ms(0), ms(100));
        let before = rtt.rto();
        rtt.back_off();
        assert_eq!(rtt.rto(), before * 2);
        for _ in 0..10 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), before * 64);
        assert_eq!(rtt.smoothed(), Span::ZERO, "a path that long silent is another path");
        rtt.end_back_off();
        assert_eq!(rtt.rto(), before);
    }

    #[test]
    fn the_fourth_back_off_forgets_srtt_and_keeps_it_as_variance() {
        let mut rtt = RttEstimator::new(FINE, LIMITS);
        rtt.sample(ms(0), ms(100));
        for _ in 0..3 {
            rtt.back_off();
            assert_eq!(rtt.smoothed(), Span::from_millis(100));
        }
        rtt.back_off();
        assert_eq!(rtt.smoothed(), Span::ZERO);
        // RTTVAR was 50 ms, 200 quarters; SRTT is added to it once, in quarters.
        assert_eq!(rtt.rttvar_quarters, 300_000_000);
        rtt.back_off();
        assert_eq!(rtt.rttvar_quarters, 300_000_000);
        rtt.end_back_off();
        rtt.sample(ms(1000), ms(1040));
        assert_eq!(rtt.smoothed(), Span::from_millis(40), "the next sample is a first one");
    }
}
