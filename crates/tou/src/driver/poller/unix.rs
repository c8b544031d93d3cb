//! All ports but the first few, with epoll or what the system has in its place.

use super::Readiness;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// How many ports the thread waits for with poll. The kernel notifies epoll of every datagram that
/// arrives and of every one that the device has sent, even while the thread is awake. A socket in
/// poll has that cost only while the thread sleeps. But poll scans all of its sockets each time.
pub(in super::super) const POLLED_MAX: usize = 8;

const WAKE: Token = Token(usize::MAX);

/// Adds and removes ports, and wakes the thread.
pub(in super::super) struct Registry {
    registry: mio::Registry,
    waker: Waker,
}

/// The thread's side of it.
pub(in super::super) struct Rest {
    epoll: Poll,
    events: Events,
}

/// Both sides.
pub(in super::super) fn rest() -> io::Result<(Registry, Rest)> {
    let epoll = Poll::new()?;
    let registry = epoll.registry().try_clone()?;
    let waker = Waker::new(epoll.registry(), WAKE)?;
    Ok((Registry { registry, waker }, Rest { epoll, events: Events::with_capacity(256) }))
}

impl Registry {
    /// Adds the socket of a port that is not waited for with poll. Its index is that of its events.
    pub(in super::super) fn add(&self, socket: &UdpSocket, index: usize) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        self.registry.register(&mut SourceFd(&fd), Token(index), Interest::READABLE)
    }

    /// Starts or stops waiting until the port's socket accepts datagrams again.
    pub(in super::super) fn set_wants_writable(
        &self,
        socket: &UdpSocket,
        index: usize,
        waits: bool,
    ) -> io::Result<()> {
        let mut interest = Interest::READABLE;
        if waits {
            interest |= Interest::WRITABLE;
        }
        let fd = socket.as_raw_fd();
        self.registry.reregister(&mut SourceFd(&fd), Token(index), interest)
    }

    pub(in super::super) fn remove(&self, socket: &UdpSocket) -> io::Result<()> {
        self.registry.deregister(&mut SourceFd(&socket.as_raw_fd()))
    }

    pub(in super::super) fn wake(&self) -> io::Result<()> {
        self.waker.wake()
    }
}

impl Rest {
    /// Readable if there are events.
    pub(super) fn pollable(&self) -> &impl AsFd {
        self.epoll.registry()
    }

    pub(super) fn collect(&mut self, ready: &mut Vec<Readiness>) -> io::Result<()> {
        self.epoll.poll(&mut self.events, Some(Duration::ZERO))?;
        ready.extend(self.events.iter().map(|event| Readiness {
            index: event.token().0,
            readable: event.is_readable(),
            writable: event.is_writable(),
            error: event.is_error(),
        }));
        Ok(())
    }
}
