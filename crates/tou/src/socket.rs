use crate::driver::{Callback, Port, PortRef};
use crate::endpoint::{ConnectError, Counters};
use crate::{Options, TouListener, TouStream, wire};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// A UDP port before it listens or connects: what hosts behind NATs need, which find a way to each
/// other over a port (ICE, RFC 8445) and then use it.
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
    /// A port at the first of the addresses that is free.
    ///
    /// # Errors
    /// [`ErrorKind::AddrInUse`] and the like, the last one's; or of the name.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<TouSocket> {
        TouSocket::bind_with(address, &Options::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`TouSocket::bind`].
    pub fn bind_with(address: impl ToSocketAddrs, options: &Options) -> io::Result<TouSocket> {
        let mut last = io::Error::new(ErrorKind::InvalidInput, "the name has no address");
        for address in address.to_socket_addrs()? {
            match Port::bind(address, options.limits) {
                Ok(port) => return Ok(TouSocket { port, options: options.clone() }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// A port of the system's choice at `address`, for one connection. It may be one whose last
    /// connection is in TIME-WAIT, so that a minute's connections need no descriptor each.
    ///
    /// # Errors
    /// Of the socket.
    pub fn for_client(address: IpAddr, options: &Options) -> io::Result<TouSocket> {
        let port = Port::for_client(address, options.limits)?;
        Ok(TouSocket { port, options: options.clone() })
    }

    /// The same port, with options for what is begun from now on. Those of the port stay as they
    /// are.
    #[must_use]
    pub fn with_options(&self, options: &Options) -> TouSocket {
        TouSocket { port: self.port.clone(), options: options.clone() }
    }

    #[cfg(test)]
    pub(crate) fn port(&self) -> &Port {
        &self.port
    }

    /// This end.
    pub fn local_addr(&self) -> SocketAddr {
        self.port.local_addr()
    }

    /// What came and went.
    pub fn counters(&self) -> Counters {
        self.port.with(|state, _| *state.endpoint.counters())
    }

    /// STUN messages that come to this port go there (RFC 8489); without it they are dropped. It is
    /// called in the thread that receives, and should not take long.
    pub fn on_stun(&self, callback: impl FnMut(SocketAddr, &[u8]) + Send + 'static) {
        let callback: Callback = Box::new(callback);
        self.port.with(|state, _| state.on_stun = Some(callback));
    }

    /// Sends a datagram of the application's own: a STUN message.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for what the other end would not take for STUN; of the socket.
    pub fn send_stun(&self, peer: SocketAddr, message: &[u8]) -> io::Result<()> {
        if wire::kind(message) != wire::Kind::Stun {
            return Err(io::Error::new(ErrorKind::InvalidInput, "expected a STUN message"));
        }
        self.port.send_datagram(peer, message)
    }

    /// Connects from this port, which may have connections to other peers. Two that connect to each
    /// other make one connection.
    ///
    /// # Errors
    /// As [`TouStream::connect`]; [`ErrorKind::AddrInUse`] if there is a connection to that peer.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<TouStream> {
        let stream = self.begin(peer)?;
        stream.wait_connected(None)?;
        Ok(stream)
    }

    /// Sends the SYN and waits for nothing; see [`TouStream::poll_connected`].
    ///
    /// # Errors
    /// [`ErrorKind::AddrInUse`] if there is a connection to that peer.
    pub fn begin(&self, peer: SocketAddr) -> io::Result<TouStream> {
        let config = self.options.config(peer.ip().to_canonical().is_ipv6());
        let peer = self.port.mapped(peer);
        let begun = self.port.with(|state, now| state.endpoint.connect(now, peer, config));
        let id = begun.map_err(|error| match error {
            ConnectError::Exists => io::Error::new(ErrorKind::AddrInUse, error),
            ConnectError::TooMany => io::Error::new(ErrorKind::QuotaExceeded, error),
        })?;
        Ok(TouStream::on(self.port.clone(), id, peer))
    }

    /// Takes connections.
    ///
    /// # Errors
    /// [`ErrorKind::AddrInUse`] if the port listens already.
    pub fn listen(&self) -> io::Result<TouListener> {
        let config = self.options.config(false);
        let backlog = self.options.backlog;
        let listens = self.port.with(|state, _| state.endpoint.listen(config, backlog));
        listens.map_err(|error| io::Error::new(ErrorKind::AddrInUse, error))?;
        Ok(TouListener::on(self.port.clone()))
    }
}
