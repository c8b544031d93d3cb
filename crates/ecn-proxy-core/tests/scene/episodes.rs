//! Episodes that begin, wait or end in unusual ways.

use crate::gap;
use crate::served::{MSS, Scene};
use crate::syn::all_options;
use windlass_ecn_proxy_core::{
    Answer, Events, Flags, Options, Packet, Policy, Reason, SenderPolicy, Side,
};

/// An ACK of everything before segment `ack` with ECE and a block of one segment.
fn echo_gap(scene: &mut Scene, ack: u32, start: u32) -> Events {
    let mut packet = gap(scene, ack, start, start + 1);
    packet.flags |= Flags::ECE;
    scene.watch.pass(&packet, Side::Far).0.events
}

#[test]
fn an_ece_that_waits_for_more_than_two_rounds_withdraws_ect_until_its_answer() {
    let mut scene = Scene::default();
    scene.all(0..8);
    assert_eq!(echo_gap(&mut scene, 1, 3), Events::EPISODE);
    for round in 1..=3 {
        let sent = 4 + 4 * round;
        for n in sent..sent + 4 {
            let (edit, out) = scene.data(n);
            assert_eq!(out.forward[0].codepoint, 2, "round {round}");
            assert!(edit.events.contains(Events::ECT_WAITING));
        }
        let events = echo_gap(&mut scene, sent, sent + 2);
        assert_eq!(events.contains(Events::ECT_WITHDRAWN), round == 3, "round {round}");
    }
    assert_eq!(scene.data(20).1.forward[0].codepoint, 0);
    let (edit, _) = scene.data(16);
    assert_eq!(edit.events, Events::ANSWERED_LOSS, "the sender repairs the gap");
    let next = scene.data(21).1.forward[0];
    assert!(next.codepoint == 2 && next.flags.contains(Flags::CWR));
}

/// RFC 6675 section 4, IsLost: more than (DupThresh - 1) segments above the gap.
#[test]
fn two_segments_above_a_gap_are_no_loss_yet() {
    let mut scene = Scene::default();
    scene.all(0..8);
    for (end, events) in [(4, Events::EPISODE), (5, Events::ANSWERED_LOSS)] {
        let mut packet = gap(&scene, 1, 2, end);
        packet.flags |= Flags::ECE;
        assert_eq!(scene.watch.pass(&packet, Side::Far).0.events, events);
    }
}

/// With SACK they answer an unnecessary retransmission.
#[test]
fn duplicate_acks_without_blocks_are_no_loss() {
    let mut scene = Scene::default();
    scene.all(0..8);
    for _ in 0..4 {
        scene.ack(1);
    }
    assert_eq!(scene.echo(1).0.events, Events::EPISODE);
    assert_eq!(scene.watch.flow.answer(), Answer::Armed);
}

#[test]
fn flights_of_earlier_rounds_do_not_hide_the_minimum_window() {
    let mut scene = Scene::default();
    scene.all(0..8);
    scene.ack(8);
    scene.all(8..10);
    scene.ack(10);
    scene.all(10..12);
    assert!(scene.echo(11).0.events.contains(Events::ANSWERED_FLOOR));
}

/// The flight in the network starts at the far host's ACK, not at the one that the sender sees.
#[test]
fn a_virtual_loss_does_not_enlarge_the_measured_flight() {
    let mut scene = Scene::default();
    scene.all(0..9);
    scene.echo(8);
    scene.data(0);
    scene.data(9);
    assert!(scene.ack(9).0.events.contains(Events::RELEASED));
    scene.data(10);
    let mut packet = scene.ack_packet(9, Flags::ECE);
    packet.ack += MSS / 2;
    let (edit, _) = scene.watch.pass(&packet, Side::Far);
    assert!(edit.events.contains(Events::ANSWERED_FLOOR), "{:?}", edit.events);
}

/// A comparison modulo 2^32 holds for half the number space.
#[test]
fn an_episode_begins_after_two_gigabytes_without_one() {
    let mut scene = Scene::default();
    let mut end = Scene::at(0);
    for _ in 0..5 {
        let data = Packet { seq: end, payload_bytes: 1 << 29, ..scene.data_packet(0) };
        scene.watch.pass(&data, Side::Host);
        end = data.end();
        let ack = Packet { ack: end, ..scene.ack_packet(0, Flags::empty()) };
        scene.watch.pass(&ack, Side::Far);
    }
    let data = Packet { seq: end, payload_bytes: 8 * MSS, ..scene.data_packet(0) };
    scene.watch.pass(&data, Side::Host);
    let echo = Packet { ack: end.wrapping_add(2 * MSS), ..scene.ack_packet(0, Flags::ECE) };
    let (edit, _) = scene.watch.pass(&echo, Side::Far);
    assert!(edit.events.contains(Events::EPISODE | Events::VIRTUAL_LOSS));
}

