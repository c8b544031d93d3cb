//! The guard: the first process of the PID namespace in which the command runs. When the guard ends,
//! the kernel kills all other processes of that namespace. The guard ends with the process that started
//! it, even if that is killed. So no leftover process keeps a namespace alive.
//!
//! The guard is this program again, started under another name: between fork and exec nothing can
//! be done without `unsafe`.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, pipe2};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

/// `argv[0]` of a guard. It is not an argument because the arguments are the user's.
const NAME: &str = "windlass-link-guard";

/// The siginfo code of signals that the kernel sent, such as those of the terminal's keys.
const SI_KERNEL: i32 = 0x80;

/// Signals that the guard forwards to the command.
pub(crate) const PASSED_ON: [Signal; 4] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// The standard streams that a guarded command inherits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// All of them.
    All,
    /// Standard error, to which its standard output goes as well.
    ErrorOnly,
}

/// Starts a command in the network namespace of the calling thread, under a guard. Keep the thread
/// alive: the kernel kills the guard when the thread ends.
pub(crate) fn spawn(
    command: &[OsString],
    environment: &[(&str, String)],
    streams: Streams,
) -> io::Result<Child> {
    unshare(CloneFlags::CLONE_NEWPID)
        .map_err(|error| io::Error::other(format!("cannot make a PID namespace: {error}")))?;
    let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
    fcntl(&theirs, FcntlArg::F_SETFD(FdFlag::empty()))?;
    // Stays open until this process ends: the guard watches for its end.
    let _ = ours.into_raw_fd();
    let mut guard = Command::new("/proc/self/exe");
    guard
        .arg0(NAME)
        .arg(theirs.as_raw_fd().to_string())
        .args(command)
        .envs(environment.iter().map(|(name, value)| (name, value)));
    if streams == Streams::ErrorOnly {
        guard.stdin(Stdio::null()).stdout(io::stderr());
    }
    guard.spawn()
}

/// The exit status that a shell would report for a process that ended in this way.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// An error in words, without the number that `std::io::Error` adds.
fn described(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

/// Runs the guard if this process is one, and returns its exit code. Call it first in `main`.
pub fn guard_main() -> Option<ExitCode> {
    let mut args = env::args_os();
    if args.next()? != NAME {
        return None;
    }
    let pipe = args.next()?;
    let command: Vec<OsString> = args.collect();
    Some(guard(&pipe, &command).unwrap_or_else(|error| {
        eprintln!("error: link: {}", described(&error));
        ExitCode::FAILURE
    }))
}

fn guard(pipe: &OsStr, command: &[OsString]) -> io::Result<ExitCode> {
    // This signal also ends a guard that is stopped and cannot read the pipe. If the parent dies
    // before this line, no signal comes: the end of the pipe covers that case.
    set_pdeathsig(Signal::SIGKILL)?;
    let parent = take_over(pipe)?;
    mount_proc();
    let mut set: SigSet = PASSED_ON.into_iter().collect();
    set.add(Signal::SIGCHLD);
    set.thread_block()?;
    let signals = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let (program, args) = command.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut child = Command::new(program);
    child.args(args);
    unblock_in(&mut child, set);
    match child.spawn() {
        Ok(child) => attend(&signals, &parent, Pid::from_raw(child.id().cast_signed())),
        Err(error) => {
            eprintln!("error: link: {}: {}", program.display(), described(&error));
            // The exit statuses of shells.
            Ok(ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 }))
        }
    }
}

/// Unblocks the signals in the command, which would inherit the blocked ones. The guard keeps them
/// blocked: as the first process of its namespace it would otherwise lose signals.
#[expect(unsafe_code, reason = "no safe way to change the mask of a child alone")]
fn unblock_in(command: &mut Command, signals: SigSet) {
    // SAFETY: pthread_sigmask() is all that it calls, which may be called between fork and exec
    // (signal-safety(7)), and nothing is allocated.
    unsafe { command.pre_exec(move || Ok(signals.thread_unblock()?)) };
}

/// Reopens the pipe that the parent passed by its number, so that the command does not inherit it.
fn take_over(pipe: &OsStr) -> io::Result<File> {
    let number: i32 =
        pipe.to_str().and_then(|pipe| pipe.parse().ok()).ok_or(ErrorKind::NotFound)?;
    let file = File::open(Path::new("/proc/self/fd").join(pipe))?;
    nix::unistd::close(number)?;
    Ok(file)
}

/// Mounts a /proc that shows the processes of this PID namespace. Containers may forbid that. Then
/// /proc shows the processes outside, which matters only to programs that look for processes.
fn mount_proc() {
    let none: Option<&str> = None;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = unshare(CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(none, "/", none, private, none))
        .and_then(|()| mount(Some("proc"), "/proc", Some("proc"), safe, none));
}

/// Forwards signals and reaps children until the command ends, or the process that started the guard.
fn attend(signals: &SignalFd, parent: &File, command: Pid) -> io::Result<ExitCode> {
    loop {
        if let Some(code) = collect(command) {
            return Ok(ExitCode::from(code));
        }
        let mut fds = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(parent.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds[1].any().unwrap_or(true) {
            return Ok(ExitCode::FAILURE);
        }
        while let Some(signal) = signals.read_signal()? {
            if let Some(signal) = to_pass_on(signal.ssi_signo, signal.ssi_code) {
                let _ = kill(command, signal);
            }
        }
    }
}

/// The signal to forward. `None` for the terminal's keys, whose signals reach the command directly.
pub(crate) fn to_pass_on(number: u32, code: i32) -> Option<Signal> {
    let signal = i32::try_from(number).ok().and_then(|number| Signal::try_from(number).ok())?;
    (code != SI_KERNEL && signal != Signal::SIGCHLD).then_some(signal)
}

/// Reaps every child that has ended, orphans too. Returns the command's exit status once it has ended.
fn collect(command: Pid) -> Option<u8> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)).ok()? {
            WaitStatus::StillAlive => return None,
            WaitStatus::Exited(pid, code) if pid == command => {
                return u8::try_from(code & 0xff).ok();
            }
            WaitStatus::Signaled(pid, signal, _) if pid == command => {
                return u8::try_from(128 + signal as i32).ok();
            }
            _ => {}
        }
    }
}

/// Blocks the forwarded signals in this thread and in the threads that it starts.
pub(crate) fn block_signals() -> io::Result<SignalFd> {
    let set: SigSet = PASSED_ON.into_iter().collect();
    set.thread_block()?;
    Ok(SignalFd::new(&set)?)
}

/// A file descriptor that becomes readable on Ctrl-C, SIGTERM, SIGHUP or SIGQUIT. From this call on
/// these signals have no other effect. Call it before the process starts a second thread.
///
/// # Errors
///
/// The kernel refuses to block the signals or to make the descriptor.
pub fn stop_signals() -> io::Result<OwnedFd> {
    block_signals()?.as_fd().try_clone_to_owned()
}

/// Sends a signal to a guard that may have ended.
pub(crate) fn pass_on(fd: &SignalFd, guard: Pid) -> io::Result<()> {
    loop {
        if let Some(signal) = fd.read_signal()?
            && let Some(signal) = to_pass_on(signal.ssi_signo, signal.ssi_code)
        {
            let _ = kill(guard, signal);
        }
    }
}
