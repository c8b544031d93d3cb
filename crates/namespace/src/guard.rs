//! The guard: the first process of the PID namespace in which a command runs. When the guard ends,
//! the kernel kills all other processes of that namespace. The guard ends with the process that started
//! it, even if that is killed. So no leftover process keeps a namespace alive.
//!
//! The guard is this program again, started under another name: between fork and exec nothing can
//! be done without `unsafe`.

use crate::privilege::{User, become_again};
use crate::signals::{Signals, exit_code_of};
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, pipe2};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

/// `argv[0]` of a guard. It is not an argument because the arguments are the user's.
const NAME: &str = "windlass-guard";

/// The standard streams that a guarded command inherits.
#[derive(Copy, Clone, Debug)]
pub enum Streams<'a> {
    /// All of them.
    All,
    /// Standard error, to which its standard output goes as well.
    ErrorOnly,
    /// None: its standard output and error go to this file, and its standard input is empty.
    To(&'a File),
}

/// A command to start under a guard.
#[derive(Copy, Clone, Debug)]
pub struct Guarded<'a> {
    /// The tool's name, which error messages begin with.
    pub tool: &'a str,
    /// The command and its arguments.
    pub command: &'a [OsString],
    /// Environment variables in addition to those of this process.
    pub environment: &'a [(&'a str, String)],
    /// The command's standard streams.
    pub streams: Streams<'a>,
    /// The user as whom the command runs, after
    /// [`enter_user_namespace`](crate::enter_user_namespace) returned it. `None`: the present user.
    pub user: Option<User>,
}

impl Guarded<'_> {
    /// Starts the command in the network namespace of the calling thread. Keep the thread alive: the
    /// kernel kills the guard, and so the command, when the thread ends. The exit status of the guard
    /// is that of the command, or 128 and the number of the signal that ended the command.
    ///
    /// # Errors
    ///
    /// The process lacks CAP_SYS_ADMIN, or a limit of the system is reached. If the command itself
    /// cannot be started, the guard prints why and exits with 126 or 127.
    pub fn spawn(&self) -> io::Result<Child> {
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
            .arg(self.tool)
            .arg(self.user.map(written).unwrap_or_default())
            .args(self.command)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        match self.streams {
            Streams::All => {}
            Streams::ErrorOnly => {
                guard.stdin(Stdio::null()).stdout(io::stderr());
            }
            Streams::To(file) => {
                guard.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
            }
        }
        guard.spawn()
    }
}

fn written(user: User) -> String {
    format!("{}:{}", user.uid, user.gid)
}

/// Reads what [`written`] wrote; `None` for an empty text.
fn read_user(text: &OsStr) -> io::Result<Option<User>> {
    let text = text.to_str().ok_or(ErrorKind::InvalidInput)?;
    if text.is_empty() {
        return Ok(None);
    }
    let numbers = text.split_once(':').and_then(|(uid, gid)| {
        let (uid, gid) = (uid.parse().ok()?, gid.parse().ok()?);
        Some(User { uid, gid })
    });
    numbers.map(Some).ok_or_else(|| ErrorKind::InvalidInput.into())
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
    let (pipe, tool, user) = (args.next()?, args.next()?, args.next()?);
    let command: Vec<OsString> = args.collect();
    let tool = tool.display();
    Some(guard(&pipe, &user, &command).unwrap_or_else(|failure| {
        let (error, code) = match failure {
            Failure::Own(error) => (described(&error), ExitCode::FAILURE),
            Failure::Start(error) => {
                let program = command.first().map(|name| name.display().to_string());
                let what = format!("{}: {}", program.unwrap_or_default(), described(&error));
                (what, ExitCode::from(exit_code_of(&error)))
            }
        };
        eprintln!("error: {tool}: {error}");
        code
    }))
}

/// Why a guard has no exit status of a command.
enum Failure {
    Own(io::Error),
    /// The command could not be started.
    Start(io::Error),
}

impl<E: Into<io::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Own(error.into())
    }
}

fn guard(pipe: &OsStr, user: &OsStr, command: &[OsString]) -> Result<ExitCode, Failure> {
    let parent = take_over(pipe)?;
    mount_proc();
    if let Some(user) = read_user(user)? {
        become_again(user)?;
    }
    // This signal also ends a guard that is stopped and cannot read the pipe. If the parent dies
    // before this line, no signal comes: the end of the pipe covers that case. A new user namespace
    // would unset it (prctl(2)), so it comes after.
    set_pdeathsig(Signal::SIGKILL)?;
    let signals = Signals::block_with_children()?;
    let (program, args) = command.split_first().ok_or(io::Error::from(ErrorKind::InvalidInput))?;
    let mut child = Command::new(program);
    child.args(args);
    restore_mask_in(&mut child, unblocked(&signals));
    let child = child.spawn().map_err(Failure::Start)?;
    Ok(attend(&signals, &parent, child.id())?)
}

/// The mask of the command: this process inherited its mask from a parent that blocks the same
/// signals.
fn unblocked(signals: &Signals) -> SigSet {
    let mut mask = signals.mask_before();
    Signals::BLOCKED.into_iter().for_each(|signal| mask.remove(signal));
    mask
}

/// Sets the signal mask of the command, which would inherit the blocked signals. The guard keeps them
/// blocked: as the first process of its namespace it would otherwise lose signals.
#[expect(unsafe_code, reason = "no safe way to change the mask of a child alone")]
fn restore_mask_in(command: &mut Command, mask: SigSet) {
    // SAFETY: pthread_sigmask() is all that it calls, which may be called between fork and exec
    // (signal-safety(7)), and nothing is allocated.
    unsafe { command.pre_exec(move || Ok(mask.thread_set_mask()?)) };
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
fn attend(signals: &Signals, parent: &File, command: u32) -> io::Result<ExitCode> {
    loop {
        if let Some(code) = collect(Pid::from_raw(command.cast_signed())) {
            return Ok(ExitCode::from(code));
        }
        if !signals.wait_and_forward(command, parent)? {
            return Ok(ExitCode::FAILURE);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_passes_through_an_argument() {
        let user = User { uid: 1000, gid: 4_294_967_294 };
        assert_eq!(read_user(OsStr::new(&written(user))).expect("a user"), Some(user));
        assert_eq!(read_user(OsStr::new("")).expect("none"), None);
        assert!(read_user(OsStr::new("1000")).is_err());
    }
}
