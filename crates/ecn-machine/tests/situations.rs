//! Situations that RFC 3168, RFC 9768 and the study of virtual losses know, packet by packet.

#[path = "fuzz_bodies/watch.rs"]
mod watch;

use watch::Watch;
use windlass_ecn_machine::{
    Actions, Answer, Block, Edit, Events, Flags, Flow, Options, Outcome, Packet, Phase, Policy,
    Reason, SenderPolicy, Side,
};

const ECN_SETUP: Flags = Flags::ECE.union(Flags::CWR);
/// The host's first number, shortly before the wrap; the far host's.
const ISN: u32 = u32::MAX - 2_000;
const FAR_ISN: u32 = 5_000;
const MSS: u32 = 1_000;

fn all_options() -> Options {
    Options::SACK_PERMITTED | Options::TIMESTAMPS | Options::WINDOW_SCALE
}

fn syn(flags: Flags, seq: u32, options: Options) -> Packet {
    let flags = flags | Flags::SYN;
    Packet { seq, flags, options, window_scale: 3, window: 8_000, ..Packet::default() }
}

fn syn_ack(flags: Flags, seq: u32, ack: u32, options: Options) -> Packet {
    Packet { ack, ..syn(flags | Flags::ACK, seq, options) }
}

/// A served connection that the host opened; data are counted in segments of [`MSS`].
struct Scene {
    watch: Watch,
    options: Options,
    now: u32,
}

impl Scene {
    fn new(policy: Policy, options: Options) -> Scene {
        let mut watch = Watch::new(policy);
        watch.pass(&syn(Flags::empty(), ISN, options), Side::Host);
        watch.pass(&syn_ack(Flags::ECE, FAR_ISN, ISN + 1, options), Side::Far);
        assert_eq!(watch.flow.phase(), Phase::Proxied);
        Scene { watch, options: options & Options::TIMESTAMPS, now: 100 }
    }

    fn default() -> Scene {
        Scene::new(Policy::default(), all_options())
    }

    /// The number at which segment `n` begins, counted from 0.
    fn at(n: u32) -> u32 {
        (ISN + 1).wrapping_add(n * MSS)
    }

    /// The host sends segment `n`.
    fn data(&mut self, n: u32) -> (Edit, Outcome) {
        self.now += 1;
        let packet = Packet {
            seq: Scene::at(n),
            ack: FAR_ISN + 1,
            payload_bytes: MSS,
            segment_bytes: MSS,
            tsval: self.now,
            options: self.options,
            flags: Flags::ACK,
            window: 1_000,
            ..Packet::default()
        };
        self.watch.pass(&packet, Side::Host)
    }

    fn all(&mut self, segments: std::ops::Range<u32>) {
        segments.for_each(|n| drop(self.data(n)));
    }

    /// An ACK of everything before segment `n`, as the far host sends it.
    fn ack_packet(&self, n: u32, flags: Flags) -> Packet {
        Packet {
            seq: FAR_ISN + 1,
            ack: Scene::at(n),
            tsval: self.now,
            tsecr: self.now,
            options: self.options,
            flags: flags | Flags::ACK,
            window: 1_000,
            ..Packet::default()
        }
    }

    fn ack(&mut self, n: u32) -> (Edit, Outcome) {
        let packet = self.ack_packet(n, Flags::empty());
        self.watch.pass(&packet, Side::Far)
    }

    fn echo(&mut self, n: u32) -> (Edit, Outcome) {
        let packet = self.ack_packet(n, Flags::ECE);
        self.watch.pass(&packet, Side::Far)
    }

    /// Eight segments in flight, one acknowledged with ECE: the hole is segment 0.
    fn with_a_hole() -> Scene {
        let mut scene = Scene::default();
        scene.all(0..8);
        let (edit, _) = scene.echo(2);
        assert!(edit.events.contains(Events::EPISODE | Events::HOLE));
        scene
    }
}

#[test]
fn a_host_without_ecn_and_a_server_with_it_are_brought_together() {
    let mut watch = Watch::default();
    let (edit, out) = watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    assert_eq!(out.forward[0].flags, Flags::SYN | ECN_SETUP);
    assert_eq!(edit.events, Events::UPGRADED);
    let answer = syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options());
    let (edit, out) = watch.pass(&answer, Side::Far);
    assert_eq!(out.forward[0].flags, Flags::SYN | Flags::ACK);
    assert_eq!(edit.events, Events::SERVER_ONLY | Events::PROXIED);
}

#[test]
fn a_server_without_ecn_is_left_alone() {
    let mut watch = Watch::default();
    watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    let answer = syn_ack(Flags::empty(), FAR_ISN, ISN + 1, all_options());
    let (edit, _) = watch.pass(&answer, Side::Far);
    assert_eq!(edit.actions, Actions::empty());
    assert_eq!(
        (edit.events, edit.reason()),
        (Events::NEITHER | Events::BYPASS, Reason::FarWithoutEcn)
    );
}

