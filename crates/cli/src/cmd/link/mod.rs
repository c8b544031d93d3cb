//! `windlass link`.
#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "the options are read, and the link says that it needs Linux")
)]

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
