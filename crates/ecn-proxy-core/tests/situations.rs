//! Situations from RFC 3168, RFC 9768 and measurements of virtual losses, packet by packet.

#[path = "scene/closing.rs"]
mod closing;
#[path = "scene/episodes.rs"]
mod episodes;
#[path = "scene/response.rs"]
mod response;
#[path = "scene/served.rs"]
mod served;
#[path = "scene/signals.rs"]
mod signals;
#[path = "scene/small_windows.rs"]
mod small_windows;
#[path = "scene/syn.rs"]
mod syn;
#[path = "fuzz_bodies/watch.rs"]
mod watch;
#[path = "scene/windows.rs"]
mod windows;

use served::{MSS, Scene};
use syn::{FAR_ISN, all_options};
use windlass_ecn_proxy_core::{
    Actions, Answer, Block, Edit, Events, Flags, Options, Packet, Policy, Reason, SenderPolicy,
    Side,
};

/// RFC 3168 section 6.1.3.
#[test]
fn ce_is_hidden_and_echoed_until_cwr() {
    let mut scene = Scene::default();
    let ce = Packet { codepoint: 3, payload_bytes: 500, ..scene.ack_packet(0, Flags::empty()) };
    let (_, out) = scene.watch.pass(&ce, Side::Far);
    assert_eq!(out.forward[0].codepoint, 0);
    for n in 0..2 {
        assert!(scene.data(n).1.forward[0].flags.contains(Flags::ECE));
    }
    let cwr = Packet { seq: FAR_ISN + 501, flags: Flags::ACK | Flags::CWR, codepoint: 2, ..ce };
    let (_, out) = scene.watch.pass(&cwr, Side::Far);
    assert_eq!((out.forward[0].codepoint, out.forward[0].flags), (0, Flags::ACK | Flags::PSH));
    assert!(!scene.data(2).1.forward[0].flags.contains(Flags::ECE));
}

/// An ECN host acknowledges them immediately; the served host sees PSH instead.
#[test]
fn data_with_ce_or_cwr_ask_for_an_ack_at_once() {
    let mut scene = Scene::default();
    let data = Packet { payload_bytes: 500, codepoint: 2, ..scene.ack_packet(0, Flags::empty()) };
    let pure = Packet { payload_bytes: 0, ..data };
    for (packet, codepoint, flags, asks) in [
        (data, 2, Flags::ACK, false),
        (data, 3, Flags::ACK, true),
        (data, 2, Flags::ACK | Flags::CWR, true),
        (data, 2, Flags::ACK | Flags::ECE, false),
        (pure, 3, Flags::ACK | Flags::CWR, false),
    ] {
        let (_, out) = scene.watch.pass(&Packet { codepoint, flags, ..packet }, Side::Far);
        assert_eq!(out.forward[0].flags.contains(Flags::PSH), asks, "{codepoint} {flags:?}");
    }
}

/// RFC 3168 section 6.1.5 and 6.1.6.
#[test]
fn only_new_data_are_ect() {
    let mut scene = Scene::default();
    assert_eq!(scene.data(0).1.forward[0].codepoint, 2);
    assert_eq!(scene.data(0).1.forward[0].codepoint, 0, "a retransmission");
    let pure =
        Packet { flags: Flags::ACK, ack: FAR_ISN + 1, seq: Scene::at(1), ..Packet::default() };
    assert_eq!(scene.watch.pass(&pure, Side::Host).1.forward, [pure]);
    let closed = Packet { window: 0, ..scene.ack_packet(1, Flags::empty()) };
    scene.watch.pass(&closed, Side::Far);
    assert_eq!(scene.data(1).1.forward[0].codepoint, 0, "a window probe");
}

#[test]
fn a_mark_becomes_one_virtual_loss_and_the_right_edge_stays() {
    let mut scene = Scene::default();
    scene.all(0..8);
    let (_, out) = scene.echo(2);
    let shown = out.forward[0];
    assert_eq!((shown.ack, shown.flags), (Scene::at(0), Flags::ACK));
    assert_eq!(shown.blocks(), [Block { start: Scene::at(1), end: Scene::at(2) }]);
    assert_eq!(u32::from(shown.window), 1_000 + 2 * MSS / 8);
    let (edit, out) = scene.echo(5);
    assert_eq!(edit.events, Events::empty(), "the same episode");
    assert_eq!(out.forward[0].blocks(), [Block { start: Scene::at(1), end: Scene::at(5) }]);
}

