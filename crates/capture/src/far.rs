//! The interface to the crate's user, who connects to the far end and answers DNS queries.

use std::fmt;
use std::io;
use std::marker;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::task::{Poll, Waker};

/// Opens the far end of each connection that the command opens.
pub trait Dialer {
    /// Begins to open a connection to `to`, without waiting.
    ///
    /// # Errors
    ///
    /// The connection fails at once, as in [`FarEnd::poll_connected`].
    fn dial(&mut self, to: SocketAddr) -> io::Result<Box<dyn FarEnd>>;
}

/// The far end of a connection: a stream of bytes in both directions.
///
/// Each `poll_` method does what it can without waiting. If it returns [`Poll::Pending`], it has
/// arranged that `waker` is woken when it is worth another call; a wake-up too many does no harm. All
/// calls come from one thread, and all with wakers of the same task. A wake-up may come from any
/// thread.
///
/// Dropping the value closes both directions in an orderly way: bytes that were written are
/// still delivered, in the background.
pub trait FarEnd {
    /// Ready once the far end has accepted or refused. Nothing else is called before.
    ///
    /// # Errors
    ///
    /// The kind decides what the command sees: [`io::ErrorKind::ConnectionRefused`] and
    /// [`io::ErrorKind::ConnectionReset`] as such, [`io::ErrorKind::NetworkUnreachable`] and
    /// [`io::ErrorKind::HostUnreachable`] as such, [`io::ErrorKind::PermissionDenied`] as a
    /// prohibition, which is "no route to host" with IPv4 and "permission denied" with IPv6. All
    /// others are "no route to host".
    fn poll_connected(&mut self, waker: &Waker) -> Poll<io::Result<()>>;

    /// Reads bytes; 0 at the end of the stream.
    ///
    /// # Errors
    ///
    /// The far end has reset the connection, or it has failed. The command's end is reset.
    fn poll_read(&mut self, waker: &Waker, buffer: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Writes some of the bytes; returns how many.
    ///
    /// # Errors
    ///
    /// As [`FarEnd::poll_read`].
    fn poll_write(&mut self, waker: &Waker, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Ends the outgoing stream after the bytes written so far. The other direction stays open.
    ///
    /// # Errors
    ///
    /// As [`FarEnd::poll_read`].
    fn poll_close(&mut self, waker: &Waker) -> Poll<io::Result<()>>;

    /// Resets the connection: the far end sees an error instead of an end.
    fn abort(self: Box<Self>);

    /// A nonblocking socket whose readiness is worth a call: it is watched in place of the wakers,
    /// which are then unused. It stays the same for as long as the value lives.
    fn socket(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Answers the command's DNS queries.
pub trait Resolver {
    /// Begins to find the answer to a DNS message (RFC 1035), without waiting. The answer has the
    /// identifier and the question of the query; its length is that of an answer over TCP.
    fn resolve(&mut self, query: &[u8], reply: Reply);
}

/// Where the answer to a DNS query goes. Dropping it reports a server failure to the command.
pub struct Reply(Option<Send>);

type Send = Box<dyn FnOnce(Option<Vec<u8>>) + marker::Send>;

impl Reply {
    /// A reply that calls `send` once, with `None` for no answer.
    pub fn new(send: impl FnOnce(Option<Vec<u8>>) + marker::Send + 'static) -> Reply {
        Reply(Some(Box::new(send)))
    }

    /// Sends the answer, from any thread.
    pub fn send(mut self, answer: Vec<u8>) {
        if let Some(send) = self.0.take() {
            send(Some(answer));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(send) = self.0.take() {
            send(None);
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_reply_is_sent_once_and_a_dropped_one_is_none() {
        let (sender, receiver) = channel();
        let reply = || {
            let sender = sender.clone();
            Reply::new(move |answer| sender.send(answer).expect("received"))
        };
        reply().send(vec![7]);
        drop(reply());
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [Some(vec![7]), None]);
    }
}
