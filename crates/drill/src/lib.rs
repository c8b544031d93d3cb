//! Scripts in packetdrill's language, run against any TCP implementation.

pub mod call;
pub mod engine;
pub mod packet;
pub mod script;
pub mod subject;

pub use call::{Call, Fd, Outcome, Return};
pub use subject::{Host, Setup, Subject, Unsupported};
