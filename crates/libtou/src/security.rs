//! Keys of hosts, and encryption of a connected socket.

use crate::errno::{Errno, Result};
use crate::socket::{Phase, Socket};
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use windlass_identity::{KeyFileError, PublicKey, SecretKey};
use windlass_tou::secure::{Allow, Identity, MaybeSecureStream, SecureStream};

/// The longest handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(30);

/// Reads the key from a file, which must exist.
pub(crate) fn load_key(file: &Path) -> Result<SecretKey> {
    windlass_identity::load(file).map_err(errno)
}

/// As [`load_key`], but makes the file if there is none.
pub(crate) fn load_or_create_key(file: &Path) -> Result<SecretKey> {
    windlass_identity::load_or_create(file).map_err(errno)
}

fn errno(error: KeyFileError) -> Errno {
    match error {
        KeyFileError::Io { source, .. } => source.into(),
        // Open to others, or not a key.
        _ => Errno(libc::EACCES),
    }
}

/// The end of a connection that secures it.
pub(crate) enum Side {
    Client(PublicKey),
    Server(Allow),
}

impl Socket {
    /// Secures the connection: from then on, the socket's bytes travel encrypted. On a nonblocking
    /// socket the first call begins, and another one returns the outcome.
    pub(crate) fn secure(self: &Arc<Self>, key: &SecretKey, side: &Side) -> Result<PublicKey> {
        let begun = matches!(self.phase(), Phase::Connected(MaybeSecureStream::Secure(_), _));
        if !begun {
            self.begin_securing(key, side)?;
        }
        let secured = self.block_on(true, Some(HANDSHAKE_MAX), |waker| match self.phase() {
            Phase::Connected(MaybeSecureStream::Secure(stream), _) => {
                stream.poll_secured(waker).map_err(Errno::from)
            }
            _ => Poll::Ready(Err(Errno(libc::EBADF))),
        });
        self.sync();
        let waits = self.descriptor().is_nonblocking();
        let pending = match (waits, begun) {
            (false, _) => libc::ETIMEDOUT,
            (true, false) => libc::EINPROGRESS,
            (true, true) => libc::EALREADY,
        };
        secured.unwrap_or(Err(Errno(pending)))
    }

    fn begin_securing(&self, key: &SecretKey, side: &Side) -> Result<()> {
        let Phase::Connected(MaybeSecureStream::Plain(stream), known) = self.phase() else {
            return Err(Errno(libc::ENOTCONN));
        };
        let identity = Identity::new(key);
        let secure = match side {
            Side::Client(peer) => SecureStream::begin_connect(stream, &identity, *peer),
            Side::Server(allow) => SecureStream::begin_accept(stream, &identity, allow),
        };
        self.set_phase(Phase::Connected(MaybeSecureStream::Secure(secure?), known))
    }
}
