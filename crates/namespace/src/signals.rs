//! Signals that a tool forwards to the command that it runs, and the exit status of that command.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The exit status for a command that does not exist, as in shells.
pub const NOT_FOUND: u8 = 127;
/// The exit status for a command that cannot be executed, as in shells.
pub const NOT_EXECUTABLE: u8 = 126;

/// The siginfo code of signals that the kernel sent, such as those of the terminal's keys.
const SI_KERNEL: i32 = 0x80;

/// The signals that ask a command to end.
const FORWARDED: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT, blocked: they wait here to be forwarded to a command. The
/// descriptor is readable while one waits.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    before: SigSet,
}

impl Signals {
    /// The signals that a value of this type may block.
    pub(crate) const BLOCKED: [Signal; 5] =
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGCHLD];

    /// Blocks the signals in this thread and in the threads that it starts. From this call on they
    /// have no other effect. Call it before the process starts a second thread, as a signal goes to
    /// any thread that does not block it.
    ///
    /// # Errors
    ///
    /// The kernel refuses to make the descriptor.
    pub fn block() -> io::Result<Signals> {
        Signals::block_with(&[])
    }

    /// The same with SIGCHLD, which is never forwarded: the descriptor becomes readable when a child
    /// ends.
    ///
    /// # Errors
    ///
    /// As [`Signals::block`].
    pub fn block_with_children() -> io::Result<Signals> {
        Signals::block_with(&[Signal::SIGCHLD])
    }

    fn block_with(more: &[Signal]) -> io::Result<Signals> {
        let set: SigSet = FORWARDED.iter().chain(more).copied().collect();
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let descriptor = SignalFd::with_flags(&set, flags)?;
        let before = set.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        Ok(Signals { descriptor, before })
    }

    /// The calling thread's signal mask before the call that blocked the signals: the mask that a
    /// command should have.
    pub fn mask_before(&self) -> SigSet {
        self.before
    }

    /// Takes every waiting signal and sends it to a process, which may have ended. Signals of the
    /// terminal's keys are taken and not sent: they reach the command directly. Returns the last
    /// signal that asks to end, keys included.
    ///
    /// # Errors
    ///
    /// The descriptor cannot be read.
    pub fn forward(&self, pid: u32) -> io::Result<Option<Signal>> {
        self.take_each(|signal| {
            let _ = kill(Pid::from_raw(pid.cast_signed()), signal);
        })
    }

    /// Waits for signals and forwards them. Returns false once the other end of `outside`, a pipe or
    /// socket, is closed or has sent something: the process that holds it has ended.
    ///
    /// # Errors
    ///
    /// As [`Signals::forward`], or the system refuses to wait.
    pub fn wait_and_forward(&self, pid: u32, outside: impl AsFd) -> io::Result<bool> {
        let mut fds = [
            PollFd::new(self.as_fd(), PollFlags::POLLIN),
            PollFd::new(outside.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds[1].any().unwrap_or(true) {
            return Ok(false);
        }
        self.forward(pid)?;
        Ok(true)
    }

    /// Takes every waiting signal and sends none, for when no command runs. Returns the last signal
    /// that asks to end.
    ///
    /// # Errors
    ///
    /// The descriptor cannot be read.
    pub fn take_last(&self) -> io::Result<Option<Signal>> {
        self.take_each(drop)
    }

    fn take_each(&self, mut forward: impl FnMut(Signal)) -> io::Result<Option<Signal>> {
        let mut last = None;
        while let Some(taken) = self.descriptor.read_signal()? {
            to_forward(taken.ssi_signo, taken.ssi_code).map(&mut forward);
            last = to_end(taken.ssi_signo).or(last);
        }
        Ok(last)
    }

    /// Takes every waiting signal, those of the terminal's keys too. Returns how many there were.
    ///
    /// # Errors
    ///
    /// The descriptor cannot be read.
    pub fn take(&self) -> io::Result<usize> {
        let mut taken = 0;
        while self.descriptor.read_signal()?.is_some() {
            taken += 1;
        }
        Ok(taken)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The signal to forward. `None` for the terminal's keys, whose signals reach the command directly.
fn to_forward(number: u32, code: i32) -> Option<Signal> {
    to_end(number).filter(|_| code != SI_KERNEL)
}

/// The signal, if it asks to end.
fn to_end(number: u32) -> Option<Signal> {
    let signal = i32::try_from(number).ok().and_then(|number| Signal::try_from(number).ok());
    signal.filter(|signal| *signal != Signal::SIGCHLD)
}

/// The exit status that a shell would report for a process that ended in this way: its own, or 128
/// and the number of the signal that ended it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// The exit status that a shell would report for a command that could not be started.
pub fn exit_code_of(error: &io::Error) -> u8 {
    if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_terminal_are_not_forwarded() {
        let number = Signal::SIGINT as u32;
        assert_eq!(to_forward(number, 0), Some(Signal::SIGINT));
        assert_eq!(to_forward(number, SI_KERNEL), None);
        assert_eq!(to_forward(Signal::SIGCHLD as u32, 0), None);
    }

    #[test]
    fn keys_ask_to_end_and_the_end_of_a_child_does_not() {
        assert_eq!(to_end(Signal::SIGINT as u32), Some(Signal::SIGINT));
        assert_eq!(to_end(Signal::SIGCHLD as u32), None);
    }

    #[test]
    fn the_exit_status_is_that_of_a_shell() {
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
        assert_eq!(exit_code_of(&ErrorKind::NotFound.into()), NOT_FOUND);
        assert_eq!(exit_code_of(&ErrorKind::PermissionDenied.into()), NOT_EXECUTABLE);
    }
}
