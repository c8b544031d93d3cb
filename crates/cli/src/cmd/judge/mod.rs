//! `windlass judge`.

pub(crate) mod args;
mod bcp;
mod built;
mod print;
mod run;
mod subject;
mod written;

pub(crate) use run::main;
