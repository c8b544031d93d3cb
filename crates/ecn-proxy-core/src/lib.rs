//! The ECN proxy's state machine.
//!
//! The machine is C, in `c/`, because the kernel runs it; this crate compiles the same text and
//! gives it a Rust face, for the simulator, the tests and the fuzzer. It makes no system call.
//!
//! A [`Flow`] is what the proxy remembers of a connection between a served host, which never asks
//! for ECN, and a far host. Each packet of it is described by a [`Packet`] and answered by an
//! [`Edit`]. `docs/internals/ecn-proxy.md` says what the machine does and why.

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
