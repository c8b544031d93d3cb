//! Handshakes that RFC 3168 and RFC 9768 know, packet by packet.

#[path = "scene/syn.rs"]
mod syn;
#[path = "fuzz_bodies/watch.rs"]
mod watch;

use syn::{FAR_ISN, ISN, all_options, syn, syn_ack};
use watch::Watch;
use windlass_ecn_proxy_core::{
    Actions, Edit, Events, Flags, Flow, Options, Packet, Phase, Policy, Reason, Side,
};

const ECN_SETUP: Flags = Flags::ECE.union(Flags::CWR);

#[test]
fn a_host_without_ecn_and_a_server_with_it_are_brought_together() {
    let mut watch = Watch::new(Policy::default());
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
    let mut watch = Watch::new(Policy::default());
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
        let mut watch = Watch::new(Policy::default());
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
fn while_the_proxy_is_off_or_draining_no_connection_is_kept() {
    let policies =
        [Policy { off: true, ..Policy::default() }, Policy { draining: true, ..Policy::default() }];
    for policy in policies {
        let first = syn(Flags::empty(), ISN, all_options());
        for from in [Side::Host, Side::Far] {
            let (keep, edit) = Flow::default().handle_syn(&policy, &first, from, false);
            assert!(!keep && edit == Edit::default(), "{policy:?} {from:?}");
        }
    }
}

#[test]
fn a_host_whose_crossed_syn_has_half_a_request_or_a_codepoint_is_left_alone() {
    let plain = || syn(Flags::empty(), ISN, all_options());
    let half = [Flags::ECE, Flags::CWR].map(|flags| syn(flags, ISN, all_options()));
    let marked = [1, 2, 3].map(|codepoint| Packet { codepoint, ..plain() });
    for packet in half.into_iter().chain(marked) {
        let mut watch = Watch::new(Policy::default());
        watch.pass(&syn(ECN_SETUP, FAR_ISN, all_options()), Side::Far);
        let (edit, out) = watch.pass(&packet, Side::Host);
        assert_eq!(out.forward[0].flags, packet.flags, "{packet:?}");
        assert_eq!(edit.events, Events::BOTH | Events::BYPASS, "{packet:?}");
    }
}

/// Linux takes a SYN with a codepoint for one whose path is broken, and answers it without ECN.
#[test]
fn a_syn_with_half_a_request_or_with_a_codepoint_is_left_alone() {
    let plain = || syn(Flags::empty(), ISN, all_options());
    let half = [Flags::ECE, Flags::CWR].map(|flags| syn(flags, ISN, all_options()));
    let marked = [1, 2, 3].map(|codepoint| Packet { codepoint, ..plain() });
    for packet in half.into_iter().chain(marked) {
        let mut watch = Watch::new(Policy::default());
        let (edit, out) = watch.pass(&packet, Side::Host);
        assert_eq!(out.forward[0].flags, packet.flags, "{packet:?}");
        assert_eq!((edit.events, watch.flow.reason()), (Events::BYPASS, Reason::StrangeHandshake));
    }
}

#[test]
fn a_host_that_asks_for_ecn_or_accecn_itself_is_never_touched() {
    for ae in [0, 1] {
        let mut watch = Watch::new(Policy::default());
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
fn the_same_syn_again_passes_without_ecn() {
    let mut watch = Watch::new(Policy::default());
    let first = syn(Flags::empty(), ISN, all_options());
    watch.pass(&first, Side::Host);
    let (edit, out) = watch.pass(&first, Side::Host);
    assert_eq!(out.forward, [first]);
    assert_eq!(edit.events, Events::FALLBACK);
    assert_eq!(watch.pass(&first, Side::Host).0, Edit::default(), "reported once");
    // The far host received the first SYN: only the proxy can echo its CE.
    watch.pass(&syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options()), Side::Far);
    assert_eq!(watch.flow.phase(), Phase::Proxied);
}

/// Events of a SYN-ACK without ECN that answers this many SYNs without ECN after the one with it.
fn answer_after(plain_syns: usize) -> Events {
    let mut watch = Watch::new(Policy::default());
    let first = syn(Flags::empty(), ISN, all_options());
    for _ in 0..1 + plain_syns {
        watch.pass(&first, Side::Host);
    }
    let answer = syn_ack(Flags::empty(), FAR_ISN, ISN + 1, all_options());
    watch.pass(&answer, Side::Far).0.events
}

#[test]
fn a_destination_is_reported_once_it_answers_the_first_syn_without_ecn() {
    let without = Events::NEITHER | Events::BYPASS;
    assert_eq!(answer_after(0), without);
    assert_eq!(answer_after(1), without | Events::DESTINATION_FAILED);
}

/// In an outage SYNs without ECN get lost too.
#[test]
fn a_destination_that_does_not_answer_a_plain_syn_at_once_is_not_reported() {
    let without = Events::NEITHER | Events::BYPASS;
    assert_eq!((answer_after(2), answer_after(5)), (without, without));
}

/// As with Linux's net.ipv4.tcp_ecn_fallback = 0.
#[test]
fn without_fallback_the_same_syn_again_asks_for_ecn_again() {
    let mut watch = Watch::new(Policy { keeps_asking: true, ..Policy::default() });
    let first = syn(Flags::empty(), ISN, all_options());
    let asking = watch.pass(&first, Side::Host).1.forward;
    assert_eq!(asking[0].flags, Flags::SYN | ECN_SETUP);
    for _ in 0..3 {
        let (edit, out) = watch.pass(&first, Side::Host);
        assert_eq!((out.forward, edit.events), (asking.clone(), Events::empty()));
    }
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
    assert_eq!(edit, Edit { events: Events::PLAIN_ACCEPTED, ..Edit::default() });
    assert_eq!(flow.phase(), Phase::Bypass);
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
fn a_reset_that_answers_an_upgraded_syn_passes_and_is_reported() {
    let mut watch = Watch::new(Policy::default());
    watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    let flags = Flags::RST | Flags::ACK;
    let reset = Packet { ack: ISN + 1, flags, ..Packet::default() };
    let (edit, out) = watch.pass(&reset, Side::Far);
    assert_eq!(out.forward, [reset]);
    assert_eq!(edit.events, Events::REFUSED | Events::CLOSED);
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
        let mut watch = Watch::new(Policy::default());
        let (edit, _) = watch.pass(&syn(Flags::empty(), ISN, all_options() | option), Side::Host);
        assert_eq!((edit.actions, edit.reason()), (Actions::empty(), reason));
    }
}

#[test]
fn a_far_client_with_ecn_or_accecn_gets_a_classic_answer() {
    for ae in [0, 1] {
        let mut watch = Watch::new(Policy::default());
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

/// Its SYN-ACK may get lost on the way to the host.
#[test]
fn a_syn_that_was_answered_without_ecn_does_not_ask_for_it_again() {
    let mut watch = Watch::new(Policy::default());
    let first = syn(Flags::empty(), ISN, all_options());
    watch.pass(&first, Side::Host);
    watch.pass(&syn_ack(Flags::empty(), FAR_ISN, ISN + 1, all_options()), Side::Far);
    assert_eq!(watch.pass(&first, Side::Host).1.forward, [first]);
}

/// Found by chaos (seeds 6768, 11724 and 25255): the answer gets lost behind the proxy, and the host falls back (RFC
/// 9768 section 3.1.4.1; RFC 3168 section 6.1.1.1). The far host keeps to its first answer, and a SYN that asks for
/// another one would reset the connection.
#[test]
fn a_host_whose_own_request_was_answered_falls_back_as_it_likes() {
    let requests = [(1, ECN_SETUP), (0, ECN_SETUP)];
    let answers = [(0, Flags::CWR), (1, Flags::empty()), (0, Flags::ECE), (0, Flags::empty())];
    for ((ae, asks), (answer_ae, says)) in
        requests.into_iter().flat_map(|asks| answers.map(|answer| (asks, answer)))
    {
        let mut watch = Watch::new(Policy::default());
        let request = Packet { ae, ..syn(asks, ISN, all_options()) };
        let answer = Packet { ae: answer_ae, ..syn_ack(says, FAR_ISN, ISN + 1, all_options()) };
        let again = syn(Flags::empty(), ISN, all_options());
        watch.pass(&request, Side::Host);
        watch.pass(&answer, Side::Far);
        for (packet, side) in [(&again, Side::Host), (&answer, Side::Far), (&again, Side::Host)] {
            let (edit, out) = watch.pass(packet, side);
            assert_eq!((edit, &out.forward[..]), (Edit::default(), &[*packet][..]));
        }
        assert_eq!(watch.flow.reason(), Reason::HostHasEcn);
        let next = syn(Flags::empty(), ISN + 1_000, all_options());
        assert_eq!(watch.pass(&next, Side::Host).0.events, Events::UPGRADED, "another connection");
    }
}

/// Found by chaos (seed 78815): the same in a simultaneous open, whichever SYN passes the proxy first.
#[test]
fn a_host_whose_own_request_crossed_the_far_hosts_falls_back_as_it_likes() {
    let request = Packet { ae: 1, ..syn(ECN_SETUP, ISN, all_options()) };
    let crossing = Packet { ae: 1, ..syn(ECN_SETUP, FAR_ISN, all_options()) };
    let again = syn(Flags::empty(), ISN, all_options());
    let (host, far) = ((&request, Side::Host), (&crossing, Side::Far));
    for begin in [[host, far], [far, host]] {
        for answered in [false, true] {
            let mut watch = Watch::new(Policy::default());
            for (packet, side) in begin {
                assert!(watch.pass(packet, side).0.actions.is_empty());
            }
            if answered {
                let answer = syn_ack(Flags::CWR, FAR_ISN, ISN + 1, all_options());
                assert_eq!(watch.pass(&answer, Side::Far).1.forward, [answer]);
            }
            assert_eq!(watch.pass(&again, Side::Host).1.forward, [again], "{begin:?} {answered}");
        }
    }
}

/// Found by chaos (seed 23351): the host asked for ECN itself, then sent its SYN again without, when the proxy had
/// removed the connection from its table.
#[test]
fn a_late_syn_of_a_connection_under_way_takes_nothing_on() {
    let mut watch = Watch::new(Policy::default());
    let answer = syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options());
    watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    let ack = Flags::ACK;
    let data = Packet {
        seq: ISN + 1,
        ack: FAR_ISN + 1,
        flags: ack,
        payload_bytes: 2,
        ..Packet::default()
    };
    let (edit, _) = watch.pass(&data, Side::Host);
    assert_eq!(edit.reason(), Reason::UnderWay);
    watch.pass(&answer, Side::Far);
    assert_eq!(watch.flow.phase(), Phase::Bypass);
    assert_eq!(
        watch.pass(&data, Side::Host).1.forward,
        [data],
        "a retransmission, which has no ECT"
    );
}

/// RFC 9293 section 3.5, figure 7: both SYNs are on their way at once, and each answers the other.
#[test]
fn both_open_at_once_and_no_end_sees_what_it_did_not_ask_for() {
    let host = syn(Flags::empty(), ISN, all_options());
    let far = syn(ECN_SETUP, FAR_ISN, all_options());
    let orders = [[(host, Side::Host), (far, Side::Far)], [(far, Side::Far), (host, Side::Host)]];
    for order in orders {
        let mut watch = Watch::new(Policy::default());
        for (packet, from) in order {
            let (_, out) = watch.pass(&packet, from);
            let upgraded = from == Side::Host;
            assert!(!upgraded || out.forward[0].flags == Flags::SYN | ECN_SETUP);
        }
        assert_eq!(watch.flow.phase(), Phase::Proxied);
        let answer = syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options());
        let (_, out) = watch.pass(&answer, Side::Far);
        assert_eq!(out.forward[0].flags, Flags::SYN | Flags::ACK);
        let answer = syn_ack(Flags::empty(), ISN, FAR_ISN + 1, all_options());
        let (_, out) = watch.pass(&answer, Side::Host);
        assert_eq!(out.forward[0].flags, Flags::SYN | Flags::ACK | Flags::ECE);
        assert_eq!(watch.flow.phase(), Phase::Proxied);
    }
}

/// Found by chaos: the SYN was late, and its SYN-ACK got lost behind the proxy.
#[test]
fn a_far_host_that_opened_too_may_be_answered_after_its_answer() {
    let mut watch = Watch::new(Policy::default());
    watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    watch.pass(&syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options()), Side::Far);
    watch.pass(&syn(ECN_SETUP, FAR_ISN, all_options()), Side::Far);
    let answer = syn_ack(Flags::empty(), ISN, FAR_ISN + 1, all_options());
    let (_, out) = watch.pass(&answer, Side::Host);
    assert_eq!(out.forward[0].flags, Flags::SYN | Flags::ACK | Flags::ECE);
    assert_eq!(watch.flow.phase(), Phase::Proxied);
}

/// Found by chaos: the host's SYN was slower than its answer to the far host's.
#[test]
fn a_host_that_opened_too_may_send_its_syn_after_its_answer() {
    let mut watch = Watch::new(Policy::default());
    watch.pass(&syn(ECN_SETUP, FAR_ISN, all_options()), Side::Far);
    watch.pass(&syn_ack(Flags::empty(), ISN, FAR_ISN + 1, all_options()), Side::Host);
    let (_, out) = watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    assert_eq!(out.forward[0].flags, Flags::SYN | ECN_SETUP);
    let answer = syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options());
    let (_, out) = watch.pass(&answer, Side::Far);
    assert_eq!(out.forward[0].flags, Flags::SYN | Flags::ACK, "it did not ask");
    let again = syn_ack(Flags::empty(), ISN, FAR_ISN + 1, all_options());
    let (_, out) = watch.pass(&again, Side::Host);
    assert_eq!(out.forward[0].flags, Flags::SYN | Flags::ACK | Flags::ECE);
    assert_eq!(watch.flow.phase(), Phase::Proxied);
}

