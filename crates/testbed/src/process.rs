//! Programs that a test runs, in the foreground and in the background.

use crate::wait::{PATIENCE, eventually};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Instant;

/// The bytes that a program wrote, as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a program with arguments that are separated by single spaces.
///
/// # Panics
///
/// If it cannot be started or fails, with the command and its standard error.
#[track_caller]
pub fn run(program: &str, arguments: &str) {
    let finished = output(program, arguments);
    assert!(finished.status.success(), "{program} {arguments}: {}", text(&finished.stderr));
}

/// Runs a program with arguments that are separated by single spaces, and collects its output.
///
/// # Panics
///
/// If it cannot be started.
#[track_caller]
pub fn output(program: &str, arguments: &str) -> Output {
    let finished = Command::new(program).args(arguments.split(' ')).output();
    finished.unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// Whether the process has ended, or is a zombie.
pub fn is_gone(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.is_empty() || state.contains(") Z ")
}

/// A program in the background whose standard error the test reads line by line. Dropping the
/// value kills it.
#[derive(Debug)]
pub struct Background {
    child: Child,
    lines: Receiver<String>,
}

impl Background {
    /// Starts the program.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(mut command: Command) -> Background {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || stderr.lines().map_while(Result::ok).all(|l| sender.send(l).is_ok()));
        Background { child, lines }
    }

    /// The next line of standard error that contains `words`.
    ///
    /// # Panics
    ///
    /// After [`PATIENCE`], or when the program ends, with the lines that came instead.
    pub fn wait_for(&self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut log = String::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => log += &format!("{line}\n"),
                Err(RecvTimeoutError::Timeout) => panic!("no {words:?} in time after\n{log}"),
                Err(RecvTimeoutError::Disconnected) => panic!("ended without {words:?}:\n{log}"),
            }
        }
    }

    /// Sends a signal by its name without SIG, such as "TERM".
    ///
    /// # Panics
    ///
    /// If the program has ended.
    pub fn signal(&self, name: &str) {
        run("kill", &format!("-{name} {}", self.child.id()));
    }

    /// Waits for the end of the program.
    ///
    /// # Panics
    ///
    /// After [`PATIENCE`].
    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        let ended = || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        };
        assert!(eventually(ended), "the program does not end");
        status.expect("ended")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
