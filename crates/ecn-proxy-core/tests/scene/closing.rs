//! Resets, FINs and forged numbers.

use crate::served::{MSS, Scene};
use crate::syn::{FAR_ISN, all_options, syn, syn_ack};
use crate::watch::Watch;
use windlass_ecn_proxy_core::{Events, Flags, Packet, Phase, Policy, Reason, Side};

/// RFC 9293 section 3.10.7.4: a reset outside the window is not one.
#[test]
fn a_reset_with_a_number_outside_the_connection_does_not_end_it() {
    let mut scene = Scene::default();
    scene.all(0..4);
    scene.ack(2);
    let host = Packet { flags: Flags::RST, payload_bytes: 0, ..scene.data_packet(0) };
    let far = Packet { flags: Flags::RST, ..scene.ack_packet(2, Flags::empty()) };
    for (packet, from) in [
        (Packet { seq: Scene::at(1), ..host }, Side::Host),
        (Packet { seq: Scene::at(2).wrapping_add(0x6000_0000), ..host }, Side::Host),
        (Packet { seq: FAR_ISN, ..far }, Side::Far),
        (Packet { seq: FAR_ISN.wrapping_add(0x6000_0000), ..far }, Side::Far),
    ] {
        let (edit, _) = scene.watch.pass(&packet, from);
        assert_eq!((edit.events, scene.watch.flow.phase()), (Events::empty(), Phase::Proxied));
    }
    let (edit, _) = scene.watch.pass(&Packet { seq: Scene::at(4), ..host }, Side::Host);
    assert_eq!((edit.events, scene.watch.flow.phase()), (Events::CLOSED, Phase::Closed));
}

/// A forged number must not become the end of the data sent.
#[test]
fn data_with_a_number_outside_the_connection_change_nothing() {
    let mut scene = Scene::default();
    scene.all(0..4);
    let forged = Packet { seq: Scene::at(4).wrapping_add(0x6000_0000), ..scene.data_packet(0) };
    assert!(scene.watch.pass(&forged, Side::Host).0.actions.is_empty());
    assert_eq!(scene.data(4).1.forward[0].codepoint, 2, "new data");
}

/// An ACK of data that never passed may be forged, or the data took another path.
#[test]
fn an_ack_of_data_that_did_not_pass_is_ignored() {
    let mut scene = Scene::default();
    scene.all(0..4);
    let (edit, _) = scene.echo(9);
    assert_eq!((edit.events, scene.watch.flow.far_ack()), (Events::empty(), Scene::at(0)));
}

#[test]
fn a_connection_ends_with_both_fins_acknowledged_and_late_packets_lose_ecn() {
    let mut scene = Scene::default();
    scene.all(0..2);
    let fin = Packet { payload_bytes: 0, flags: Flags::ACK | Flags::FIN, ..scene.data_packet(2) };
    scene.watch.pass(&fin, Side::Host);
    let mut far_fin = scene.ack_packet(2, Flags::FIN);
    far_fin.ack += 1;
    let (edit, _) = scene.watch.pass(&Packet { flags: Flags::ACK, ..far_fin }, Side::Far);
    assert_eq!(edit.events, Events::empty(), "one FIN");
    scene.watch.pass(&far_fin, Side::Far);
    let last = Packet { seq: fin.end(), ack: FAR_ISN + 2, flags: Flags::ACK, ..fin };
    assert_eq!(scene.watch.pass(&last, Side::Host).0.events, Events::CLOSED);
    let late = Packet { codepoint: 2, flags: far_fin.flags | Flags::ECE, ..far_fin };
    let (_, out) = scene.watch.pass(&late, Side::Far);
    assert_eq!((out.forward[0].codepoint, out.forward[0].flags), (0, far_fin.flags));
}

/// The far host has accepted a new connection under the same addresses.
#[test]
fn a_syn_ack_of_another_connection_ends_the_editing() {
    let mut scene = Scene::default();
    scene.all(0..2);
    let other = Scene::at(0).wrapping_add(1_000 * MSS);
    let answer = syn_ack(Flags::ECE, FAR_ISN + 70_000, other, all_options());
    let (edit, out) = scene.watch.pass(&answer, Side::Far);
    assert_eq!((edit.reason(), scene.watch.flow.phase()), (Reason::Reopened, Phase::Bypass));
    assert_eq!(out.forward, [answer]);
}

/// RFC 9293 section 3.10.7.4: in SYN-RECEIVED a reset in the window ends the connection.
#[test]
fn the_far_host_gives_up_a_connection_that_it_opens() {
    for (seq, ends) in [(FAR_ISN + 1, true), (FAR_ISN.wrapping_sub(1), false)] {
        let mut watch = Watch::new(Policy::default());
        watch.pass(&syn(Flags::ECE | Flags::CWR, FAR_ISN, all_options()), Side::Far);
        assert_eq!(watch.flow.phase(), Phase::FarOpens);
        watch.pass(&Packet { seq, flags: Flags::RST, ..Packet::default() }, Side::Far);
        assert_eq!(watch.flow.phase() == Phase::Closed, ends, "{seq}");
    }
}
