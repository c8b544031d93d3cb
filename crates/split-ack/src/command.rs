//! Starts the command in its cgroup, forwards signals to it, and waits for it.

use crate::{Cgroup, Error, Splitter};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use windlass_namespace::{Signals, exit_code, exit_code_of};

/// The standard streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Those of this process.
    Inherited,
    /// Standard error alone: standard input is empty, and standard output is discarded.
    ErrorOnly,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// The command's exit status, or 128 plus the number of the signal that ended it.
    pub status: u8,
    /// Why the command could not be started.
    pub error: Option<io::Error>,
    /// The signal that last asked this process to end: SIGINT, SIGTERM, SIGHUP or SIGQUIT. The command
    /// got it too.
    pub asked: Option<Signal>,
}

/// Runs commands, one at a time. As long as the value lives, signals that ask this process to end go to
/// the command instead.
#[derive(Debug)]
pub struct Runner(Signals);

impl Runner {
    /// Blocks the signals. Call it before the process starts a second thread.
    ///
    /// # Errors
    ///
    /// The kernel refuses.
    pub fn new() -> Result<Runner, Error> {
        Signals::block_with_children().map(Runner).map_err(io("blocking signals"))
    }

    /// Runs a command in `cgroup` to its end, while `splitter` follows the interfaces. If a signal asked
    /// to end before, the command is not started, and the status is that of a command which that signal
    /// ended.
    ///
    /// # Errors
    ///
    /// The cgroup cannot be entered or left.
    pub fn run(
        &self,
        command: &[OsString],
        streams: Streams,
        cgroup: &Cgroup,
        splitter: &mut Splitter,
    ) -> Result<Ended, Error> {
        let asked = self.0.take_last().map_err(io("reading signals"))?;
        if let Some(signal) = asked {
            return Ok(Ended { status: status_after(signal), error: None, asked });
        }
        // This process enters briefly, so that the command is in the cgroup from its first instruction.
        cgroup.enter()?;
        let started = start(command, streams, self.0.mask_before());
        let left = cgroup.leave();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => {
                let status = exit_code_of(&error);
                return Ok(Ended { status, error: Some(error), asked: None });
            }
        };
        if let Err(error) = left {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        attend(&self.0, &mut child, splitter).map_err(io("waiting for the command"))
    }
}

/// The exit status that a shell reports for a command that this signal ended.
pub fn status_after(signal: Signal) -> u8 {
    128 + signal as u8
}

fn io(doing: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Io(doing, error)
}

/// Starts the command. The kernel ends it with this process, even if that is killed: without it ACKs are
/// not split.
#[expect(unsafe_code, reason = "no safe way to set what is a child's alone")]
fn start(command: &[OsString], streams: Streams, mask: SigSet) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(arguments);
    if streams == Streams::ErrorOnly {
        command.stdin(Stdio::null()).stdout(Stdio::null());
    }
    let prepare = move || {
        set_pdeathsig(Signal::SIGTERM)?;
        Ok(mask.thread_set_mask()?)
    };
    // SAFETY: prctl() and pthread_sigmask() are all that it calls, which may be called between fork
    // and exec (signal-safety(7)), and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

fn attend(signals: &Signals, child: &mut Child, splitter: &mut Splitter) -> io::Result<Ended> {
    let mut asked = None;
    loop {
        asked = signals.forward(child.id())?.or(asked);
        if let Some(status) = child.try_wait()? {
            return Ok(Ended { status: exit_code(status), error: None, asked });
        }
        splitter.follow();
        wait(signals, splitter)?;
    }
}

/// Waits for a signal or a change of an interface.
fn wait(signals: &Signals, splitter: &Splitter) -> io::Result<()> {
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let fds = [Some(signals.as_fd()), splitter.changes()];
    let mut fds: Vec<PollFd<'_>> = fds.into_iter().flatten().map(readable).collect();
    match poll(&mut fds, PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
