//! `windlass tou`.

pub(crate) mod address;
mod copy;
mod live;
mod perf;
mod pipe;
pub(crate) mod settings;
mod tell;

pub(crate) use perf::STREAMS_MAX;

use crate::args::{Perf, Tou};
use crate::failure::Failure;

/// Does what the arguments say.
pub(crate) fn main(command: Tou) -> Result<(), Failure> {
    match command {
        Tou::Listen(args) => pipe::listen(&args),
        Tou::Connect(args) => pipe::connect(&args),
        Tou::Perf(command) => match *command {
            Perf::Server(args) => perf::server(&args),
            Perf::Client(args) => perf::client(&args),
        },
    }
}
