//! Judges TCP senders by the clauses of RFCs and drafts.
//!
//! A [`Case`] is a path, an application and a short program. Its [`Bed`] connects the sender of a [`Subject`] with a
//! receiver over one bottleneck, in virtual time. The program looks at the packets on the wire, and at the sender's
//! variables where it shows them, and returns what the clause demands and the sender does not do.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_judge::{Engine, Outcome, suites};
//! use windlass_tcp::cc::Bbr3;
//!
//! let suite = suites::by_name("bbr").expect("a suite");
//! let judgement = suite.cases[0].judge(&Engine::new(Arc::new(Bbr3::default())));
//! assert_eq!(judgement.outcome, Outcome::Passed);
//! ```

mod bed;
mod case;
mod engine;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod linux;
pub mod packets;
pub mod report;
mod subject;
pub mod suites;
mod verdict;

pub use bed::{Bed, Check, Event, EventKind, Fate, PACKET, PAYLOAD, Path, Traffic, Wire};
pub use case::{Case, Clause, Concerns, Fault, Judgement, Level, Outcome, Verdict};
pub use engine::Engine;
#[cfg(all(target_os = "linux", feature = "kernel"))]
pub use linux::Kernel;
pub use packets::capture;
pub use subject::{Ecn, Packet, Repair, Sender, Setup, Subject};
