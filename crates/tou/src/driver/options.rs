//! Options of the UDP socket.

#[cfg(target_os = "linux")]
use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::UdpSocketState;
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// The kernel's buffers of a port, in bytes: as far as the system allows it.
pub(super) const SOCKET_BUFFER: usize = 4 << 20;

/// What the receive buffer grows to when many connections use it.
pub(super) const SOCKET_BUFFER_MAX: usize = 32 << 20;

/// Beyond the system's limit where that is permitted: then returns what was asked for.
pub(super) fn set_receive_buffer(socket: &UdpSocket, udp: &UdpSocketState) -> Option<usize> {
    if force_receive_buffer(socket, SOCKET_BUFFER) {
        return Some(SOCKET_BUFFER);
    }
    let _ = udp.set_recv_buffer_size(socket.into(), SOCKET_BUFFER);
    None
}

/// Payload that the receive buffer holds: half of what the system tells, since it counts its own
/// structures too.
pub(super) fn receive_room(socket: &UdpSocket, udp: &UdpSocketState) -> io::Result<u64> {
    Ok(udp.recv_buffer_size(socket.into())? as u64 / 2)
}

/// quinn-udp 0.6 asks for more than is read here. With the time of each arrival it has no room for ECN's
/// codepoint in the control messages of datagrams that were joined: marks would go unseen. And each
/// datagram's destination costs one more of these messages.
pub(super) fn without_what_nobody_reads(socket: &UdpSocket, local: SocketAddr) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        setsockopt(socket, sockopt::ReceiveTimestampns, &false)?;
        match local {
            SocketAddr::V4(_) => setsockopt(socket, sockopt::Ipv4PacketInfo, &false)?,
            SocketAddr::V6(_) => setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &false)?,
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, local);
    Ok(())
}

/// False where it is not permitted (CAP_NET_ADMIN).
#[cfg(target_os = "linux")]
pub(super) fn force_receive_buffer(socket: &UdpSocket, bytes: usize) -> bool {
    setsockopt(socket, sockopt::RcvBufForce, &bytes).is_ok()
}

/// No other system has that.
#[cfg(not(target_os = "linux"))]
pub(super) fn force_receive_buffer(_: &UdpSocket, _: usize) -> bool {
    false
}