/// Found by chaos: the far host's SYN that asks was slower than the plain one of its fallback.
#[test]
fn a_crossed_connection_that_was_left_alone_is_not_taken_on_by_a_late_syn() {
    let mut watch = Watch::new(Policy::default());
    watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    let (edit, _) = watch.pass(&syn(Flags::empty(), FAR_ISN, all_options()), Side::Far);
    assert_eq!(edit.events, Events::NEITHER | Events::BYPASS);
    assert_eq!(watch.flow.phase(), Phase::Bypass);
    let (_, out) = watch.pass(&syn(ECN_SETUP, FAR_ISN, all_options()), Side::Far);
    assert_eq!(out.forward[0].flags, Flags::SYN);
    let answer = syn_ack(Flags::empty(), ISN, FAR_ISN + 1, all_options());
    assert_eq!(watch.pass(&answer, Side::Host).1.forward, [answer]);
    let theirs = syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options());
    let (_, out) = watch.pass(&theirs, Side::Far);
    assert_eq!(out.forward[0].flags, Flags::SYN | Flags::ACK, "the host did not ask");
}

#[test]
fn the_same_late_syn_passes_as_it_is_while_the_switch_is_off() {
    let mut watch = Watch::new(Policy::default());
    watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    watch.pass(&syn(Flags::empty(), FAR_ISN, all_options()), Side::Far);
    watch.policy.off = true;
    let late = syn(ECN_SETUP, FAR_ISN, all_options());
    assert_eq!(watch.pass(&late, Side::Far).1.forward, [late]);
}

