//! The packets of a script as a pcapng file.

use crate::run::Run;
use windlass_base::pcapng;

/// The most bytes that a capture keeps of a packet: all of them, also of one that a device would cut.
const SNAP_LEN: u32 = 65_536;

/// The packets as the subject's end has them; `name` names the interface.
pub fn capture(name: &str, run: &Run) -> Vec<u8> {
    let mut file = Vec::new();
    pcapng::section_header(&mut file);
    pcapng::interface(&mut file, name, SNAP_LEN);
    for packet in &run.packets {
        let bytes = &packet.bytes[..packet.bytes.len().min(SNAP_LEN as usize)];
        let original_len = packet.bytes.len() as u32;
        let captured =
            pcapng::Captured { at: packet.at, inbound: packet.inbound, original_len, bytes };
        pcapng::packet(&mut file, &captured);
    }
    file
}
