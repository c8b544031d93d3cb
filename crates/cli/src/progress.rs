//! The progress of a long command on standard error: a bar on a terminal, elsewhere a line every few seconds.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// The time between two lines, and before the first: a command that is done earlier prints none.
const INTERVAL: Duration = Duration::from_secs(5);

/// The progress of a command.
pub(crate) struct Progress {
    /// The command, at the beginning of each line.
    command: &'static str,
    /// The bar; `None` if standard error is no terminal.
    bar: Option<ProgressBar>,
    /// When the last line was printed; at first, when the command began.
    printed: Instant,
}

impl Progress {
    /// A progress of which `done` parts are done before it begins.
    pub(crate) fn new(command: &'static str, done: usize) -> Progress {
        let bar = stderr().is_terminal().then(|| bar(done as u64));
        Progress { command, bar, printed: Instant::now() }
    }

    /// Shows that `done` of `count` parts are done. `text` says so in words.
    pub(crate) fn show(&mut self, done: usize, count: usize, text: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_length(count as u64);
            bar.set_position(done as u64);
            bar.set_message(text());
        } else if self.printed.elapsed() >= INTERVAL {
            self.printed = Instant::now();
            // Standard error may be closed, and the command still does its work.
            let _ = writeln!(stderr(), "{}: {}", self.command, text());
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(done: u64) -> ProgressBar {
    let bar = ProgressBar::new(done).with_position(done);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {msg}, {eta} to go") {
        bar.set_style(style);
    }
    bar.reset_eta();
    bar
}