#[test]
fn the_next_new_data_after_the_retransmission_have_cwr() {
    let mut scene = Scene::with_a_virtual_loss();
    let (edit, _) = scene.data(0);
    assert!(edit.events.contains(Events::ANSWERED_VIRTUAL_LOSS));
    let new = scene.data(8).1.forward[0];
    assert!(new.flags.contains(Flags::CWR) && new.codepoint == 2);
    assert!(!scene.data(9).1.forward[0].flags.contains(Flags::CWR));
}

/// RFC 3168 section 6.1.5.
#[test]
fn a_retransmission_that_the_far_host_has_not_all_of_passes_not_ect() {
    let mut scene = Scene::with_a_virtual_loss();
    let (edit, out) = scene.burst(0);
    assert_eq!(edit.events, Events::ANSWERED_VIRTUAL_LOSS);
    assert_eq!((out.forward[0].codepoint, out.back), (0, None));
    assert_eq!(scene.watch.flow.answer(), Answer::Retransmitted);
}

/// A DSACK of the retransmission would make the sender undo the reduction (RFC 3708).
#[test]
fn a_dsack_releases_the_virtual_loss_and_is_taken_away() {
    let mut scene = Scene::with_a_virtual_loss();
    scene.burst(0);
    let dsack = Block { start: Scene::at(0), end: Scene::at(1) };
    let real = Block { start: Scene::at(6), end: Scene::at(7) };
    let mut packet = scene.ack_packet(5, Flags::empty());
    packet.options |= Options::SACK;
    (packet.blocks[0], packet.blocks[1], packet.block_count) = (dsack, real, 2);
    let (edit, out) = scene.watch.pass(&packet, Side::Far);
    assert!(edit.events.contains(Events::RELEASED));
    assert_eq!((out.forward[0].ack, out.forward[0].blocks()), (Scene::at(5), &[real][..]));
}

/// An older TSecr would make the sender undo the reduction (RFC 3522). The retransmission's TSval would be
/// a sample of the RTT, and a small one: the ACK answers data that left long before (RFC 7323 section
/// 4.1 wants the echo of the segment that arrived). Linux takes no sample of 0.
#[test]
fn after_the_release_an_older_time_is_shown_as_no_echo() {
    let mut scene = Scene::with_a_virtual_loss();
    scene.burst(0);
    let retransmission_time = scene.now;
    scene.data(8);
    let old = Packet { tsecr: retransmission_time - 5, ..scene.ack_packet(9, Flags::empty()) };
    let (edit, out) = scene.watch.pass(&old, Side::Far);
    assert!(edit.events.contains(Events::RELEASED), "ack > R");
    assert_eq!(out.forward[0].tsecr, 0);
    let natural = Packet { tsecr: retransmission_time, ..old };
    assert_eq!(scene.watch.pass(&natural, Side::Far).0, Edit::default());
    // Once reached, the retransmission's time no longer matters.
    assert_eq!(scene.watch.pass(&old, Side::Far).0, Edit::default());
}

/// The sender would consider the retransmission unnecessary and undo the reduction.
#[test]
fn an_ack_within_the_flight_of_the_virtual_loss_does_not_release_it() {
    let mut scene = Scene::with_a_virtual_loss();
    scene.burst(0);
    let early = Packet { tsecr: 100, ..scene.ack_packet(6, Flags::empty()) };
    let (_, out) = scene.watch.pass(&early, Side::Far);
    assert_eq!(
        (out.forward[0].ack, scene.watch.flow.answer()),
        (Scene::at(0), Answer::Retransmitted)
    );
}

