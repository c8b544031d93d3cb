//! A script's link: a TUN device in a network namespace.

use crate::subject::Setup;
use ipnet::IpNet;
use std::io;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::ops::Range;
use std::thread;
use windlass_namespace::{
    Device, DeviceConfig, MTU_DEFAULT, Namespace, VIRTIO_HEADER_LEN, enter_new_network,
};

/// The device's name, which commands of scripts use.
const NAME: &str = "tun0";

/// The largest IP packet: TCP's segmentation is left to the device, so that one packet has what TCP sends at a time.
const PACKET_MAX: usize = 65_536;

/// Fields of the header before a packet, and values of its type (linux/virtio_net.h).
const GSO_TYPE: usize = 1;
const GSO_SIZE: Range<usize> = 4..6;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;

/// The link of a host.
pub(super) struct Link {
    device: Device,
    remote: IpAddr,
    buffer: Vec<u8>,
}

impl Link {
    /// Makes it in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub(super) fn create_here(setup: &Setup) -> io::Result<Link> {
        let device = Device::create_as_ethernet(&config(setup)?)?;
        Ok(Link { device, remote: setup.remote, buffer: vec![0; VIRTIO_HEADER_LEN + PACKET_MAX] })
    }

    /// The device, to wait for packets.
    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    /// Gives the kernel a packet, whose checksums it verifies. With an MSS it is one that the device put together from
    /// such segments.
    pub(super) fn write(&self, packet: &[u8], mss: Option<u16>) {
        let mut header = [0; VIRTIO_HEADER_LEN];
        if let Some(mss) = mss {
            let is_ipv4 = packet.first().is_some_and(|first| first >> 4 == 4);
            header[GSO_TYPE] = if is_ipv4 { GSO_TCPV4 } else { GSO_TCPV6 };
            header[GSO_SIZE].copy_from_slice(&mss.to_ne_bytes());
        }
        // A device that refuses loses the packet, as a network may; the script misses the answer.
        let _ = self.device.write(&[&header, packet].concat());
    }

    /// The next packet for the other end. IPv6 has packets of its own, for multicast groups.
    pub(super) fn read(&mut self) -> Option<Vec<u8>> {
        loop {
            let len = self.device.read(&mut self.buffer).ok()?;
            let packet = self.buffer.get(VIRTIO_HEADER_LEN..len)?;
            if destination(packet) == Some(self.remote) {
                return Some(packet.to_vec());
            }
        }
    }
}

/// Whether this process may make a namespace and a device. A connection there makes what a kernel makes for its first
/// one, such as keys, which takes it milliseconds that no script expects.
///
/// # Errors
///
/// It may not; the error says which step failed.
pub(super) fn try_out() -> io::Result<()> {
    let config = DeviceConfig {
        name: NAME.into(),
        namespace: Namespace::Current,
        addresses: Vec::new(),
        routes: Vec::new(),
        mtu: MTU_DEFAULT,
    };
    let made = thread::spawn(move || {
        enter_new_network()?;
        let device = Device::create_as_ethernet(&config)?;
        connect_to_itself()?;
        drop(device);
        Ok(())
    });
    made.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
}

/// Opens a connection over the loopback device, and sends a byte.
fn connect_to_itself() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.write_all(b"1")?;
    server.read_exact(&mut [0])
}

fn config(setup: &Setup) -> io::Result<DeviceConfig> {
    let network = |address, len| IpNet::new(address, len).map_err(io::Error::other);
    // As packetdrill's default for its other end.
    let remote_len = if setup.remote.is_ipv4() { 24 } else { 64 };
    Ok(DeviceConfig {
        name: NAME.into(),
        namespace: Namespace::Current,
        addresses: vec![network(setup.local, setup.prefix_len)?],
        routes: vec![network(setup.remote, remote_len)?.trunc()],
        mtu: setup.mtu,
    })
}

/// An IP packet's destination.
fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(packet.get(16..20)?).ok()?)),
        6 => Some(IpAddr::from(<[u8; 16]>::try_from(packet.get(24..40)?).ok()?)),
        _ => None,
    }
}
