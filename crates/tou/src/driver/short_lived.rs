//! Datagrams with a time to live of their own, which open a NAT and reach no peer
//! (`session::Outgoing`).

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Sends a datagram to an IPv4 address, `source` to destination, that `ttl` routers take. On systems other
/// than Linux it is not sent.
///
/// # Errors
/// As sendmsg reports them.
#[cfg(target_os = "linux")]
pub(super) fn send(
    socket: &UdpSocket,
    (source, to): (Option<IpAddr>, SocketAddr),
    ttl: u8,
    bytes: &[u8],
) -> io::Result<()> {
    use super::pieces::Source;
    use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
    use std::io::IoSlice;
    use std::os::fd::AsRawFd;

    let (ttl, source) = (i32::from(ttl), source.map(Source::of));
    let mut messages = vec![ControlMessage::Ipv4Ttl(&ttl)];
    messages.extend(source.as_ref().map(Source::message));
    let to = SockaddrStorage::from(to);
    let send = || {
        let flags = MsgFlags::empty();
        sendmsg(socket.as_raw_fd(), &[IoSlice::new(bytes)], &messages, flags, Some(&to))
    };
    // A pending ICMP report makes one call fail.
    send().or_else(|_| send())?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn send(
    _: &UdpSocket,
    _: (Option<IpAddr>, SocketAddr),
    _: u8,
    _: &[u8],
) -> io::Result<()> {
    Ok(())
}
