//! `windlass tou`. `listen`, `connect` (`pipe`) and `perf` open a connection to an address. The commands
//! in `session` name the other host by its key and reach it through a rendezvous; their `pipe` joins
//! such a connection to standard input and output. `nat` and `rendezvous` serve them.

mod address;
pub(crate) mod args;
mod connection_args;
mod copy;
mod key_file;
pub(crate) mod nat;
mod perf;
mod pipe;
mod print;
pub(crate) mod rendezvous;
mod session;
mod settings;

use crate::failure::Failure;
use crate::stdout;
use args::Tou;
use perf::args::Perf;
use std::process::ExitCode;

/// Runs a subcommand of `windlass tou`; returns the exit status.
pub(crate) fn main(command: Tou) -> Result<ExitCode, Failure> {
    match command {
        Tou::Listen(args) => pipe::listen(&args),
        Tou::Connect(args) => pipe::connect(&args),
        Tou::Nat(args) => nat::main(&args),
        Tou::Rendezvous(args) => rendezvous::main(*args),
        Tou::Key(args) => session::key(&args),
        Tou::Expose(args) => session::expose(&args),
        Tou::Forward(args) => session::forward(&args),
        Tou::Pipe(args) => session::pipe_to(&args),
        Tou::Socks(args) => session::socks(&args),
        // The exit status is that of the command that it runs.
        Tou::Run(args) => {
            let status = session::run(&args)?;
            return settings::qlog_written().map(|()| status);
        }
        Tou::Status(args) => session::status(&args),
        Tou::Schema => stdout::line(&format!("{:#}", session::schema())),
        Tou::Perf(command) => match *command {
            Perf::Server(args) => perf::server(&args),
            Perf::Client(args) => perf::client(&args),
        },
    }
    // A connection does not end when its qlog file cannot be written: the command fails here instead.
    .and_then(|()| settings::qlog_written())
    .map(|()| ExitCode::SUCCESS)
}
