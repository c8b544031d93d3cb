//! `windlass link`.

pub(crate) mod args;
mod file;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod nested;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod ports;
#[cfg(target_os = "linux")]
mod print;
mod run;

pub(crate) use run::main;
