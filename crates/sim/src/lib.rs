//! A packet-level network simulator: queues, links and hosts in virtual time. Its hosts run the TCP
//! of `windlass-tcp`, which also carries real traffic.
//!
//! [`run()`] is a pure function of a [`Scenario`] and a seed. `windlass-scenario` reads scenarios from
//! files. A [`Recorder`] receives the events of the run: time series ([`series`]), packet captures
//! ([`pcapng`]), or your own.
//!
//! # Example
//!
//! Two connections share a bottleneck for ten seconds:
//!
//! ```
//! use windlass_sim::run;
//!
//! let text = r#"
//!     schema = 1
//!     name = "two-flows"
//!     duration = "10s"
//!     flows = [{ from = "each", controller = "cubic" }]
//!     [dumbbell]
//!     access = [{ delay = "1ms", count = 2 }]
//!     bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "codel" }
//! "#;
//! let document = windlass_scenario::from_toml("two-flows.toml", text, &[])?;
//! let summary = run(&document.scenario, document.seed, &mut ())?;
//!
//! assert_eq!(summary.flows.len(), 2);
//! // 10 Mbit/s are 833 packets of 1,500 bytes per second.
//! let rate = summary.total_packets_per_s.whole_run;
//! assert!((700.0..834.0).contains(&rate), "{rate} packets/s");
//! assert!(summary.fairness_index.whole_run.is_some_and(|index| index > 0.8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aggregate;
mod apps;
mod build_error;
pub mod cycle_model;
mod decimal;
mod duplicate_acks;
mod ecn_proxy;
pub mod endpoint;
mod event;
pub mod external;
mod floor;
mod host;
mod middlebox;
pub mod model;
mod network;
pub mod observed;
pub mod packet;
pub mod parts;
pub mod pcapng;
mod placed;
mod random_stream;
mod record;
mod reported_queues;
mod run;
pub mod series;
pub mod simple_model;
pub mod summary;
mod transports;
mod warnings;

pub use aggregate::aggregate;
pub use build_error::BuildError;
pub use ecn_proxy::EcnProxy;
pub use floor::empty_event_loop;
pub use middlebox::{Middlebox, MiddleboxFactory};
pub use model::Scenario;
pub use record::{Divide, Owners, Recorder};
pub use run::{
    Simulation, run, run_in_parts, run_in_parts_unrecorded, run_recorded, run_unrecorded,
};
pub use summary::{Summary, fairness_index};
