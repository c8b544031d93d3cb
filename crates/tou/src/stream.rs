use crate::driver::{PortRef, block_on};
use crate::handle::Handle;
use crate::{Info, Options, Ready, TouSocket};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use windlass_tcp::cc::ControllerFactory;

/// A connection, as [`std::net::TcpStream`] is one.
///
/// Dropped, it goes on in the background until what was written has arrived; a process that ends
/// takes it along: [`TouStream::finish`] waits. Data that was not read resets the connection, as
/// with TCP.
#[derive(Clone)]
pub struct TouStream(Arc<Shared>);

struct Shared {
    handle: Handle,
    nonblocking: AtomicBool,
    /// In nanoseconds; 0: for ever.
    read_timeout: AtomicU64,
    write_timeout: AtomicU64,
}

impl fmt::Debug for TouStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TouStream");
        shown.field("local", &self.local_addr()).field("peer", &self.peer_addr()).finish()
    }
}

/// Opening.
impl TouStream {
    /// Connects to the first of the addresses that answers, from a port of the system's choice.
    ///
    /// # Errors
    /// The last one's: refused, unreachable, timed out (after two minutes); or of the name.
    pub fn connect(address: impl ToSocketAddrs) -> io::Result<TouStream> {
        TouStream::connect_with(address, &Options::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`TouStream::connect`].
    pub fn connect_with(address: impl ToSocketAddrs, options: &Options) -> io::Result<TouStream> {
        let mut last = io::Error::new(ErrorKind::InvalidInput, "the name has no address");
        for peer in address.to_socket_addrs()? {
            match TouStream::connect_one(peer, options, None) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects to one address and gives up after a while.
    ///
    /// # Errors
    /// As [`TouStream::connect`]; [`ErrorKind::TimedOut`] after `timeout`.
    pub fn connect_timeout(
        peer: &SocketAddr,
        timeout: Duration,
        options: &Options,
    ) -> io::Result<TouStream> {
        TouStream::connect_one(*peer, options, Some(Instant::now() + timeout))
    }

    fn connect_one(
        peer: SocketAddr,
        options: &Options,
        deadline: Option<Instant>,
    ) -> io::Result<TouStream> {
        let stream = TouStream::begin(peer, options)?;
        stream.wait_connected(deadline)?;
        Ok(stream)
    }

    /// Sends the SYN and waits for nothing; see [`TouStream::poll_connected`].
    ///
    /// # Errors
    /// Of the socket.
    pub fn begin(peer: SocketAddr, options: &Options) -> io::Result<TouStream> {
        let any: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        TouSocket::for_client(any, options)?.begin(peer)
    }

    pub(crate) fn new(handle: Handle) -> TouStream {
        TouStream(Arc::new(Shared {
            handle,
            nonblocking: AtomicBool::new(false),
            read_timeout: AtomicU64::new(0),
            write_timeout: AtomicU64::new(0),
        }))
    }

    pub(crate) fn wait_connected(&self, deadline: Option<Instant>) -> io::Result<()> {
        let connected = block_on(deadline, |waker| self.poll_connected(waker));
        connected.unwrap_or_else(|| Err(ErrorKind::TimedOut.into()))
    }
}

/// What it is.
impl TouStream {
    /// The other end.
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.handle.peer_addr())
    }

    /// This end. Its address is the unspecified one where the socket is bound to no other.
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.handle.port.local_addr())
    }

    /// Where the connection stands: windows, times, counters.
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] when it is over and forgotten.
    pub fn info(&self) -> io::Result<Info> {
        self.0.handle.info()
    }

    /// Its error, told once, as SO_ERROR is.
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(self.0.handle.error())
    }

    /// Another handle to the same connection.
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn try_clone(&self) -> io::Result<TouStream> {
        Ok(self.clone())
    }
}

/// Settings.
impl TouStream {
    /// Sends small segments at once, or waits for more while data is in flight (Nagle).
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] when it is over and forgotten.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.handle.modify(|stream| stream.connection_mut().set_nagle(!nodelay))
    }

    /// See [`TouStream::set_nodelay`].
    ///
    /// # Errors
    /// As there.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.0.handle.inspect(|stream| !stream.connection().config().nagle)
    }

    /// Another congestion controller from now on, which begins as on a new connection: for an end
    /// that learns from its peer, before data flows, which one to take.
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] when it is over and forgotten.
    pub fn set_congestion(&self, congestion: Arc<dyn ControllerFactory>) -> io::Result<()> {
        self.0.handle.modify(|stream| stream.connection_mut().set_congestion(congestion))
    }

    /// Reading, writing and accepting return [`ErrorKind::WouldBlock`] where they would wait.
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.nonblocking.store(nonblocking, Ordering::Relaxed);
        Ok(())
    }

    /// Reading returns [`ErrorKind::WouldBlock`] after so long.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for zero.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        store(&self.0.read_timeout, timeout)
    }

    /// Writing likewise.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for zero.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        store(&self.0.write_timeout, timeout)
    }

    /// See [`TouStream::set_read_timeout`].
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(load(&self.0.read_timeout))
    }

    /// See [`TouStream::set_write_timeout`].
    ///
    /// # Errors
    /// None today; as with TCP's.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(load(&self.0.write_timeout))
    }
}

/// Closing.
impl TouStream {
    /// Closes one way or both: FIN goes out after what was written, or nothing more is read.
    ///
    /// # Errors
    /// [`ErrorKind::NotConnected`] when the connection is over.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.handle.shutdown(how)
    }

    /// Resets the connection at once: what was not delivered is lost, and the peer is told. Whoever
    /// reads or writes gets [`ErrorKind::ConnectionAborted`].
    pub fn abort(&self) {
        self.0.handle.abort();
    }

    /// Closes this end and waits until the peer has acknowledged all that was written. `None`: as
    /// long as it takes.
    ///
    /// # Errors
    /// The connection's; [`ErrorKind::TimedOut`] after `timeout`, and the connection goes on.
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

/// For event loops: each leaves a waker where it would wait.
impl TouStream {
    /// Ready when the handshake is over, well or badly.
    pub fn poll_connected(&self, waker: &Waker) -> Poll<io::Result<()>> {
        self.0.handle.poll_connected(Some(waker))
    }

    /// As [`Read::read`].
    pub fn poll_read(&self, waker: &Waker, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.0.handle.poll_read(Some(waker), buffer)
    }

    /// As [`Write::write`].
    pub fn poll_write(&self, waker: &Waker, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.handle.poll_write(Some(waker), bytes)
    }

    /// Ready when the peer has acknowledged everything, FIN included.
    pub fn poll_delivered(&self, waker: &Waker) -> Poll<io::Result<()>> {
        self.0.handle.poll_delivered(Some(waker))
    }

    /// What could be done without waiting; leaves a waker for what may come. This is what a
    /// descriptor for poll(2) is made of.
    pub fn poll_ready(&self, waker: &Waker) -> Ready {
        self.0.handle.poll_ready(waker)
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
        let shared = &self.0;
        self.blocking(&shared.read_timeout, |waker| shared.handle.poll_read(waker, buffer))
    }
}

impl Write for &TouStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shared = &self.0;
        self.blocking(&shared.write_timeout, |waker| shared.handle.poll_write(waker, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for TouStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for TouStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TouStream {
    pub(crate) fn on(port: PortRef, id: crate::endpoint::ConnectionId, peer: SocketAddr) -> Self {
        TouStream::new(Handle::new(port, id, peer))
    }
}
