//! The program's descriptor, which is readable and writable when its socket is.
//!
//! It is one end of a pair of UNIX stream sockets; the library has the other end. The library
//! controls the descriptor's events as follows:
//!
//! | event | cause |
//! |---|---|
//! | POLLIN | a byte, written by the library |
//! | no POLLOUT | the small send buffer is full |
//! | POLLRDHUP, POLLHUP | the library shuts down its end |
//! | POLLERR | the library closes its end with a byte unread |
//!
//! select, poll and epoll therefore work, also edge-triggered. An eventfd would not do: it is always
//! readable or writable.

use crate::errno::{Errno, Result};
use rustix::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use rustix::fs::OFlags;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType};
use windlass_tou::Ready;

const AT_ONCE: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
/// Requested send buffer. The kernel rounds it up to its minimum of a few kilobytes.
const SEND_BUFFER: usize = 1;
/// Fills the send buffer in few calls.
const FILLING: [u8; 1024] = [0; 1024];

/// Both ends of the socket pair, and the readiness that they show.
#[derive(Debug)]
pub(crate) struct Descriptor {
    /// The program's end, while it is open.
    user: Option<OwnedFd>,
    /// The library's end; `None` after the connection has failed.
    library: Option<OwnedFd>,
    current: Ready,
}

impl Descriptor {
    pub(crate) fn new(nonblocking: bool) -> Result<Descriptor> {
        let (user, library) =
            net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        net::sockopt::set_socket_send_buffer_size(&user, SEND_BUFFER)?;
        if nonblocking {
            set_nonblocking(&user, true)?;
        }
        let current = Ready { writable: true, ..Ready::default() };
        Ok(Descriptor { user: Some(user), library: Some(library), current })
    }

    /// The program's descriptor, or -1 after [`Descriptor::close`], which alone may close it.
    pub(crate) fn fd(&self) -> RawFd {
        self.user.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Whether the program's descriptor has O_NONBLOCK. The program may set it with fcntl(2).
    pub(crate) fn is_nonblocking(&self) -> bool {
        let flags = self.user.as_ref().map(rustix::fs::fcntl_getfl);
        flags.is_some_and(|flags| flags.is_ok_and(|flags| flags.contains(OFlags::NONBLOCK)))
    }

    pub(crate) fn set_nonblocking(&self, nonblocking: bool) -> Result<()> {
        set_nonblocking(self.user.as_ref().ok_or(Errno(libc::EBADF))?, nonblocking)
    }

    /// Shows `ready` on the descriptor. The end of a direction cannot be undone.
    pub(crate) fn update(&mut self, ready: Ready) {
        let (Some(user), Some(library)) = (&self.user, &self.library) else { return };
        if ready.failed && !self.current.over {
            // Closing with a byte unread leaves ECONNRESET on the program's end: POLLERR.
            set_writable(user, library, true);
            let _ = net::send(user, &[0], AT_ONCE);
            self.library = None;
            return;
        }
        if ready.readable != self.current.readable {
            set_readable(user, library, ready.readable);
        }
        if ready.writable != self.current.writable {
            set_writable(user, library, ready.writable);
        }
        if ready.over && !self.current.over {
            let _ = net::shutdown(library, Shutdown::Both);
        } else if ready.peer_closed && !self.current.peer_closed {
            let _ = net::shutdown(library, Shutdown::Write);
        }
        self.current = ready;
    }

    /// Clears POLLERR after the error was reported. POLLHUP stays.
    pub(crate) fn clear_error(&self) {
        if let (Some(user), None) = (&self.user, &self.library) {
            let _ = net::sockopt::socket_error(user);
        }
    }

    /// Closes both ends.
    pub(crate) fn close(&mut self) {
        self.user = None;
        self.library = None;
    }

    /// Gives up the program's descriptor without closing it: the program has closed it by close(2),
    /// and its number may belong to another file.
    pub(crate) fn forget(&mut self) {
        if let Some(user) = self.user.take() {
            let _ = user.into_raw_fd();
        }
        self.library = None;
    }
}

fn set_nonblocking(fd: &OwnedFd, nonblocking: bool) -> Result<()> {
    let mut flags = rustix::fs::fcntl_getfl(fd)?;
    flags.set(OFlags::NONBLOCK, nonblocking);
    Ok(rustix::fs::fcntl_setfl(fd, flags)?)
}

fn set_readable(user: &OwnedFd, library: &OwnedFd, readable: bool) {
    if readable {
        let _ = net::send(library, &[0], AT_ONCE);
    } else {
        drain(user);
    }
}

fn set_writable(user: &OwnedFd, library: &OwnedFd, writable: bool) {
    if writable {
        drain(library);
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

    fn poll(descriptor: &Descriptor) -> i16 {
        let events = libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP;
        let mut fd = libc::pollfd { fd: descriptor.fd(), events, revents: 0 };
        // SAFETY: the entry outlives the call.
        unsafe { libc::poll(&raw mut fd, 1, 0) };
        fd.revents
    }

    fn ready(readable: bool, writable: bool) -> Ready {
        Ready { readable, writable, ..Ready::default() }
    }

    #[test]
    fn poll_reports_readable_and_writable() {
        let mut descriptor = Descriptor::new(false).expect("descriptors");
        assert_eq!(poll(&descriptor), libc::POLLOUT);
        for _ in 0..3 {
            for (readable, writable) in [(false, false), (true, false), (true, true), (false, true)]
            {
                descriptor.update(ready(readable, writable));
                let expected = if readable { libc::POLLIN } else { 0 };
                let expected = expected | if writable { libc::POLLOUT } else { 0 };
                assert_eq!(poll(&descriptor), expected, "readable {readable}, writable {writable}");
            }
        }
    }

    #[test]
    fn poll_reports_the_end_and_failures() {
        let mut descriptor = Descriptor::new(false).expect("descriptors");
        let end = Ready { peer_closed: true, ..ready(true, false) };
        descriptor.update(end);
        assert_eq!(poll(&descriptor), libc::POLLIN | libc::POLLRDHUP);
        descriptor.update(Ready { over: true, writable: true, ..end });
        let over = libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP | libc::POLLHUP;
        assert_eq!(poll(&descriptor), over);
        for before in [ready(false, true), ready(true, false)] {
            let mut descriptor = Descriptor::new(false).expect("descriptors");
            descriptor.update(before);
            descriptor.update(Ready { over: true, failed: true, writable: true, ..end });
            assert_eq!(poll(&descriptor), over | libc::POLLERR);
            descriptor.clear_error();
            assert_eq!(poll(&descriptor), over);
        }
    }
}
