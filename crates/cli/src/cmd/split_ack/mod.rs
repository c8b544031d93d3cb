//! `windlass split-ack`.

pub(crate) mod args;
#[cfg(all(feature = "split-ack", target_os = "linux"))]
mod compare;
#[cfg(all(feature = "split-ack", target_os = "linux"))]
mod measured;
#[cfg(all(feature = "split-ack", target_os = "linux"))]
mod print;
#[cfg_attr(not(all(feature = "split-ack", target_os = "linux")), path = "absent.rs")]
mod run;

pub(crate) use run::main;
