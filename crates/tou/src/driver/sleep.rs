//! How the thread waits for many sockets: for the few nearest at hand by poll, for the others by epoll.

use super::port::Port;
use mio::{Events, Poll};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How many ports are waited for by poll. A socket that epoll knows calls on it for each datagram that
/// comes and for each that the device is done with, also while the thread is awake; poll is there
/// just while it sleeps. But it looks at every one of its sockets each time.
pub(super) const NEAR: usize = 8;

/// A port waited for by poll.
pub(super) struct Near {
    pub(super) index: usize,
    pub(super) port: Arc<Port>,
    /// Somebody else takes what comes.
    pub(super) overlooked: bool,
    /// Also for room to send.
    pub(super) waits_for_room: bool,
}

/// What a port's socket has to tell.
#[derive(Copy, Clone, Debug)]
pub(super) struct Ready {
    pub(super) index: usize,
    pub(super) readable: bool,
    pub(super) writable: bool,
    pub(super) error: bool,
}

/// The thread's way to wait.
pub(super) struct Sleep {
    /// Whoever sleeps says which.
    pub(super) near: Vec<Near>,
    /// Knows all other ports, by their indices.
    far: Poll,
    events: Events,
    ready: Vec<Ready>,
}

impl Sleep {
    pub(super) fn new(far: Poll) -> Sleep {
        let events = Events::with_capacity(256);
        Sleep { near: Vec::with_capacity(NEAR), far, events, ready: Vec::new() }
    }

    /// Waits until a socket has something to tell, for `timeout` at most.
    pub(super) fn sleep(&mut self, timeout: Option<Duration>) -> io::Result<&[Ready]> {
        self.ready.clear();
        match self.poll(timeout) {
            Ok(false) | Err(Errno::INTR) => {}
            Ok(true) => self.ask_far()?,
            Err(error) => return Err(error.into()),
        }
        Ok(&self.ready)
    }

    /// True if the others have something to tell.
    fn poll(&mut self, timeout: Option<Duration>) -> rustix::io::Result<bool> {
        let wanted = |near: &Near| {
            let room = if near.waits_for_room { PollFlags::OUT } else { PollFlags::empty() };
            let come = if near.overlooked { PollFlags::empty() } else { PollFlags::IN };
            come | room
        };
        let mut sockets = Vec::with_capacity(NEAR + 1);
        sockets.push(PollFd::new(self.far.registry(), PollFlags::IN));
        sockets.extend(self.near.iter().map(|near| PollFd::new(&*near.port, wanted(near))));
        poll(&mut sockets, timeout.map(whole_milliseconds).as_ref())?;
        for (near, socket) in self.near.iter().zip(&sockets[1..]) {
            let flags = socket.revents();
            if !flags.is_empty() {
                self.ready.push(Ready {
                    index: near.index,
                    readable: flags.contains(PollFlags::IN),
                    writable: flags.contains(PollFlags::OUT),
                    error: flags.contains(PollFlags::ERR),
                });
            }
        }
        Ok(!sockets[0].revents().is_empty())
    }

    fn ask_far(&mut self) -> io::Result<()> {
        self.far.poll(&mut self.events, Some(Duration::ZERO))?;
        self.ready.extend(self.events.iter().map(|event| Ready {
            index: event.token().0,
            readable: event.is_readable(),
            writable: event.is_writable(),
            error: event.is_error(),
        }));
        Ok(())
    }
}

/// Rounded up, as epoll counts them: finer timers would wake the thread more often.
fn whole_milliseconds(timeout: Duration) -> Timespec {
    let milliseconds = timeout.as_nanos().div_ceil(1_000_000);
    let whole = Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX));
    Timespec::try_from(whole).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}
