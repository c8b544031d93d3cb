//! Runs an unmodified command and hands every TCP connection that it makes to a [`Dialer`], and every
//! DNS query to a [`Resolver`].

mod dns;
#[cfg(unix)]
mod far;
mod icmp;
#[cfg(target_os = "linux")]
mod linux;
mod packet;
pub mod stack;

#[cfg(unix)]
pub use far::{Dialer, FarEnd, Reply, Resolver};
#[cfg(target_os = "linux")]
pub use linux::{Capture, Counters, DirectDialer, HostResolver, Outcome, Signals, ask, child_main};
