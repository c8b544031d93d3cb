//! The guard: the first process of a PID namespace, in which the command runs. When it ends, the
//! kernel kills whatever else is in there; and it ends with the process that started it, even if
//! that is killed. So no namespace is held by a process that was left behind.
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

/// The name under which this program runs as a guard: no argument, for those are the user's.
const NAME: &str = "windlass-link-guard";

/// The siginfo code of signals that the kernel sent, such as those of the terminal's keys.
const SI_KERNEL: i32 = 0x80;

/// Signals that are passed on to the command.
pub(crate) const PASSED_ON: [Signal; 4] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// What a guarded command has of this process's standard streams.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// All of them.
    All,
    /// Standard error, to which its standard output goes as well.
    ErrorOnly,
}

/// Starts a command in the network namespace of the calling thread, under a guard. The thread has
/// to live as long as the guard: it is killed when the thread ends.
pub(crate) fn spawn(
    command: &[OsString],
    environment: &[(&str, String)],
    streams: Streams,
) -> io::Result<Child> {
    unshare(CloneFlags::CLONE_NEWPID)
        .map_err(|error| io::Error::other(format!("cannot make a PID namespace: {error}")))?;
    let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
    fcntl(&theirs, FcntlArg::F_SETFD(FdFlag::empty()))?;
    // Open as long as this process lives: the guard looks for its end.
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

/// The exit status of a shell for how a process ended.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// An error in words, without the number that `std::io::Error` adds.
fn described(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

/// What the guard does, if this process is one: to be asked first of all.
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
            // As shells do it.
            Ok(ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 }))
        }
    }
}

/// A command inherits what is blocked, and is to find nothing so. This process keeps it blocked: as the
/// first of its namespace it would lose what comes meanwhile.
#[expect(unsafe_code, reason = "no safe way to change the mask of a child alone")]
fn unblock_in(command: &mut Command, signals: SigSet) {
    // SAFETY: pthread_sigmask() is all that it calls, which may be called between fork and exec
    // (signal-safety(7)), and nothing is allocated.
    unsafe { command.pre_exec(move || Ok(signals.thread_unblock()?)) };
}

/// The pipe that was handed over by its number, so that the command does not inherit it.
fn take_over(pipe: &OsStr) -> io::Result<File> {
    let number: i32 =
        pipe.to_str().and_then(|pipe| pipe.parse().ok()).ok_or(ErrorKind::NotFound)?;
    let file = File::open(Path::new("/proc/self/fd").join(pipe))?;
    nix::unistd::close(number)?;
    Ok(file)
}

/// Lets /proc show the processes of this PID namespace. Containers may forbid it: then it shows
/// those outside, which harms only who looks for processes.
fn mount_proc() {
    let none: Option<&str> = None;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = unshare(CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(none, "/", none, private, none))
        .and_then(|()| mount(Some("proc"), "/proc", Some("proc"), safe, none));
}

/// Passes signals on and collects whatever ends, until the command has, or the process that started
/// this one.
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

/// The signal, unless the command has got it as well: the terminal sends its keys to all.
pub(crate) fn to_pass_on(number: u32, code: i32) -> Option<Signal> {
    let signal = i32::try_from(number).ok().and_then(|number| Signal::try_from(number).ok())?;
    (code != SI_KERNEL && signal != Signal::SIGCHLD).then_some(signal)
}

/// The exit status of the command, once it has ended; orphans are collected on the way.
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

/// Blocks the signals that a command's starter passes on, in this thread and those that it starts.
pub(crate) fn block_signals() -> io::Result<SignalFd> {
    let set: SigSet = PASSED_ON.into_iter().collect();
    set.thread_block()?;
    Ok(SignalFd::new(&set)?)
}

/// A file descriptor that becomes readable when this process is asked to end: by Ctrl-C, SIGTERM,
/// SIGHUP or SIGQUIT, which do nothing else from now on. To be called before the process has a
/// second thread.
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
