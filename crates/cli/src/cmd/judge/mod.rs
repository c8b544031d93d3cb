//! `windlass judge`.

pub(crate) mod args;
mod bcp;
mod built;
#[cfg_attr(not(all(feature = "kernel", target_os = "linux")), path = "no_kernel.rs")]
mod kernel;
mod print;
mod run;
mod subject;
mod written;

pub(crate) use run::main;
