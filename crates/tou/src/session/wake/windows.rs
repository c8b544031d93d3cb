//! A pair of UDP sockets: Windows has no others that poll and the standard library know.

use crate::loopback;
use std::io;
use std::net::UdpSocket;

/// The socket that the thread polls.
pub(crate) type Pollable = UdpSocket;

/// Wakes the thread.
pub(crate) struct Waker(UdpSocket);

/// The thread's side of it.
pub(crate) struct Woken(UdpSocket);

/// Both sides.
pub(crate) fn pair() -> io::Result<(Waker, Woken)> {
    let (sender, receiver) = loopback::pair()?;
    Ok((Waker(sender), Woken(receiver)))
}

impl Waker {
    pub(crate) fn wake(&self) {
        // A full buffer means that the thread has a wake-up pending.
        let _ = self.0.send(&[0]);
    }
}

impl Woken {
    /// Readable if the thread is to wake up.
    pub(crate) fn pollable(&self) -> &Pollable {
        &self.0
    }

    /// Takes what woke the thread.
    pub(crate) fn clear(&self) {
        let mut byte = [0];
        while self.0.recv(&mut byte).is_ok() {}
    }
}
