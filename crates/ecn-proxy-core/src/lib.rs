//! The state machine of the ECN proxy.
//!
//! The proxy stands between a served host, which does not request ECN, and a far host, which may. The
//! far host sees a connection with ECN, and the served host one without. The state machine is C, in
//! `c/`, because the kernel runs it. This crate compiles the same text and wraps it in safe Rust for
//! the simulator, the tests and the fuzzer. It makes no system call.
//!
//! A [`Flow`] is the state of one connection. The caller describes each packet by a [`Packet`] and
//! receives an [`Edit`]. [`Outcome`] applies the edit. The build script publishes the folder of C
//! headers to dependents as `DEP_WINDLASS_ECN_PROXY_CORE_INCLUDE`.
//!
//! # Example
//!
//! The served host opens a connection without ECN. The proxy negotiates ECN with the far host and
//! marks the served host's data as ECT(0):
//!
//! ```
//! use windlass_ecn_proxy_core::{Flags, Flow, Options, Outcome, Packet, Phase, Policy, Side};
//!
//! const ECT0: u8 = 2;
//! let policy = Policy::default();
//! let mut flow = Flow::default();
//!
//! let options = Options::SACK_PERMITTED;
//! let syn = Packet { seq: 100, flags: Flags::SYN, options, ..Packet::default() };
//! let (keep, edit) = flow.handle_syn(&policy, &syn, Side::Host, false);
//! assert!(keep);
//! let forwarded = Outcome::new(&syn, &edit).forward[0];
//! assert_eq!(forwarded.flags, Flags::SYN | Flags::ECE | Flags::CWR);
//!
//! // The far host confirms ECN; the served host does not see that.
//! let flags = Flags::SYN | Flags::ACK | Flags::ECE;
//! let syn_ack = Packet { seq: 500, ack: 101, flags, options, window: 8000, ..Packet::default() };
//! let edit = flow.handle_packet(&policy, &syn_ack, Side::Far);
//! assert_eq!(Outcome::new(&syn_ack, &edit).forward[0].flags, Flags::SYN | Flags::ACK);
//! assert_eq!(flow.phase(), Phase::Proxied);
//!
//! let data = Packet {
//!     seq: 101,
//!     ack: 501,
//!     payload_bytes: 1000,
//!     segment_bytes: 1000,
//!     flags: Flags::ACK,
//!     ..Packet::default()
//! };
//! let edit = flow.handle_packet(&policy, &data, Side::Host);
//! assert_eq!(Outcome::new(&data, &edit).forward[0].codepoint, ECT0);
//!
//! // A router replaces ECT by CE on data of the far host: the proxy hides the mark and echoes it.
//! let marked = Packet { seq: 501, ack: 1101, codepoint: 3, ..data };
//! let edit = flow.handle_packet(&policy, &marked, Side::Far);
//! assert_eq!(Outcome::new(&marked, &edit).forward[0].codepoint, 0);
//! let ack = Packet { seq: 1101, ack: 1501, payload_bytes: 0, ..data };
//! let edit = flow.handle_packet(&policy, &ack, Side::Host);
//! assert!(Outcome::new(&ack, &edit).forward[0].flags.contains(Flags::ECE));
//! ```

mod data;
mod edited;
mod ffi;
mod flow;

pub use data::{
    Actions, Answer, BLOCKS_MAX, Block, Edit, Events, Flags, Options, Packet, Phase, Policy,
    Reason, Reply, SenderPolicy,
};
pub use edited::Outcome;
pub use flow::{Flow, Side};