/// Sprenger 2016 rewrites three ACKs; RACK detects no loss without SACK blocks.
#[test]
fn a_virtual_loss_lasts_until_the_sender_answers_however_many_acks_there_are() {
    let mut scene = Scene::default();
    scene.all(0..60);
    scene.echo(2);
    for n in 3..60 {
        let (_, out) = scene.echo(n);
        assert_eq!(out.forward[0].ack, Scene::at(0));
        assert_eq!(out.forward[0].block_count, 1);
    }
}

/// With nothing else in flight no later ACK would confirm the retransmission, and a timeout follows.
#[test]
fn a_retransmission_of_what_all_arrived_is_answered_by_the_proxy() {
    let mut scene = Scene::with_a_virtual_loss();
    let (_, echo) = scene.echo(8);
    let (edit, out) = scene.data(0);
    assert!(
        edit.events
            .contains(Events::ANSWERED_VIRTUAL_LOSS | Events::SELF_ANSWER | Events::RELEASED)
    );
    assert!(out.forward.is_empty());
    let reply = out.back.expect("a reply");
    // A time would be taken for that of a round trip, which this was none.
    assert_eq!((reply.ack, reply.tsecr, reply.seq), (Scene::at(8), 0, FAR_ISN + 1));
    // RFC 7323 section 5.2: without the far host's clock the sender would drop it.
    assert!(reply.options.contains(Options::TIMESTAMPS));
    assert_eq!(reply.tsval, echo.forward[0].tsval);
    assert_eq!(scene.watch.flow.answer(), Answer::Idle);
}

/// Forwarding it would waste capacity, and a full queue would drop it.
#[test]
fn in_a_small_flight_every_retransmission_of_what_arrived_is_answered_by_the_proxy() {
    let mut scene = Scene::after_a_small_virtual_loss();
    assert_eq!(scene.watch.flow.answer(), Answer::Idle);
    // An ACK that the far host sent earlier must not echo an older time either.
    let old = Packet { tsecr: scene.now - 5, ..scene.ack_packet(3, Flags::empty()) };
    assert_eq!(scene.watch.pass(&old, Side::Far).1.forward[0].tsecr, 0);
}

/// An absorbed retransmission would leave the link idle in so small a flight.
#[test]
fn flights_of_up_to_seven_segments_are_small() {
    for (flight, answered) in [(6, true), (7, true), (8, false), (20, false)] {
        let mut scene = Scene::default();
        scene.all(0..flight);
        scene.echo(2);
        let (edit, out) = scene.data(0);
        assert!(out.forward.is_empty(), "{flight}");
        assert_eq!(out.back.is_some(), answered, "{flight}");
        assert_eq!(edit.events.contains(Events::KEPT_BACK), !answered, "{flight}");
    }
}

/// The flight is counted in segments of average size, so earlier large ones do not matter.
#[test]
fn a_flight_of_many_small_segments_is_large() {
    const SMALL: u32 = 400;
    for (flight, answered) in [(7, true), (15, false)] {
        let mut scene = Scene::default();
        scene.all(0..2);
        let small = |scene: &mut Scene, n: u32| {
            scene.now += 1;
            let seq = Scene::at(2) + n * SMALL;
            let packet = scene.data_packet(2);
            let packet = Packet { seq, payload_bytes: SMALL, segment_bytes: SMALL, ..packet };
            scene.watch.pass(&packet, Side::Host)
        };
        let ack = |scene: &mut Scene, n: u32, flags| {
            let packet = scene.ack_packet(2, flags);
            scene.watch.pass(&Packet { ack: packet.ack + n * SMALL, ..packet }, Side::Far)
        };
        for n in 0..40 {
            small(&mut scene, n);
        }
        ack(&mut scene, 40, Flags::empty());
        for n in 40..40 + flight {
            small(&mut scene, n);
        }
        let (edit, _) = ack(&mut scene, 42, Flags::ECE);
        assert!(edit.events.contains(Events::VIRTUAL_LOSS));
        let (_, out) = small(&mut scene, 40);
        assert_eq!((out.forward.is_empty(), out.back.is_some()), (true, answered), "{flight}");
    }
}

