//! ICMP reports from the socket's error queue (IP_RECVERR in ip(7)). quinn-udp also reads them, but
//! it keeps the reporter's address and not the datagram's destination.

use std::net::{SocketAddr, UdpSocket};
use windlass_tcp::Error;

/// Room for the control messages of a report, with some to spare.
#[cfg(target_os = "linux")]
const CONTROL_BYTES: usize = 256;

/// A datagram that could not be delivered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Undelivered {
    pub(super) peer: SocketAddr,
    pub(super) error: Error,
    /// The errno that a TCP socket would report.
    pub(super) errno: i32,
    /// The part of the datagram that the report quotes, from ToU's header on.
    pub(super) quoted: Vec<u8>,
}

/// The next report. `Some(None)` for a report of another kind, `None` if the queue is empty.
#[cfg(target_os = "linux")]
pub(super) fn receive(socket: &UdpSocket) -> Option<Option<Undelivered>> {
    use nix::sys::socket::{MsgFlags, SockaddrStorage, recvmsg};
    use std::io::IoSliceMut;
    use std::os::fd::AsRawFd;

    let mut bytes = [0; crate::wire::MAX_HEADER_LEN];
    // The error and its reporter, and the control messages that quinn-udp enables for each datagram.
    let mut control = nix::cmsg_space!([u8; CONTROL_BYTES]);
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let fd = socket.as_raw_fd();
    let message = recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut control), flags).ok()?;
    let len = message.bytes;
    let peer = message.address.as_ref().and_then(address);
    let errno =
        message.cmsgs().ok().and_then(|mut all| all.find_map(|one| unreachable_errno(&one)));
    Some(peer.zip(errno).map(|(peer, errno)| {
        let error = if errno == libc::ECONNREFUSED { Error::Refused } else { Error::Unreachable };
        Undelivered { peer, error, errno, quoted: bytes[..len].to_vec() }
    }))
}

/// The errno of a "destination unreachable" message, except "packet too big" (RFC 792, RFC 4443
/// §3.1).
#[cfg(target_os = "linux")]
fn unreachable_errno(message: &nix::sys::socket::ControlMessageOwned) -> Option<i32> {
    use nix::sys::socket::ControlMessageOwned::{Ipv4RecvErr, Ipv6RecvErr};
    const UNREACHABLE: (u8, u8) = (3, 1);
    let (Ipv4RecvErr(error, _) | Ipv6RecvErr(error, _)) = message else { return None };
    let unreachable = match error.ee_origin {
        libc::SO_EE_ORIGIN_ICMP => error.ee_type == UNREACHABLE.0,
        libc::SO_EE_ORIGIN_ICMP6 => error.ee_type == UNREACHABLE.1,
        _ => false,
    };
    let errno = error.ee_errno.cast_signed();
    (unreachable && errno != libc::EMSGSIZE).then_some(errno)
}

#[cfg(target_os = "linux")]
fn address(address: &nix::sys::socket::SockaddrStorage) -> Option<SocketAddr> {
    let v4 = || address.as_sockaddr_in().map(|v4| std::net::SocketAddrV4::from(*v4).into());
    let v6 = || address.as_sockaddr_in6().map(|v6| std::net::SocketAddrV6::from(*v6).into());
    v4().or_else(v6)
}

/// Other systems have no error queue.
#[cfg(not(target_os = "linux"))]
pub(super) fn receive(_: &UdpSocket) -> Option<Option<Undelivered>> {
    None
}
