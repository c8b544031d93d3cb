//! Shared parts of the tools with BPF programs: packed objects in the binary, programs at
//! interfaces, checks of capabilities, and errors that contain libbpf's log.

pub mod capabilities;
mod error;
mod interface;
pub mod log;
mod object;
pub mod tc;

pub use error::Error;
pub use interface::{Changes, Interface};
pub use object::{Packed, load, older, release};
