//! Windows and real losses while a virtual loss is open.

use crate::gap;
use crate::served::Scene;
use windlass_ecn_proxy_core::{Answer, Events, Flags, Options, Packet, Policy, Side};

fn without_sack() -> Scene {
    let policy = Policy { without_sack: true, ..Policy::default() };
    let mut scene = Scene::new(policy, Options::TIMESTAMPS | Options::WINDOW_SCALE);
    scene.all(0..8);
    scene.echo(2);
    scene
}

/// RFC 5681 section 2: the window of a duplicate ACK equals that of the ACK before.
#[test]
fn without_sack_a_rewritten_ack_repeats_the_window_though_the_real_one_changes() {
    let mut scene = without_sack();
    let ack = Packet { window: 900, ..scene.ack_packet(4, Flags::empty()) };
    let (_, out) = scene.watch.pass(&ack, Side::Far);
    assert_eq!((out.forward[0].ack, out.forward[0].window), (Scene::at(0), 1_000));
}

/// The sender repairs the real loss; a second virtual one would only delay that.
#[test]
fn without_sack_three_real_duplicates_move_the_virtual_loss_to_the_real_one() {
    let mut scene = without_sack();
    for _ in 0..3 {
        assert_eq!(scene.ack(4).1.forward[0].ack, Scene::at(0));
    }
    assert_eq!(scene.ack(4).1.forward[0].ack, Scene::at(4), "the third duplicate");
}

#[test]
fn the_proxys_answer_has_the_far_hosts_latest_window() {
    let mut scene = Scene::default();
    scene.all(0..5);
    scene.echo(2);
    let ack = Packet { window: 900, ..scene.ack_packet(3, Flags::empty()) };
    scene.watch.pass(&ack, Side::Far);
    let reply = scene.data(0).1.back.expect("a reply");
    assert_eq!((reply.ack, reply.window), (Scene::at(3), 900));
}

/// Without the bound a gap that the far host never closes would hold the ACK back for ever.
#[test]
fn real_gaps_keep_a_virtual_loss_open_for_sixteen_acks() {
    let mut scene = Scene::with_a_virtual_loss();
    scene.data(0);
    for n in 1..=16 {
        let packet = gap(&scene, 4, 6, 7);
        let (edit, out) = scene.watch.pass(&packet, Side::Far);
        assert_eq!(edit.events.contains(Events::RELEASED), n == 16, "ACK {n}");
        let shown = Scene::at(if n == 16 { 4 } else { 0 });
        assert_eq!(out.forward[0].ack, shown, "ACK {n}");
    }
    assert_eq!(scene.watch.flow.answer(), Answer::Idle);
}

/// RFC 6582 section 3.2: only the far host's ACK of everything ends the recovery.
#[test]
fn without_sack_the_retransmission_reaches_the_far_host() {
    let mut scene = without_sack();
    let (edit, out) = scene.data(0);
    assert_eq!(edit.events, Events::ANSWERED_VIRTUAL_LOSS);
    assert_eq!((out.forward.len(), out.back), (1, None));
}

/// A window update of the far host may be a packet with data, or one of several ACKs of the same number.
#[test]
fn the_proxys_answer_has_the_window_of_the_latest_ack_of_the_same_number() {
    let mut scene = Scene::default();
    scene.all(0..5);
    scene.echo(3);
    let same = Packet { window: 700, ..scene.ack_packet(3, Flags::empty()) };
    scene.watch.pass(&same, Side::Far);
    let reply = scene.data(0).1.back.expect("a reply");
    assert_eq!((reply.ack, reply.window), (Scene::at(3), 700));
}
