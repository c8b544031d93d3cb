//! Checks that packets pass between the two ends of a new link. Another program may have a route or a
//! firewall for its addresses: a VPN of the block 100.64.0.0/10, say.

use super::addresses::Block;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::ops::Range;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use windlass_namespace::Device;

/// How long a datagram may take from a socket to the device, or back, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);
/// Any port: the packet comes back from the device, not from a program.
const DISCARD: u16 = 9;
const UDP: u8 = 17;
const SOURCE: Range<usize> = 12..16;
const DESTINATION: Range<usize> = 16..20;
/// How to avoid what another program does with these addresses.
const HINT: &str = "choose other addresses with --block, such as --block 10.200.0.0/20";

/// Sends a datagram to the inside, turns it round at the device, and expects it back.
///
/// # Errors
///
/// The kernel routes the inside's address elsewhere, or a firewall drops the packet in one direction.
pub(crate) fn check(device: &Device, block: &Block) -> io::Result<()> {
    let (outside, inside) = (block.outside(), block.inside());
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let elsewhere =
        |how: String| io::Error::other(format!("{inside}, an address of the link, {how}: {HINT}"));
    let route = socket.connect((inside, DISCARD)).and_then(|()| socket.local_addr());
    let source = route.map_err(|error| elsewhere(format!("cannot be reached ({error})")))?.ip();
    if source != IpAddr::V4(outside) {
        return Err(elsewhere(format!("is routed elsewhere (from {source}, not {outside})")));
    }
    socket.set_read_timeout(Some(PATIENCE))?;
    let sent = socket.send(&[]);
    let returned =
        sent.and_then(|_| turn_round(device, inside)).and_then(|()| socket.recv(&mut []));
    returned.map(drop).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::PermissionDenied => {
            let drops = "a firewall of this machine drops packets between";
            io::Error::other(format!("{drops} {outside} and {inside}: {HINT}"))
        }
        _ => error,
    })
}

/// Waits for a datagram to the inside, and returns it to its sender.
fn turn_round(device: &Device, inside: Ipv4Addr) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    let mut buffer = [0; 2048];
    loop {
        match device.read(&mut buffer) {
            Ok(len) if swap(&mut buffer[..len], inside) => {
                return device.write(&buffer[..len]).map(drop);
            }
            // Whatever else the kernel sends to a new device.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(ErrorKind::TimedOut.into());
                }
                let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
                poll(&mut [PollFd::new(device.as_fd(), PollFlags::POLLIN)], timeout)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Exchanges addresses and ports of a datagram to that address; false for another packet. The checksums
/// stay right, since they are sums.
fn swap(packet: &mut [u8], destination: Ipv4Addr) -> bool {
    let header_len = packet.first().map_or(0, |first| usize::from(first & 0xf) * 4);
    let is_datagram = packet.len() >= header_len + 8
        && packet[0] >> 4 == 4
        && packet[9] == UDP
        && packet[DESTINATION] == destination.octets();
    if is_datagram {
        let (source, rest) = packet.split_at_mut(DESTINATION.start);
        source[SOURCE].swap_with_slice(&mut rest[..4]);
        let ports = &mut packet[header_len..header_len + 4];
        ports.rotate_left(2);
    }
    is_datagram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_to_the_inside_is_returned_and_nothing_else() {
        let inside = Ipv4Addr::new(100, 64, 0, 2);
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, UDP, 0, 0];
        packet.extend([100, 64, 0, 1, 100, 64, 0, 2, 0x12, 0x34, 0, 9, 0, 8, 0, 0]);
        let mut returned = packet.clone();
        assert!(swap(&mut returned, inside));
        assert_eq!(returned[12..24], [100, 64, 0, 2, 100, 64, 0, 1, 0, 9, 0x12, 0x34]);
        for (at, byte) in [(0, 0x60), (9, 6), (19, 3)] {
            let mut other = packet.clone();
            other[at] = byte;
            assert!(!swap(&mut other, inside), "{at}");
        }
        assert!(!swap(&mut [], inside) && !swap(&mut packet[..20], inside));
    }
}
