//! A secured stream over a [`TouStream`].

use super::shared::Shared;
use super::{Allow, Error, Handshake, Identity};
use crate::driver::block_on;
use crate::{Ready, TouStream};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use windlass_identity::PublicKey;

/// The longest wait of [`SecureStream::connect`] and [`SecureStream::accept`].
const HANDSHAKE_MAX: Duration = Duration::from_secs(30);

/// An encrypted and authenticated stream. One thread may read while another writes; clones are
/// handles of the same stream.
///
/// [`SecureStream::shutdown`] ends one direction so that the peer can tell it from a stream that
/// someone has cut off. After the last clone is dropped, the stream ends likewise and delivers its
/// data in the background. Dropping a stream with unread data resets the connection, as with TCP.
///
/// Errors contain an [`Error`]; those of the connection below are the same as without encryption.
#[derive(Clone)]
pub struct SecureStream(Arc<Shared>);

/// Securing a connection.
impl SecureStream {
    /// Secures a connection as its client, and waits until it is done, for at most 30 seconds. The
    /// server must have the key `peer`.
    ///
    /// # Errors
    /// The connection's error, or an [`Error`]: [`Error::WrongPeer`], [`Error::NotTls`],
    /// [`Error::TimedOut`] and others. [`Error::Refused`] comes later, with the first read or write.
    /// [`ErrorKind::InvalidInput`] if the send buffer is smaller than 4096 bytes.
    pub fn connect(
        stream: TouStream,
        identity: &Identity,
        peer: PublicKey,
    ) -> io::Result<SecureStream> {
        SecureStream::begin_connect(stream, identity, peer)?.wait_secured()
    }

    /// Secures a connection as its server, and waits until it is done, for at most 30 seconds. The
    /// client must have a key that `allow` permits.
    ///
    /// # Errors
    /// As [`SecureStream::connect`], and [`Error::NotAllowed`].
    pub fn accept(
        stream: TouStream,
        identity: &Identity,
        allow: &Allow,
    ) -> io::Result<SecureStream> {
        SecureStream::begin_accept(stream, identity, allow)?.wait_secured()
    }

    /// Begins to secure a connection as its client, and returns without waiting; see
    /// [`SecureStream::poll_secured`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the send buffer is smaller than 4096 bytes, or an [`Error`].
    pub fn begin_connect(
        stream: TouStream,
        identity: &Identity,
        peer: PublicKey,
    ) -> io::Result<SecureStream> {
        let handshake = Handshake::client(identity, peer)?;
        SecureStream::begin(stream, identity, handshake)
    }

    /// Begins to secure a connection as its server, and returns without waiting; see
    /// [`SecureStream::poll_secured`].
    ///
    /// # Errors
    /// As [`SecureStream::begin_connect`].
    pub fn begin_accept(
        stream: TouStream,
        identity: &Identity,
        allow: &Allow,
    ) -> io::Result<SecureStream> {
        let handshake = Handshake::server(identity, allow)?;
        SecureStream::begin(stream, identity, handshake)
    }

    fn begin(
        stream: TouStream,
        identity: &Identity,
        handshake: Handshake,
    ) -> io::Result<SecureStream> {
        let shared = Shared::new(stream, identity.public_key(), handshake)?;
        Ok(SecureStream(Arc::new(shared)))
    }

    fn wait_secured(self) -> io::Result<SecureStream> {
        let deadline = Instant::now() + HANDSHAKE_MAX;
        let secured = block_on(Some(deadline), |waker| self.poll_secured(waker));
        secured.unwrap_or_else(|| Err(self.0.give_up(Error::TimedOut)))?;
        Ok(self)
    }

    /// Ready with the peer's key when the stream is secured, or with the error of the handshake.
    pub fn poll_secured(&self, waker: &Waker) -> Poll<io::Result<PublicKey>> {
        self.0.poll_secured(Some(waker)).map_ok(|session| session.peer())
    }
}

