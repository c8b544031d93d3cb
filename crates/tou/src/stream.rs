//! Blocking and nonblocking streams: timeouts and modes of std's sockets over a `handle`.

use crate::driver::{PortRef, block_on};
use crate::endpoint::ConnectionId;
use crate::handle::Handle;
use crate::info::{Info, Ready};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use windlass_base::Distribution;
use windlass_tcp::cc::ControllerFactory;

/// A connection, like [`std::net::TcpStream`].
///
/// After the last clone is dropped, the connection delivers its data in the background. If the
/// process ends before, that data is lost: [`TouStream::finish`] waits for it. Dropping a stream with
/// unread data resets the connection, as with TCP.
#[derive(Clone)]
pub struct TouStream(Arc<Shared>);

struct Shared {
    handle: Handle,
    nonblocking: AtomicBool,
    /// In nanoseconds; 0 means no timeout.
    read_timeout: AtomicU64,
    write_timeout: AtomicU64,
}

impl fmt::Debug for TouStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TouStream");
        shown.field("local", &self.local_addr()).field("peer", &self.peer_addr()).finish()
    }
}

impl TouStream {
    pub(crate) fn on(port: PortRef, id: ConnectionId, peer: SocketAddr) -> TouStream {
        TouStream(Arc::new(Shared {
            handle: Handle::new(port, id, peer),
            nonblocking: AtomicBool::new(false),
            read_timeout: AtomicU64::new(0),
            write_timeout: AtomicU64::new(0),
        }))
    }

    #[cfg(feature = "secure")]
    pub(crate) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    pub(crate) fn wait_connected(&self, deadline: Option<Instant>) -> io::Result<()> {
        let connected = block_on(deadline, |waker| self.poll_connected(waker));
        connected.unwrap_or_else(|| Err(ErrorKind::TimedOut.into()))
    }
}

/// Addresses and state.
impl TouStream {
    /// The peer's address.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` like [`std::net::TcpStream::peer_addr`].
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.handle.peer_addr())
    }

    /// The local address. On a port that is bound to all addresses it is the one that the peer uses;
    /// the IP address is unspecified until the peer has answered.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` like [`std::net::TcpStream::local_addr`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.handle.local_addr())
    }

    /// State, windows, times and counters of the connection.
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] if the connection has ended and was removed.
    pub fn info(&self) -> io::Result<Info> {
        self.0.handle.info()
    }

    /// Keeps the round-trip times that the connection measures from now on, and forgets earlier ones.
    /// This takes 7 KiB of memory.
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] if the connection has ended and was removed.
    pub fn keep_rtt_samples(&self) -> io::Result<()> {
        self.0.handle.keep_rtt_samples()
    }

    /// Mean and quantiles of the round-trip times since [`TouStream::keep_rtt_samples`]; `None` without
    /// samples, or if the connection has ended and was removed.
    pub fn rtt_samples(&self) -> Option<Distribution> {
        self.0.handle.rtt_samples()
    }

    /// Takes the connection's error, as SO_ERROR does. An error is reported only once.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` like [`std::net::TcpStream::take_error`].
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(self.0.handle.error())
    }

    /// A second handle to the same connection, as [`Clone::clone`].
    ///
    /// # Errors
    /// Never fails. It returns a `Result` like [`std::net::TcpStream::try_clone`].
    pub fn try_clone(&self) -> io::Result<TouStream> {
        Ok(self.clone())
    }
}

/// Options of the connection and the stream.
impl TouStream {
    /// Turns Nagle's algorithm off (`true`) or on. With it, a small segment waits while data is in
    /// flight.
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] if the connection has ended and was removed.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.handle.modify(|stream| stream.connection_mut().set_nagle(!nodelay))
    }

    /// Whether Nagle's algorithm is off; see [`TouStream::set_nodelay`].
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] if the connection has ended and was removed.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.0.handle.inspect(|stream| !stream.connection().config().sending.nagle)
    }

    /// Replaces the congestion controller. The new one starts as on a new connection. Use this
    /// before data flows, for example when the peer selects the controller.
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] if the connection has ended and was removed.
    pub fn set_congestion(&self, congestion: Arc<dyn ControllerFactory>) -> io::Result<()> {
        self.0.handle.modify(|stream| stream.connection_mut().set_congestion(congestion))
    }

    /// In nonblocking mode, reads and writes return [`ErrorKind::WouldBlock`] instead of waiting.
    ///
    /// # Errors
    /// Never fails. It returns a `Result` like [`std::net::TcpStream::set_nonblocking`].
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.nonblocking.store(nonblocking, Ordering::Relaxed);
        Ok(())
    }

    /// Sets the longest time that a read waits; it then returns [`ErrorKind::WouldBlock`]. `None`
    /// means no limit.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a timeout of zero.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        store(&self.0.read_timeout, timeout)
    }

    /// Sets the longest time that a write waits; it then returns [`ErrorKind::WouldBlock`]. `None`
    /// means no limit.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a timeout of zero.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        store(&self.0.write_timeout, timeout)
    }
}

