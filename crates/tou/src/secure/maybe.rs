//! A stream that is encrypted if the user wants it, for programs that leave the choice.

use super::{Allow, Identity, SecureStream};
use crate::{Ready, TouStream};
use std::io;
use std::net::Shutdown;
use std::task::{Poll, Waker};
use std::time::Duration;
use windlass_identity::PublicKey;

/// A ToU connection, encrypted or not. Clones are handles of the same stream.
#[derive(Clone, Debug)]
pub enum MaybeSecureStream {
    /// Not encrypted.
    Plain(TouStream),
    /// With TLS.
    Secure(SecureStream),
}

/// Begins with a connection that is open.
impl MaybeSecureStream {
    /// Begins to secure a connection as its client if there is an `identity`; see
    /// [`MaybeSecureStream::poll_secured`].
    ///
    /// # Errors
    /// As [`SecureStream::begin_connect`].
    pub fn begin_connect(
        stream: TouStream,
        identity: Option<&Identity>,
        peer: PublicKey,
    ) -> io::Result<MaybeSecureStream> {
        let Some(identity) = identity else { return Ok(MaybeSecureStream::Plain(stream)) };
        SecureStream::begin_connect(stream, identity, peer).map(MaybeSecureStream::Secure)
    }

    /// As [`MaybeSecureStream::begin_connect`], as the server. With TLS, `allow` judges the client's
    /// key.
    ///
    /// # Errors
    /// As [`SecureStream::begin_accept`].
    pub fn begin_accept(
        stream: TouStream,
        identity: Option<&Identity>,
        allow: &Allow,
    ) -> io::Result<MaybeSecureStream> {
        let Some(identity) = identity else { return Ok(MaybeSecureStream::Plain(stream)) };
        SecureStream::begin_accept(stream, identity, allow).map(MaybeSecureStream::Secure)
    }

    /// Ready when the handshake of TLS is over, with the key that it has proved; at once without TLS.
    pub fn poll_secured(&self, waker: &Waker) -> Poll<io::Result<Option<PublicKey>>> {
        match self {
            MaybeSecureStream::Plain(_) => Poll::Ready(Ok(None)),
            MaybeSecureStream::Secure(stream) => stream.poll_secured(waker).map_ok(Some),
        }
    }
}

/// Each method is that of the stream inside.
impl MaybeSecureStream {
    /// The ToU connection, for its state and its options.
    pub fn connection(&self) -> &TouStream {
        match self {
            MaybeSecureStream::Plain(stream) => stream,
            MaybeSecureStream::Secure(stream) => stream.connection(),
        }
    }

    /// See [`SecureStream::poll_ready`].
    pub fn poll_ready(&self, waker: &Waker) -> Ready {
        match self {
            MaybeSecureStream::Plain(stream) => stream.poll_ready(waker),
            MaybeSecureStream::Secure(stream) => stream.poll_ready(waker),
        }
    }

    /// See [`SecureStream::poll_read`].
    pub fn poll_read(&self, waker: &Waker, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            MaybeSecureStream::Plain(stream) => stream.poll_read(waker, buffer),
            MaybeSecureStream::Secure(stream) => stream.poll_read(waker, buffer),
        }
    }

    /// See [`SecureStream::poll_write`].
    pub fn poll_write(&self, waker: &Waker, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            MaybeSecureStream::Plain(stream) => stream.poll_write(waker, bytes),
            MaybeSecureStream::Secure(stream) => stream.poll_write(waker, bytes),
        }
    }

    /// See [`TouStream::set_nodelay`].
    ///
    /// # Errors
    /// As [`TouStream::set_nodelay`].
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        match self {
            MaybeSecureStream::Plain(stream) => stream.set_nodelay(nodelay),
            MaybeSecureStream::Secure(stream) => stream.set_nodelay(nodelay),
        }
    }

    /// See [`SecureStream::shutdown`].
    ///
    /// # Errors
    /// As [`SecureStream::shutdown`].
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            MaybeSecureStream::Plain(stream) => stream.shutdown(how),
            MaybeSecureStream::Secure(stream) => stream.shutdown(how),
        }
    }

    /// See [`SecureStream::finish`].
    ///
    /// # Errors
    /// As [`SecureStream::finish`].
    pub fn finish(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            MaybeSecureStream::Plain(stream) => stream.finish(timeout),
            MaybeSecureStream::Secure(stream) => stream.finish(timeout),
        }
    }

    /// See [`SecureStream::take_error`].
    ///
    /// # Errors
    /// As [`SecureStream::take_error`].
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            MaybeSecureStream::Plain(stream) => stream.take_error(),
            MaybeSecureStream::Secure(stream) => stream.take_error(),
        }
    }
}
