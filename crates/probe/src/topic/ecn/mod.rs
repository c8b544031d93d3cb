//! ECN between the probe and a server: classic ECN (RFC 3168) and Accurate ECN, AccECN (RFC 9768).
//!
//! A SYN asks ([`Ask`]), the SYN-ACK answers ([`Answer`]). With AccECN both ends then count CE marks in
//! three bits of each header (the ACE field) and, if they want to, bytes in an option.

mod codepoint;
mod endpoint;
mod negotiation;
mod trial;
mod verdict;

pub use codepoint::Codepoints;
pub(crate) use endpoint::Endpoint;
pub use negotiation::{Answer, Ask, Mode, Negotiation};
pub use trial::{Echo, Feedback, Trial};
pub use verdict::Capability;
