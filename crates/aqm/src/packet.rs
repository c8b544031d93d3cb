//! The packet as a discipline sees it.

use windlass_base::Ecn;

/// The properties of a packet that a queue needs.
pub trait Packet {
    /// Bytes that the packet takes on the link, headers included.
    fn wire_bytes(&self) -> u32;

    /// The ECN field of its IP header.
    fn ecn(&self) -> Ecn;

    /// Rewrites the ECN field. Queues only ever write [`Ecn::Ce`], and only over an ECN-capable
    /// codepoint.
    fn set_ecn(&mut self, ecn: Ecn);

    /// A hash of the packet's flow (addresses, protocol, ports): equal for packets of one flow. FQ-CoDel
    /// and SRED use it. Its bits need not be spread evenly: FQ-CoDel does that itself.
    fn flow_hash(&self) -> u64;
}