/// An early answer may make RACK declare earlier data lost. The far host's ACK of everything sent
/// before the retransmission is the answer instead.
#[test]
fn in_a_large_flight_the_ack_of_what_was_sent_before_answers_the_retransmission() {
    let mut scene = Scene::with_a_virtual_loss();
    let (_, out) = scene.data(0);
    assert!(out.forward.is_empty() && out.back.is_none());
    let retransmission_time = scene.now;
    scene.data(8);
    let at = |n, tsecr| Packet { tsecr, ..scene.ack_packet(n, Flags::empty()) };
    let (before_it, all_of_it) = (at(7, retransmission_time - 5), at(8, retransmission_time - 5));
    let (_, out) = scene.watch.pass(&before_it, Side::Far);
    assert_eq!(
        (out.forward[0].ack, scene.watch.flow.answer()),
        (Scene::at(0), Answer::Retransmitted)
    );
    let (edit, out) = scene.watch.pass(&all_of_it, Side::Far);
    assert!(edit.events.contains(Events::RELEASED));
    assert_eq!((out.forward[0].ack, out.forward[0].tsecr), (Scene::at(8), 0));
}

/// Data sent later has arrived, so RACK would declare the retransmission lost.
#[test]
fn behind_a_gap_a_block_of_what_was_sent_later_answers_the_retransmission() {
    let mut scene = Scene::with_a_virtual_loss();
    scene.data(0);
    scene.data(8);
    let mut gap = scene.ack_packet(6, Flags::empty());
    gap.options |= Options::SACK;
    for (end, released) in [(8, false), (9, true)] {
        (gap.blocks[0], gap.block_count) = (Block { start: Scene::at(7), end: Scene::at(end) }, 1);
        let (edit, out) = scene.watch.pass(&gap, Side::Far);
        assert_eq!(edit.events.contains(Events::RELEASED), released);
        assert_eq!(out.forward[0].ack, Scene::at(if released { 6 } else { 0 }));
    }
}

/// No later data may arrive: the sender retransmits once more.
#[test]
fn in_a_large_flight_the_second_retransmission_is_answered_by_the_proxy() {
    let mut scene = Scene::with_a_virtual_loss();
    let heard = scene.watch.flow.far_ack();
    assert!(scene.data(0).1.back.is_none());
    assert_eq!(scene.data(0).1.back.expect("a reply").ack, heard);
}

#[test]
fn without_sack_the_second_retransmission_is_answered_though_more_is_in_flight() {
    let policy = Policy { without_sack: true, ..Policy::default() };
    let mut scene = Scene::new(policy, Options::TIMESTAMPS | Options::WINDOW_SCALE);
    scene.all(0..8);
    scene.echo(2);
    assert!(scene.data(0).1.back.is_none());
    assert_eq!(scene.data(0).1.back.expect("a reply").ack, Scene::at(2));
}

/// The sender does not reduce again for data below the end of the last recovery.
#[test]
fn with_sack_a_virtual_loss_opens_where_the_last_recovery_ended() {
    let mut scene = Scene::after_a_small_virtual_loss();
    scene.all(5..13);
    scene.ack(4);
    let (edit, out) = scene.echo(7);
    assert!(edit.events.contains(Events::EPISODE | Events::VIRTUAL_LOSS));
    let block = Block { start: Scene::at(6), end: Scene::at(7) };
    assert_eq!((out.forward[0].ack, out.forward[0].blocks()), (Scene::at(5), &[block][..]));
}

/// A delayed ACK echoes the time of the last segment before the retransmission. At the number where
/// the recovery ends that would undo the reduction (RFC 3522 section 3.2).
#[test]
fn a_virtual_loss_where_the_last_recovery_ended_echoes_no_time_before_the_retransmission() {
    let mut scene = Scene::after_a_small_virtual_loss();
    let retransmitted = scene.now;
    scene.all(5..13);
    let ack = |n, flags, tsecr, scene: &Scene| Packet { tsecr, ..scene.ack_packet(n, flags) };
    let packet = ack(4, Flags::empty(), retransmitted - 2, &scene);
    assert_eq!(scene.watch.pass(&packet, Side::Far).1.forward[0].tsecr, 0);
    let packet = ack(6, Flags::ECE, retransmitted - 1, &scene);
    let (edit, out) = scene.watch.pass(&packet, Side::Far);
    assert!(edit.events.contains(Events::VIRTUAL_LOSS));
    assert_eq!((out.forward[0].ack, out.forward[0].tsecr), (Scene::at(5), 0));
}

