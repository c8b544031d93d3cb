//! TCP connections between namespaces, with the options of the kernel's that tests vary.

use crate::namespace::Namespace;
use rustix::net::{AddressFamily, SocketType, socket, sockopt};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

/// Options of one end of a connection; `None` leaves the kernel's default.
#[derive(Clone, Copy, Debug, Default)]
pub struct SocketOptions<'a> {
    /// The congestion controller (TCP_CONGESTION).
    pub controller: Option<&'a str>,
    /// The receive buffer in bytes (SO_RCVBUF), which bounds the flight of the other end.
    pub receive_buffer: Option<usize>,
}

impl SocketOptions<'_> {
    fn open(&self, ipv4: bool) -> io::Result<OwnedFd> {
        let family = if ipv4 { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket(family, SocketType::STREAM, None)?;
        if let Some(name) = self.controller {
            sockopt::set_tcp_congestion(&socket, name)?;
        }
        if let Some(bytes) = self.receive_buffer {
            sockopt::set_socket_recv_buffer_size(&socket, bytes)?;
        }
        Ok(socket)
    }

    fn listen(&self, address: IpAddr) -> io::Result<TcpListener> {
        let socket = self.open(address.is_ipv4())?;
        rustix::net::bind(&socket, &SocketAddr::new(address, 0))?;
        rustix::net::listen(&socket, 1)?;
        Ok(socket.into())
    }

    fn dial(&self, peer: SocketAddr) -> io::Result<TcpStream> {
        let socket = self.open(peer.is_ipv4())?;
        rustix::net::connect(&socket, &peer)?;
        Ok(socket.into())
    }
}

/// Opens a connection from one namespace to `address` of another, at a free port: the end that
/// connected, and the end that accepted.
///
/// # Errors
///
/// The error of the call that the kernel refuses, such as of a controller that it does not know.
pub fn connect(
    from: (&Namespace, SocketOptions<'_>),
    to: (&Namespace, SocketOptions<'_>),
    address: IpAddr,
) -> io::Result<(TcpStream, TcpStream)> {
    let listener = to.0.inside(|| to.1.listen(address))?;
    let peer = listener.local_addr()?;
    let opened = from.0.inside(|| from.1.dial(peer))?;
    let (accepted, _) = listener.accept()?;
    Ok((opened, accepted))
}
