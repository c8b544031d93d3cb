use crate::driver::{PortRef, block_on};
use crate::handle::canonical;
use crate::{Options, TouSocket, TouStream};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

/// A port that takes connections, as [`std::net::TcpListener`] does. Dropped, it takes no more; those
/// accepted go on.
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
    /// Listens at the first of the addresses that is free.
    ///
    /// # Errors
    /// [`ErrorKind::AddrInUse`] and the like, the last one's; or of the name.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<TouListener> {
        TouListener::bind_with(address, &Options::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`TouListener::bind`].
    pub fn bind_with(address: impl ToSocketAddrs, options: &Options) -> io::Result<TouListener> {
        TouSocket::bind_with(address, options)?.listen()
    }

    pub(crate) fn on(port: PortRef) -> TouListener {
        TouListener { port, nonblocking: AtomicBool::new(false) }
    }

    /// This end.
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.port.local_addr())
    }

    /// The next connection, and whence it came.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if it may not wait.
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

    /// The connections that come, without an end.
    pub fn incoming(&self) -> impl Iterator<Item = io::Result<TouStream>> + '_ {
        std::iter::repeat_with(|| self.accept().map(|(stream, _)| stream))
    }

    /// Accepting returns [`ErrorKind::WouldBlock`] where it would wait.
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.nonblocking.store(nonblocking, Ordering::Relaxed);
        Ok(())
    }

    /// For event loops: leaves a waker where [`TouListener::accept`] would wait.
    pub fn poll_accept(&self, waker: &Waker) -> Poll<(TouStream, SocketAddr)> {
        self.poll(Some(waker))
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
        Poll::Ready((stream, canonical(peer)))
    }
}
