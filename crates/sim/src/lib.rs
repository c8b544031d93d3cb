//! The simulator: networks of queues, links and hosts in virtual time, with the TCP engine that
//! real carriers use on its hosts.
//!
//! [`run()`] is a pure function of a [`Scenario`] and a seed. What happens on the way can be listened
//! to through a [`Recorder`].

mod aggregate;
mod apps;
mod build_error;
mod decimal;
mod ecn_proxy;
mod event;
mod floor;
mod host;
mod middlebox;
mod network;
pub mod packet;
pub mod pcapng;
mod random_stream;
mod record;
mod reported_queues;
mod run;
pub mod scenario;
pub mod series;
pub mod simple_model;
pub mod summary;

pub use aggregate::aggregate;
pub use build_error::BuildError;
pub use ecn_proxy::EcnProxy;
pub use floor::empty_event_loop;
pub use middlebox::Middlebox;
pub use record::Recorder;
pub use run::{Simulation, run};
pub use scenario::model::Scenario;
pub use summary::{Summary, fairness_index};
