//! Congestion control: the trait that a controller implements, and the controllers.
//!
//! A controller owns cwnd and ssthresh. The engine reports acknowledgments ([`Ack`]) and congestion
//! ([`Congestion`]) to it. The engine itself decides what to retransmit and when, and inflates the
//! window during fast recovery. A controller does not log; it publishes values through its getters.
//!
//! A controller can live in any crate: implement [`Controller`] and [`ControllerFactory`], and set
//! [`Config::congestion`](crate::Config::congestion) to the factory. `examples/controller` is an
//! example. [`Window`] has the functions that controllers similar to Reno share.
//!
//! # Example
//!
//! A controller of the delivery rate: its window is twice the rate of the newest sample times the smallest RTT.
//! It does not react to losses, and is no controller for the Internet.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_tcp::cc::{
//!     Ack, Congestion, Controller, ControllerFactory, Delivery, Params, RateSample,
//! };
//! use windlass_tcp::{Profile, Span, Time};
//!
//! #[derive(Clone, Debug)]
//! struct TwoBdp;
//!
//! impl ControllerFactory for TwoBdp {
//!     fn name(&self) -> &'static str {
//!         "two-bdp"
//!     }
//!
//!     fn paces(&self) -> bool {
//!         true
//!     }
//!
//!     fn build(&self, params: &Params) -> Box<dyn Controller> {
//!         let (mss, cwnd) = (f64::from(params.mss), params.initial_window as f64);
//!         Box::new(TwoBdpController { mss, cwnd, bytes_per_s: None })
//!     }
//! }
//!
//! #[derive(Clone, Debug)]
//! struct TwoBdpController {
//!     mss: f64,
//!     cwnd: f64,
//!     bytes_per_s: Option<f64>,
//! }
//!
//! impl Controller for TwoBdpController {
//!     fn cwnd(&self) -> f64 {
//!         self.cwnd
//!     }
//!
//!     fn ssthresh(&self) -> u64 {
//!         u64::MAX
//!     }
//!
//!     // `None` spreads the window over the round trip.
//!     fn pacing_rate(&self) -> Option<u64> {
//!         self.bytes_per_s.map(|rate| rate as u64)
//!     }
//!
//!     fn on_ack(&mut self, _: &Ack) {}
//!
//!     fn on_congestion(&mut self, _: &Congestion) {}
//!
//!     fn on_idle_restart(&mut self, _: u64) {}
//!
//!     fn on_mss_change(&mut self, mss: u32) {
//!         self.mss = f64::from(mss);
//!         self.cwnd = self.cwnd.max(self.mss);
//!     }
//!
//!     // The engine keeps rates for controllers that say so.
//!     fn needs_rates(&self) -> bool {
//!         true
//!     }
//!
//!     fn on_delivery(&mut self, delivery: &Delivery) {
//!         let Some(sample) = delivery.sample.filter(|sample| !sample.is_app_limited) else { return };
//!         let Some(rate) = sample.bytes_per_s(delivery.min_rtt) else { return };
//!         let Some(min_rtt) = delivery.min_rtt else { return };
//!         self.bytes_per_s = Some(rate);
//!         self.cwnd = (2.0 * rate * min_rtt.as_secs_f64()).max(self.mss);
//!     }
//! }
//!
//! // By itself: 50 kB in 40 ms.
//! let mut controller = TwoBdp.build(&Params::new(1000));
//! let sample = RateSample::new(50_000, Span::from_millis(40));
//! controller.on_delivery(&Delivery::new(Time::ZERO, sample));
//! assert_eq!((controller.cwnd(), controller.pacing_rate()), (100_000.0, Some(1_250_000)));
//!
//! // In a connection.
//! let config = Profile::Linux.config(1460, Arc::new(TwoBdp));
//! assert_eq!(config.congestion.name(), "two-bdp");
//! ```

