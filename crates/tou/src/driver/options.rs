//! Options of the UDP socket.

#[cfg(target_os = "linux")]
use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::UdpSocketState;
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Size of the kernel's buffers of a port, in bytes. The system may grant less.
pub(super) const SOCKET_BUFFER: usize = 4 << 20;

/// Largest size of the receive buffer, in bytes. It grows when many connections use it.
pub(super) const SOCKET_BUFFER_MAX: usize = 32 << 20;

/// Sets the receive buffer. A privileged process may exceed the system's limit
/// (net.core.rmem_max); the result is then the size that was set, otherwise `None`.
pub(super) fn set_receive_buffer(socket: &UdpSocket, udp: &UdpSocketState) -> Option<usize> {
    if force_receive_buffer(socket, SOCKET_BUFFER) {
        return Some(SOCKET_BUFFER);
    }
    let _ = udp.set_recv_buffer_size(socket.into(), SOCKET_BUFFER);
    None
}

/// Payload bytes that the receive buffer holds: half of the size that the system reports, since the
/// system counts its own structures too.
pub(super) fn receive_payload(socket: &UdpSocket, udp: &UdpSocketState) -> io::Result<u64> {
    Ok(udp.recv_buffer_size(socket.into())? as u64 / 2)
}

/// Turns off control messages that quinn-udp 0.6 enables and ToU does not read. Arrival timestamps
/// leave no room for the ECN codepoint in the control messages of coalesced datagrams, so that CE
/// marks would be missed. The destination address costs one more control message per datagram, and
/// only a socket that is bound to all addresses needs it, to answer from the one that was asked.
pub(super) fn disable_unused_control_messages(
    socket: &UdpSocket,
    local: SocketAddr,
) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        setsockopt(socket, sockopt::ReceiveTimestampns, &false)?;
        match local {
            _ if local.ip().is_unspecified() => {}
            SocketAddr::V4(_) => setsockopt(socket, sockopt::Ipv4PacketInfo, &false)?,
            SocketAddr::V6(_) => setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &false)?,
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, local);
    Ok(())
}

/// Makes the socket report the address at which each datagram arrived.
#[cfg(feature = "session")]
pub(super) fn report_destinations(socket: &UdpSocket, local: SocketAddr) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    match local {
        SocketAddr::V4(_) => setsockopt(socket, sockopt::Ipv4PacketInfo, &true)?,
        SocketAddr::V6(_) => setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &true)?,
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, local);
    Ok(())
}

/// Sets the receive buffer beyond the system's limit. False without CAP_NET_ADMIN.
#[cfg(target_os = "linux")]
pub(super) fn force_receive_buffer(socket: &UdpSocket, bytes: usize) -> bool {
    setsockopt(socket, sockopt::RcvBufForce, &bytes).is_ok()
}

/// Other systems have no such option.
#[cfg(not(target_os = "linux"))]
pub(super) fn force_receive_buffer(_: &UdpSocket, _: usize) -> bool {
    false
}
