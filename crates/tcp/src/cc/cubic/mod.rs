use super::exit::{Exit, HyStart};
use super::hystart::Pace;
use super::{Ack, Congestion, CongestionCause, Controller, ControllerFactory, Params, Window};
use alloc::boxed::Box;
use windlass_base::{Span, Time};

/// CUBIC (RFC 9438): after a cut the window follows a cubic function of time with its plateau at
/// the window of the last cut, and grows no slower than Reno's.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cubic {
    /// The steepness of the cubic, in segments per cubic second (§5). 0.4.
    pub c: f64,
    /// The part of the window that remains after a loss or an ECN echo (§4.6). 0.7.
    pub beta: f64,
    /// Leave capacity to newer flows after a cut below the last plateau (§4.7). True.
    pub fast_convergence: bool,
    /// How slow start ends before packets are lost. Off.
    pub hystart: HyStart,
    /// Grow as Linux does where that differs from RFC 9438. False.
    ///
    /// - cwnd grows by whole segments.
    /// - Until the first loss it grows by at least a twentieth per round trip.
    /// - Where Reno's window would be larger, cwnd grows by at most 0.53 segments per round trip,
    ///   also above the window of the last cut. §4.3 allows one segment there.
    /// - The target is the cubic's value after the minimum RTT, not after the smoothed RTT.
    /// - The growth step is computed at most once in 4 ms, and once in 32 ms for an unchanged cwnd.
    pub as_linux: bool,
}

impl Default for Cubic {
    fn default() -> Cubic {
        Cubic { c: 0.4, beta: 0.7, fast_convergence: true, hystart: HyStart::Off, as_linux: false }
    }
}

impl ControllerFactory for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(CubicController {
            constants: *self,
            window: Window::new(params),
            w_max: None,
            cwnd_prior: None,
            epoch: None,
            last_ack: Time::ZERO,
            exit: Exit::of(self.hystart, params.paced_from),
            acked: 0.0,
            step: None,
            round_growth: f64::from(params.mss),
        })
    }
}

#[derive(Clone, Debug)]
struct CubicController {
    constants: Cubic,
    window: Window,
    /// The plateau in bytes, after a cut; `None` before the first and after a timeout (§4.8).
    w_max: Option<f64>,
    /// cwnd in bytes before the last cut.
    cwnd_prior: Option<f64>,
    /// `None` until the next ACK in congestion avoidance.
    epoch: Option<Epoch>,
    last_ack: Time,
    /// The rule that ends slow start without a loss; `None` in congestion avoidance.
    exit: Option<Exit>,
    /// Bytes acknowledged since cwnd grew last, for growth as in Linux.
    acked: f64,
    /// The step that was computed last, for growth as in Linux.
    step: Option<Step>,
    /// Bytes by which a window of data lets cwnd grow, in congestion avoidance.
    round_growth: f64,
}

/// Bounds of the segments acknowledged for which cwnd grows by one segment, as in Linux: at least
/// 2, at most 20 until the first loss, and 100 windows where the target is not above cwnd.
const FASTEST_STEP: f64 = 2.0;
const STARTUP_STEP: f64 = 20.0;
const SLOWEST_WINDOWS: f64 = 100.0;

/// Linux computes the step once per tick (CONFIG_HZ is 250), for an unchanged cwnd once per
/// `SAME_WINDOW_TICKS`. On shorter paths cwnd grows by several steps of the same size.
const TICK: Span = Span::from_millis(4);
const SAME_WINDOW_TICKS: u64 = 8;

/// RFC 8511 §3.1: beta_ecn of CUBIC.
const BETA_ECN: f64 = 0.85;

/// How many bytes acknowledged make cwnd a segment larger.
#[derive(Copy, Clone, Debug)]
struct Step {
    bytes: f64,
    /// cwnd in bytes and the tick for which this was worked out.
    cwnd: f64,
    tick: u64,
}

/// A stage of congestion avoidance.
#[derive(Copy, Clone, Debug)]
struct Epoch {
    start: Time,
    /// W_max in bytes.
    plateau: f64,
    /// K: when the cubic reaches the plateau, in seconds from the start.
    k_s: f64,
    /// C in bytes per cubic second.
    c: f64,
    /// W_est, the window that Reno would have, in bytes (§4.3).
    w_est: f64,
}

impl Epoch {
    /// W_cubic in bytes (§4.2, figure 1).
    fn w_cubic(&self, t_s: f64) -> f64 {
        // RFC 9438 §4.2, figure 1: W_cubic(t) = C (t - K)³ + W_max.
        let from_plateau_s = t_s - self.k_s;
        self.c * from_plateau_s * from_plateau_s * from_plateau_s + self.plateau
    }

