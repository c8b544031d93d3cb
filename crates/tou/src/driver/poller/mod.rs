//! How the I/O thread waits for many sockets: poll for the first few ports, epoll for all others, where
//! the system has it.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod rest;

pub(super) use rest::{POLLED_MAX, Registry, Rest, rest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

/// A port that the thread waits for with poll.
pub(super) struct Polled<Port> {
    pub(super) index: usize,
    pub(super) port: Arc<Port>,
    /// Incoming datagrams do not wake the thread: the port's writer receives them.
    pub(super) suspended: bool,
    /// The thread also waits until the socket accepts datagrams again.
    pub(super) wants_writable: bool,
}

/// Which events a port's socket has.
#[derive(Copy, Clone, Debug)]
pub(super) struct Readiness {
    pub(super) index: usize,
    pub(super) readable: bool,
    pub(super) writable: bool,
    pub(super) error: bool,
}

/// Waits for events of all ports.
pub(super) struct Poller<Port> {
    /// The ports for poll. The caller fills this list before each wait.
    pub(super) polled: Vec<Polled<Port>>,
    /// All other ports, and what wakes the thread.
    rest: Rest,
    ready: Vec<Readiness>,
}

impl<Port: AsRef<UdpSocket>> Poller<Port> {
    pub(super) fn new(rest: Rest) -> Poller<Port> {
        Poller { polled: Vec::new(), rest, ready: Vec::new() }
    }

    /// Waits until a socket has an event, for at most `timeout`.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<&[Readiness]> {
        self.ready.clear();
        match self.poll(timeout) {
            Ok(false) | Err(Errno::INTR) => {}
            Ok(true) => self.rest.collect(&mut self.ready)?,
            Err(error) => return Err(error.into()),
        }
        Ok(&self.ready)
    }

    /// True if the rest has events.
    fn poll(&mut self, timeout: Option<Duration>) -> rustix::io::Result<bool> {
        let wanted = |polled: &Polled<Port>| {
            let write = if polled.wants_writable { PollFlags::OUT } else { PollFlags::empty() };
            let read = if polled.suspended { PollFlags::empty() } else { PollFlags::IN };
            read | write
        };
        let mut sockets = Vec::with_capacity(self.polled.len() + 1);
        sockets.push(PollFd::new(self.rest.pollable(), PollFlags::IN));
        let polled = self.polled.iter();
        sockets.extend(polled.map(|one| PollFd::new((*one.port).as_ref(), wanted(one))));
        poll(&mut sockets, timeout.map(whole_milliseconds).as_ref())?;
        for (polled, socket) in self.polled.iter().zip(&sockets[1..]) {
            let flags = socket.revents();
            if !flags.is_empty() {
                self.ready.push(Readiness {
                    index: polled.index,
                    readable: flags.contains(PollFlags::IN),
                    writable: flags.contains(PollFlags::OUT),
                    error: flags.contains(PollFlags::ERR),
                });
            }
        }
        Ok(!sockets[0].revents().is_empty())
    }
}

/// Rounds up to milliseconds, the resolution of epoll: finer timers would wake the thread more often.
fn whole_milliseconds(timeout: Duration) -> Timespec {
    let milliseconds = timeout.as_nanos().div_ceil(1_000_000);
    let whole = Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX));
    Timespec::try_from(whole).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}
