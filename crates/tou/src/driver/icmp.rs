//! ICMP reports from the socket's error queue (IP_RECVERR in ip(7)). quinn-udp also reads them, but
//! it keeps the reporter's address and not the datagram's destination.

use crate::endpoint::Addresses;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use windlass_tcp::Error;

/// Room for the control messages of a report, with some to spare.
#[cfg(target_os = "linux")]
const CONTROL_BYTES: usize = 256;

/// A datagram that could not be delivered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Undelivered {
    pub(super) addresses: Addresses,
    pub(super) cause: Cause,
    /// The part of the datagram that the report quotes, from ToU's header on.
    pub(super) quoted: Vec<u8>,
}

/// Why it could not be delivered.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no reports"))]
pub(super) enum Cause {
    /// The peer cannot be reached; with the errno that a TCP socket would report.
    Unreachable(Error, i32),
    /// A router forwards packets of this number of bytes at most.
    TooBig(u32),
}

/// The next report. `Some(None)` for a report of another kind, `None` if the queue is empty.
#[cfg(target_os = "linux")]
pub(super) fn receive(socket: &UdpSocket) -> Option<Option<Undelivered>> {
    use nix::sys::socket::{MsgFlags, SockaddrStorage, recvmsg};
    use std::io::IoSliceMut;
    use std::os::fd::AsRawFd;

    let mut bytes = [0; windlass_tou_wire::MAX_SESSION_HEADER_LEN];
    // The error and its reporter, and the control messages that quinn-udp enables for each datagram.
    let mut control = nix::cmsg_space!([u8; CONTROL_BYTES]);
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let fd = socket.as_raw_fd();
    let message = recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut control), flags).ok()?;
    let len = message.bytes;
    let peer = message.address.as_ref().and_then(address);
    let (mut cause, mut local) = (None, None);
    for control in message.cmsgs().into_iter().flatten() {
        cause = cause.or_else(|| cause_of(&control));
        local = local.or_else(|| destination(&control));
    }
    Some(peer.zip(cause).map(|(peer, cause)| {
        let addresses = Addresses { local, peer };
        Undelivered { addresses, cause, quoted: bytes[..len].to_vec() }
    }))
}

/// The address at which the report arrived: that from which the datagram was sent.
#[cfg(target_os = "linux")]
fn destination(message: &nix::sys::socket::ControlMessageOwned) -> Option<IpAddr> {
    use nix::sys::socket::ControlMessageOwned::{Ipv4PacketInfo, Ipv6PacketInfo};
    match message {
        Ipv4PacketInfo(info) => Some(IpAddr::from(info.ipi_addr.s_addr.to_ne_bytes())),
        Ipv6PacketInfo(info) => Some(IpAddr::from(info.ipi6_addr.s6_addr)),
        _ => None,
    }
}

/// The cause that an ICMP error names. Linux ends the opening of a TCP connection with its errno
/// (tcp_v4_err, tcp_v6_err), whether it is "destination unreachable", "time exceeded" or "parameter
/// problem" (RFC 1122 §4.2.3.9).
#[cfg(target_os = "linux")]
fn cause_of(message: &nix::sys::socket::ControlMessageOwned) -> Option<Cause> {
    use nix::sys::socket::ControlMessageOwned::{Ipv4RecvErr, Ipv6RecvErr};
    let (Ipv4RecvErr(error, _) | Ipv6RecvErr(error, _)) = message else { return None };
    let icmp = matches!(error.ee_origin, libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6);
    match error.ee_errno.cast_signed() {
        _ if !icmp => None,
        // A router older than RFC 1191 names no size.
        libc::EMSGSIZE => Some(Cause::TooBig(error.ee_info)).filter(|_| error.ee_info > 0),
        libc::ECONNREFUSED => Some(Cause::Unreachable(Error::Refused, libc::ECONNREFUSED)),
        errno => Some(Cause::Unreachable(Error::Unreachable, errno)),
    }
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
