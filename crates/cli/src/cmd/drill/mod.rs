//! `windlass drill`.

pub(crate) mod args;
#[cfg_attr(not(all(feature = "kernel", target_os = "linux")), path = "no_kernel.rs")]
mod kernel;
mod print;
mod run;
mod scripts;
mod stacks;
mod written;

pub(crate) use run::main;