    /// Excludes `pause` from the cubic's time if the application limited the sender (§4.2, §5.8).
    /// More than two round trips between ACKs show that.
    fn without_pause(mut self, pause: Span, srtt: Span) -> Epoch {
        if pause > srtt * 2 {
            self.start += pause.saturating_sub(srtt);
        }
        self
    }
}

/// The step in bytes by which cwnd reaches `target` in one round trip; `None` if it is no growth.
fn step_towards(target: f64, cwnd: f64, mss: f64) -> Option<f64> {
    (target > cwnd).then(|| libm::floor(cwnd / (target - cwnd)) * mss)
}

impl CubicController {
    fn begin_epoch(&self, now: Time) -> Epoch {
        let cwnd = self.window.cwnd();
        let c = self.constants.c * self.window.mss();
        // K is 0 after slow start without a loss (§4.10) and after a timeout (§4.8).
        let plateau = self.w_max.unwrap_or(cwnd).max(cwnd);
        // RFC 9438 §4.2, figure 2: K is the cube root of (W_max - cwnd_epoch) / C.
        let k_s = libm::cbrt((plateau - cwnd) / c);
        // RFC 9438 §4.3: W_est begins at cwnd_epoch.
        Epoch { start: now, plateau, k_s, c, w_est: cwnd }
    }

    fn congestion_avoidance(&mut self, ack: &Ack, credit: f64) {
        let pause = ack.now.saturating_since(self.last_ack);
        let mut epoch = match self.epoch {
            Some(epoch) => epoch.without_pause(pause, ack.smoothed_rtt),
            None => self.begin_epoch(ack.now),
        };
        let cwnd = self.window.cwnd();
        let acked_share = (credit / cwnd).min(1.0);
        // RFC 9438 §4.3, figure 4: alpha_cubic segments for each window acknowledged.
        epoch.w_est += self.alpha(&epoch) * self.window.mss() * acked_share;

        let t_s = ack.now.saturating_since(epoch.start).as_secs_f64();
        if self.constants.as_linux {
            self.grow_as_linux(ack, &epoch, t_s, credit);
        } else if epoch.w_cubic(t_s) < epoch.w_est {
            // The Reno-friendly region (RFC 9438 §4.3).
            self.round_growth = epoch.w_est - cwnd + self.alpha(&epoch) * self.window.mss();
            self.window.grow_to(epoch.w_est);
        } else {
            // The concave and the convex region (RFC 9438 §4.4, §4.5): the cubic an RTT ahead.
            let ahead = epoch.w_cubic(t_s + ack.smoothed_rtt.as_secs_f64());
            // RFC 9438 §4.2: the target is at least cwnd and at most 1.5 cwnd.
            let target = ahead.max(cwnd).min(1.5 * cwnd);
            self.round_growth = target - cwnd;
            // RFC 9438 §4.4: (target - cwnd) / cwnd for each segment acknowledged.
            self.window.grow_by((target - cwnd) * acked_share);
        }
        self.epoch = Some(epoch);
    }

    /// Grows cwnd by one segment for each step of bytes acknowledged. The count starts with the
    /// last growth, so the first step towards a new target is immediate.
    fn grow_as_linux(&mut self, ack: &Ack, epoch: &Epoch, t_s: f64, credit: f64) {
        let mss = self.window.mss();
        let step = self.step_as_linux(ack, epoch, t_s);
        self.round_growth = mss * self.window.cwnd() / step;
        // As tcp_cong_avoid_ai() of Linux, where credit from before counts for the first step.
        if self.acked >= step {
            self.acked = 0.0;
            self.window.set_cwnd(self.window.cwnd() + mss);
        }
        self.acked += credit;
        let segments = libm::floor(self.acked / step);
        self.acked -= segments * step;
        self.window.set_cwnd(self.window.cwnd() + segments * mss);
    }