mod ack_trains;
mod bbr;
mod bbr3;
mod constant_increase;
mod cubic;
mod dctcp;
mod exit;
mod hystart;
mod limited_slow_start;
mod new_ecn;
mod new_reno;
mod none;
mod path_model;
mod prague;
mod rates;
mod reno;
mod state;
mod tahoe;
mod vegas;
mod window;

#[cfg(test)]
pub(crate) mod tests;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use constant_increase::ConstantIncrease;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use exit::HyStart;
pub(crate) use limited_slow_start::LimitedSlowStart;
pub use new_ecn::NewEcn;
pub use new_reno::NewReno;
pub use none::NoControl;
pub(crate) use none::UNLIMITED;
pub use prague::Prague;
pub use rates::{Delivery, Lost, RateSample, RepairEnd, Sent, Start};
pub use reno::Reno;
pub(crate) use state::{ControllerState, Engine};
pub use tahoe::Tahoe;
pub use vegas::Vegas;
pub use window::Window;

use crate::ecn_echo::EcnEcho;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use windlass_base::{Ecn, Span, Time};

/// A congestion controller of one connection.
pub trait Controller: fmt::Debug + Send {
    /// The congestion window in bytes, which may have a fraction. It is at least one segment, unless
    /// [`Controller::flight_limit`] makes room for one.
    fn cwnd(&self) -> f64;

    /// The most bytes in flight, at least one segment. The integer part of cwnd, unless the pacing rate limits the
    /// sender: then it leaves room above cwnd, so that cwnd may be less than a segment. Below a segment the engine
    /// sends single segments, at [`Controller::pacing_rate`] or in such intervals that the mean is cwnd per SRTT.
    fn flight_limit(&self) -> u64 {
        self.cwnd() as u64
    }

    /// The slow start threshold in bytes; `u64::MAX` before the first cut.
    fn ssthresh(&self) -> u64;

    /// New data was acknowledged. The engine does not call this for an ACK with an ECN echo, for
    /// one that only repairs losses, or (with cwnd validation) while the window does not limit the
    /// sender.
    fn on_ack(&mut self, ack: &Ack);

    /// Rate-limited increase is on
    /// ([`GrowthConfig::rate_limited_increase`](crate::config::GrowthConfig::rate_limited_increase)), and the largest
    /// flight since the last reduction had `max_flight` bytes: lowers the window to what the ACKs of such a flight give
    /// it ([`Window::limit_growth`]). Called after [`Controller::on_ack`].
    fn limit_growth(&mut self, _max_flight: u64) {}

    /// The network is congested. Called at most once per window of data for ECN and fast
    /// retransmit together, and at every timeout. A retransmission that is lost and an echo for data
    /// sent since the last call count as another window.
    fn on_congestion(&mut self, congestion: &Congestion);

    /// The connection was idle for longer than an RTO and starts again with at most `restart`
    /// bytes (RFC 5681 §4.1).
    fn on_idle_restart(&mut self, restart: u64);

    /// A full segment has `mss` payload bytes from now on, because the carrier measured another
    /// path MTU (RFC 8899). The window in bytes stays the same, but is at least one segment.
    fn on_mss_change(&mut self, mss: u32);

    /// The pacing rate in bytes per second, on connections that pace
    /// ([`SendConfig::pacing`](crate::config::SendConfig::pacing)). `None`: the window, spread over the
    /// round trip.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// The bytes that the pacer sends at once, at most, but at least one segment. `None`: a millisecond's data, at
    /// least two segments.
    fn send_quantum(&self) -> Option<u64> {
        None
    }

    /// The controller chooses the window during a repair by itself, in place of PRR (RFC 9937).
    fn reduces_by_itself(&self) -> bool {
        false
    }

    /// How lost segments are repaired where SACK was not negotiated.
    fn fast_recovery(&self) -> FastRecovery {
        FastRecovery::NewReno
    }

    /// The codepoint of data packets on a connection that negotiated ECN.
    fn ecn_codepoint(&self) -> Ecn {
        Ecn::Ect0
    }