/// Closing a connection.
impl TouStream {
    /// Closes one direction or both. [`Shutdown::Write`] sends FIN after the data written so far.
    /// After [`Shutdown::Read`], reads return 0 and incoming data is discarded.
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] if the connection has ended.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.handle.shutdown(how)
    }

    /// Resets the connection at once and discards undelivered data. The peer's reads and writes fail
    /// with [`ErrorKind::ConnectionReset`], those of this end with [`ErrorKind::ConnectionAborted`].
    pub fn abort(&self) {
        self.0.handle.abort();
    }

    /// Closes this direction and waits until the peer has acknowledged all data. `None` waits
    /// without a limit.
    ///
    /// # Errors
    /// - The connection's error if it failed, such as [`ErrorKind::ConnectionReset`];
    /// - [`ErrorKind::TimedOut`] after `timeout`. Delivery then continues in the background.
    pub fn finish(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self.shutdown(Shutdown::Write) {
            Err(error) if error.kind() == ErrorKind::NotConnected => {}
            result => result?,
        }
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let delivered = block_on(deadline, |waker| self.0.handle.poll_delivered(Some(waker)));
        delivered.unwrap_or_else(|| Err(ErrorKind::TimedOut.into()))
    }
}

/// For event loops. Each method leaves a waker instead of waiting.
impl TouStream {
    /// Ready when the handshake has succeeded or failed.
    pub fn poll_connected(&self, waker: &Waker) -> Poll<io::Result<()>> {
        self.0.handle.poll_connected(Some(waker))
    }

    /// As [`Read::read`] without waiting.
    pub fn poll_read(&self, waker: &Waker, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.0.handle.poll_read(Some(waker), buffer)
    }

    /// As [`Write::write`] without waiting.
    pub fn poll_write(&self, waker: &Waker, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.handle.poll_write(Some(waker), bytes)
    }

    /// Ready when the peer has acknowledged all data and the FIN.
    pub fn poll_delivered(&self, waker: &Waker) -> Poll<io::Result<()>> {
        self.0.handle.poll_delivered(Some(waker))
    }

    /// The operations that would not wait. Leaves a waker for the others. `libtou` builds descriptors
    /// for poll(2) from this.
    pub fn poll_ready(&self, waker: &Waker) -> Ready {
        self.0.handle.poll_ready(waker, 1)
    }

    /// Calls `poll` until it is ready, as a read: with its timeout and in the mode of the stream.
    pub(crate) fn blocking_read<T>(
        &self,
        poll: impl FnMut(Option<&Waker>) -> Poll<io::Result<T>>,
    ) -> io::Result<T> {
        self.blocking(&self.0.read_timeout, poll)
    }

    /// As [`TouStream::blocking_read`], as a write.
    pub(crate) fn blocking_write<T>(
        &self,
        poll: impl FnMut(Option<&Waker>) -> Poll<io::Result<T>>,
    ) -> io::Result<T> {
        self.blocking(&self.0.write_timeout, poll)
    }

    fn blocking<T>(
        &self,
        timeout: &AtomicU64,
        mut poll: impl FnMut(Option<&Waker>) -> Poll<io::Result<T>>,
    ) -> io::Result<T> {
        if self.0.nonblocking.load(Ordering::Relaxed) {
            return match poll(None) {
                Poll::Ready(result) => result,
                Poll::Pending => Err(ErrorKind::WouldBlock.into()),
            };
        }
        let deadline = load(timeout).map(|timeout| Instant::now() + timeout);
        block_on(deadline, |waker| poll(Some(waker)))
            .unwrap_or_else(|| Err(ErrorKind::WouldBlock.into()))
    }
}

fn store(to: &AtomicU64, timeout: Option<Duration>) -> io::Result<()> {
    let ns = timeout.map_or(0, |timeout| timeout.as_nanos().min(u128::from(u64::MAX)) as u64);
    if timeout.is_some() && ns == 0 {
        return Err(io::Error::new(ErrorKind::InvalidInput, "a timeout of zero"));
    }
    to.store(ns, Ordering::Relaxed);
    Ok(())
}

fn load(from: &AtomicU64) -> Option<Duration> {
    let ns = from.load(Ordering::Relaxed);
    (ns > 0).then(|| Duration::from_nanos(ns))
}

impl Read for &TouStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.blocking_read(|waker| self.0.handle.poll_read(waker, buffer))
    }
}

impl Write for &TouStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.blocking_write(|waker| self.0.handle.poll_write(waker, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Implements `Read` and `Write` for a stream by those of its reference.
macro_rules! read_and_write_by_reference {
    ($stream:ty) => {
        impl Read for $stream {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                (&*self).read(buffer)
            }
        }

        impl Write for $stream {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                (&*self).write(bytes)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
    };
}
#[cfg(feature = "secure")]
pub(crate) use read_and_write_by_reference;

read_and_write_by_reference!(TouStream);
