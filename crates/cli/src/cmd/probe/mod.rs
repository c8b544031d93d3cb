//! `windlass probe`.

pub(crate) mod args;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod print;
#[cfg_attr(not(target_os = "linux"), path = "absent.rs")]
mod run;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod survey;

pub(crate) use run::main;
