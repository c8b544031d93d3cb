//! The command: started in its cgroup, given the signals that were meant for it, waited for.

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

/// The exit status of a shell where there is no such command.
pub const NOT_FOUND: u8 = 127;
/// The same where it cannot be run.
pub const NOT_EXECUTABLE: u8 = 126;

/// The siginfo code of signals that the kernel sent, such as those of the terminal's keys.
const SI_KERNEL: i32 = 0x80;
const PASSED_ON: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// Runs a command in `cgroup` to its end, while `splitter` follows the interfaces. The exit status is its own, or 128 and the number of the
/// signal that ended it; the error, if there is one, says why it could not be started.
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
    // This process goes in for a moment, so that the command is there from its first instruction.
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

/// It ends with this process, even if that is killed: it would go on without what it was started for.
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

/// Until there is a signal, or an interface has changed.
fn wait(signals: &SignalFd, splitter: &Splitter) -> io::Result<()> {
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let fds = [Some(signals.as_fd()), splitter.changes()];
    let mut fds: Vec<PollFd<'_>> = fds.into_iter().flatten().map(readable).collect();
    match poll(&mut fds, PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The signal, unless the command has got it as well: the terminal sends its keys to all.
fn to_pass_on(number: u32, code: i32) -> Option<Signal> {
    let signal = i32::try_from(number).ok().and_then(|number| Signal::try_from(number).ok())?;
    (code != SI_KERNEL && signal != Signal::SIGCHLD).then_some(signal)
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