    /// The names of the values that this controller publishes for traces, beside cwnd and
    /// ssthresh: at most [`TRACE_VALUES`], and the same for the controller's whole life.
    fn trace_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// The values in the order of [`trace_names`](Controller::trace_names), the rest 0. An observer
    /// receives each in [`TraceEvent::Controller`](crate::TraceEvent::Controller) when it changes.
    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        [0.0; TRACE_VALUES]
    }

    /// A variable of the controller by the name that its specification gives it, for tests; `None` for a name that
    /// it does not know. A condition is 1 or 0.
    fn variable(&self, _: &str) -> Option<f64> {
        None
    }

    /// Whether the engine is to call [`Controller::on_marks`]. Asked once, at the beginning; it costs each ACK
    /// some instructions.
    fn counts_marks(&self) -> bool {
        false
    }

    /// An ACK arrived, with an ECN echo or without. Called for every ACK that delivers data or reports marked bytes,
    /// before the engine reacts to its echo, if [`Controller::counts_marks`].
    fn on_marks(&mut self, _: &Marks) {}

    /// Whether the engine is to keep delivery rates, and to call [`Controller::on_start`], [`Controller::on_sent`],
    /// [`Controller::on_lost`], [`Controller::on_delivery`] and [`Controller::on_repair_end`]. Asked once, at the
    /// beginning. Others pay nothing for it.
    fn needs_rates(&self) -> bool {
        false
    }

    /// The handshake is over, or the controller takes over from another: data may be sent.
    fn on_start(&mut self, _: &Start) {}

    /// Data is about to be sent, for the first time or again.
    fn on_sent(&mut self, _: &Sent) {}

    /// Data is considered lost. Losses that an ACK shows come before its [`Controller::on_delivery`].
    fn on_lost(&mut self, _: &Lost) {}

    /// An ACK delivered data or showed a loss; called last of all that an ACK causes.
    fn on_delivery(&mut self, _: &Delivery) {}

    /// Whether the controller keeps the sender below the rate of the path by purpose. Rate samples of data in flight
    /// count as limited by the application then. Asked after [`Controller::on_delivery`].
    fn limits_samples(&self) -> bool {
        false
    }

    /// A repair of losses that [`Controller::on_congestion`] began is over.
    fn on_repair_end(&mut self, _: RepairEnd) {}

    /// A copy to restore if the next reduction turns out to have been unnecessary
    /// ([`RecoveryConfig::undo`](crate::config::RecoveryConfig::undo)). `None`: reductions of this controller are final.
    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        None
    }

    #[doc(hidden)]
    fn state(&self, _: Engine) -> ControllerState {
        ControllerState {
            cwnd: self.cwnd(),
            flight_limit: self.flight_limit(),
            ssthresh: self.ssthresh(),
            ecn_codepoint: self.ecn_codepoint(),
        }
    }

    /// Both in one dynamic call, because every ACK needs both.
    #[doc(hidden)]
    fn on_ack_and_refresh(&mut self, ack: &Ack, state: &mut ControllerState, engine: Engine) {
        self.on_ack(ack);
        *state = self.state(engine);
    }
}

/// The largest number of values that a controller publishes for traces.
pub const TRACE_VALUES: usize = 4;

/// A named value that a controller publishes for traces.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TraceValue {
    /// The name, the same for the controller's whole life.
    pub name: &'static str,
    /// The value, in the unit that the controller documents.
    pub value: f64,
}

/// Makes a controller for each connection.
pub trait ControllerFactory: fmt::Debug + Send + Sync {
    /// The controller's name in scenarios and socket options.
    fn name(&self) -> &'static str;

    /// Whether the controller is of little use without ECN marks: a carrier that knows that none can
    /// come warns its user.
    fn needs_marks(&self) -> bool {
        false
    }

    /// The echo that the controller needs of its receiver; `None` if any will do. Every controller takes
    /// [`EcnEcho::Accurate`] too.
    fn echo(&self) -> Option<EcnEcho> {
        None
    }

    /// Whether its connections pace, whatever their options say.
    fn paces(&self) -> bool {
        false
    }

