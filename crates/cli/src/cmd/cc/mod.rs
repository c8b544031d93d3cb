//! `windlass cc`.

pub(crate) mod args;
#[cfg(all(feature = "kernel-cc", target_os = "linux"))]
mod live;
#[cfg(all(feature = "kernel-cc", target_os = "linux"))]
mod print;
#[cfg_attr(not(all(feature = "kernel-cc", target_os = "linux")), path = "absent.rs")]
mod run;

pub(crate) use run::main;