/// An ACK of everything before segment `ack`, and of those from `start` to `end`.
fn gap(scene: &Scene, ack: u32, start: u32, end: u32) -> Packet {
    let mut packet = scene.ack_packet(ack, Flags::empty());
    packet.options |= Options::SACK;
    (packet.blocks[0], packet.block_count) =
        (Block { start: Scene::at(start), end: Scene::at(end) }, 1);
    packet
}

/// The sender may know that data below has arrived, or may have declared it lost already.
#[test]
fn a_virtual_loss_opens_above_real_blocks() {
    let mut scene = Scene::default();
    scene.all(0..8);
    scene.ack(1);
    scene.watch.pass(&gap(&scene, 1, 3, 4), Side::Far);
    let (edit, out) = scene.echo(4);
    assert!(edit.events.contains(Events::EPISODE) && !edit.events.contains(Events::VIRTUAL_LOSS));
    assert_eq!(out.forward[0].ack, Scene::at(4), "everything in the block has arrived");
    let (edit, out) = scene.echo(5);
    assert!(edit.events.contains(Events::VIRTUAL_LOSS));
    assert_eq!(out.forward[0].ack, Scene::at(4));
}

/// RACK declares all of it lost when the retransmission seems to have arrived. After an undo Linux does not
/// look at it again until a timeout.
#[test]
fn a_virtual_loss_opens_above_all_that_was_sent_before_a_retransmission() {
    let mut scene = Scene::default();
    scene.all(0..8);
    scene.ack(1);
    scene.data(1);
    scene.data(2);
    scene.all(8..12);
    for ack in [2, 4, 8] {
        assert!(!scene.echo(ack).0.events.contains(Events::VIRTUAL_LOSS), "{ack}: sent before");
    }
    let (edit, out) = scene.echo(9);
    assert!(edit.events.contains(Events::VIRTUAL_LOSS));
    assert_eq!(out.forward[0].ack, Scene::at(8));
}

#[test]
fn a_virtual_loss_opens_above_the_last_recovery_and_real_blocks() {
    let mut scene = Scene::after_a_small_virtual_loss();
    scene.all(5..13);
    scene.watch.pass(&gap(&scene, 4, 5, 6), Side::Far);
    let (edit, out) = scene.echo(7);
    assert!(edit.events.contains(Events::EPISODE | Events::VIRTUAL_LOSS));
    assert_eq!(out.forward[0].ack, Scene::at(6));
}

/// RFC 5681 section 3.1 never reduces below two segments.
#[test]
fn a_flight_of_two_is_answered_by_cwr_alone() {
    let mut scene = Scene::default();
    scene.all(0..2);
    let (edit, out) = scene.echo(1);
    assert!(edit.events.contains(Events::EPISODE | Events::ANSWERED_FLOOR));
    assert_eq!((out.forward[0].ack, out.forward[0].flags), (Scene::at(1), Flags::ACK));
    assert!(scene.data(2).1.forward[0].flags.contains(Flags::CWR));
    assert!(!scene.echo(2).0.events.contains(Events::EPISODE), "ack <= R");
}

#[test]
fn a_real_loss_answers_the_mark() {
    let mut scene = Scene::default();
    scene.all(0..8);
    let mut packet = scene.ack_packet(1, Flags::ECE);
    packet.options |= Options::SACK;
    packet.blocks[0] = Block { start: Scene::at(2), end: Scene::at(5) };
    packet.block_count = 1;
    let (edit, out) = scene.watch.pass(&packet, Side::Far);
    assert!(edit.events.contains(Events::ANSWERED_LOSS));
    assert_eq!((out.forward[0].ack, out.forward[0].blocks()), (Scene::at(1), packet.blocks()));
}