    /// A new controller, for the beginning of a connection.
    fn build(&self, params: &Params) -> Box<dyn Controller>;
}

/// The options of a connection that its controller needs.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// Sender maximum segment size: payload bytes of a full segment.
    pub mss: u32,
    /// Initial window in bytes.
    pub initial_window: u64,
    /// Initial slow start threshold in bytes; `u64::MAX` for none.
    pub initial_ssthresh: u64,
    /// Reductions round to whole segments, before and after the multiplication, as in ns-2.
    pub whole_segment_cuts: bool,
    /// Congestion avoidance adds whole segments
    /// ([`GrowthConfig::whole_segments`](crate::config::GrowthConfig::whole_segments)).
    pub whole_segment_growth: bool,
    /// An ECN echo reduces less than a loss ([`EcnConfig::abe`](crate::config::EcnConfig::abe)).
    pub abe: bool,
    /// The smallest window after a fast retransmit or an ECN echo, in bytes.
    pub least_window: u64,
    /// The minimum RTT from which the connection paces its data; `None` if it never paces.
    pub paced_from: Option<Span>,
}

impl Params {
    /// Parameters for segments of `mss` payload bytes: an initial window of three segments, no
    /// initial threshold, a window of at least one segment, no pacing.
    pub fn new(mss: u32) -> Params {
        Params {
            mss,
            initial_window: 3 * u64::from(mss),
            initial_ssthresh: u64::MAX,
            whole_segment_cuts: false,
            whole_segment_growth: false,
            abe: false,
            least_window: u64::from(mss),
            paced_from: None,
        }
    }

    /// `window` bytes multiplied by `factor`, in whole segments if so configured.
    pub fn cut(&self, window: f64, factor: f64) -> f64 {
        if !self.whole_segment_cuts {
            return window * factor;
        }
        let mss = f64::from(self.mss);
        libm::floor(libm::floor(window / mss) * factor) * mss
    }

    /// `window` bytes less a `share` of them. In whole segments the share is rounded down, not the rest: a small
    /// share of a small window is nothing.
    pub(crate) fn cut_by(&self, window: f64, share: f64) -> f64 {
        if !self.whole_segment_cuts {
            return window * (1.0 - share);
        }
        let mss = f64::from(self.mss);
        let segments = libm::floor(window / mss);
        (segments - libm::floor(segments * share)) * mss
    }
}

/// An acknowledgment of new data.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes newly acknowledged.
    pub bytes_acked: u64,
    /// Bytes that count for window growth: one segment, or `bytes_acked` up to a limit, as
    /// [`Growth`](crate::config::Growth) says (RFC 3465).
    pub credit: u64,
    /// The RTT sample of this ACK, if it yielded one.
    pub rtt: Option<Span>,
    /// SRTT in whole ticks of the connection's clock; zero before the first sample.
    pub smoothed_rtt: Span,
    /// The smallest RTT seen on this connection.
    pub min_rtt: Option<Span>,
    /// Bytes in flight before this ACK.
    pub in_flight: u64,
    /// Bytes of the stream acknowledged so far, this ACK included.
    pub acked_total: u64,
    /// Bytes of the stream sent so far: once `acked_total` reaches it, a round trip has passed.
    pub sent_total: u64,
}

impl Ack {
    /// An ACK at `now` of `bytes` that were all in flight: the first of its connection, without an RTT
    /// sample. For tests of controllers.
    pub fn new(now: Time, bytes: u64) -> Ack {
        Ack {
            now,
            bytes_acked: bytes,
            credit: bytes,
            rtt: None,
            smoothed_rtt: Span::ZERO,
            min_rtt: None,
            in_flight: bytes,
            acked_total: bytes,
            sent_total: bytes,
        }
    }

    /// The same with an RTT sample that equals SRTT and the minimum.
    #[must_use]
    pub fn with_rtt(self, rtt: Span) -> Ack {
        Ack { rtt: Some(rtt), smoothed_rtt: rtt, min_rtt: Some(rtt), ..self }
    }
}

