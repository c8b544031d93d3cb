//! Scripts in packetdrill's language, run against any TCP implementation.

pub mod call;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod linux;
pub mod packet;
pub mod script;
pub mod subject;

pub use call::{Call, Fd, Outcome, Return};
#[cfg(all(target_os = "linux", feature = "kernel"))]
pub use linux::Kernel;
pub use subject::{Host, Setup, Subject, Unsupported};