/// A loss at `recover` itself belongs to the last recovery, and the sender would need a timeout.
#[test]
fn the_next_virtual_loss_opens_above_the_end_of_the_last_recovery() {
    let mut scene = Scene::with_a_virtual_loss();
    scene.data(0);
    scene.all(8..16);
    scene.ack(9);
    assert_eq!(scene.watch.flow.answer(), Answer::Idle);
    let (edit, _) = scene.echo(10);
    assert!(edit.events.contains(Events::EPISODE));
    assert!(!shows_ack_at_or_below(&edit, Scene::at(8)));
}

fn shows_ack_at_or_below(edit: &Edit, recover: u32) -> bool {
    edit.actions.contains(Actions::ACK) && !watch::before(recover, edit.ack)
}

#[test]
fn a_sender_without_sack_gets_no_ect() {
    let mut scene = Scene::new(Policy::default(), Options::TIMESTAMPS | Options::WINDOW_SCALE);
    assert_eq!(scene.data(0).0, Edit::default());
    scene.all(1..8);
    let (edit, out) = scene.echo(2);
    assert_eq!(edit.reason(), Reason::NoSack);
    assert_eq!((out.forward[0].ack, out.forward[0].flags), (Scene::at(2), Flags::ACK));
}

/// Delayed ACKs alone are too few duplicates, and a window update would count as one.
#[test]
fn without_sack_three_duplicates_are_made_and_window_updates_dropped() {
    let policy = Policy { without_sack: true, ..Policy::default() };
    let mut scene = Scene::new(policy, Options::TIMESTAMPS | Options::WINDOW_SCALE);
    scene.all(0..8);
    let (edit, out) = scene.echo(2);
    assert!(edit.events.contains(Events::VIRTUAL_LOSS));
    assert_eq!(out.forward.len(), 3);
    assert!(out.forward.iter().all(|ack| ack.ack == Scene::at(0) && ack.window == 1_000));
    let update = Packet { window: 900, ..scene.ack_packet(2, Flags::empty()) };
    assert!(scene.watch.pass(&update, Side::Far).1.forward.is_empty());
}

/// The ACK of the last new data may answer the retransmission with an earlier time (RFC 7323
/// section 4.3). The far host will send no other.
#[test]
fn without_sack_the_ack_of_all_that_was_sent_releases_the_virtual_loss() {
    let policy = Policy { without_sack: true, ..Policy::default() };
    let mut scene = Scene::new(policy, Options::TIMESTAMPS | Options::WINDOW_SCALE);
    scene.all(0..8);
    scene.echo(2);
    let before = scene.ack_packet(8, Flags::empty());
    scene.data(0);
    assert_eq!(scene.ack(7).1.forward[0].ack, Scene::at(0), "not all that was sent");
    let (edit, out) = scene.watch.pass(&before, Side::Far);
    assert!(edit.events.contains(Events::RELEASED));
    // An earlier time than the retransmission's would undo the reduction.
    assert_eq!((out.forward[0].ack, out.forward[0].tsecr), (Scene::at(8), 0));
}

/// A full segment has no room for blocks, and a segment with data is no duplicate ACK.
#[test]
fn a_packet_with_data_keeps_them_and_a_clone_says_the_blocks() {
    let mut scene = Scene::with_a_virtual_loss();
    let data = Packet {
        payload_bytes: 1_400,
        segment_bytes: 1_400,
        ..scene.ack_packet(4, Flags::empty())
    };
    let (_, out) = scene.watch.pass(&data, Side::Far);
    let [packet, clone] = &out.forward[..] else { panic!("{out:?}") };
    assert_eq!((packet.payload_bytes, packet.ack, packet.block_count), (1_400, Scene::at(0), 0));
    assert_eq!((clone.payload_bytes, clone.seq), (0, data.end()));
    assert_eq!(clone.blocks(), [Block { start: Scene::at(1), end: Scene::at(4) }]);
}