/// Found by chaos: of the host's two SYNs the one that asked was lost behind the proxy.
#[test]
fn a_crossed_syn_after_the_fallback_leaves_it_open_which_one_the_far_host_has() {
    let mut watch = Watch::new(Policy::default());
    let first = syn(Flags::empty(), ISN, all_options());
    watch.pass(&first, Side::Host);
    assert_eq!(watch.pass(&first, Side::Host).1.forward, [first], "the fallback");
    watch.pass(&syn(ECN_SETUP, FAR_ISN, all_options()), Side::Far);
    watch.pass(&syn_ack(Flags::empty(), ISN, FAR_ISN + 1, all_options()), Side::Host);
    let data = Packet {
        seq: ISN + 1,
        ack: FAR_ISN + 1,
        flags: Flags::ACK,
        payload_bytes: 100,
        segment_bytes: 1448,
        window: 1000,
        ..Packet::default()
    };
    assert_eq!(watch.pass(&data, Side::Host).1.forward[0].codepoint, 0);
    let theirs = Packet { seq: FAR_ISN + 1, ack: ISN + 1, codepoint: 2, ..data };
    watch.pass(&theirs, Side::Far);
    let next = Packet { seq: ISN + 101, ..data };
    assert_eq!(watch.pass(&next, Side::Host).1.forward[0].codepoint, 2, "it has ECN");
}

