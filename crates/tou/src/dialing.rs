//! Opening a connection, to the first of several addresses that answers (RFC 8305).

use crate::driver::{block_on, client_source_for, now};
use crate::options::Options;
use crate::socket::TouSocket;
use crate::stream::TouStream;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use windlass_base::dial::Attempts;

/// Opening a connection.
impl TouStream {
    /// Connects to the first of the addresses that answers, from a port that the system chooses.
    /// The families alternate, and a further attempt begins after 250 ms (RFC 8305).
    ///
    /// # Errors
    /// If the name cannot be resolved, or no address answers. Of several addresses the error names
    /// each, and has the kind of the last that failed:
    /// - [`io::ErrorKind::ConnectionRefused`]: its port does not listen;
    /// - [`io::ErrorKind::HostUnreachable`] or [`io::ErrorKind::NetworkUnreachable`]: this host has no route,
    ///   or the network reports that there is no path;
    /// - [`io::ErrorKind::TimedOut`]: no answer within about two minutes.
    pub fn connect(address: impl ToSocketAddrs) -> io::Result<TouStream> {
        TouStream::connect_with(address, &Options::default())
    }

    /// As [`TouStream::connect`], with options.
    ///
    /// # Errors
    /// As [`TouStream::connect`].
    pub fn connect_with(address: impl ToSocketAddrs, options: &Options) -> io::Result<TouStream> {
        connect(address.to_socket_addrs()?, options, None)
    }

    /// Connects to one address, and gives up after `timeout`.
    ///
    /// # Errors
    /// As [`TouStream::connect`]; [`io::ErrorKind::TimedOut`] after `timeout`.
    pub fn connect_timeout(
        peer: &SocketAddr,
        timeout: Duration,
        options: &Options,
    ) -> io::Result<TouStream> {
        TouStream::connect_any(&[*peer], Some(timeout), options)
    }

    /// As [`TouStream::connect_with`] with the addresses of one name, and gives up after `timeout`.
    ///
    /// # Errors
    /// As [`TouStream::connect`]; [`io::ErrorKind::TimedOut`] after `timeout`.
    pub fn connect_any(
        addresses: &[SocketAddr],
        timeout: Option<Duration>,
        options: &Options,
    ) -> io::Result<TouStream> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        connect(addresses.iter().copied(), options, deadline)
    }

    /// Sends the SYN and returns without waiting; see [`TouStream::poll_connected`]. The connection
    /// keeps the local address that the system chooses for `peer`.
    ///
    /// # Errors
    /// - The system's own if it has no route, such as [`io::ErrorKind::NetworkUnreachable`];
    /// - if the socket cannot be bound, for example because the process has no descriptor left.
    pub fn begin(peer: SocketAddr, options: &Options) -> io::Result<TouStream> {
        TouSocket::for_client_at(client_source_for(peer)?, options)?.begin(peer)
    }
}

/// Attempts at the addresses of one name. Dropping it cancels those under way.
pub(crate) struct Dialing {
    options: Options,
    attempts: Attempts,
    running: Vec<(SocketAddr, TouStream)>,
}

impl Dialing {
    /// Begins the first attempt.
    pub(crate) fn new(
        addresses: impl IntoIterator<Item = SocketAddr>,
        options: &Options,
    ) -> Dialing {
        let attempts = Attempts::new(addresses);
        let mut dialing = Dialing { options: options.clone(), attempts, running: Vec::new() };
        dialing.begin_due();
        dialing
    }

    /// When to poll again even if nothing wakes the caller.
    pub(crate) fn poll_at(&self) -> Option<Instant> {
        let left = self.attempts.poll_timeout()?.saturating_since(now());
        Some(Instant::now() + Duration::from_nanos(left.as_nanos()))
    }

    /// Ready with the first connection, or when all attempts have failed.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<io::Result<TouStream>> {
        loop {
            self.begin_due();
            let mut ended = self.running.iter().enumerate().filter_map(|(index, (_, stream))| {
                match stream.poll_connected(waker) {
                    Poll::Ready(result) => Some((index, result)),
                    Poll::Pending => None,
                }
            });
            let Some((index, result)) = ended.next() else { break };
            let (address, stream) = self.running.swap_remove(index);
            match result {
                // RFC 8305 §5: the first wins. The others are cancelled when this is dropped.
                Ok(()) => return Poll::Ready(Ok(stream)),
                Err(error) => self.attempts.fail(address, error),
            }
        }
        if self.attempts.is_over() { Poll::Ready(Err(self.take_error())) } else { Poll::Pending }
    }

    /// The error that names all addresses.
    pub(crate) fn take_error(&mut self) -> io::Error {
        std::mem::replace(&mut self.attempts, Attempts::new([])).into_error()
    }

    fn begin_due(&mut self) {
        while let Some(address) = self.attempts.poll_begin(now()) {
            match TouStream::begin(address, &self.options) {
                Ok(stream) => self.running.push((address, stream)),
                Err(error) => self.attempts.fail(address, error),
            }
        }
    }
}

/// Waits for the first connection, at most until the deadline.
fn connect(
    addresses: impl IntoIterator<Item = SocketAddr>,
    options: &Options,
    deadline: Option<Instant>,
) -> io::Result<TouStream> {
    let mut dialing = Dialing::new(addresses, options);
    loop {
        let until = dialing.poll_at().into_iter().chain(deadline).min();
        if let Some(connected) = block_on(until, |waker| dialing.poll(waker)) {
            return connected;
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(dialing.take_error());
        }
    }
}
