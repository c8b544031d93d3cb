//! The TUN device: packets behind virtio_net headers.

use crate::stack::{Packet, PartialChecksum};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use windlass_namespace::VIRTIO_HEADER_LEN;

/// Room for the longest packet behind its header. With segmentation offload the kernel hands over
/// up to 64 kB of payload.
const BUFFER_LEN: usize = VIRTIO_HEADER_LEN + 65_536 + 128;

/// The checksum is to be completed (struct virtio_net_hdr, linux/virtio_net.h).
const NEEDS_CHECKSUM: u8 = 1;
/// The positions of csum_start and csum_offset in the header.
const CHECKSUM_START: usize = 6;
const CHECKSUM_OFFSET: usize = 8;

/// The device.
pub(super) struct Tun {
    file: File,
    buffer: Vec<u8>,
}

/// A packet from the device.
pub(super) struct FromKernel<'a> {
    pub(super) bytes: &'a [u8],
    /// The kernel left the checksum incomplete, as the packet was on no wire.
    pub(super) checksum_known_good: bool,
}

impl Tun {
    pub(super) fn new(device: OwnedFd) -> Tun {
        Tun { file: File::from(device), buffer: vec![0; BUFFER_LEN] }
    }

    /// The next packet; `None` if none waits.
    pub(super) fn read(&mut self) -> io::Result<Option<FromKernel<'_>>> {
        loop {
            match self.file.read(&mut self.buffer) {
                Ok(len) if len >= VIRTIO_HEADER_LEN => {
                    let (header, bytes) = self.buffer[..len].split_at(VIRTIO_HEADER_LEN);
                    let checksum_known_good = header[0] & NEEDS_CHECKSUM != 0;
                    return Ok(Some(FromKernel { bytes, checksum_known_good }));
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands a packet to the kernel. One that the kernel refuses is lost, as on a wire.
    pub(super) fn write(&self, packet: &Packet<'_>) {
        let header = header(packet.checksum);
        let [first, second] = packet.payload;
        let pieces = [&header[..], packet.head, first, second].map(IoSlice::new);
        let _ = (&self.file).write_vectored(&pieces);
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn header(checksum: Option<PartialChecksum>) -> [u8; VIRTIO_HEADER_LEN] {
    let mut header = [0; VIRTIO_HEADER_LEN];
    if let Some(PartialChecksum { start, offset }) = checksum {
        header[0] = NEEDS_CHECKSUM;
        // The header is in the byte order of the host.
        header[CHECKSUM_START..CHECKSUM_START + 2].copy_from_slice(&start.to_ne_bytes());
        header[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2].copy_from_slice(&offset.to_ne_bytes());
    }
    header
}