/// The ends, and options.
impl SecureStream {
    /// The peer's key; `None` before the handshake has succeeded.
    pub fn peer_key(&self) -> Option<PublicKey> {
        self.0.session().map(|session| session.peer())
    }

    /// The key of this end.
    pub fn own_key(&self) -> PublicKey {
        self.0.own_key()
    }

    /// The peer's address.
    ///
    /// # Errors
    /// As [`TouStream::peer_addr`].
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.connection().peer_addr()
    }

    /// The local address.
    ///
    /// # Errors
    /// As [`TouStream::local_addr`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.connection().local_addr()
    }

    /// The connection below, for its state and its options. Reading or writing there breaks the
    /// stream.
    pub fn connection(&self) -> &TouStream {
        self.0.connection()
    }

    /// Turns Nagle's algorithm off (`true`) or on; see [`TouStream::set_nodelay`].
    ///
    /// # Errors
    /// As [`TouStream::set_nodelay`].
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.set_nodelay(nodelay)
    }

    /// Whether Nagle's algorithm is off.
    pub fn nodelay(&self) -> bool {
        self.0.nodelay()
    }

    /// In nonblocking mode, reads and writes return [`ErrorKind::WouldBlock`] instead of waiting.
    ///
    /// # Errors
    /// As [`TouStream::set_nonblocking`].
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.connection().set_nonblocking(nonblocking)
    }

    /// Takes the error of the stream or of the connection below. That of the connection is reported
    /// only once.
    ///
    /// # Errors
    /// As [`TouStream::take_error`].
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self.0.failure() {
            Some(failure) => Ok(Some(failure)),
            None => self.0.connection().take_error(),
        }
    }
}

/// Closing a stream.
impl SecureStream {
    /// Closes one direction or both. [`Shutdown::Write`] sends close_notify and FIN after the data
    /// written so far. After [`Shutdown::Read`], reads return 0 and incoming data is discarded.
    ///
    /// # Errors
    /// As [`TouStream::shutdown`]; [`ErrorKind::NotConnected`] during the handshake.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.shutdown(how)
    }

    /// Resets the connection at once and discards undelivered data; see [`TouStream::abort`].
    pub fn abort(&self) {
        self.0.connection().abort();
    }

    /// Closes this direction and waits until the peer has acknowledged all data. `None` waits
    /// without a limit.
    ///
    /// # Errors
    /// - an [`Error`] if the stream has failed, such as [`Error::Refused`] if that has arrived;
    /// - as [`TouStream::finish`].
    pub fn finish(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self.shutdown(Shutdown::Write) {
            Err(error) if error.kind() == ErrorKind::NotConnected => {}
            result => result?,
        }
        let finished = self.0.connection().finish(timeout);
        self.0.check_input()?;
        finished
    }
}

/// For event loops. Each method leaves a waker instead of waiting.
impl SecureStream {
    /// As [`Read::read`] without waiting.
    pub fn poll_read(&self, waker: &Waker, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.0.poll_read(Some(waker), buffer)
    }

    /// As [`Write::write`] without waiting.
    pub fn poll_write(&self, waker: &Waker, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(Some(waker), bytes)
    }

    /// Ready when the peer has acknowledged all data and the FIN.
    pub fn poll_delivered(&self, waker: &Waker) -> Poll<io::Result<()>> {
        self.0.connection().poll_delivered(waker)
    }

    /// The operations that would not wait. Leaves a waker for the others. Nothing is ready before
    /// the handshake has succeeded or failed.
    pub fn poll_ready(&self, waker: &Waker) -> Ready {
        self.0.poll_ready(waker)
    }
}

impl fmt::Debug for SecureStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SecureStream");
        shown.field("connection", self.connection()).field("peer_key", &self.peer_key()).finish()
    }
}

impl Read for &SecureStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let shared = &self.0;
        shared.connection().blocking_read(|waker| shared.poll_read(waker, buffer))
    }
}

impl Write for &SecureStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shared = &self.0;
        shared.connection().blocking_write(|waker| shared.poll_write(waker, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

crate::stream::read_and_write_by_reference!(SecureStream);