    /// The step in force, in bytes acknowledged.
    fn step_as_linux(&mut self, ack: &Ack, epoch: &Epoch, t_s: f64) -> f64 {
        let (cwnd, mss) = (self.window.cwnd(), self.window.mss());
        let tick = ack.now.as_nanos() / TICK.as_nanos();
        // A cwnd of whole segments is the same or is not.
        let cubic = match self.step {
            Some(step) if step.cwnd == cwnd && tick < step.tick + SAME_WINDOW_TICKS => {
                return step.bytes;
            }
            Some(step) if step.tick == tick => step,
            _ => {
                let ahead_s = t_s + ack.min_rtt.unwrap_or_default().as_secs_f64();
                // The distance from the plateau is whole segments.
                let distance = libm::trunc((epoch.w_cubic(ahead_s) - epoch.plateau) / mss) * mss;
                let most = if self.w_max.is_none() { STARTUP_STEP * mss } else { f64::INFINITY };
                let towards = step_towards(epoch.plateau + distance, cwnd, mss);
                let bytes = towards.unwrap_or(SLOWEST_WINDOWS * cwnd).min(most);
                Step { bytes, cwnd, tick }
            }
        };
        // Linux's friendliness to Reno: the step that keeps up with W_est.
        let reno = step_towards(libm::floor(epoch.w_est / mss) * mss, cwnd, mss);
        let bytes = cubic.bytes.min(reno.unwrap_or(f64::INFINITY)).max(FASTEST_STEP * mss);
        self.step = Some(Step { bytes, ..cubic });
        bytes
    }

    /// Bytes by which the ACK may grow cwnd in slow start.
    fn slow_start_credit(&mut self, ack: &Ack) -> u64 {
        match self.exit.as_mut().map(|exit| exit.on_ack(ack, &self.window)) {
            None | Some(Pace::Full) => ack.credit,
            Some(Pace::Quarter) => ack.credit / 4,
            Some(Pace::Over) => {
                if let Some(exit) = self.exit.take() {
                    self.window.set_cwnd(exit.leaves(&self.window));
                }
                // RFC 9406 §4.2: congestion avoidance begins at this window.
                self.window.set_ssthresh(self.window.cwnd());
                ack.credit
            }
        }
    }

    /// Growth of the Reno-friendly window in segments per round trip (§4.3): up to the window of
    /// the last cut, slower than Reno's to offset the smaller cut; above it, equal to Reno's.
    fn alpha(&self, epoch: &Epoch) -> f64 {
        let beta = self.constants.beta;
        // RFC 9438 §4.3: alpha_cubic = 3 (1 - beta) / (1 + beta), and 1 from cwnd_prior on.
        let slow = 3.0 * (1.0 - beta) / (1.0 + beta);
        match self.cwnd_prior {
            Some(prior) if epoch.w_est < prior => slow,
            _ if self.constants.as_linux => slow,
            _ => 1.0,
        }
    }

    /// Records W_max and cwnd before the cut (§4.6, §4.7).
    fn remember_window(&mut self) {
        let cwnd = self.window.cwnd();
        let shrinking = self.w_max.is_some_and(|w_max| cwnd < w_max);
        // RFC 9438 §4.7, fast convergence: W_max = cwnd (1 + beta) / 2 if cwnd is below W_max.
        let plateau = match self.constants.fast_convergence && shrinking {
            true => cwnd * (1.0 + self.constants.beta) / 2.0,
            false => cwnd,
        };
        let whole = || libm::floor(plateau / self.window.mss()) * self.window.mss();
        self.w_max = Some(if self.constants.as_linux { whole() } else { plateau });
        self.cwnd_prior = Some(cwnd);
    }
}

impl Controller for CubicController {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        let credit = self.slow_start_credit(ack);
        let rest = self.window.slow_start(credit);
        if rest > 0.0 {
            self.congestion_avoidance(ack, rest);
        }
        self.last_ack = ack.now;
    }

    fn limit_growth(&mut self, max_flight: u64) {
        let before = self.window.cwnd();
        self.window.limit_growth(max_flight, self.round_growth);
        let cwnd = self.window.cwnd();
        // W_est is Reno's window, which the limit would hold as well. The next ACK would jump to it.
        if let Some(epoch) = self.epoch.as_mut().filter(|_| cwnd < before) {
            epoch.w_est = epoch.w_est.min(cwnd);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.exit =
            Exit::after(congestion.cause, self.constants.hystart, self.window.params().paced_from);
        self.acked = 0.0;
        self.step = None;
        if !congestion.hold_ssthresh {
            self.remember_window();
        }
        // RFC 9438 §4.8: after a timeout K is 0, and the plateau is where the epoch begins.
        if congestion.cause == CongestionCause::Timeout {
            self.w_max = None;
        }
        // RFC 9438 §4.6, multiplicative decrease: ssthresh = beta * cwnd.
        let is_less = congestion.cause == CongestionCause::Ecn && self.window.params().abe;
        self.window.reduce(congestion, if is_less { BETA_ECN } else { self.constants.beta });
        self.epoch = None;
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
        self.step = None;
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
        self.epoch = None;
        self.step = None;
    }

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests;
