//! Receive offload (GRO) at a carrier: it joins segments that are in order.

use crate::end::Packet;
use windlass_tcp::Flags;

/// More payload than this goes into no segment.
const MAX_PAYLOAD: usize = 65_535;

/// Joins neighbours that follow each other in the stream and say the same otherwise.
pub(crate) fn coalesce(packets: Vec<Packet>) -> Vec<Packet> {
    let mut joined: Vec<Packet> = Vec::with_capacity(packets.len());
    for packet in packets {
        match joined.last_mut() {
            Some(last) if fits(last, &packet) => append(last, packet),
            _ => joined.push(packet),
        }
    }
    joined
}

fn fits(last: &Packet, next: &Packet) -> bool {
    let (a, b) = (&last.segment, &next.segment);
    let ends_here = Flags::PSH | Flags::FIN;
    a.payload_len > 0
        && b.payload_len > 0
        && b.seq == a.seq.at(u64::from(a.payload_len))
        && !a.flags.intersects(ends_here | Flags::SYN | Flags::RST)
        && a.flags - Flags::CWR == b.flags - ends_here
        && (a.ack, a.window, a.options) == (b.ack, b.window, b.options)
        && last.ecn == next.ecn
        && last.payload.len() + next.payload.len() <= MAX_PAYLOAD
}

fn append(last: &mut Packet, next: Packet) {
    last.segment.payload_len += next.segment.payload_len;
    last.segment.flags |= next.segment.flags;
    last.payload.extend_from_slice(&next.payload);
    last.again |= next.again;
    last.ask = last.ask.max(next.ask);
    last.answers = last.answers.max(next.answers);
}
