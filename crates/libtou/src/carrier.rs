//! A connection, secured or not.

use std::io;
use std::net::Shutdown;
use std::task::{Poll, Waker};
use std::time::Duration;
use windlass_tou::secure::SecureStream;
use windlass_tou::{Ready, TouStream};

/// The stream under a connected socket, with or without encryption.
#[derive(Clone)]
pub(crate) enum Carrier {
    Plain(TouStream),
    Secure(SecureStream),
}

impl Carrier {
    /// The connection below, for its state and its options.
    pub(crate) fn connection(&self) -> &TouStream {
        match self {
            Carrier::Plain(stream) => stream,
            Carrier::Secure(stream) => stream.connection(),
        }
    }

    pub(crate) fn poll_ready(&self, waker: &Waker) -> Ready {
        match self {
            Carrier::Plain(stream) => stream.poll_ready(waker),
            Carrier::Secure(stream) => stream.poll_ready(waker),
        }
    }

    pub(crate) fn poll_read(&self, waker: &Waker, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Carrier::Plain(stream) => stream.poll_read(waker, buffer),
            Carrier::Secure(stream) => stream.poll_read(waker, buffer),
        }
    }

    pub(crate) fn poll_write(&self, waker: &Waker, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Carrier::Plain(stream) => stream.poll_write(waker, bytes),
            Carrier::Secure(stream) => stream.poll_write(waker, bytes),
        }
    }

    pub(crate) fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        match self {
            Carrier::Plain(stream) => stream.set_nodelay(nodelay),
            Carrier::Secure(stream) => stream.set_nodelay(nodelay),
        }
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Carrier::Plain(stream) => stream.shutdown(how),
            Carrier::Secure(stream) => stream.shutdown(how),
        }
    }

    pub(crate) fn finish(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Carrier::Plain(stream) => stream.finish(timeout),
            Carrier::Secure(stream) => stream.finish(timeout),
        }
    }

    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Carrier::Plain(stream) => stream.take_error(),
            Carrier::Secure(stream) => stream.take_error(),
        }
    }
}
