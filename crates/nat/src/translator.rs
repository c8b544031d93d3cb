//! The translation of packets as bytes: `packet` finds the endpoints in them, `nat` says what they
//! become.

use crate::packet::{End, Extent, Kind, Layout};
use crate::{Dropped, Flow, Nat, Side};
use windlass_base::Time;

/// The header of an ICMP error before the packet that it quotes, in bytes.
const ICMP_HEADER_LEN: usize = 8;

impl Nat {
    /// Translates an IPv4 or IPv6 packet in place, which arrives from one side at `now`; returns
    /// the side that it leaves to. Its length stays the same. Times never decrease from call to
    /// call.
    ///
    /// # Errors
    ///
    /// The reason to drop the packet. Its bytes may have changed.
    pub fn handle_packet(
        &mut self,
        now: Time,
        from: Side,
        packet: &mut [u8],
    ) -> Result<Side, Dropped> {
        let result = self.rewrite(now, from, packet);
        self.count(from, result);
        result
    }

    fn rewrite(&mut self, now: Time, from: Side, packet: &mut [u8]) -> Result<Side, Dropped> {
        let layout = Layout::of(packet, Extent::Whole).ok_or(Dropped::Unsupported)?;
        match (layout.kind, from) {
            (Kind::Error, Side::Outside) => self.error_to_inside(now, &layout, packet),
            (Kind::Error, Side::Inside) => self.error_to_outside(now, &layout, packet),
            // Queries come from inside only, as bindings are made there.
            (Kind::Answer, Side::Inside) => Err(Dropped::Unsupported),
            _ => {
                let flow = layout.flow(packet).ok_or(Dropped::Unsupported)?;
                let (to, new) = self.pass(now, from, flow)?;
                if new.source != flow.source {
                    layout.set_endpoint(packet, End::Source, new.source);
                }
                if new.destination != flow.destination {
                    layout.set_endpoint(packet, End::Destination, new.destination);
                }
                Ok(to)
            }
        }
    }

    /// An error about a packet that an inner host sent (RFC 5508 section 4.2).
    fn error_to_inside(
        &mut self,
        now: Time,
        layout: &Layout,
        packet: &mut [u8],
    ) -> Result<Side, Dropped> {
        let (quoted, sent) = quoted(layout, packet)?;
        // The error must go where the packet came from.
        if layout.address(packet, End::Destination) != Some(sent.source.ip()) {
            return Err(Dropped::Unsupported);
        }
        let inner = self.origin(now, sent)?;
        quoted.set_endpoint(&mut packet[quoted_at(layout)..], End::Source, inner);
        layout.set_address(packet, End::Destination, inner.ip());
        layout.set_icmp_checksum(packet);
        Ok(Side::Inside)
    }

    /// An error of an inner host or router about a packet from outside (RFC 5508 section 4.3).
    fn error_to_outside(
        &mut self,
        now: Time,
        layout: &Layout,
        packet: &mut [u8],
    ) -> Result<Side, Dropped> {
        let (quoted, received) = quoted(layout, packet)?;
        if layout.address(packet, End::Destination) != Some(received.source.ip()) {
            return Err(Dropped::Unsupported);
        }
        let external = self.translation(now, received)?;
        quoted.set_endpoint(&mut packet[quoted_at(layout)..], End::Destination, external);
        if self.translates(external.ip()) {
            layout.set_address(packet, End::Source, external.ip());
        }
        layout.set_icmp_checksum(packet);
        // The packet came from another inner host (RFC 5508 section 4.3, REQ-8).
        if self.owns(received.source.ip()) {
            return self.error_to_inside(now, layout, packet);
        }
        Ok(Side::Outside)
    }
}

/// Where the packet begins that an error quotes.
fn quoted_at(layout: &Layout) -> usize {
    layout.transport + ICMP_HEADER_LEN
}

/// The packet that an error quotes, and its endpoints. Its layout begins at [`quoted_at`].
fn quoted(layout: &Layout, packet: &[u8]) -> Result<(Layout, Flow), Dropped> {
    let message = &packet[..layout.end];
    let read = || {
        if layout.icmp_checksum(message) != 0 {
            return None;
        }
        let bytes = message.get(quoted_at(layout)..)?;
        let quoted = Layout::of(bytes, Extent::Quoted)?;
        let flow = quoted.flow(bytes)?;
        (quoted.ipv6 == layout.ipv6).then_some((quoted, flow))
    };
    read().ok_or(Dropped::Unsupported)
}
