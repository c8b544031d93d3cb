//! `windlass tou perf`.

mod client;
mod cpu;
mod figures;
mod message;
mod report;
mod server;
mod trace;
mod transfer;

pub(crate) use client::main as client;
pub(crate) use message::STREAMS_MAX;
pub(crate) use server::main as server;
