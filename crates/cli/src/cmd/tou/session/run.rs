//! `windlass tou run`: a command whose connections leave from a peer.

use super::args::TouRun;
use super::setup::Setup;
use crate::failure::Failure;
use std::process::ExitCode;
use std::sync::Arc;
use windlass_capture::{Capture, Signals};
use windlass_forward::{FarDialer, FarResolver};
use windlass_tou::session::Allow;

/// Runs the command to its end. The exit status is the command's.
pub(crate) fn run(args: &TouRun) -> Result<ExitCode, Failure> {
    // Before the first thread, so that each of them leaves the signals to the capture.
    let signals = Signals::block().map_err(|error| Failure::io("signals", &error))?;
    let setup = Setup::quiet(&args.session)?;
    let peer = setup.peer(&args.to)?;
    let running = setup.running("run", Allow::NoHost)?;
    let command = args.command.join(" ");
    let serves = vec![format!("{command} by {}", args.to)];
    let status = running.serve_status(serves.clone());
    // Standard output is the command's.
    running.start_line(&serves).into_iter().for_each(|line| eprintln!("{line}"));
    let ran = running.runtime.block_on(running.session(peer)).and_then(|_| {
        let runtime = running.runtime.handle().clone();
        let mut dialer = FarDialer::new(runtime.clone(), running.carrier(), peer);
        let mut resolver = FarResolver::new(runtime, Arc::clone(&running.peers) as _, peer);
        let capture = Capture::new(&args.command).tool("windlass tou run");
        let outcome = capture.run(&signals, &mut dialer, &mut resolver);
        outcome.map_err(|error| Failure::Work(error.to_string()))
    });
    running.end_line().into_iter().for_each(|line| eprintln!("{line}"));
    drop(status);
    running.close();
    let outcome = ran?;
    if outcome.undelivered > 0 {
        let count = outcome.undelivered;
        tracing::warn!("the last bytes of {count} connections did not reach the far end");
    }
    Ok(ExitCode::from(outcome.exit_code))
}
