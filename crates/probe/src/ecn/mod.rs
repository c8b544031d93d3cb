//! ECN between the probe and a server: classic ECN (RFC 3168) and Accurate ECN, AccECN (RFC 9768).
//!
//! A SYN asks ([`Ask`]), the SYN-ACK answers ([`Answer`]). With AccECN both ends then count CE marks in
//! three bits of each header (the ACE field) and, if they want to, bytes in an option.

mod capability;
mod endpoint;
mod fields;
mod negotiation;
mod receiver;

pub use capability::{Capability, Echo};
pub(crate) use endpoint::Endpoint;
pub use endpoint::{Codepoints, Feedback, Trial};
pub use fields::{AccEcnOption, EcnFields};
pub use negotiation::{Answer, Ask, Mode, Negotiation};
pub use receiver::Receiver;

use serde::Serializer;
use windlass_base::Ecn;

/// The name of a codepoint in tables and JSON.
pub fn name(codepoint: Ecn) -> &'static str {
    match codepoint {
        Ecn::NotEct => "not-ect",
        Ecn::Ect0 => "ect-0",
        Ecn::Ect1 => "ect-1",
        Ecn::Ce => "ce",
    }
}

fn by_name<S: Serializer>(codepoint: &Ecn, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*codepoint))
}

fn by_name_if_any<S: Serializer>(codepoint: &Option<Ecn>, to: S) -> Result<S::Ok, S::Error> {
    match codepoint {
        Some(codepoint) => by_name(codepoint, to),
        None => to.serialize_none(),
    }
}
