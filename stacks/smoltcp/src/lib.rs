//! smoltcp in virtual time.
//!
//! [`Stack`] is a host with one interface, whose packets go in and come out as bytes. [`Judged`] is a sender for
//! `windlass_judge`, `Drilled` (feature `drill`) a host for the scripts of
//! `windlass_drill`, and `Smoltcp` (feature `sim`) an endpoint of the simulator.

mod device;
#[cfg(feature = "drill")]
mod drilled;
#[cfg(feature = "sim")]
mod endpoint;
mod judged;
mod stack;

#[cfg(feature = "drill")]
pub use drilled::Drilled;
#[cfg(feature = "sim")]
pub use endpoint::Smoltcp;
pub use judged::Judged;
pub use stack::{Control, Host, SocketOptions, Stack};
