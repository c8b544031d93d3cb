//! The sender's state for the detection and repair of losses: duplicate ACKs, the SACK scoreboard,
//! RACK, the RTO.

mod delivery_rate;
mod fast_recovery;
mod rack;
mod reduction;
mod rtt_estimator;
mod scoreboard;
mod timing;
mod undo;

pub(crate) use delivery_rate::DeliveryRate;
pub(crate) use fast_recovery::{Phase, Recovery, TailProbe};
pub(crate) use rack::{Delivered, Judge, Rack};
pub(crate) use reduction::{Progress, Reduction};
pub(crate) use rtt_estimator::RttEstimator;
pub(crate) use scoreboard::{DUP_THRESH, NextSegment};
pub(crate) use timing::{Flight, Timed, Timing};
pub(crate) use undo::{BeforeCut, Frto, LostFlight, Undo};
