//! Conversion between the engine's segments and the packets of the proxy's state machine.

use windlass_base::{Ecn, Time};
use windlass_ecn_proxy_core as proxy_core;
use windlass_ecn_proxy_core::{Actions, Edit, Reply};
use windlass_tcp::segment::{Options, SackBlocks, Timestamps};
use windlass_tcp::{Flags, Segment, SeqNumber};

/// The segment as input of the state machine.
pub(super) fn summary(now: Time, segment: &Segment, ecn: Ecn) -> proxy_core::Packet {
    let Options { mss, window_scale, sack_permitted, timestamps, sack, accecn } = segment.options;
    let mut options = proxy_core::Options::empty();
    options.set(proxy_core::Options::MSS, mss.is_some());
    options.set(proxy_core::Options::WINDOW_SCALE, window_scale.is_some());
    options.set(proxy_core::Options::SACK_PERMITTED, sack_permitted);
    options.set(proxy_core::Options::TIMESTAMPS, timestamps.is_some());
    options.set(proxy_core::Options::SACK, !sack.is_empty());
    options.set(proxy_core::Options::ACCECN, accecn.is_some());
    let stamps = timestamps.unwrap_or_default();
    let mut packet = proxy_core::Packet {
        now_ns: now.as_nanos(),
        seq: segment.seq.0,
        ack: segment.ack.0,
        payload_bytes: segment.payload_len,
        segment_bytes: segment.payload_len,
        tsval: stamps.value,
        tsecr: stamps.echo_reply,
        window: segment.window,
        options,
        mss: mss.unwrap_or(0),
        flags: proxy_core::Flags::from_bits_retain(segment.flags.bits() as u8),
        codepoint: ecn.bits(),
        ae: segment.flags.contains(Flags::AE).into(),
        window_scale: window_scale.unwrap_or(0),
        block_count: sack.as_slice().len() as u8,
        ..proxy_core::Packet::default()
    };
    for (to, (start, end)) in packet.blocks.iter_mut().zip(sack.as_slice()) {
        *to = proxy_core::Block { start: start.0, end: end.0 };
    }
    packet
}

/// The segment after the edit.
pub(super) fn edited(segment: &Segment, edit: &Edit) -> Segment {
    let does = |action| edit.actions.contains(action);
    let mut edited = *segment;
    if does(Actions::FLAGS) {
        let flags = |of: proxy_core::Flags| Flags::from_bits_retain(of.bits().into());
        edited.flags = (edited.flags - flags(edit.flags_clear)) | flags(edit.flags_set);
        edited.flags.set(Flags::AE, edited.flags.contains(Flags::AE) && edit.clear_ae == 0);
    }
    if does(Actions::ACK) {
        edited.ack = SeqNumber(edit.ack);
    }
    if does(Actions::WINDOW) {
        edited.window = edit.window;
    }
    if does(Actions::TSECR)
        && let Some(timestamps) = &mut edited.options.timestamps
    {
        timestamps.echo_reply = edit.tsecr;
    }
    if does(Actions::BLOCKS) {
        // A full segment has no room for blocks: its clone has them.
        edited.options.sack =
            if segment.payload_len == 0 { blocks(edit) } else { SackBlocks::default() };
    }
    edited
}

/// The edited segment as a pure ACK, to go behind it.
pub(super) fn pure_ack(segment: &Segment, edit: &Edit) -> Segment {
    let mut ack = edited(segment, edit);
    ack.seq = segment.seq.at(segment.sequence_len().into());
    ack.payload_len = 0;
    ack.flags = ack.flags.difference(Flags::FIN | Flags::PSH | Flags::URG);
    if edit.actions.contains(Actions::BLOCKS) {
        ack.options.sack = blocks(edit);
    }
    ack
}

/// The ACK that the proxy sends in the name of the far host.
pub(super) fn reply(reply: &Reply) -> Segment {
    let stamps = Timestamps { value: reply.tsval, echo_reply: reply.tsecr };
    Segment {
        seq: SeqNumber(reply.seq),
        ack: SeqNumber(reply.ack),
        flags: Flags::ACK,
        window: reply.window,
        options: Options {
            timestamps: (reply.timestamps != 0).then_some(stamps),
            ..Options::default()
        },
        payload_len: 0,
    }
}

fn blocks(edit: &Edit) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for block in edit.blocks() {
        blocks.push(SeqNumber(block.start), SeqNumber(block.end));
    }
    blocks
}
