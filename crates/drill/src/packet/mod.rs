//! Packets with everything that scripts describe, and their bytes.

pub mod flags;
pub mod icmp;
mod option;

pub use option::TcpOption;
