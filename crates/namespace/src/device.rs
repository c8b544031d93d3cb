//! TUN devices. Reading from one returns the packets that the kernel routes to it; the kernel treats a
//! packet written to it as received.

use crate::namespace::Namespace;
use crate::netlink::Netlink;
use ipnet::IpNet;
use nix::libc;
use nix::net::if_::if_nametoindex;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use tun_rs::{DeviceBuilder, SyncDevice};

pub use tun_rs::VIRTIO_NET_HDR_LEN as VIRTIO_HEADER_LEN;

/// Ethernet's MTU.
pub const MTU_DEFAULT: u32 = 1500;

/// Packets that the kernel queues for the emulator. At 1 Gbit/s of full packets this bridges 48 ms in
/// which the emulator does not run; the kernel's default of 500 bridges 6 ms.
const QUEUE_LEN_PACKETS: u32 = 4000;

/// The settings of a TUN device.
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// Its name, up to 15 characters. The kernel replaces `%d` by the first free number.
    pub name: String,
    /// The network namespace in which it is created.
    pub namespace: Namespace,
    /// Its addresses, each with the prefix that is routed to it.
    pub addresses: Vec<IpNet>,
    /// Further networks that are routed to it.
    pub routes: Vec<IpNet>,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
}

/// A TUN device that is up. The kernel removes it when the value is dropped or the process ends, even
/// by a kill.
pub struct Device {
    tun: SyncDevice,
}

impl Device {
    /// Creates the device, gives it its addresses and routes, and sets it up.
    ///
    /// # Errors
    ///
    /// The error names the step that failed: /dev/net/tun cannot be opened, the name exists, or an
    /// address is taken.
    pub fn create(config: &DeviceConfig) -> io::Result<Device> {
        config.namespace.within(|| create_here(config, false))?
    }

    /// The same with checksum and segmentation offload: a virtio_net header of
    /// [`VIRTIO_HEADER_LEN`] bytes precedes each packet in both directions. Packets that the kernel
    /// passes may have an incomplete checksum and may exceed the MTU.
    ///
    /// # Errors
    ///
    /// As [`Device::create`].
    pub fn create_with_offloads(config: &DeviceConfig) -> io::Result<Device> {
        config.namespace.within(|| create_here(config, true))?
    }

    /// The same with the offloads of a usual Ethernet card, as packetdrill's device has them: checksums, and the
    /// segmentation of TCP, also of segments with CWR; none of UDP's. Packets are as with
    /// [`Device::create_with_offloads`]. The queue before it is a FIFO, which does not pace whatever the system's
    /// default is.
    ///
    /// # Errors
    ///
    /// As [`Device::create`].
    pub fn create_as_ethernet(config: &DeviceConfig) -> io::Result<Device> {
        let device = Device::create_with_offloads(config)?;
        let name = device.tun.name()?;
        config
            .namespace
            .within(|| Netlink::open()?.set_queue(if_nametoindex(name.as_str())?, "pfifo"))??;
        offer_offloads(&device, libc::TUN_F_CSUM | TUN_F_TSO | libc::TUN_F_TSO_ECN)?;
        Ok(device)
    }

    /// Reads one packet without waiting; returns its length. A longer packet is cut off.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::WouldBlock`] if none waits; another error if the device no longer exists.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.tun.recv(buffer)
    }

    /// Writes one packet.
    ///
    /// # Errors
    ///
    /// The device is down or no longer exists, or the bytes are no IP packet.
    pub fn write(&self, packet: &[u8]) -> io::Result<usize> {
        self.tun.send(packet)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

/// The segmentation of TCP over IPv4 and IPv6.
const TUN_F_TSO: libc::c_uint = libc::TUN_F_TSO4 | libc::TUN_F_TSO6;

nix::ioctl_write_int!(tunsetoffload, b'T', 208);

/// Tells the kernel which packets may come without the work of the offloads.
#[expect(unsafe_code, reason = "tun-rs offers no choice of offloads")]
fn offer_offloads(device: &Device, offloads: libc::c_uint) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the call takes a number alone.
    unsafe { tunsetoffload(device.tun.as_raw_fd(), offloads.into()) }?;
    Ok(())
}

/// How to get TUN devices where they are not permitted.
const TUN_HINT: &str = "run as root, or see windlass doctor link";

fn create_here(config: &DeviceConfig, offloads: bool) -> io::Result<Device> {
    let failed_to = |what: &str| {
        let what = format!("{what} {}", config.name);
        move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"))
    };
    // Without the virtio header the kernel passes no packet larger than the MTU and none
    // without its checksum.
    let builder = DeviceBuilder::new().name(config.name.as_str()).enable(false).offload(offloads);
    let tun = builder.build_sync();
    let tun = tun.map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            io::Error::new(error.kind(), format!("/dev/net/tun: {error}; {TUN_HINT}"))
        }
        _ => failed_to("cannot make the TUN device")(error),
    })?;
    tun.set_nonblocking(true)?;
    let index = if_nametoindex(tun.name()?.as_str())?;
    let netlink = Netlink::open()?;
    // Only a kernel without IPv6 refuses.
    let _ = netlink.silence_ipv6(index);
    for address in &config.addresses {
        netlink
            .add_address(index, *address)
            .map_err(failed_to(&format!("cannot give the address {address} to")))?;
    }
    // After the addresses: who waits for the device to be up finds them.
    netlink
        .set_up_device(index, config.mtu, QUEUE_LEN_PACKETS)
        .map_err(failed_to("cannot set up the device"))?;
    for network in &config.routes {
        netlink
            .add_route(index, *network)
            .map_err(failed_to(&format!("cannot route {network} to")))?;
    }
    Ok(Device { tun })
}
