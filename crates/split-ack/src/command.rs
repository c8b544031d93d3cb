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
use std::process::{Child, Command, ExitStatus};
use windlass_namespace::{Signals, exit_code, exit_code_of};

/// Runs a command in `cgroup` to its end, while `splitter` follows the interfaces. Returns the command's
/// exit status, or 128 plus the number of the signal that ended it. The second value is the error if the
/// command could not be started.
///
/// # Errors
///
/// The cgroup cannot be entered or left.
pub fn run(
    command: &[OsString],
    cgroup: &Cgroup,
    splitter: &mut Splitter,
) -> Result<(u8, Option<io::Error>), Error> {
    let io = |doing| move |error| Error::Io(doing, error);
    let signals = Signals::block_with_children().map_err(io("blocking signals"))?;
    // This process enters briefly, so that the command is in the cgroup from its first instruction.
    cgroup.enter()?;
    let started = start(command, signals.mask_before());
    let left = cgroup.leave();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return Ok((exit_code_of(&error), Some(error))),
    };
    if let Err(error) = left {
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    let status = attend(&signals, &mut child, splitter).map_err(io("waiting for the command"))?;
    Ok((exit_code(status), None))
}

/// Starts the command. The kernel ends it with this process, even if that is killed: without it ACKs are
/// not split.
#[expect(unsafe_code, reason = "no safe way to set what is a child's alone")]
fn start(command: &[OsString], mask: SigSet) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(arguments);
    let prepare = move || {
        set_pdeathsig(Signal::SIGTERM)?;
        Ok(mask.thread_set_mask()?)
    };
    // SAFETY: prctl() and pthread_sigmask() are all that it calls, which may be called between fork
    // and exec (signal-safety(7)), and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

fn attend(signals: &Signals, child: &mut Child, splitter: &mut Splitter) -> io::Result<ExitStatus> {
    loop {
        signals.forward(child.id())?;
        if let Some(status) = child.try_wait()? {
            return Ok(status);
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