/// RFC 9768 section 3.1.2: a SYN-ACK of any other triple answers no classic SYN.
#[test]
fn a_strange_answer_is_hidden_and_the_connection_left_alone() {
    for (ae, flags) in [(0, Flags::CWR), (0, ECN_SETUP), (1, Flags::empty()), (1, ECN_SETUP)] {
        let mut watch = Watch::default();
        watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
        let answer = Packet { ae, ..syn_ack(flags, FAR_ISN, ISN + 1, all_options()) };
        for _ in 0..2 {
            let (_, out) = watch.pass(&answer, Side::Far);
            assert_eq!((out.forward[0].ae, out.forward[0].flags), (0, Flags::SYN | Flags::ACK));
        }
        assert_eq!(watch.flow.reason(), Reason::StrangeHandshake);
    }
}

#[test]
fn a_host_that_asks_for_ecn_or_accecn_itself_is_never_touched() {
    for ae in [0, 1] {
        let mut watch = Watch::default();
        let asks = Packet { ae, ..syn(ECN_SETUP, ISN, all_options()) };
        let (edit, _) = watch.pass(&asks, Side::Host);
        assert_eq!(edit, Edit::default());
        let (edit, _) =
            watch.pass(&syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options()), Side::Far);
        assert_eq!(edit.actions, Actions::empty());
        assert_eq!(edit.events, Events::BOTH | Events::BYPASS);
    }
}

/// RFC 3168 section 6.1.1.1.
#[test]
fn the_same_syn_again_passes_without_ecn_and_the_destination_is_reported() {
    let mut watch = Watch::default();
    let first = syn(Flags::empty(), ISN, all_options());
    watch.pass(&first, Side::Host);
    let (edit, out) = watch.pass(&first, Side::Host);
    assert_eq!(out.forward, [first]);
    assert_eq!(edit.events, Events::FALLBACK | Events::DESTINATION_FAILED);
    assert_eq!(watch.pass(&first, Side::Host).0, Edit::default(), "reported once");
    // The far host had seen the first one: nobody else would echo its CE.
    watch.pass(&syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options()), Side::Far);
    assert_eq!(watch.flow.phase(), Phase::Proxied);
}

#[test]
fn a_destination_that_fails_gets_no_upgraded_syn() {
    let mut flow = Flow::default();
    let first = syn(Flags::empty(), ISN, all_options());
    let (keep, edit) = flow.handle_syn(&Policy::default(), &first, Side::Host, true);
    assert_eq!((keep, edit.actions, edit.reason()), (true, Actions::empty(), Reason::Fallback));
    let answer = syn_ack(Flags::empty(), FAR_ISN, ISN + 1, all_options());
    let edit = flow.handle_packet(&Policy::default(), &answer, Side::Far);
    assert_eq!((edit, flow.phase()), (Edit::default(), Phase::Bypass));
}

/// A closed port refuses every SYN.
#[test]
fn a_destination_that_refuses_a_plain_syn_too_has_nothing_against_ecn() {
    let mut flow = Flow::default();
    let first = syn(Flags::empty(), ISN, all_options());
    flow.handle_syn(&Policy::default(), &first, Side::Host, true);
    let flags = Flags::RST | Flags::ACK;
    let reset = Packet { ack: ISN + 1, flags, ..Packet::default() };
    let edit = flow.handle_packet(&Policy::default(), &reset, Side::Far);
    assert_eq!(edit.events, Events::PLAIN_REFUSED | Events::CLOSED);
}

#[test]
fn a_reset_that_answers_an_upgraded_syn_passes_and_reports_the_destination() {
    let mut watch = Watch::default();
    watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    let flags = Flags::RST | Flags::ACK;
    let reset = Packet { ack: ISN + 1, flags, ..Packet::default() };
    let (edit, out) = watch.pass(&reset, Side::Far);
    assert_eq!(out.forward, [reset]);
    assert_eq!(edit.events, Events::DESTINATION_FAILED | Events::CLOSED);
}

#[test]
fn signed_and_multipath_connections_are_never_edited() {
    let cases = [
        (Options::MD5, Reason::Md5),
        (Options::AO, Reason::Ao),
        (Options::MPTCP, Reason::Mptcp),
        (Options::BROKEN, Reason::BrokenOptions),
    ];
    for (option, reason) in cases {
        let mut watch = Watch::default();
        let (edit, _) = watch.pass(&syn(Flags::empty(), ISN, all_options() | option), Side::Host);
        assert_eq!((edit.actions, edit.reason()), (Actions::empty(), reason));
    }
}

