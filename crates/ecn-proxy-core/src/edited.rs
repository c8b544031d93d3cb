//! Applies an edit to a packet.

use crate::data::{Actions, BLOCKS_MAX, Block, Edit, Flags, Options, Packet};

/// The packets that leave the proxy in place of one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The edited packet, unless it was dropped, and the pure ACKs beside it.
    pub forward: Vec<Packet>,
    /// The ACK that goes back to the sender of the packet.
    pub back: Option<Packet>,
}

impl Outcome {
    /// Applies `edit` to `packet`.
    pub fn new(packet: &Packet, edit: &Edit) -> Outcome {
        let does = |action| edit.actions.contains(action);
        let back = does(Actions::REPLY).then(|| reply(packet, edit));
        if does(Actions::DROP) {
            return Outcome { forward: vec![], back };
        }
        let mut forward = vec![edited(packet, edit)];
        if does(Actions::CLONES) {
            let clone = pure_ack(packet, edit);
            forward.extend(std::iter::repeat_n(clone, edit.clones.into()));
        }
        Outcome { forward, back }
    }
}

fn edited(packet: &Packet, edit: &Edit) -> Packet {
    let does = |action| edit.actions.contains(action);
    let mut edited = *packet;
    if does(Actions::CODEPOINT) {
        edited.codepoint = edit.codepoint;
    }
    if does(Actions::FLAGS) {
        edited.flags = edited.flags.difference(edit.flags_clear).union(edit.flags_set);
        edited.ae &= 1 - edit.clear_ae;
    }
    if does(Actions::ACK) {
        edited.ack = edit.ack;
    }
    if does(Actions::WINDOW) {
        edited.window = edit.window;
    }
    if does(Actions::TSECR) {
        edited.tsecr = edit.tsecr;
    }
    if does(Actions::BLOCKS) {
        // A full segment has no room for blocks.
        let blocks = if packet.payload_bytes == 0 { edit.blocks() } else { &[] };
        set_blocks(&mut edited, blocks);
    }
    edited
}

fn set_blocks(packet: &mut Packet, blocks: &[Block]) {
    packet.blocks = [Block::default(); BLOCKS_MAX];
    packet.blocks[..blocks.len()].copy_from_slice(blocks);
    packet.block_count = blocks.len() as u8;
    packet.options.set(Options::SACK, !blocks.is_empty());
}

/// The edited packet as a pure ACK.
fn pure_ack(packet: &Packet, edit: &Edit) -> Packet {
    let mut ack = edited(packet, edit);
    // The ACKs go behind the packet.
    ack.seq = packet.end();
    ack.payload_bytes = 0;
    ack.segment_bytes = 0;
    ack.flags = ack.flags.difference(Flags::FIN | Flags::PSH | Flags::URG);
    if edit.actions.contains(Actions::BLOCKS) {
        set_blocks(&mut ack, edit.blocks());
    }
    ack
}

fn reply(packet: &Packet, edit: &Edit) -> Packet {
    let reply = edit.reply;
    Packet {
        now_ns: packet.now_ns,
        seq: reply.seq,
        ack: reply.ack,
        tsval: reply.tsval,
        tsecr: reply.tsecr,
        window: reply.window,
        options: if reply.timestamps != 0 { Options::TIMESTAMPS } else { Options::empty() },
        flags: Flags::ACK,
        ..Packet::default()
    }
}
