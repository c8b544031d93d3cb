//! `windlass ecn-proxy`.

pub(crate) mod args;
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
mod check;
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
mod hosts;
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
mod live;
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
mod print;
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
mod queues;
#[cfg_attr(not(all(feature = "ecn-proxy", target_os = "linux")), path = "absent.rs")]
mod run;
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
mod settings;

pub(crate) use run::main;
