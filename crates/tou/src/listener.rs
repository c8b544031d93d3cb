//! Sockets that listen. The I/O thread completes handshakes; a thread in `accept` waits for one.

use crate::driver::{PortRef, block_on};
use crate::handle::canonical;
use crate::stream::TouStream;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

/// A port that accepts connections, like [`std::net::TcpListener`]. Dropping it ends listening.
/// Accepted connections continue.
pub struct TouListener {
    port: PortRef,
    nonblocking: AtomicBool,
}

impl fmt::Debug for TouListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TouListener").field("local", &self.local_addr()).finish_non_exhaustive()
    }
}

impl Drop for TouListener {
    fn drop(&mut self) {
        self.port.with(|state, _| state.endpoint.stop_listening());
    }
}

impl TouListener {
    pub(crate) fn on(port: PortRef) -> TouListener {
        TouListener { port, nonblocking: AtomicBool::new(false) }
    }

    /// The local address.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` like [`std::net::TcpListener::local_addr`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.port.local_addr())
    }

    /// Waits for the next connection. Returns it with the peer's address.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if the listener is nonblocking and no connection waits.
    pub fn accept(&self) -> io::Result<(TouStream, SocketAddr)> {
        let accepted = if self.nonblocking.load(Ordering::Relaxed) {
            match self.poll(None) {
                Poll::Ready(accepted) => Some(accepted),
                Poll::Pending => None,
            }
        } else {
            block_on(None, |waker| self.poll(Some(waker)))
        };
        accepted.ok_or_else(|| ErrorKind::WouldBlock.into())
    }

    /// An endless iterator over [`TouListener::accept`].
    pub fn incoming(&self) -> impl Iterator<Item = io::Result<TouStream>> + '_ {
        std::iter::repeat_with(|| self.accept().map(|(stream, _)| stream))
    }

    /// In nonblocking mode, [`TouListener::accept`] returns [`ErrorKind::WouldBlock`] instead of
    /// waiting. Accepted streams begin in blocking mode.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` like [`std::net::TcpListener::set_nonblocking`].
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.nonblocking.store(nonblocking, Ordering::Relaxed);
        Ok(())
    }

    /// For event loops: as [`TouListener::accept`], but leaves a waker instead of waiting.
    pub fn poll_accept(&self, waker: &Waker) -> Poll<(TouStream, SocketAddr)> {
        self.poll(Some(waker))
    }

    /// For event loops: true if [`TouListener::accept`] would not wait. Otherwise leaves a waker.
    pub fn poll_acceptable(&self, waker: &Waker) -> bool {
        self.port.with(|state, _| {
            let any = state.endpoint.acceptable() > 0;
            if !any {
                state.wait_for_connection(waker);
            }
            any
        })
    }

    fn poll(&self, waker: Option<&Waker>) -> Poll<(TouStream, SocketAddr)> {
        let accepted = self.port.with(|state, _| {
            let id = state.endpoint.accept();
            if let (None, Some(waker)) = (id, waker) {
                state.wait_for_connection(waker);
            }
            id.and_then(|id| Some((id, state.endpoint.peer(id)?)))
        });
        let Some((id, peer)) = accepted else { return Poll::Pending };
        let stream = TouStream::on(self.port.clone(), id, peer);
        // Known from now on, even if the connection ends at once.
        let _ = stream.local_addr();
        Poll::Ready((stream, canonical(peer)))
    }
}
