//! The command `windlass-stacks-real`: quinn and noq on real sockets, with tokio, as programs use them. A sender
//! writes for some seconds; the receiver prints its goodput as JSON.

mod meter;
mod noq_link;
mod quinn_link;

use clap::{Parser, Subcommand, ValueEnum};
use meter::Window;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

/// An error of any of the libraries.
type Failure = Box<dyn std::error::Error>;

#[derive(Debug, Parser)]
#[command(about = "quinn and noq on real sockets: a bulk sender and a receiver")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Take one connection, and print the goodput of its stream.
    Receive {
        /// The address to listen at.
        address: SocketAddr,
        #[command(flatten)]
        choice: Choice,
    },
    /// Connect, and write for some seconds.
    Send {
        /// The receiver's address.
        address: SocketAddr,
        #[command(flatten)]
        choice: Choice,
    },
}

#[derive(Clone, Debug, clap::Args)]
struct Choice {
    /// The transport.
    #[arg(long, value_enum)]
    stack: Stack,
    /// The congestion controller, by its name in scenario files.
    #[arg(long)]
    controller: String,
    /// How long the sender writes.
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// Where the steady window begins, after the beginning of the connection.
    #[arg(long, default_value_t = 5.0)]
    steady_from: f64,
}

#[derive(Copy, Clone, Debug, ValueEnum)]
enum Stack {
    Quinn,
    Noq,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("windlass-stacks-real: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One thread: each end is a program of its own.
fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match &args.command {
        Command::Receive { address, choice } => {
            let window = Window::new(choice.steady_from, choice.seconds);
            let measured = match choice.stack {
                Stack::Quinn => runtime.block_on(quinn_link::receive(*address, choice, window))?,
                Stack::Noq => runtime.block_on(noq_link::receive(*address, choice, window))?,
            };
            println!("{measured}");
        }
        Command::Send { address, choice } => {
            let time = Duration::from_secs_f64(choice.seconds);
            match choice.stack {
                Stack::Quinn => runtime.block_on(quinn_link::send(*address, choice, time))?,
                Stack::Noq => runtime.block_on(noq_link::send(*address, choice, time))?,
            }
        }
    }
    Ok(())
}