#[test]
fn a_far_client_with_ecn_or_accecn_gets_a_classic_answer() {
    for ae in [0, 1] {
        let mut watch = Watch::default();
        let asks = Packet { ae, ..syn(ECN_SETUP, FAR_ISN, all_options()) };
        assert_eq!(watch.pass(&asks, Side::Far).0, Edit::default());
        let answer = syn_ack(Flags::empty(), ISN, FAR_ISN + 1, all_options());
        for _ in 0..2 {
            let (_, out) = watch.pass(&answer, Side::Host);
            assert_eq!(out.forward[0].flags, Flags::SYN | Flags::ACK | Flags::ECE);
        }
        assert_eq!(watch.flow.phase(), Phase::Proxied);
    }
}

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
    assert_eq!((out.forward[0].codepoint, out.forward[0].flags), (0, Flags::ACK));
    assert!(!scene.data(2).1.forward[0].flags.contains(Flags::ECE));
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
fn a_mark_becomes_one_hole_and_the_right_edge_stays() {
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
fn the_retransmission_passes_not_ect_and_the_next_new_data_have_cwr() {
    let mut scene = Scene::with_a_hole();
    let (edit, out) = scene.data(0);
    assert!(edit.events.contains(Events::ANSWERED_HOLE));
    assert_eq!(out.forward[0].codepoint, 0);
    let new = scene.data(8).1.forward[0];
    assert!(new.flags.contains(Flags::CWR) && new.codepoint == 2);
    assert!(!scene.data(9).1.forward[0].flags.contains(Flags::CWR));
}

/// "DSACK not stripped: every reduction undone."
#[test]
fn a_dsack_releases_the_hole_and_is_taken_away() {
    let mut scene = Scene::with_a_hole();
    scene.data(0);
    let dsack = Block { start: Scene::at(0), end: Scene::at(1) };
    let real = Block { start: Scene::at(6), end: Scene::at(7) };
    let mut packet = scene.ack_packet(5, Flags::empty());
    packet.options |= Options::SACK;
    (packet.blocks[0], packet.blocks[1], packet.block_count) = (dsack, real, 2);
    let (edit, out) = scene.watch.pass(&packet, Side::Far);
    assert!(edit.events.contains(Events::RELEASED));
    assert_eq!((out.forward[0].ack, out.forward[0].blocks()), (Scene::at(5), &[real][..]));
}

/// "No TSecr floor: most reductions undone."
#[test]
fn after_the_release_no_older_time_is_echoed() {
    let mut scene = Scene::with_a_hole();
    scene.data(0);
    let rex_time = scene.now;
    scene.data(8);
    let old = Packet { tsecr: rex_time - 5, ..scene.ack_packet(9, Flags::empty()) };
    let (edit, out) = scene.watch.pass(&old, Side::Far);
    assert!(edit.events.contains(Events::RELEASED), "ack > R");
    assert_eq!(out.forward[0].tsecr, rex_time);
    let natural = Packet { tsecr: rex_time, ..old };
    assert_eq!(scene.watch.pass(&natural, Side::Far).0, Edit::default());
    // Once reached, the floor is gone.
    assert_eq!(scene.watch.pass(&old, Side::Far).0, Edit::default());
}

/// "Release at the first ACK after the retransmission: undone."
#[test]
fn an_ack_within_the_flight_of_the_hole_does_not_release_it() {
    let mut scene = Scene::with_a_hole();
    scene.data(0);
    let early = Packet { tsecr: 100, ..scene.ack_packet(6, Flags::empty()) };
    let (_, out) = scene.watch.pass(&early, Side::Far);
    assert_eq!((out.forward[0].ack, scene.watch.flow.answer()), (Scene::at(0), Answer::Rex));
}

/// "The paper's: three rewritten ACKs, then the real one": without SACK blocks RACK sees nothing.
#[test]
fn a_hole_lasts_until_the_sender_answers_however_many_acks_there_are() {
    let mut scene = Scene::default();
    scene.all(0..60);
    scene.echo(2);
    for n in 3..60 {
        let (_, out) = scene.echo(n);
        assert_eq!(out.forward[0].ack, Scene::at(0));
        assert_eq!(out.forward[0].block_count, 1);
    }
}

/// Rule M, 4b: nothing else is in flight, so a dropped retransmission would cost a timeout.
#[test]
fn a_retransmission_of_what_all_arrived_is_answered_by_the_proxy() {
    let mut scene = Scene::with_a_hole();
    scene.echo(8);
    let (edit, out) = scene.data(0);
    assert!(edit.events.contains(Events::ANSWERED_HOLE | Events::SELF_ANSWER | Events::RELEASED));
    assert!(out.forward.is_empty());
    let reply = out.back.expect("a reply");
    assert_eq!((reply.ack, reply.tsecr, reply.seq), (Scene::at(8), scene.now, FAR_ISN + 1));
    assert_eq!(scene.watch.flow.answer(), Answer::Idle);
}

#[test]
fn the_second_retransmission_is_answered_though_more_is_in_flight() {
    let mut scene = Scene::with_a_hole();
    assert!(scene.data(0).1.back.is_none());
    assert_eq!(scene.data(0).1.back.expect("a reply").ack, Scene::at(2));
}

/// Rule M, 2b: RFC 3168 would leave a window of two segments where it is.
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

/// "Without SACK a hole opened at A == R of the previous: RTO."
#[test]
fn the_next_hole_opens_above_the_end_of_the_last_recovery() {
    let mut scene = Scene::with_a_hole();
    scene.data(0);
    scene.all(8..16);
    scene.ack(9);
    assert_eq!(scene.watch.flow.answer(), Answer::Idle);
    let (edit, _) = scene.echo(10);
    assert!(edit.events.contains(Events::EPISODE));
    assert!(!ecn_hole_at_or_below(&edit, Scene::at(8)));
}

fn ecn_hole_at_or_below(edit: &Edit, recover: u32) -> bool {
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

/// "No clones behind sparse ACKs, without SACK: RTOs", "window updates turned into duplicates".
#[test]
fn without_sack_three_duplicates_are_made_and_window_updates_dropped() {
    let policy = Policy { without_sack: true, ..Policy::default() };
    let mut scene = Scene::new(policy, Options::TIMESTAMPS | Options::WINDOW_SCALE);
    scene.all(0..8);
    let (edit, out) = scene.echo(2);
    assert!(edit.events.contains(Events::HOLE));
    assert_eq!(out.forward.len(), 3);
    assert!(out.forward.iter().all(|ack| ack.ack == Scene::at(0) && ack.window == 1_000));
    let update = Packet { window: 900, ..scene.ack_packet(2, Flags::empty()) };
    assert!(scene.watch.pass(&update, Side::Far).1.forward.is_empty());
}

/// The far host held back the ACK of the last new data until the retransmission came, whose time
/// is not in it (RFC 7323 section 4.3); it will send no other.
#[test]
fn without_sack_the_ack_of_all_that_was_sent_releases_the_hole() {
    let policy = Policy { without_sack: true, ..Policy::default() };
    let mut scene = Scene::new(policy, Options::TIMESTAMPS | Options::WINDOW_SCALE);
    scene.all(0..8);
    scene.echo(2);
    let before = scene.ack_packet(8, Flags::empty());
    scene.data(0);
    assert_eq!(scene.ack(7).1.forward[0].ack, Scene::at(0), "not all that was sent");
    let (edit, out) = scene.watch.pass(&before, Side::Far);
    assert!(edit.events.contains(Events::RELEASED));
    assert_eq!(out.forward[0].ack, Scene::at(8));
    assert!(out.forward[0].tsecr > before.tsecr, "the reduction would be undone");
}

/// A full segment has no room for blocks, and data are never a duplicate ACK.
#[test]
fn a_packet_with_data_keeps_them_and_a_clone_says_the_blocks() {
    let mut scene = Scene::with_a_hole();
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
fn the_far_hosts_last_fin_releases_the_hole_at_once() {
    let mut scene = Scene::with_a_hole();
    scene.echo(4);
    let fin = Packet {
        seq: Scene::at(8),
        ack: FAR_ISN + 1,
        flags: Flags::FIN | Flags::ACK,
        ..Packet::default()
    };
    scene.watch.pass(&fin, Side::Host);
    assert_eq!(scene.watch.flow.answer(), Answer::Wait, "two rewritten ACKs are enough");
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
    let mut scene = Scene::with_a_hole();
    let strange = Packet { ae: 1, ..scene.ack_packet(4, Flags::ECE) };
    let (edit, out) = scene.watch.pass(&strange, Side::Far);
    assert_eq!((edit.reason(), out.forward), (Reason::AccEcn, vec![strange]));
    assert_eq!(scene.data(0).0, Edit::default());
}

#[test]
fn unknown_options_in_acks_end_holes_and_ect_but_not_the_echo() {
    let mut scene = Scene::with_a_hole();
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
    let mut scene = Scene::with_a_hole();
    scene.watch.policy.off = true;
    let (edit, out) = scene.echo(4);
    assert_eq!((edit.reason(), out.forward[0].ack), (Reason::Off, Scene::at(4)));
    scene.all(8..12);
    scene.watch.policy.off = false;
    assert_eq!(scene.data(12).1.forward[0].codepoint, 2);
}
