//! smoltcp in virtual time.
//!
//! [`Stack`] is a host with one interface, whose packets go in and come out as bytes. [`Judged`] is a sender for
//! `windlass_judge`, [`Drilled`] a host for the scripts of `windlass_drill`.

mod device;
mod drilled;
mod judged;
mod stack;

pub use drilled::Drilled;
pub use judged::Judged;
pub use stack::{Control, Host, SocketOptions, Stack};
