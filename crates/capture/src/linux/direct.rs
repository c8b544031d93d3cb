//! Far ends that are ordinary TCP connections from the namespace of this process.

use crate::far::{Dialer, FarEnd};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Connects by TCP sockets of this process's network: the command reaches what this process does.
#[derive(Copy, Clone, Debug, Default)]
pub struct DirectDialer;

impl Dialer for DirectDialer {
    fn dial(&mut self, to: SocketAddr) -> io::Result<Box<dyn FarEnd>> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        // The bytes were held back already by the command's own socket if it wants that.
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&to.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(EINPROGRESS) => {}
            Err(error) => return Err(error),
        }
        Ok(Box::new(DirectEnd(socket)))
    }
}

/// A connection is being opened (connect(2)).
const EINPROGRESS: i32 = 115;

struct DirectEnd(Socket);

impl FarEnd for DirectEnd {
    fn poll_connected(&mut self, _: &Waker) -> Poll<io::Result<()>> {
        if let Some(error) = self.0.take_error()? {
            return Poll::Ready(Err(error));
        }
        match self.0.peer_addr() {
            Ok(_) => Poll::Ready(Ok(())),
            Err(error) if error.kind() == ErrorKind::NotConnected => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_read(&mut self, _: &Waker, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        without_waiting(|| (&self.0).read(buffer))
    }

    fn poll_write(&mut self, _: &Waker, bytes: &[u8]) -> Poll<io::Result<usize>> {
        without_waiting(|| (&self.0).write(bytes))
    }

    fn poll_close(&mut self, _: &Waker) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.shutdown(Shutdown::Write))
    }

    fn abort(self: Box<Self>) {
        // Closing then sends a reset. If it fails, the far end sees an orderly end.
        let _ = self.0.set_linger(Some(Duration::ZERO));
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}

fn without_waiting<T>(mut call: impl FnMut() -> io::Result<T>) -> Poll<io::Result<T>> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Poll::Pending,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}