/// The data that an ACK reports as delivered, and how much of it was marked.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Marks {
    /// When the ACK arrived.
    pub now: Time,
    /// Bytes acknowledged or SACKed for the first time.
    pub delivered: u64,
    /// Bytes that count as marked. With AccECN (RFC 9768) those that the receiver newly reports as marked, also
    /// where they are no new data, so that they may be more than `delivered`. With other echoes all of `delivered`,
    /// if the ACK has an echo (RFC 8257 §3.3).
    pub marked: u64,
    /// `marked` is the receiver's count of CE bytes. If false, it follows from the echo or from a count of packets.
    pub exact: bool,
    /// Bytes of the stream acknowledged so far, by this ACK too.
    pub acked_total: u64,
    /// Bytes of the stream sent so far.
    pub sent_total: u64,
}

impl Marks {
    /// An ACK at `now` of `bytes`, marked or not, that were all in flight. For tests of controllers.
    pub fn new(now: Time, bytes: u64, marked: bool) -> Marks {
        let marked = if marked { bytes } else { 0 };
        let (delivered, acked_total, sent_total) = (bytes, bytes, bytes);
        Marks { now, delivered, marked, exact: false, acked_total, sent_total }
    }
}

/// A congestion signal.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Congestion {
    /// When the sender detected it.
    pub now: Time,
    /// The signal by which the sender detected it.
    pub cause: CongestionCause,
    /// The window that the reduction starts from, in bytes: the effective window or FlightSize, as
    /// [`ReductionBase`](crate::config::ReductionBase) says.
    pub window: f64,
    /// ssthresh stays the same: an ECN echo already reduced the window for the same flight, or the
    /// same segment timed out before (RFC 5681 §3.1).
    pub hold_ssthresh: bool,
    /// SRTT in whole ticks of the connection's clock.
    pub smoothed_rtt: Span,
}

impl Congestion {
    /// A signal at `now` with a window of `window` bytes that reduces ssthresh, without an RTT. For tests
    /// of controllers.
    pub fn new(now: Time, cause: CongestionCause, window: f64) -> Congestion {
        Congestion { now, cause, window, hold_ssthresh: false, smoothed_rtt: Span::ZERO }
    }
}

/// The signal by which the sender detected congestion.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CongestionCause {
    /// Three duplicate ACKs, or the loss detection of SACK (RFC 6675) or RACK (RFC 8985). With RACK
    /// also the loss of a retransmission (RFC 5681 §4.3).
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// An ACK carried an ECN echo.
    Ecn,
}

/// Repair of losses without SACK.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FastRecovery {
    /// Fast retransmit, then slow start from one segment (Tahoe).
    Tahoe,
    /// Window inflation until the first new ACK (RFC 2581 §3.2).
    Reno,
    /// Window inflation until all data sent before the loss is acknowledged (RFC 6582).
    NewReno,
}

/// Lists the controllers once, by their names.
macro_rules! controllers {
    ($($name:literal => $factory:expr,)+) => {
        /// The controllers that [`by_name`] knows.
        pub const NAMES: [&str; [$($name),+].len()] = [$($name),+];

        /// The factory of a controller with its default parameters, by its name; `None` for a name that
        /// is not in [`NAMES`].
        pub fn by_name(name: &str) -> Option<Arc<dyn ControllerFactory>> {
            let factory: Arc<dyn ControllerFactory> = match name {
                $($name => Arc::new($factory),)+
                _ => return None,
            };
            Some(factory)
        }
    };
}

controllers! {
    "tahoe" => Tahoe,
    "reno" => Reno,
    "newreno" => NewReno,
    "vegas" => Vegas::default(),
    "cubic" => Cubic::default(),
    "dctcp" => Dctcp::default(),
    "prague" => Prague::default(),
    "bbr" => Bbr,
    "bbr3" => Bbr3::default(),
    "new-ecn" => NewEcn::default(),
    "none" => NoControl,
}
