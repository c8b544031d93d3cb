//! `windlass tou perf`.

pub(crate) mod args;
mod client;
mod live;
mod print;
mod server;
mod trace;

use crate::failure::Failure;
pub(crate) use client::main as client;
pub(crate) use server::main as server;

impl From<windlass_tou_perf::Error> for Failure {
    fn from(error: windlass_tou_perf::Error) -> Failure {
        Failure::Work(error.to_string())
    }
}