/// RFC 6582 section 3.2: the sender leaves recovery only above `recover`.
#[test]
fn without_sack_a_virtual_loss_opens_only_above_the_last_recovery() {
    let policy = Policy { without_sack: true, ..Policy::default() };
    let mut scene = Scene::new(policy, Options::TIMESTAMPS | Options::WINDOW_SCALE);
    scene.all(0..8);
    scene.echo(2);
    scene.data(0);
    scene.all(8..16);
    assert!(scene.ack(8).0.events.contains(Events::RELEASED));
    assert_eq!(scene.echo(10).0.events, Events::EPISODE);
    assert!(scene.echo(11).0.events.contains(Events::VIRTUAL_LOSS));
}

#[test]
fn policy_drop_spares_a_fin_and_a_sender_that_repairs() {
    let policy = Policy { sender: SenderPolicy::Drop, ..Policy::default() };
    let mut scene = Scene::new(policy, all_options());
    scene.all(0..8);
    echo_gap(&mut scene, 1, 3);
    assert_eq!(scene.data(8).1.forward.len(), 1, "beside a gap");

    let mut scene = Scene::new(policy, all_options());
    scene.all(0..8);
    scene.echo(2);
    let last = Packet { flags: Flags::ACK | Flags::FIN, ..scene.data_packet(8) };
    let (edit, out) = scene.watch.pass(&last, Side::Host);
    assert_eq!((edit.reason(), out.forward.len()), (Reason::Closing, 1));
}

/// The sender needs two ACKs with blocks to detect a loss, and gets no more after its FIN.
#[test]
fn a_fin_after_one_rewritten_ack_ends_the_virtual_loss() {
    let mut scene = Scene::with_a_virtual_loss();
    let fin = Packet { payload_bytes: 0, flags: Flags::ACK | Flags::FIN, ..scene.data_packet(8) };
    let (edit, _) = scene.watch.pass(&fin, Side::Host);
    assert!(edit.events.contains(Events::PASSED_OVER | Events::RELEASED));
    assert_eq!(edit.reason(), Reason::Closing);
}

#[test]
fn an_ece_after_the_hosts_fin_is_passed_over() {
    let mut scene = Scene::default();
    scene.all(0..8);
    let fin = Packet { flags: Flags::ACK | Flags::FIN, ..scene.data_packet(8) };
    scene.watch.pass(&fin, Side::Host);
    let (edit, out) = scene.echo(2);
    assert_eq!(edit.events, Events::EPISODE | Events::PASSED_OVER);
    assert_eq!((edit.reason(), out.forward[0].ack), (Reason::Closing, Scene::at(2)));
}

/// Only the proxy's own flags reach the far host.
#[test]
fn stray_ecn_flags_of_the_host_are_cleared() {
    let mut scene = Scene::default();
    let flags = Flags::ACK | Flags::ECE | Flags::CWR;
    let data = Packet { flags, ..scene.data_packet(0) };
    assert_eq!(scene.watch.pass(&data, Side::Host).1.forward[0].flags, Flags::ACK);
}

/// A tail loss probe or an unnecessary retransmission is no reduction: the mark waits for its answer.
#[test]
fn a_retransmission_without_gaps_does_not_answer_a_mark() {
    let mut scene = Scene::default();
    scene.all(0..8);
    scene.ack(1);
    assert_eq!(echo_gap(&mut scene, 1, 3), Events::EPISODE);
    // The gap closes before the sender retransmits.
    scene.ack(4);
    let (edit, _) = scene.data(7);
    assert!(!edit.events.intersects(Events::ANSWERED_LOSS), "{:?}", edit.events);
    assert_eq!(scene.watch.flow.answer(), Answer::Armed);
}

/// The sender detects a loss by a segment above it, so the virtual loss needs one there.
#[test]
fn with_sack_a_virtual_loss_has_a_segment_above_it() {
    let mut scene = Scene::default();
    scene.all(0..5);
    let (edit, out) = scene.echo(5);
    assert!(edit.events.contains(Events::EPISODE | Events::VIRTUAL_LOSS));
    assert_eq!(out.forward[0].ack, Scene::at(0));
    let mut scene = Scene::default();
    scene.all(0..8);
    scene.ack(7);
    let (edit, out) = scene.echo(8);
    assert!(edit.events.contains(Events::EPISODE) && !edit.events.contains(Events::VIRTUAL_LOSS));
    assert_eq!(out.forward[0].ack, Scene::at(8), "one segment is in flight");
}
