//! The descriptor that the program holds, as readable and writable as its socket is.
//!
//! It is one end of a pair of UNIX stream sockets. A byte written into the other end makes it
//! readable; its own small send buffer, filled, makes it unwritable; what the other end shuts down
//! is POLLRDHUP and POLLHUP; and the other end closed with bytes unread is POLLERR. The kernel does
//! the rest, so select, poll and epoll take it, edge-triggered too. An eventfd cannot be neither
//! readable nor writable, and costs as many descriptors with the dispatcher it would need.

use crate::errno::{Errno, Result};
use rustix::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use rustix::fs::OFlags;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType};
use windlass_tou::Ready;

const AT_ONCE: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
/// The kernel rounds it up to the least that it allows, a few kilobytes.
const SEND_BUFFER: usize = 1;
/// What fills that buffer in few calls.
const FILLING: [u8; 1024] = [0; 1024];

/// Both ends, and the levels in force.
#[derive(Debug)]
pub(crate) struct Gate {
    /// The program's, while it is open.
    user: Option<OwnedFd>,
    /// The library's; `None` once the connection has failed.
    own: Option<OwnedFd>,
    now: Ready,
}

impl Gate {
    pub(crate) fn new(nonblocking: bool) -> Result<Gate> {
        let (user, own) =
            net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        net::sockopt::set_socket_send_buffer_size(&user, SEND_BUFFER)?;
        if nonblocking {
            set_nonblocking(&user, true)?;
        }
        let now = Ready { writable: true, ..Ready::default() };
        Ok(Gate { user: Some(user), own: Some(own), now })
    }

    /// The number that the program gets. From now on it is closed by [`Gate::close`] alone.
    pub(crate) fn number(&self) -> RawFd {
        self.user.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// O_NONBLOCK of the program's descriptor: fcntl(2) sets it as with any other.
    pub(crate) fn is_nonblocking(&self) -> bool {
        let flags = self.user.as_ref().map(rustix::fs::fcntl_getfl);
        flags.is_some_and(|flags| flags.is_ok_and(|flags| flags.contains(OFlags::NONBLOCK)))
    }

    pub(crate) fn set_nonblocking(&self, nonblocking: bool) -> Result<()> {
        set_nonblocking(self.user.as_ref().ok_or(Errno(libc::EBADF))?, nonblocking)
    }

    /// Brings the descriptor in step. What ended stays so.
    pub(crate) fn set(&mut self, ready: Ready) {
        let (Some(user), Some(own)) = (&self.user, &self.own) else { return };
        if ready.failed && !self.now.over {
            // Closed with a byte unread, it leaves ECONNRESET behind: POLLERR.
            set_writable(user, own, true);
            let _ = net::send(user, &[0], AT_ONCE);
            self.own = None;
            return;
        }
        if ready.readable != self.now.readable {
            set_readable(user, own, ready.readable);
        }
        if ready.writable != self.now.writable {
            set_writable(user, own, ready.writable);
        }
        if ready.over && !self.now.over {
            let _ = net::shutdown(own, Shutdown::Both);
        } else if ready.peer_closed && !self.now.peer_closed {
            let _ = net::shutdown(own, Shutdown::Write);
        }
        self.now = ready;
    }

    /// The failure was told: POLLERR goes, POLLHUP stays.
    pub(crate) fn told(&self) {
        if let (Some(user), None) = (&self.user, &self.own) {
            let _ = net::sockopt::socket_error(user);
        }
    }

    /// Closes the program's descriptor.
    pub(crate) fn close(&mut self) {
        self.user = None;
        self.own = None;
    }

    /// The program has closed it by close(2), and the number is another's.
    pub(crate) fn disown(&mut self) {
        if let Some(user) = self.user.take() {
            let _ = user.into_raw_fd();
        }
        self.own = None;
    }
}

fn set_nonblocking(fd: &OwnedFd, nonblocking: bool) -> Result<()> {
    let mut flags = rustix::fs::fcntl_getfl(fd)?;
    flags.set(OFlags::NONBLOCK, nonblocking);
    Ok(rustix::fs::fcntl_setfl(fd, flags)?)
}

fn set_readable(user: &OwnedFd, own: &OwnedFd, readable: bool) {
    if readable {
        let _ = net::send(own, &[0], AT_ONCE);
    } else {
        drain(user);
    }
}

fn set_writable(user: &OwnedFd, own: &OwnedFd, writable: bool) {
    if writable {
        drain(own);
    } else {
        while net::send(user, &FILLING, AT_ONCE).is_ok() {}
    }
}

fn drain(fd: &OwnedFd) {
    let mut sink = [0; 8192];
    while let Ok((1.., _)) = net::recv(fd, &mut sink, RecvFlags::DONTWAIT) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(gate: &Gate) -> i16 {
        let events = libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP;
        let mut fd = libc::pollfd { fd: gate.number(), events, revents: 0 };
        // SAFETY: one entry, which outlives the call.
        unsafe { libc::poll(&raw mut fd, 1, 0) };
        fd.revents
    }

    fn ready(readable: bool, writable: bool) -> Ready {
        Ready { readable, writable, ..Ready::default() }
    }

    #[test]
    fn poll_tells_what_was_set() {
        let mut gate = Gate::new(false).expect("descriptors");
        assert_eq!(poll(&gate), libc::POLLOUT);
        for _ in 0..3 {
            for (readable, writable) in [(false, false), (true, false), (true, true), (false, true)]
            {
                gate.set(ready(readable, writable));
                let expected = if readable { libc::POLLIN } else { 0 };
                let expected = expected | if writable { libc::POLLOUT } else { 0 };
                assert_eq!(poll(&gate), expected, "readable {readable}, writable {writable}");
            }
        }
    }

    #[test]
    fn poll_tells_the_end_and_failures() {
        let mut gate = Gate::new(false).expect("descriptors");
        let end = Ready { peer_closed: true, ..ready(true, false) };
        gate.set(end);
        assert_eq!(poll(&gate), libc::POLLIN | libc::POLLRDHUP);
        gate.set(Ready { over: true, writable: true, ..end });
        let over = libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP | libc::POLLHUP;
        assert_eq!(poll(&gate), over);
        for before in [ready(false, true), ready(true, false)] {
            let mut gate = Gate::new(false).expect("descriptors");
            gate.set(before);
            gate.set(Ready { over: true, failed: true, writable: true, ..end });
            assert_eq!(poll(&gate), over | libc::POLLERR);
            gate.told();
            assert_eq!(poll(&gate), over);
        }
    }
}
