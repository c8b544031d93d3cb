//! `windlass tou run`: a command whose connections leave from a peer.

use super::args::TouRun;
use super::setup::Setup;
use crate::failure::Failure;
use std::future::poll_fn;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use windlass_capture::{Capture, Signals};
use windlass_forward::{FarDialer, FarResolver};
use windlass_tou::session::Allow;

/// The exit status after Ctrl-C.
const INTERRUPTED: u8 = 130;
/// How often a signal is looked for while there is no path.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

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
    let found = running.runtime.block_on(unless_signal(&signals, running.session(peer)));
    if found.is_none() {
        drop(status);
        running.close();
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let ran = found.transpose().and_then(|_| {
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

/// Awaits `work` and returns its result; `None` if a signal comes first. Signals are blocked, and
/// the capture, which takes them later, has not begun.
async fn unless_signal<T>(signals: &Signals, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut ticks = tokio::time::interval(SIGNALS_EVERY);
    poll_fn(|cx| {
        if let Poll::Ready(result) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(result));
        }
        while ticks.poll_tick(cx).is_ready() {
            if signals.take().is_ok_and(|taken| taken > 0) {
                return Poll::Ready(None);
            }
        }
        Poll::Pending
    })
    .await
}
