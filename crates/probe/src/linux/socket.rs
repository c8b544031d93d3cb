//! The sockets of a driver. They need CAP_NET_RAW only.

use super::filter;
use crate::wire::Meta;
use nix::libc;
use nix::sys::socket::{GetSockOpt, LinkAddr, SetSockOpt, recvfrom, sockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

sockopt_impl!(PacketVnetHdr, SetOnly, libc::SOL_PACKET, libc::PACKET_VNET_HDR, bool);
sockopt_impl!(
    PacketStatistics,
    GetOnly,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    libc::tpacket_stats
);

/// struct virtio_net_hdr, which the kernel puts before each frame.
const VNET_HEADER_LEN: usize = 10;
const VNET_NEEDS_CHECKSUM: u8 = 1;
const VNET_CHECKSUM_VERIFIED: u8 = 2;
/// Receive buffer for the packets of many servers while this process waits for a core. It uses memory
/// only for the packets in it.
const RECEIVE_BUFFER_BYTES: usize = 64 << 20;

/// The packet socket that receives. Only a packet socket reports of how many segments the kernel made a
/// packet, and whether the checksum is complete. A raw IP socket sees one large packet, whose checksum
/// may be incomplete.
pub(super) struct Receiver(Socket);

impl Receiver {
    pub(super) fn open(ports: &RangeInclusive<u16>) -> io::Result<Receiver> {
        let all = i32::from((libc::ETH_P_ALL as u16).to_be());
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(all)))?;
        socket.attach_filter(&filter::incoming(ports))?;
        PacketVnetHdr.set(&socket, &true)?;
        socket.set_nonblocking(true)?;
        // Without CAP_NET_ADMIN the machine sets a limit (net.core.rmem_max), which is enough for a few
        // servers.
        if sockopt::RcvBufForce.set(&socket, &RECEIVE_BUFFER_BYTES).is_err() {
            let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
        }
        Ok(Receiver(socket))
    }

    /// Packets lost since the last call because the buffer was full.
    pub(super) fn dropped(&self) -> u64 {
        PacketStatistics.get(&self.0).map_or(0, |counts| u64::from(counts.tp_drops))
    }

    /// Reads the next packet into `buffer`; `None` if none is waiting.
    pub(super) fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<(&'a [u8], Meta)>> {
        use nix::errno::Errno;
        let (len, from) = match recvfrom::<LinkAddr>(self.0.as_raw_fd(), buffer) {
            Ok(received) => received,
            // The kernel reports an interface that goes down once; the others go on.
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let bytes: &'a [u8] = &buffer[..len];
        let hardware = from.map_or(libc::ARPHRD_NONE, |from| from.hatype());
        let Some((header, frame)) = bytes.split_first_chunk::<VNET_HEADER_LEN>() else {
            return Ok(Some((&[], Meta::default())));
        };
        let segment_bytes = u16::from_ne_bytes([header[4], header[5]]);
        let meta = Meta {
            segment_bytes: (header[1] != 0).then_some(segment_bytes),
            checksum_known_good: header[0] & (VNET_NEEDS_CHECKSUM | VNET_CHECKSUM_VERIFIED) != 0,
        };
        Ok(Some((without_link_header(frame, hardware), meta)))
    }
}

/// The IP packet of a frame: behind Ethernet's header, VLAN tags among it, or at the beginning, as on
/// TUN and PPP devices.
fn without_link_header(frame: &[u8], hardware: u16) -> &[u8] {
    const ADDRESSES_LEN: usize = 12;
    if !matches!(hardware, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK) {
        return frame;
    }
    let mut rest = frame.get(ADDRESSES_LEN..).unwrap_or_default();
    // IEEE 802.1Q and 802.1ad.
    while let [0x81, 0x00, _, _, behind @ ..] | [0x88, 0xa8, _, _, behind @ ..] = rest {
        rest = behind;
    }
    rest.get(2..).unwrap_or_default()
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The raw sockets that send packets with the probe's own headers.
pub(super) struct Sender {
    v4: Socket,
    /// `None` on a kernel without IPv6.
    v6: Option<Socket>,
}

impl Sender {
    pub(super) fn open() -> io::Result<Sender> {
        let raw =
            |domain| Socket::new_raw(domain, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW)));
        Ok(Sender { v4: raw(Domain::IPV4)?, v6: raw(Domain::IPV6).ok() })
    }

    pub(super) fn send(&self, packet: &[u8], to: SocketAddr) -> io::Result<()> {
        let mut to = to;
        // The port of a raw socket's address is a protocol, or nothing.
        to.set_port(0);
        let socket = match to {
            SocketAddr::V4(_) => &self.v4,
            SocketAddr::V6(_) => self.v6.as_ref().ok_or(ErrorKind::Unsupported)?,
        };
        socket.send_to(packet, &SockAddr::from(to)).map(|_| ())
    }
}

/// The source address that the kernel chooses for `remote`.
pub(super) fn source_for(remote: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match remote {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connecting a UDP socket sends nothing.
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(remote)?;
    Ok(socket.local_addr()?.ip())
}
