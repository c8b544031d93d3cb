//! A connection in use, shared by all front ends. Each operation is ready, or leaves a waker.

use crate::driver::{PortRef, PortState};
use crate::endpoint::ConnectionId;
use crate::{Info, Ready};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Shutdown, SocketAddr, SocketAddrV6};
use std::sync::OnceLock;
#[cfg(feature = "secure")]
use std::task::ready;
use std::task::{Poll, Waker};
use windlass_base::Distribution;
use windlass_tcp::stream::Stream;
use windlass_tcp::{Error, State};

/// A connection in use. Dropping the handle releases the connection.
pub(crate) struct Handle {
    pub(crate) port: PortRef,
    id: ConnectionId,
    peer: SocketAddr,
    /// The local address, once known.
    local: OnceLock<IpAddr>,
}

/// The room that [`Handle::poll_write_in_place`] asks for.
#[cfg(feature = "secure")]
pub(crate) struct InPlace {
    /// Bytes without which nothing is written.
    pub(crate) at_least: u64,
    /// Bytes that can be used.
    pub(crate) most: usize,
    /// Write nothing if bytes have arrived that were not read yet.
    pub(crate) unless_input: bool,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.port.with(|state, now| state.endpoint.release(now, self.id));
    }
}

impl Handle {
    pub(crate) fn new(port: PortRef, id: ConnectionId, peer: SocketAddr) -> Handle {
        Handle { port, id, peer, local: OnceLock::new() }
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        let bound = self.port.local_addr();
        if !bound.ip().is_unspecified() {
            return canonical(bound);
        }
        self.port.with(|state, _| self.note_local(state));
        let Some(ip) = self.local.get() else { return bound };
        let scope = match self.peer {
            SocketAddr::V6(peer) => peer.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        match ip.to_canonical() {
            // A link-local address is one of the interface that leads to the peer.
            IpAddr::V6(ip) if ip.is_unicast_link_local() => {
                SocketAddrV6::new(ip, bound.port(), 0, scope).into()
            }
            ip => (ip, bound.port()).into(),
        }
    }

    /// Keeps the local address, which stays the connection's own when it has ended.
    fn note_local(&self, state: &PortState) {
        if let Some(local) = state.endpoint.local(self.id) {
            self.local.get_or_init(|| local);
        }
    }

    pub(crate) fn peer_addr(&self) -> SocketAddr {
        canonical(self.peer)
    }

    /// Ready when the handshake is over, well or badly.
    pub(crate) fn poll_connected(&self, waker: Option<&Waker>) -> Poll<io::Result<()>> {
        self.port.with(|state, _| {
            let Some(stream) = state.endpoint.stream(self.id) else {
                return Poll::Ready(Err(gone()));
            };
            match stream.connection().state() {
                State::SynSent | State::SynReceived => self.wait(state, true, waker),
                State::Closed => Poll::Ready(Err(self.take_error(state).unwrap_or_else(gone))),
                _ => {
                    self.note_local(state);
                    Poll::Ready(Ok(()))
                }
            }
        })
    }

    /// The operations that would not wait now. Leaves the waker for the others. Writing waits until
    /// there is `room` in bytes.
    pub(crate) fn poll_ready(&self, waker: &Waker, room: u64) -> Ready {
        self.port.with(|state, _| {
            let reading_closed =
                state.endpoint.data_mut(self.id).is_some_and(|data| data.reading_closed);
            let failed = state.endpoint.error(self.id).is_some();
            let Some(stream) = state.endpoint.stream_mut(self.id) else { return Ready::GONE };
            let mut ready = Ready::of(stream.connection(), room);
            ready.readable |= reading_closed;
            ready.failed = failed;
            if !ready.writable {
                // The engine reports room only after a write that did not fit, or this.
                stream.connection_mut().request_room();
                state.wait(self.id, true, waker);
            }
            // The end of the stream or an error may still follow, even if bytes wait to be read.
            if !ready.over {
                state.wait(self.id, false, waker);
            }
            ready
        })
    }

    /// Ready with the number of bytes read, 0 at the end of the stream.
    pub(crate) fn poll_read(
        &self,
        waker: Option<&Waker>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.port.with(|state, _| {
            let closed = state.endpoint.data_mut(self.id).is_none_or(|data| data.reading_closed);
            let stream = state.endpoint.stream_mut(self.id).filter(|_| !closed);
            let Some(stream) = stream else { return Poll::Ready(Ok(0)) };
            match stream.read(buffer) {
                Ok(0) if !buffer.is_empty() => self.wait(state, false, waker),
                Ok(taken) => Poll::Ready(Ok(taken)),
                // The end of the stream. An error that caused it is reported once, like SO_ERROR.
                Err(_) => Poll::Ready(self.take_error(state).map_or(Ok(0), Err)),
            }
        })
    }

    /// Ready with the number of bytes accepted.
    pub(crate) fn poll_write(
        &self,
        waker: Option<&Waker>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.port.write(|state| {
            let written = state.endpoint.stream_mut(self.id).map(|stream| stream.write(bytes));
            match written {
                Some(Ok(0)) if !bytes.is_empty() => self.wait(state, true, waker),
                Some(Ok(taken)) => Poll::Ready(Ok(taken)),
                _ => Poll::Ready(Err(self
                    .take_error(state)
                    .unwrap_or_else(|| ErrorKind::BrokenPipe.into()))),
            }
        })
    }

    /// Ready when the send buffer has room for `at_least` bytes.
    #[cfg(feature = "secure")]
    pub(crate) fn poll_room(&self, waker: Option<&Waker>, at_least: u64) -> Poll<io::Result<()>> {
        self.port.with(|state, _| self.find_room(state, waker, at_least).map_ok(|_| ()))
    }

    /// Ready with the stream when its send buffer has room for `at_least` bytes.
    #[cfg(feature = "secure")]
    fn find_room<'a>(
        &self,
        state: &'a mut PortState,
        waker: Option<&Waker>,
        at_least: u64,
    ) -> Poll<io::Result<&'a mut Stream>> {
        let stream = state.endpoint.stream_mut(self.id);
        let room = stream.filter(|stream| stream.connection().can_write()).map(|stream| {
            let room = stream.connection().writable();
            if room < at_least {
                stream.connection_mut().request_room();
            }
            room
        });
        match room {
            Some(room) if room < at_least => self.wait(state, true, waker),
            Some(_) => Poll::Ready(state.endpoint.stream_mut(self.id).ok_or_else(gone)),
            None => {
                let error = self.take_error(state);
                Poll::Ready(Err(error.unwrap_or_else(|| ErrorKind::BrokenPipe.into())))
            }
        }
    }

    /// Ready when `fill` has put bytes into the send buffer itself; see [`Stream::write_in_place`].
    /// False if nothing was written because of [`InPlace::unless_input`].
    #[cfg(feature = "secure")]
    pub(crate) fn poll_write_in_place(
        &self,
        waker: Option<&Waker>,
        room: InPlace,
        fill: impl FnOnce([&mut [u8]; 2]) -> usize,
    ) -> Poll<io::Result<bool>> {
        let mut was_written = true;
        let written = self.port.write(|state| {
            let stream = ready!(self.find_room(state, waker, room.at_least))?;
            if room.unless_input && stream.connection().readable() > 0 {
                was_written = false;
                return Poll::Ready(Ok(0));
            }
            let written = stream.write_in_place(room.most, fill);
            Poll::Ready(written.map_err(|_| ErrorKind::BrokenPipe.into()))
        });
        written.map_ok(|_| was_written)
    }

    /// Reads as many bytes as `choose` wants of those that are readable, in two pieces. 0 at the end
    /// of the stream too.
    #[cfg(feature = "secure")]
    pub(crate) fn read_some(
        &self,
        buffer: &mut [u8],
        choose: impl FnOnce([&[u8]; 2]) -> usize,
    ) -> usize {
        self.port.with(|state, _| {
            let closed = state.endpoint.data_mut(self.id).is_none_or(|data| data.reading_closed);
            let stream = state.endpoint.stream_mut(self.id).filter(|_| !closed);
            let Some(stream) = stream else { return 0 };
            let len = choose(stream.peek());
            stream.read(&mut buffer[..len]).unwrap_or(0)
        })
    }

    /// Writes all of `bytes`, for which the caller knows that there is room. The endpoint may have
    /// become short of memory since, but these bytes belong to what the caller has accepted.
    #[cfg(feature = "secure")]
    pub(crate) fn write_reserved(&self, bytes: &[u8]) -> io::Result<()> {
        let written = self.port.write(|state| {
            let written = state.endpoint.stream_mut(self.id).map(|stream| {
                stream.hold_buffers(false);
                stream.write(bytes)
            });
            Poll::Ready(match written {
                Some(Ok(taken)) if taken == bytes.len() => Ok(taken),
                Some(Ok(_)) => Err(ErrorKind::OutOfMemory.into()),
                _ => Err(self.take_error(state).unwrap_or_else(|| ErrorKind::BrokenPipe.into())),
            })
        });
        match written {
            Poll::Ready(written) => written.map(|_| ()),
            Poll::Pending => Err(ErrorKind::WouldBlock.into()),
        }
    }

    /// Ready when the peer has acknowledged all data and the FIN.
    pub(crate) fn poll_delivered(&self, waker: Option<&Waker>) -> Poll<io::Result<()>> {
        self.port.with(|state, _| {
            let Some(stream) = state.endpoint.stream(self.id) else {
                return Poll::Ready(Ok(()));
            };
            let under_way = match stream.connection().state() {
                State::FinWait2 | State::TimeWait => false,
                State::Closed => match state.endpoint.error(self.id) {
                    Some(error) => return Poll::Ready(Err(self.report_error(state, error))),
                    None => false,
                },
                _ => true,
            };
            if under_way { self.wait(state, true, waker) } else { Poll::Ready(Ok(())) }
        })
    }

    /// Closes one direction or both. Data that arrives after reading was closed is discarded.
    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.port.with(|state, now| {
            let Some(stream) = state.endpoint.stream_mut(self.id) else {
                return Err(ErrorKind::NotConnected.into());
            };
            let connection = stream.connection_mut();
            if connection.state() == State::Closed {
                return Err(ErrorKind::NotConnected.into());
            }
            if how != Shutdown::Read {
                connection.close(now);
            }
            if how != Shutdown::Write {
                // SHUT_RD tells the peer nothing: its data is acknowledged and dropped.
                connection.discard_incoming();
                if let Some(data) = state.endpoint.data_mut(self.id) {
                    data.reading_closed = true;
                }
            }
            state.wake_all(self.id);
            Ok(())
        })
    }

    /// Resets the connection.
    pub(crate) fn abort(&self) {
        self.port.with(|state, _| {
            if let Some(stream) = state.endpoint.stream_mut(self.id) {
                stream.connection_mut().abort();
                state.wake_all(self.id);
            }
        });
    }

    pub(crate) fn info(&self) -> io::Result<Info> {
        self.inspect(|stream| Info::of(stream.connection()))
    }

    pub(crate) fn keep_rtt_samples(&self) -> io::Result<()> {
        match self.port.with(|state, _| state.endpoint.keep_rtt_samples(self.id)) {
            true => Ok(()),
            false => Err(gone()),
        }
    }

    pub(crate) fn rtt_samples(&self) -> Option<Distribution> {
        self.port.with(|state, _| state.endpoint.rtt_samples(self.id)?.distribution())
    }

    pub(crate) fn inspect<T>(&self, inspect: impl FnOnce(&Stream) -> T) -> io::Result<T> {
        self.port.with(|state, _| state.endpoint.stream(self.id).map(inspect)).ok_or_else(gone)
    }

    pub(crate) fn modify<T>(&self, modify: impl FnOnce(&mut Stream) -> T) -> io::Result<T> {
        self.port.with(|state, _| state.endpoint.stream_mut(self.id).map(modify)).ok_or_else(gone)
    }

    /// Takes the connection's error, as SO_ERROR does.
    pub(crate) fn error(&self) -> Option<io::Error> {
        self.port.with(|state, _| self.take_error(state))
    }

    fn take_error(&self, state: &mut PortState) -> Option<io::Error> {
        let error = state.endpoint.error(self.id)?;
        if state.endpoint.data_mut(self.id)?.error_reported {
            return None;
        }
        Some(self.report_error(state, error))
    }

    /// Converts the connection's error, whether or not it was reported before, and marks it reported.
    fn report_error(&self, state: &mut PortState, error: Error) -> io::Error {
        let waiters = state.endpoint.data_mut(self.id);
        let icmp_errno = waiters.and_then(|waiters| {
            waiters.error_reported = true;
            waiters.icmp_errno
        });
        match state.endpoint.packet_too_large(self.id) {
            Some(bytes) => path_too_small(bytes),
            None => io_error(error, icmp_errno),
        }
    }

    fn wait<T>(&self, state: &mut PortState, writing: bool, waker: Option<&Waker>) -> Poll<T> {
        match waker {
            Some(waker) => state.wait(self.id, writing, waker),
            None => state.stop_inline_receive(),
        }
        Poll::Pending
    }
}

/// The error of operations on a connection that was removed.
fn gone() -> io::Error {
    ErrorKind::NotConnected.into()
}

/// The path carries the handshake and no data.
fn path_too_small(bytes: u32) -> io::Error {
    let text = format!("the path carries no packets of {bytes} bytes, the least that ToU needs");
    io::Error::new(ErrorKind::HostUnreachable, text)
}

/// Converts an error to the one that a TCP socket would report.
fn io_error(error: Error, icmp_errno: Option<i32>) -> io::Error {
    if let (Error::Unreachable, Some(errno)) = (error, icmp_errno) {
        return io::Error::from_raw_os_error(errno);
    }
    match error {
        Error::Reset => ErrorKind::ConnectionReset,
        Error::Refused => ErrorKind::ConnectionRefused,
        Error::Unreachable => ErrorKind::HostUnreachable,
        Error::TimedOut => ErrorKind::TimedOut,
        Error::Aborted => ErrorKind::ConnectionAborted,
        _ => ErrorKind::NotConnected,
    }
    .into()
}

/// Converts an IPv4-mapped IPv6 address to the IPv4 address. Others keep their scope.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }
}
