//! Queue disciplines, as links and routers have them. [`Discipline`] lists them, with RED, CoDel,
//! FQ-CoDel, PIE and DualPI2 among them.
//!
//! The crate does no I/O. Time and randomness are arguments, so one discipline serves a simulated
//! link and a real one.
//!
//! # Example
//!
//! A RED queue whose average follows every arrival (weight 1) and which marks every packet that
//! finds the queue above the upper threshold:
//!
//! ```
//! use windlass_aqm::{AboveMax, DropReason, Packet, Queue, Red, RedConfig};
//! use windlass_base::{Ecn, Rng, Time};
//!
//! #[derive(Debug)]
//! struct Datagram {
//!     ecn: Ecn,
//! }
//!
//! impl Packet for Datagram {
//!     fn wire_bytes(&self) -> u32 {
//!         1_500
//!     }
//!     fn ecn(&self) -> Ecn {
//!         self.ecn
//!     }
//!     fn set_ecn(&mut self, ecn: Ecn) {
//!         self.ecn = ecn;
//!     }
//!     fn flow_hash(&self) -> u64 {
//!         0
//!     }
//! }
//!
//! let config = RedConfig {
//!     weight: Some(1.0),
//!     min: 2.0,
//!     max: Some(4.0),
//!     gentle: false,
//!     above_max: AboveMax::MarkEct,
//!     ..RedConfig::default()
//! };
//! let mut red = Red::new(config, None)?;
//! let mut rng = Rng::new(1);
//! let mut drops = Vec::new();
//! for n in 0..10 {
//!     // The last packet is not ECN-capable.
//!     let ecn = if n < 9 { Ecn::Ect0 } else { Ecn::NotEct };
//!     red.enqueue(Time::ZERO, Datagram { ecn }, &mut rng, &mut |_, reason| drops.push(reason));
//! }
//! assert_eq!(red.len_packets(), 9);
//! assert!(red.stats().marked >= 5);
//! assert_eq!(drops, [DropReason::AboveMax]);
//!
//! let first = red.dequeue(Time::ZERO, &mut rng, &mut |_, _| {}).expect("a packet waits");
//! assert_eq!(first.ecn(), Ecn::Ect0);
//! assert_eq!(red.stats().dequeued, 1);
//! # Ok::<(), windlass_aqm::ConfigError>(())
//! ```
//!
//! # How a link uses a queue
//!
//! * A packet arrives: [`Queue::enqueue`]. If the link is free, [`Queue::dequeue`] follows at once,
//!   so the packet on the link never counts as queued.
//! * The link has finished a packet: [`Queue::dequeue`]. `None` makes the link idle; RED's idle time
//!   begins then. A link calls it exactly once when it falls idle.
//! * Points in time never decrease from call to call.
//! * No discipline needs a timer. At each call a discipline first catches up with the periodic steps
//!   of its specification (Adaptive RED's every half second, PIE's every 15 ms).
//!
//! # A discipline of your own
//!
//! Implement [`Queue`] in another crate, with [`Fifo`] for the waiting packets and [`Stats`] for the
//! counters, and [`QueueFactory`] for its settings. [`Config::custom`] makes it available to links.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[macro_use]
mod accessors;

mod disciplines;
mod error;
mod fifo;
mod limit;
mod packet;
mod queue;
mod stamped;
mod stats;

pub use disciplines::*;
pub use error::ConfigError;
pub use fifo::{EarlyAction, Fifo};
pub use limit::Limit;
pub use packet::Packet;
pub use queue::Queue;
pub use stats::{DropReason, Stats};
