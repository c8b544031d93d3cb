//! Accepting, sending and receiving: the calls of `abi` that may wait for the peer.

use crate::descriptor::Descriptor;
use crate::errno::{Errno, Result};
use crate::socket::{Phase, Socket};
use libc::c_int;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Poll, Waker};
use windlass_tou::secure::MaybeSecureStream;

const SEND_FLAGS: c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
const RECEIVE_FLAGS: c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_WAITALL;

impl Socket {
    /// Accepts the next connection as a new socket.
    pub(crate) fn accept(self: &Arc<Self>) -> Result<(Arc<Socket>, SocketAddr)> {
        if !matches!(self.phase(), Phase::Listening(_)) {
            return Err(Errno(libc::EINVAL));
        }
        // Made first: without a descriptor, no connection may be taken from the queue.
        let descriptor = Descriptor::new(false)?;
        let settings = self.settings();
        let accepted = self.block_on(true, settings.receive_timeout, |waker| match self.phase() {
            Phase::Listening(listener) => listener.poll_accept(waker).map(Ok),
            Phase::Closed => Poll::Ready(Err(Errno(libc::EBADF))),
            _ => Poll::Ready(Err(Errno(libc::EINVAL))),
        });
        self.sync();
        let (stream, peer) = accepted.unwrap_or(Err(Errno(libc::EAGAIN)))?;
        // TCP_NODELAY may have changed after the listener began.
        let _ = stream.set_nodelay(settings.options.nodelay);
        let phase = Phase::Connected(MaybeSecureStream::Plain(stream), true);
        let socket = Socket::with(self.family(), descriptor, phase, settings);
        socket.sync();
        Ok((socket, self.family().mapped(peer)))
    }

    /// Sends all bytes on a blocking socket, otherwise as many as there is room for.
    pub(crate) fn send(self: &Arc<Self>, bytes: &[u8], flags: c_int) -> Result<usize> {
        if flags & !SEND_FLAGS != 0 {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        let mut sent = 0;
        let (_, timeout) = self.timeouts();
        let result = self.block_on(flags & libc::MSG_DONTWAIT == 0, timeout, |waker| {
            self.poll_send(waker, bytes, &mut sent)
        });
        match result.unwrap_or(Err(Errno(libc::EAGAIN))) {
            Err(error) if sent > 0 => {
                if error != Errno(libc::EAGAIN) && error != Errno(libc::EPIPE) {
                    self.set_pending_error(error);
                }
                self.sync();
                Ok(sent)
            }
            Err(error) => Err(self.report_error(error)),
            Ok(()) => {
                self.sync();
                Ok(sent)
            }
        }
    }

    fn poll_send(&self, waker: &Waker, bytes: &[u8], sent: &mut usize) -> Poll<Result<()>> {
        let Some(stream) = self.stream(libc::EPIPE) else { return Poll::Pending };
        let stream = stream?;
        loop {
            match stream.poll_write(waker, &bytes[*sent..]) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Ready(Ok(taken)) => *sent += taken,
            }
            if *sent == bytes.len() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    pub(crate) fn receive(self: &Arc<Self>, buffer: &mut [u8], flags: c_int) -> Result<usize> {
        if flags & !RECEIVE_FLAGS != 0 {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        let wanted = if flags & libc::MSG_WAITALL == 0 { 1 } else { buffer.len() };
        let mut taken = 0;
        let (timeout, _) = self.timeouts();
        let result = self.block_on(flags & libc::MSG_DONTWAIT == 0, timeout, |waker| {
            let Some(stream) = self.stream(libc::ENOTCONN) else { return Poll::Pending };
            poll_receive(stream?, waker, buffer, &mut taken, wanted)
        });
        match result.unwrap_or(Err(Errno(libc::EAGAIN))) {
            Err(error) if taken > 0 => {
                if error != Errno(libc::EAGAIN) {
                    self.set_pending_error(error);
                }
                self.sync();
                Ok(taken)
            }
            Err(error) => Err(self.report_error(error)),
            Ok(()) => {
                self.sync();
                Ok(taken)
            }
        }
    }

    /// The connection; `None` while it is being opened. Fails with the pending error if there is one,
    /// or with `not_connected`.
    fn stream(&self, not_connected: c_int) -> Option<Result<MaybeSecureStream>> {
        if let Some(error) = self.take_pending_error() {
            return Some(Err(error));
        }
        match self.phase() {
            Phase::Finding(_) | Phase::Connecting(_) => None,
            Phase::Connected(stream, _) => Some(Ok(stream)),
            Phase::Closed => Some(Err(Errno(libc::EBADF))),
            Phase::Idle | Phase::Listening(_) | Phase::Node(_) => Some(Err(Errno(not_connected))),
        }
    }

    /// Updates the descriptor for an error that a call is about to return.
    fn report_error(self: &Arc<Self>, error: Errno) -> Errno {
        self.sync();
        if error != Errno(libc::EAGAIN) {
            self.descriptor().clear_error();
        }
        error
    }
}

/// Ready when at least `wanted` bytes were read or the stream has ended.
fn poll_receive(
    stream: MaybeSecureStream,
    waker: &Waker,
    buffer: &mut [u8],
    taken: &mut usize,
    wanted: usize,
) -> Poll<Result<()>> {
    loop {
        match stream.poll_read(waker, &mut buffer[*taken..]) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
            Poll::Ready(Ok(more)) => {
                *taken += more;
                if more == 0 || *taken >= wanted {
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}
