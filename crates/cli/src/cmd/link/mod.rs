//! `windlass link`.

pub(crate) mod args;
mod file;
#[cfg(target_os = "linux")]
mod nested;
#[cfg(target_os = "linux")]
mod ports;
#[cfg(target_os = "linux")]
mod print;
mod run;

pub(crate) use run::main;
