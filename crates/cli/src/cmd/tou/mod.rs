//! `windlass tou`.

mod address;
pub(crate) mod args;
mod copy;
mod live;
pub(crate) mod nat;
mod perf;
mod pipe;
mod print;
mod settings;

use crate::failure::Failure;
use args::{Perf, Tou};

/// Does what the arguments say.
pub(crate) fn main(command: Tou) -> Result<(), Failure> {
    match command {
        Tou::Listen(args) => pipe::listen(&args),
        Tou::Connect(args) => pipe::connect(&args),
        Tou::Nat(args) => nat::main(&args),
        Tou::Perf(command) => match *command {
            Perf::Server(args) => perf::server(&args),
            Perf::Client(args) => perf::client(&args),
        },
    }
}
