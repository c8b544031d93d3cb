//! TCP over UDP: a byte stream with TCP's reliability and congestion control between hosts that
//! have only UDP between them (papers/004). The format on the wire is docs/tou-protocol.md.

pub mod endpoint;
pub mod wire;

pub use endpoint::Endpoint;
