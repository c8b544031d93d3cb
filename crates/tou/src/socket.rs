//! Ports without a connection yet: for STUN, and to listen or connect from a given port.

use crate::driver::{Callback, Port, PortRef};
use crate::endpoint::{ConnectError, Counters};
use crate::listener::TouListener;
use crate::options::Options;
use crate::stream::TouStream;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use windlass_tou_wire as wire;

/// A UDP port before it listens or connects. Hosts behind NATs use it to find a path to each other
/// with STUN messages (ICE, RFC 8445), and then connect from the same port.
pub struct TouSocket {
    port: PortRef,
    options: Options,
}

impl fmt::Debug for TouSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TouSocket").field("local", &self.local_addr()).finish_non_exhaustive()
    }
}

impl TouSocket {
    /// Binds the first of the addresses that can be bound.
    ///
    /// # Errors
    /// If the name cannot be resolved, or no address can be bound; then the error of the last one,
    /// such as [`ErrorKind::AddrInUse`] or [`ErrorKind::PermissionDenied`].
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<TouSocket> {
        TouSocket::bind_with(address, &Options::default())
    }

    /// As [`TouSocket::bind`], with options.
    ///
    /// # Errors
    /// As [`TouSocket::bind`].
    pub fn bind_with(address: impl ToSocketAddrs, options: &Options) -> io::Result<TouSocket> {
        let mut last = io::Error::new(ErrorKind::InvalidInput, "the name has no address");
        for address in address.to_socket_addrs()? {
            match Port::bind(address, options.limits) {
                Ok(port) => return Ok(TouSocket::over(port, options)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// A port for one outgoing connection at `address`, chosen by the system. It may be a port of
    /// this process whose previous connection is in TIME-WAIT. A program that opens many short
    /// connections then needs fewer descriptors.
    ///
    /// # Errors
    /// If the socket cannot be bound, for example [`ErrorKind::AddrNotAvailable`].
    pub fn for_client(address: IpAddr, options: &Options) -> io::Result<TouSocket> {
        TouSocket::for_client_at((address, 0).into(), options)
    }

    /// The same at an address that may have a scope.
    pub(crate) fn for_client_at(address: SocketAddr, options: &Options) -> io::Result<TouSocket> {
        let port = Port::for_client(address, options.limits)?;
        Ok(TouSocket::over(port, options))
    }

    fn over(port: PortRef, options: &Options) -> TouSocket {
        port.set_qlog(options.qlog.clone());
        port.set_path_probes(options.path_probes);
        TouSocket { port, options: options.clone() }
    }

    /// The same port with other options for its next connections and listener. The port's own
    /// options ([`Options::limits`], [`Options::qlog`], [`Options::path_probes`]) do not change.
    #[must_use]
    pub fn with_options(&self, options: &Options) -> TouSocket {
        TouSocket { port: self.port.clone(), options: options.clone() }
    }

    #[cfg(any(test, feature = "session"))]
    pub(crate) fn port(&self) -> &Port {
        &self.port
    }

    /// Another reference to the port.
    #[cfg(feature = "session")]
    pub(crate) fn port_ref(&self) -> PortRef {
        self.port.clone()
    }

    #[cfg(feature = "session")]
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The local address.
    pub fn local_addr(&self) -> SocketAddr {
        self.port.local_addr()
    }

    /// Counters of the port's datagrams.
    pub fn counters(&self) -> Counters {
        self.port.with(|state, _| *state.endpoint.counters())
    }

    /// Sets the callback for STUN messages that arrive at this port (RFC 8489). Without a callback
    /// they are dropped. The I/O thread calls it, so it should return quickly.
    pub fn on_stun(&self, callback: impl FnMut(SocketAddr, &[u8]) + Send + 'static) {
        let callback: Callback = Box::new(callback);
        self.port.with(|state, _| state.on_stun = Some(callback));
    }

    /// Sends a STUN message from this port. If the port is bound to all addresses of this host, the
    /// message leaves from the one to which `peer` has sent its last one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if `message` is not a STUN message, or the error of sending.
    pub fn send_stun(&self, peer: SocketAddr, message: &[u8]) -> io::Result<()> {
        if wire::kind(message) != wire::Kind::Stun {
            return Err(io::Error::new(ErrorKind::InvalidInput, "expected a STUN message"));
        }
        self.port.send_datagram(peer, message)
    }

    /// Connects from this port, which may have connections to other peers. If two hosts connect to
    /// each other at the same time, both get the same connection.
    ///
    /// # Errors
    /// As [`TouStream::connect`] and [`TouSocket::begin`].
    pub fn connect(&self, peer: SocketAddr) -> io::Result<TouStream> {
        let stream = self.begin(peer)?;
        stream.wait_connected(None)?;
        Ok(stream)
    }

    /// Sends the SYN and returns without waiting; see [`TouStream::poll_connected`], which fails at
    /// once if this host has no route.
    ///
    /// # Errors
    /// - [`ErrorKind::AddrInUse`] if the port has a connection to that peer;
    /// - [`ErrorKind::InvalidInput`] for a link-local address without a scope;
    /// - [`ErrorKind::QuotaExceeded`] if one of [`Options::limits`] is reached.
    pub fn begin(&self, peer: SocketAddr) -> io::Result<TouStream> {
        if let SocketAddr::V6(v6) = peer
            && v6.ip().is_unicast_link_local()
            && v6.scope_id() == 0
        {
            // connect(2) refuses it; sendmsg would take any interface.
            let text = "a link-local address needs its zone, such as fe80::1%eth0";
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        let config = self.options.config_for(&peer);
        let peer = self.port.mapped(peer);
        let begun = self.port.with(|state, now| state.endpoint.connect(now, peer, config));
        let id = begun.map_err(|error| match error {
            ConnectError::Exists => io::Error::new(ErrorKind::AddrInUse, error),
            ConnectError::TooMany => io::Error::new(ErrorKind::QuotaExceeded, error),
        })?;
        Ok(TouStream::on(self.port.clone(), id, peer))
    }

    /// Starts to accept connections.
    ///
    /// # Errors
    /// [`ErrorKind::AddrInUse`] if the port listens already.
    pub fn listen(&self) -> io::Result<TouListener> {
        let config = self.options.listening_config();
        let backlog = self.options.backlog;
        let listens = self.port.with(|state, _| state.endpoint.listen(config, backlog));
        listens.map_err(|error| io::Error::new(ErrorKind::AddrInUse, error))?;
        Ok(TouListener::on(self.port.clone()))
    }
}

/// Binding the port of a listener.
impl TouListener {
    /// Listens at the first of the addresses that can be bound.
    ///
    /// # Errors
    /// If the name cannot be resolved, or no address can be bound; then the error of the last one,
    /// such as [`ErrorKind::AddrInUse`] or [`ErrorKind::PermissionDenied`].
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<TouListener> {
        TouListener::bind_with(address, &Options::default())
    }

    /// As [`TouListener::bind`], with options for the listener and its connections.
    ///
    /// # Errors
    /// As [`TouListener::bind`].
    pub fn bind_with(address: impl ToSocketAddrs, options: &Options) -> io::Result<TouListener> {
        TouSocket::bind_with(address, options)?.listen()
    }
}
