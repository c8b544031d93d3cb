//! Secured streams for tokio. Requires the features `secure` and `tokio`.

use super::{Allow, Identity};
use crate::tokio::TouStream;
use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use windlass_identity::PublicKey;

/// A secured stream; see [`super::SecureStream`].
#[derive(Clone, Debug)]
pub struct SecureStream(super::SecureStream);

impl SecureStream {
    /// Secures a connection as its client. The server must have the key `peer`. There is no time
    /// limit; put one around it.
    ///
    /// # Errors
    /// As [`super::SecureStream::connect`].
    pub async fn connect(
        stream: TouStream,
        identity: &Identity,
        peer: PublicKey,
    ) -> io::Result<SecureStream> {
        let stream = super::SecureStream::begin_connect(stream.into_std(), identity, peer)?;
        SecureStream::secured(stream).await
    }

    /// Secures a connection as its server. The client must have a key that `allow` permits. There
    /// is no time limit; put one around it. Use a task for each connection, so that a slow client
    /// does not delay others.
    ///
    /// # Errors
    /// As [`super::SecureStream::accept`].
    pub async fn accept(
        stream: TouStream,
        identity: &Identity,
        allow: &Allow,
    ) -> io::Result<SecureStream> {
        let stream = super::SecureStream::begin_accept(stream.into_std(), identity, allow)?;
        SecureStream::secured(stream).await
    }

    async fn secured(stream: super::SecureStream) -> io::Result<SecureStream> {
        std::future::poll_fn(|cx| stream.poll_secured(cx.waker())).await?;
        Ok(SecureStream(stream))
    }

    /// The stream with blocking calls, for its keys, addresses and options.
    pub fn get_ref(&self) -> &super::SecureStream {
        &self.0
    }

    /// The stream with blocking calls.
    pub fn into_std(self) -> super::SecureStream {
        self.0
    }
}

impl From<super::SecureStream> for SecureStream {
    fn from(stream: super::SecureStream) -> SecureStream {
        SecureStream(stream)
    }
}

impl AsyncRead for SecureStream {
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

impl AsyncWrite for SecureStream {
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

    /// Sends close_notify and FIN after the data written so far, and does not wait for delivery.
    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.shutdown(Shutdown::Write))
    }
}
