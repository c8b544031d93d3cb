//! What every tool with BPF programs needs: the object in the binary as libbpf wants it, programs at
//! interfaces, the rights that it takes, and one message where the kernel says no.

pub mod capabilities;
mod error;
mod interface;
pub mod log;
mod object;
pub mod tc;

pub use error::Error;
pub use interface::{Changes, Interface};
pub use object::{Aligned, older, release};
