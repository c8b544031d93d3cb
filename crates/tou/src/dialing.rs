//! Connecting to the first of several addresses that answers (RFC 8305).

use crate::driver::{block_on, now};
use crate::{Options, TouStream};
use std::io;
use std::net::SocketAddr;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use windlass_base::dial::Attempts;

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
pub(crate) fn connect(
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
