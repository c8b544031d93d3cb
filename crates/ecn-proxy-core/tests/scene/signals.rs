//! Signals that share a packet: CE beside CWR, a DSACK or a real gap beside a virtual loss.

use crate::served::Scene;
use crate::syn::FAR_ISN;
use windlass_ecn_proxy_core::{Answer, Block, Events, Flags, Options, Packet, Side};

fn with_blocks(mut packet: Packet, blocks: &[(u32, u32)]) -> Packet {
    packet.options |= Options::SACK;
    packet.block_count = blocks.len() as u8;
    for (block, &(start, end)) in packet.blocks.iter_mut().zip(blocks) {
        *block = Block { start: Scene::at(start), end: Scene::at(end) };
    }
    packet
}

/// RFC 3168 section 6.1.3: the receiver looks at CWR first and at CE then.
#[test]
fn ce_on_the_packet_with_cwr_starts_a_new_echo() {
    let mut scene = Scene::default();
    let data = Packet { payload_bytes: 500, ..scene.ack_packet(0, Flags::empty()) };
    scene.watch.pass(&Packet { codepoint: 3, ..data }, Side::Far);
    let both = Packet { seq: FAR_ISN + 501, flags: Flags::ACK | Flags::CWR, codepoint: 3, ..data };
    let (edit, _) = scene.watch.pass(&both, Side::Far);
    assert!(edit.events.contains(Events::CE));
    assert!(scene.data(0).1.forward[0].flags.contains(Flags::ECE), "the second mark is lost");
}

/// RFC 2018 section 4: the first block is the one that this ACK extends.
#[test]
fn the_block_of_a_virtual_loss_comes_before_those_of_real_gaps() {
    let mut scene = Scene::with_a_virtual_loss();
    let gap = with_blocks(scene.ack_packet(4, Flags::empty()), &[(5, 6), (7, 8)]);
    let (_, out) = scene.watch.pass(&gap, Side::Far);
    let at = |start, end| Block { start: Scene::at(start), end: Scene::at(end) };
    assert_eq!(out.forward[0].blocks(), [at(1, 4), at(5, 6), at(7, 8)]);
}

/// RFC 2018 section 3: beside timestamps there is room for three.
#[test]
fn of_four_blocks_the_last_gives_way_to_that_of_the_virtual_loss() {
    let mut scene = Scene::default();
    scene.all(0..16);
    scene.echo(2);
    let gaps = with_blocks(scene.ack_packet(4, Flags::empty()), &[(5, 6), (7, 8), (9, 10)]);
    let (_, out) = scene.watch.pass(&gaps, Side::Far);
    let at = |start, end| Block { start: Scene::at(start), end: Scene::at(end) };
    assert_eq!(out.forward[0].blocks(), [at(1, 4), at(5, 6), at(7, 8)]);
}

/// RFC 2883 section 4: with a DSACK in the first place the sender would take its retransmission for
/// an unnecessary one and undo the reduction.
#[test]
fn a_dsack_does_not_stay_among_the_blocks_of_a_virtual_loss() {
    for dsack in [(0, 1), (5, 6)] {
        let mut scene = Scene::with_a_virtual_loss();
        let packet = with_blocks(scene.ack_packet(4, Flags::empty()), &[dsack, (5, 7)]);
        let (_, out) = scene.watch.pass(&packet, Side::Far);
        let at = |start, end| Block { start: Scene::at(start), end: Scene::at(end) };
        assert_eq!(out.forward[0].blocks(), [at(1, 4), at(5, 7)], "{dsack:?}");
    }
}

/// A DSACK inside the block that follows it is one too, and confirms the retransmission.
#[test]
fn a_dsack_of_the_retransmission_is_its_confirmation() {
    let mut scene = Scene::with_a_virtual_loss();
    scene.burst(0);
    let other = with_blocks(scene.ack_packet(5, Flags::empty()), &[(2, 3)]);
    scene.watch.pass(&other, Side::Far);
    assert_eq!(scene.watch.flow.answer(), Answer::Retransmitted, "a DSACK of something else");
    let dsack = with_blocks(scene.ack_packet(5, Flags::empty()), &[(0, 1)]);
    let (edit, _) = scene.watch.pass(&dsack, Side::Far);
    assert!(edit.events.contains(Events::RELEASED));
}

/// Only those of the virtual loss: a DSACK of anything else is the far host's own report.
#[test]
fn a_dsack_of_something_else_stays() {
    let mut scene = Scene::after_a_small_virtual_loss();
    scene.all(5..9);
    let dsack = with_blocks(scene.ack_packet(8, Flags::empty()), &[(6, 7)]);
    let (_, out) = scene.watch.pass(&dsack, Side::Far);
    assert_eq!(out.forward[0].blocks(), dsack.blocks());
    let older = Block { start: Scene::at(0).wrapping_sub(1), end: Scene::at(1) };
    let mut dsack = dsack;
    dsack.blocks[0] = older;
    assert_eq!(scene.watch.pass(&dsack, Side::Far).1.forward[0].blocks(), [older]);
}
