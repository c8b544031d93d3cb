//! A pair of Unix sockets.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// The socket that the thread polls.
pub(crate) type Pollable = UnixStream;

/// Wakes the thread.
pub(crate) struct Waker(UnixStream);

/// The thread's side of it.
pub(crate) struct Woken(UnixStream);

/// Both sides.
pub(crate) fn pair() -> io::Result<(Waker, Woken)> {
    let (sender, receiver) = UnixStream::pair()?;
    sender.set_nonblocking(true)?;
    receiver.set_nonblocking(true)?;
    Ok((Waker(sender), Woken(receiver)))
}

impl Waker {
    pub(crate) fn wake(&self) {
        // A full pipe means that the thread has a wake-up pending.
        let _ = (&self.0).write(&[0]);
    }
}

impl Woken {
    /// Readable if the thread is to wake up.
    pub(crate) fn pollable(&self) -> &Pollable {
        &self.0
    }

    /// Takes what woke the thread.
    pub(crate) fn clear(&self) {
        let mut bytes = [0; 256];
        while matches!((&self.0).read(&mut bytes), Ok(count) if count > 0) {}
    }
}
