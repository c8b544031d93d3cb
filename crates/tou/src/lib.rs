//! TCP over UDP.
pub mod wire;
