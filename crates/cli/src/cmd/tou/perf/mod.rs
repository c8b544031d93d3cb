//! `windlass tou perf`.

mod client;
mod cpu;
mod figures;
mod live;
mod message;
mod print;
mod server;
mod trace;
mod transfer;

pub(crate) use client::main as client;
pub(super) use message::STREAMS_MAX;
pub(crate) use server::main as server;