/// The far host's SYN may have been somebody else's: its answer decides.
#[test]
fn a_far_host_that_answers_a_crossed_syn_without_ecn_is_left_alone() {
    let mut watch = Watch::new(Policy::default());
    watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    watch.pass(&syn(ECN_SETUP, FAR_ISN, all_options()), Side::Far);
    watch.pass(&syn_ack(Flags::empty(), FAR_ISN, ISN + 1, all_options()), Side::Far);
    assert_eq!((watch.flow.phase(), watch.flow.reason()), (Phase::Bypass, Reason::FarWithoutEcn));
}

#[test]
fn ce_on_a_syn_ack_is_hidden_and_echoed() {
    let mut watch = Watch::new(Policy::default());
    watch.pass(&syn(Flags::empty(), ISN, all_options()), Side::Host);
    let answer = syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options());
    let (_, out) = watch.pass(&Packet { codepoint: 3, ..answer }, Side::Far);
    assert_eq!(out.forward[0].codepoint, 0);
    let ack = Packet { seq: ISN + 1, ack: FAR_ISN + 1, flags: Flags::ACK, ..Packet::default() };
    let (_, out) = watch.pass(&ack, Side::Host);
    assert!(out.forward[0].flags.contains(Flags::ECE));
}

/// The far host's SYN-ACK with ECE crossed its own SYN without ECN: it may use either connection.
#[test]
fn after_the_far_hosts_fallback_no_data_are_ect_until_the_far_host_shows_ect() {
    let mut watch = Watch::new(Policy::default());
    watch.pass(&syn(ECN_SETUP, FAR_ISN, all_options()), Side::Far);
    watch.pass(&syn_ack(Flags::empty(), ISN, FAR_ISN + 1, all_options()), Side::Host);
    watch.pass(&syn(Flags::empty(), FAR_ISN, all_options()), Side::Far);
    let data = Packet {
        seq: ISN + 1,
        ack: FAR_ISN + 1,
        flags: Flags::ACK,
        payload_bytes: 100,
        segment_bytes: 100,
        window: 1000,
        ..Packet::default()
    };
    let theirs = Packet { seq: FAR_ISN + 1, ack: ISN + 1, payload_bytes: 0, ..data };
    watch.pass(&theirs, Side::Far);
    assert_eq!(watch.pass(&data, Side::Host).1.forward[0].codepoint, 0, "not confirmed");
    let theirs = Packet { ack: ISN + 101, payload_bytes: 100, codepoint: 2, ..theirs };
    watch.pass(&theirs, Side::Far);
    let next = Packet { seq: ISN + 101, ..data };
    assert_eq!(watch.pass(&next, Side::Host).1.forward[0].codepoint, 2, "confirmed");
}

