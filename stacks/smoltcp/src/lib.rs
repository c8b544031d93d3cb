//! smoltcp in virtual time.
//!
//! [`Stack`] is a host with one interface, whose packets go in and come out as bytes. [`Judged`] is a sender for
//! `windlass_judge`.

mod device;
mod judged;
mod stack;

pub use judged::Judged;
pub use stack::{Control, Host, SocketOptions, Stack};
