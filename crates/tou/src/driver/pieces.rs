//! Sending datagrams whose headers and payload stand in different places. The port calls it, and joins
//! the pieces where the system has no such call.

use crate::endpoint::{Contents, Datagrams};
use std::io;
use std::net::{IpAddr, UdpSocket};

/// Sends datagrams with one system call, without copying their payload first (UDP_SEGMENT, and an
/// iovec of headers and payload). quinn-udp sends contiguous bytes only.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if the socket is full; [`io::ErrorKind::Unsupported`] on systems other
/// than Linux; others as sendmsg reports them.
#[cfg(target_os = "linux")]
pub(super) fn send(
    socket: &UdpSocket,
    datagrams: &Datagrams,
    src_ip: Option<IpAddr>,
    contents: &Contents<'_>,
) -> io::Result<()> {
    use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
    use std::os::fd::AsRawFd;

    let (tos, traffic_class) = (datagrams.ecn.bits(), i32::from(datagrams.ecn.bits()));
    let is_v4 = match datagrams.peer.ip() {
        IpAddr::V4(_) => true,
        IpAddr::V6(ip) => ip.to_ipv4_mapped().is_some(),
    };
    let size = datagrams.size as u16;
    let source = src_ip.map(Source::of);
    let mut messages = Vec::with_capacity(3);
    if tos != 0 {
        messages.push(match is_v4 {
            true => ControlMessage::Ipv4Tos(&tos),
            false => ControlMessage::Ipv6TClass(&traffic_class),
        });
    }
    if datagrams.size < datagrams.len {
        messages.push(ControlMessage::UdpGsoSegments(&size));
    }
    messages.extend(source.as_ref().map(Source::message));
    let peer = SockaddrStorage::from(datagrams.peer);
    let pieces = contents.pieces();
    sendmsg(socket.as_raw_fd(), &pieces, &messages, MsgFlags::empty(), Some(&peer))?;
    Ok(())
}

/// The address to send from, as a control message has it.
#[cfg(target_os = "linux")]
pub(super) enum Source {
    V4(libc::in_pktinfo),
    V6(libc::in6_pktinfo),
}

#[cfg(target_os = "linux")]
impl Source {
    pub(super) fn of(ip: IpAddr) -> Source {
        let any = libc::in_addr { s_addr: 0 };
        match ip {
            IpAddr::V4(ip) => {
                let source = libc::in_addr { s_addr: u32::from_ne_bytes(ip.octets()) };
                Source::V4(libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: source, ipi_addr: any })
            }
            IpAddr::V6(ip) => {
                let source = libc::in6_addr { s6_addr: ip.octets() };
                Source::V6(libc::in6_pktinfo { ipi6_addr: source, ipi6_ifindex: 0 })
            }
        }
    }

    pub(super) fn message(&self) -> nix::sys::socket::ControlMessage<'_> {
        use nix::sys::socket::ControlMessage;
        match self {
            Source::V4(info) => ControlMessage::Ipv4PacketInfo(info),
            Source::V6(info) => ControlMessage::Ipv6PacketInfo(info),
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn send(
    _: &UdpSocket,
    _: &Datagrams,
    _: Option<IpAddr>,
    _: &Contents<'_>,
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