#[test]
fn the_far_hosts_last_fin_releases_the_virtual_loss_at_once() {
    let mut scene = Scene::with_a_virtual_loss();
    scene.echo(4);
    let fin = Packet {
        seq: Scene::at(8),
        ack: FAR_ISN + 1,
        flags: Flags::FIN | Flags::ACK,
        ..Packet::default()
    };
    scene.watch.pass(&fin, Side::Host);
    assert_eq!(scene.watch.flow.answer(), Answer::VirtualLoss, "two rewritten ACKs are enough");
    let mut last = scene.ack_packet(8, Flags::FIN);
    last.ack = last.ack.wrapping_add(1);
    let (edit, out) = scene.watch.pass(&last, Side::Far);
    assert_eq!((edit.reason(), out.forward[0].ack), (Reason::Closing, last.ack));
}

#[test]
fn policy_drop_drops_one_new_segment_an_episode() {
    let policy = Policy { sender: SenderPolicy::Drop, ..Policy::default() };
    let mut scene = Scene::new(policy, all_options());
    scene.all(0..8);
    scene.echo(2);
    assert!(scene.data(8).1.forward.is_empty());
    assert_eq!(scene.data(9).1.forward.len(), 1);
    let (edit, out) = scene.data(8);
    assert!(edit.events.contains(Events::ANSWERED_DROP) && out.forward.len() == 1);
    assert!(scene.data(10).1.forward[0].flags.contains(Flags::CWR));
}

#[test]
fn accecn_that_shows_up_later_ends_all_editing() {
    let mut scene = Scene::with_a_virtual_loss();
    let strange = Packet { ae: 1, ..scene.ack_packet(4, Flags::ECE) };
    let (edit, out) = scene.watch.pass(&strange, Side::Far);
    assert_eq!((edit.reason(), out.forward), (Reason::AccEcn, vec![strange]));
    assert_eq!(scene.data(0).0, Edit::default());
}

#[test]
fn unknown_options_in_acks_end_virtual_losses_and_ect_but_not_the_echo() {
    let mut scene = Scene::with_a_virtual_loss();
    let mut strange = Packet { codepoint: 3, ..scene.ack_packet(4, Flags::ECE) };
    strange.options |= Options::OTHER;
    let (edit, out) = scene.watch.pass(&strange, Side::Far);
    assert_eq!((edit.reason(), out.forward[0].ack), (Reason::UnknownOption, Scene::at(4)));
    let out = scene.data(8).1;
    assert_eq!(out.forward[0].codepoint, 0);
    assert!(out.forward[0].flags.contains(Flags::ECE));
}

#[test]
fn the_kill_switch_shows_the_truth_at_the_next_ack() {
    let mut scene = Scene::with_a_virtual_loss();
    scene.watch.policy.off = true;
    let (edit, out) = scene.echo(4);
    assert_eq!((edit.reason(), out.forward[0].ack), (Reason::Off, Scene::at(4)));
    scene.all(8..12);
    scene.watch.policy.off = false;
    assert_eq!(scene.data(12).1.forward[0].codepoint, 2);
}

/// Found by chaos: the window of a reordered ACK moved the right edge beyond the advertised one.
#[test]
fn an_ack_that_was_overtaken_does_not_move_the_right_edge_of_an_answer() {
    let mut scene = Scene::default();
    scene.all(0..5);
    scene.echo(3);
    let older = Packet { window: 1_000 + (MSS / 8) as u16, ..scene.ack_packet(2, Flags::empty()) };
    scene.watch.pass(&older, Side::Far);
    let reply = scene.data(0).1.back.expect("a reply");
    assert_eq!((reply.ack, reply.window), (Scene::at(3), 1_000));
}

/// Found by chaos: duplicate ACKs repeat the window of the highest ACK, not of the latest one.
#[test]
fn without_sack_an_ack_that_was_overtaken_does_not_move_the_right_edge_either() {
    let policy = Policy { without_sack: true, ..Policy::default() };
    let mut scene = Scene::new(policy, Options::TIMESTAMPS | Options::WINDOW_SCALE);
    scene.all(0..8);
    scene.ack(3);
    let older = Packet { window: 1_000 + (MSS / 8) as u16, ..scene.ack_packet(2, Flags::empty()) };
    scene.watch.pass(&older, Side::Far);
    let (edit, out) = scene.echo(5);
    assert!(edit.events.contains(Events::VIRTUAL_LOSS));
    assert_eq!((out.forward[0].ack, out.forward[0].window), (Scene::at(3), 1_000));
}
