//! The same for tokio: [`TouStream`] reads and writes as `tokio::net::TcpStream` does.
//!
//! Feature `tokio`. The driver is the one of the blocking sockets, and a task leaves its waker with
//! it: no reactor of a runtime is needed, but for looking up names.

use crate::{Info, Options, TouSocket};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{ToSocketAddrs, lookup_host};

/// A connection; see [`crate::TouStream`].
#[derive(Clone, Debug)]
pub struct TouStream(crate::TouStream);

impl TouStream {
    /// Connects to the first of the addresses that answers, from a port of the system's choice.
    ///
    /// # Errors
    /// As [`crate::TouStream::connect`].
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<TouStream> {
        TouStream::connect_with(address, &Options::default()).await
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`crate::TouStream::connect`].
    pub async fn connect_with(
        address: impl ToSocketAddrs,
        options: &Options,
    ) -> io::Result<TouStream> {
        let mut last = io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
        for peer in lookup_host(address).await? {
            match TouStream::connected(crate::TouStream::begin(peer, options)?).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects from a port that is there already; see [`TouSocket::connect`].
    ///
    /// # Errors
    /// As there.
    pub async fn connect_from(socket: &TouSocket, peer: SocketAddr) -> io::Result<TouStream> {
        TouStream::connected(socket.begin(peer)?).await
    }

    async fn connected(stream: crate::TouStream) -> io::Result<TouStream> {
        std::future::poll_fn(|cx| stream.poll_connected(cx.waker())).await?;
        Ok(TouStream(stream))
    }

    /// The other end.
    ///
    /// # Errors
    /// As [`crate::TouStream::peer_addr`].
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// This end.
    ///
    /// # Errors
    /// As [`crate::TouStream::local_addr`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Where the connection stands.
    ///
    /// # Errors
    /// As [`crate::TouStream::info`].
    pub fn info(&self) -> io::Result<Info> {
        self.0.info()
    }

    /// See [`crate::TouStream::set_nodelay`].
    ///
    /// # Errors
    /// As there.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.set_nodelay(nodelay)
    }

    /// The blocking socket of the same connection.
    pub fn into_std(self) -> crate::TouStream {
        self.0
    }
}

impl From<crate::TouStream> for TouStream {
    fn from(stream: crate::TouStream) -> TouStream {
        TouStream(stream)
    }
}

impl AsyncRead for TouStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.initialize_unfilled();
        let taken = ready!(self.0.poll_read(cx.waker(), room))?;
        buffer.advance(taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TouStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx.waker(), bytes)
    }

    /// What was written goes out by itself.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// FIN goes out after what was written; nobody waits for its arrival, as with TCP.
    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.shutdown(Shutdown::Write))
    }
}

/// A port that takes connections; see [`crate::TouListener`].
#[derive(Debug)]
pub struct TouListener(crate::TouListener);

impl TouListener {
    /// Listens at the first of the addresses that is free.
    ///
    /// # Errors
    /// As [`crate::TouListener::bind`].
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<TouListener> {
        TouListener::bind_with(address, &Options::default()).await
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`crate::TouListener::bind`].
    pub async fn bind_with(
        address: impl ToSocketAddrs,
        options: &Options,
    ) -> io::Result<TouListener> {
        let addresses: Vec<_> = lookup_host(address).await?.collect();
        Ok(TouListener(crate::TouListener::bind_with(&addresses[..], options)?))
    }

    /// The next connection, and whence it came.
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub async fn accept(&self) -> io::Result<(TouStream, SocketAddr)> {
        let accepted = std::future::poll_fn(|cx| self.0.poll_accept(cx.waker())).await;
        Ok((TouStream(accepted.0), accepted.1))
    }

    /// This end.
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl From<crate::TouListener> for TouListener {
    fn from(listener: crate::TouListener) -> TouListener {
        TouListener(listener)
    }
}
