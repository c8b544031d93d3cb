//! Starts the command in its cgroup, forwards signals to it, and waits for it.

use crate::{Cgroup, Error, Splitter};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

/// The exit status for a command that does not exist, as in shells.
pub const NOT_FOUND: u8 = 127;
/// The exit status for a command that cannot be executed, as in shells.
pub const NOT_EXECUTABLE: u8 = 126;

/// The siginfo code of signals that the kernel sent, such as those of the terminal's keys.
const SI_KERNEL: i32 = 0x80;
const PASSED_ON: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

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
    let mut handled: SigSet = PASSED_ON.into_iter().collect();
    handled.add(Signal::SIGCHLD);
    let before = handled.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let before = before.map_err(|error| Error::Io("blocking signals", error.into()))?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let signals = SignalFd::with_flags(&handled, flags);
    let signals = signals.map_err(|error| Error::Io("a descriptor of signals", error.into()))?;
    // This process enters briefly, so that the command is in the cgroup from its first instruction.
    cgroup.enter()?;
    let started = start(command, before);
    let left = cgroup.leave();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((NOT_FOUND, Some(error))),
        Err(error) => return Ok((NOT_EXECUTABLE, Some(error))),
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

fn attend(
    signals: &SignalFd,
    child: &mut Child,
    splitter: &mut Splitter,
) -> io::Result<ExitStatus> {
    let pid = Pid::from_raw(child.id().cast_signed());
    loop {
        while let Some(signal) = signals.read_signal()? {
            if let Some(signal) = to_pass_on(signal.ssi_signo, signal.ssi_code) {
                let _ = kill(pid, signal);
            }
        }
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        splitter.follow();
        wait(signals, splitter)?;
    }
}

/// Waits for a signal or a change of an interface.
fn wait(signals: &SignalFd, splitter: &Splitter) -> io::Result<()> {
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let fds = [Some(signals.as_fd()), splitter.changes()];
    let mut fds: Vec<PollFd<'_>> = fds.into_iter().flatten().map(readable).collect();
    match poll(&mut fds, PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The signal to forward. `None` for the terminal's keys, whose signals reach the command directly.
fn to_pass_on(number: u32, code: i32) -> Option<Signal> {
    let signal = i32::try_from(number).ok().and_then(|number| Signal::try_from(number).ok())?;
    (code != SI_KERNEL && signal != Signal::SIGCHLD).then_some(signal)
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