/// RFC 2018 section 2: both SYNs must carry the option.
#[test]
fn a_connection_has_sack_only_if_both_hosts_offer_it() {
    let mut watch = Watch::new(Policy::default());
    let without = all_options() - Options::SACK_PERMITTED;
    watch.pass(&syn(Flags::empty(), ISN, without), Side::Host);
    watch.pass(&syn_ack(Flags::ECE, FAR_ISN, ISN + 1, all_options()), Side::Far);
    let data = Packet {
        seq: ISN + 1,
        ack: FAR_ISN + 1,
        flags: Flags::ACK,
        payload_bytes: 100,
        segment_bytes: 100,
        ..Packet::default()
    };
    assert_eq!(watch.pass(&data, Side::Host).1.forward, [data], "no ECT without SACK");
}

/// RFC 3168 section 6.1.1.1: the far host has given ECN up.
#[test]
fn a_far_client_that_falls_back_gets_an_answer_without_ecn() {
    let mut watch = Watch::new(Policy::default());
    watch.pass(&syn(ECN_SETUP, FAR_ISN, all_options()), Side::Far);
    watch.pass(&syn(Flags::empty(), FAR_ISN, all_options()), Side::Far);
    let answer = syn_ack(Flags::empty(), ISN, FAR_ISN + 1, all_options());
    let (edit, out) = watch.pass(&answer, Side::Host);
    assert_eq!((edit.reason(), out.forward), (Reason::Fallback, vec![answer]));
}
