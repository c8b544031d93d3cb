//! Streams and listeners for tokio, like `tokio::net::TcpStream` and `TcpListener`. Requires the
//! feature `tokio`.
//!
//! The I/O thread of the blocking sockets also serves these, and wakes their tasks. Only names need
//! tokio's own runtime: to be resolved, and its timers to try their addresses one after the other.

use crate::dialing::Dialing;
use crate::{Info, Options, TouSocket};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{ToSocketAddrs, lookup_host};
use tokio::time::timeout_at;

/// A connection; see [`crate::TouStream`].
#[derive(Clone, Debug)]
pub struct AsyncTouStream(crate::TouStream);

impl AsyncTouStream {
    /// Connects to the first of the addresses that answers, from a port that the system chooses.
    ///
    /// # Errors
    /// As [`crate::TouStream::connect`].
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<AsyncTouStream> {
        AsyncTouStream::connect_with(address, &Options::default()).await
    }

    /// As [`AsyncTouStream::connect`], with options.
    ///
    /// # Errors
    /// As [`crate::TouStream::connect`].
    pub async fn connect_with(
        address: impl ToSocketAddrs,
        options: &Options,
    ) -> io::Result<AsyncTouStream> {
        let mut dialing = Dialing::new(lookup_host(address).await?, options);
        loop {
            let next = dialing.poll_at();
            let connected = std::future::poll_fn(|cx| dialing.poll(cx.waker()));
            let connected = match next {
                Some(next) => timeout_at(next.into(), connected).await.ok(),
                None => Some(connected.await),
            };
            if let Some(connected) = connected {
                return connected.map(AsyncTouStream);
            }
        }
    }

    /// Connects from an existing port; see [`TouSocket::connect`].
    ///
    /// # Errors
    /// As [`TouSocket::connect`].
    pub async fn connect_from(socket: &TouSocket, peer: SocketAddr) -> io::Result<AsyncTouStream> {
        AsyncTouStream::connected(socket.begin(peer)?).await
    }

    async fn connected(stream: crate::TouStream) -> io::Result<AsyncTouStream> {
        std::future::poll_fn(|cx| stream.poll_connected(cx.waker())).await?;
        Ok(AsyncTouStream(stream))
    }

    /// The peer's address.
    ///
    /// # Errors
    /// As [`crate::TouStream::peer_addr`].
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// The local address.
    ///
    /// # Errors
    /// As [`crate::TouStream::local_addr`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// State, windows, times and counters of the connection.
    ///
    /// # Errors
    /// As [`crate::TouStream::info`].
    pub fn info(&self) -> io::Result<Info> {
        self.0.info()
    }

    /// Turns Nagle's algorithm off (`true`) or on.
    ///
    /// # Errors
    /// As [`crate::TouStream::set_nodelay`].
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.set_nodelay(nodelay)
    }

    /// The blocking stream of the same connection.
    pub fn into_std(self) -> crate::TouStream {
        self.0
    }
}

impl From<crate::TouStream> for AsyncTouStream {
    fn from(stream: crate::TouStream) -> AsyncTouStream {
        AsyncTouStream(stream)
    }
}

/// Implements tokio's traits for the wrapper of a stream.
macro_rules! implement_async_io {
    ($stream:ty) => {
        impl AsyncRead for $stream {
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

        impl AsyncWrite for $stream {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.0.poll_write(cx.waker(), bytes)
            }

            /// Does nothing: written data is sent without a flush.
            fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Ends this direction after the data written so far. Does not wait for its delivery, as
            /// with TCP.
            fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.0.shutdown(Shutdown::Write))
            }
        }
    };
}
#[cfg(feature = "secure")]
pub(crate) use implement_async_io;

implement_async_io!(AsyncTouStream);

/// A port that accepts connections; see [`crate::TouListener`].
#[derive(Debug)]
pub struct AsyncTouListener(crate::TouListener);

impl AsyncTouListener {
    /// Listens at the first of the addresses that can be bound.
    ///
    /// # Errors
    /// As [`crate::TouListener::bind`].
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<AsyncTouListener> {
        AsyncTouListener::bind_with(address, &Options::default()).await
    }

    /// As [`AsyncTouListener::bind`], with options.
    ///
    /// # Errors
    /// As [`crate::TouListener::bind`].
    pub async fn bind_with(
        address: impl ToSocketAddrs,
        options: &Options,
    ) -> io::Result<AsyncTouListener> {
        let addresses: Vec<_> = lookup_host(address).await?.collect();
        Ok(AsyncTouListener(crate::TouListener::bind_with(&addresses[..], options)?))
    }

    /// Waits for the next connection. Returns it with the peer's address.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` like `tokio::net::TcpListener::accept`.
    pub async fn accept(&self) -> io::Result<(AsyncTouStream, SocketAddr)> {
        let accepted = std::future::poll_fn(|cx| self.0.poll_accept(cx.waker())).await;
        Ok((AsyncTouStream(accepted.0), accepted.1))
    }

    /// The local address.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` like [`std::net::TcpListener::local_addr`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl From<crate::TouListener> for AsyncTouListener {
    fn from(listener: crate::TouListener) -> AsyncTouListener {
        AsyncTouListener(listener)
    }
}
