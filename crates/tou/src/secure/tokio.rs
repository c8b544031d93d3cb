//! Secured streams for tokio. Requires the features `secure` and `tokio`.

use super::{Allow, Identity};
use crate::tokio::{AsyncTouStream, implement_async_io};
use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use windlass_identity::PublicKey;

/// A secured stream; see [`super::SecureStream`].
#[derive(Clone, Debug)]
pub struct AsyncSecureStream(super::SecureStream);

impl AsyncSecureStream {
    /// Secures a connection as its client. The server must have the key `peer`. There is no time
    /// limit; put one around it.
    ///
    /// # Errors
    /// As [`super::SecureStream::connect`].
    pub async fn connect(
        stream: AsyncTouStream,
        identity: &Identity,
        peer: PublicKey,
    ) -> io::Result<AsyncSecureStream> {
        let stream = super::SecureStream::begin_connect(stream.into_std(), identity, peer)?;
        AsyncSecureStream::secured(stream).await
    }

    /// Secures a connection as its server. The client must have a key that `allow` permits. There
    /// is no time limit; put one around it. Use a task for each connection, so that a slow client
    /// does not delay others.
    ///
    /// # Errors
    /// As [`super::SecureStream::accept`].
    pub async fn accept(
        stream: AsyncTouStream,
        identity: &Identity,
        allow: &Allow,
    ) -> io::Result<AsyncSecureStream> {
        let stream = super::SecureStream::begin_accept(stream.into_std(), identity, allow)?;
        AsyncSecureStream::secured(stream).await
    }

    async fn secured(stream: super::SecureStream) -> io::Result<AsyncSecureStream> {
        std::future::poll_fn(|cx| stream.poll_secured(cx.waker())).await?;
        Ok(AsyncSecureStream(stream))
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

impl From<super::SecureStream> for AsyncSecureStream {
    fn from(stream: super::SecureStream) -> AsyncSecureStream {
        AsyncSecureStream(stream)
    }
}

implement_async_io!(AsyncSecureStream);
