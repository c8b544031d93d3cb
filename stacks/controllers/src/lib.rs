//! The congestion controllers of other stacks, on Windlass's TCP engine.
//!
//! A QUIC stack's controller has the same task as one of TCP. [`QuinnControl`], [`NoqControl`] and [`S2nControl`] tell
//! it the engine's events as its own connections would: packets sent, acknowledged and lost, with their numbers and
//! times. The engine finds losses, repairs them and paces; the controller decides the window and the rate.
//!
//! - A retransmission timeout stands for persistent congestion (RFC 9002 section 7.6), which QUIC has in its place.
//! - quinn and noq have a pacer that the window drives. The engine paces in its place, in slow start at a higher rate.
//! - Bytes are payload, and a datagram is a segment.
//! - The engine tells how many bytes an ACK delivers, not which: the oldest ones in flight count as delivered.
//! - There is no restart after an idle time: QUIC's stacks pace instead (RFC 9002 section 7.8).

mod engine;
mod flight;
mod initial;
mod judged;
mod noq;
mod noq_rtt;
mod pacer;
mod quinn;
mod quinn_rtt;
mod s2n;

pub use judged::{OfStack, STACKS};
pub use noq::NoqControl;
pub use quinn::QuinnControl;
pub use s2n::S2nControl;
