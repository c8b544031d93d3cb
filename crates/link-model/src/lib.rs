//! The variation of one direction of a link over time: schedules of rate and delay, packet-delivery
//! traces, token buckets, aggregation, outages, jitter of Wi-Fi, and losses in bursts.
//!
//! The simulator and `windlass link` share these models. Nothing here reads a clock or does I/O: times
//! and random numbers are arguments, so the same packets at the same times always fare the same.
//!
//! A packet meets the parts in this order. [`Variation`] has the settings of all of them.
//!
//! 1. [`Policer`]: drops what exceeds its rate, before the queue.
//! 2. [`Transmitter`]: serializes one packet after the other, at a [fixed or varying
//!    rate](RateOverTime), held back by the shaper and by outages.
//! 3. [`Outages`]: may lose packets that end their transmission during an outage.
//! 4. [`BurstLoss`]: loses packets.
//! 5. [`Steps`]: the propagation delay over time, such as that of an [`Orbit`].
//! 6. [`WifiJitter`]: an additional delay of each packet.
//! 7. [`Aggregator`]: collects packets and releases them together.
//!
//! # Example
//!
//! A trace with two opportunities a millisecond carries a packet of 1500 bytes at each.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_base::Time;
//! use windlass_link_model::{DeliveryTrace, RateOverTime, Transmitter, Variation};
//!
//! let trace = DeliveryTrace::parse("1\n1\n3\n")?;
//! let rate = Some(RateOverTime::Trace(Arc::new(trace)));
//! let mut transmitter = Transmitter::new(None, &Variation { rate, ..Variation::default() });
//! let ends = [(); 4].map(|()| transmitter.transmit(Time::ZERO, 1500).end.as_nanos() / 1_000_000);
//! assert_eq!(ends, [1, 1, 3, 4], "the trace begins again after its last opportunity");
//! # Ok::<(), windlass_link_model::TraceError>(())
//! ```

mod aggregation;
mod error;
mod gilbert_elliott;
mod orbit;
mod outage;
mod steps;
mod token_bucket;
mod trace;
mod transmitter;
mod variation;
mod wifi_jitter;

pub use aggregation::{Aggregation, Aggregator};
pub use error::ConfigError;
pub use gilbert_elliott::{BurstLoss, GilbertElliott};
pub use orbit::Orbit;
pub use outage::{Outage, Outages};
pub use steps::Steps;
pub use token_bucket::{Policer, TokenBucket};
pub use trace::{DeliveryTrace, OPPORTUNITY_BYTES, TraceError};
pub use transmitter::{Transmission, Transmitter};
pub use variation::{RateOverTime, Variation};
pub use wifi_jitter::WifiJitter;
