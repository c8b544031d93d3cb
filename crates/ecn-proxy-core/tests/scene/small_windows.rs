//! The SACK block above a virtual loss for a sender with a small window.

use crate::served::{MSS, Scene};
use std::iter;
use windlass_ecn_proxy_core::{Block, Flags, Packet, Side};

/// Each SACKed segment lets the sender transmit another one before it reduces (RFC 3042).
#[test]
fn in_a_small_flight_the_block_has_one_segment() {
    let mut scene = Scene::default();
    scene.all(0..4);
    let one = Block { start: Scene::at(1), end: Scene::at(2) };
    for _ in 0..2 {
        let (_, out) = scene.echo(3);
        assert_eq!((out.forward[0].ack, out.forward[0].blocks()), (Scene::at(0), &[one][..]));
    }
    assert_eq!(scene.data(0).1.back.expect("a reply").ack, Scene::at(3));
}

/// RACK decides on three SACKed segments immediately.
#[test]
fn three_segments_and_those_of_a_flight_of_more_than_five_are_all_sacked() {
    for (flight, acked, sacked) in [(4, 3, 2), (4, 4, 4), (5, 4, 4), (5, 3, 2), (6, 3, 3)] {
        let mut scene = Scene::default();
        scene.all(0..flight);
        let (_, out) = scene.echo(acked);
        assert_eq!(out.forward[0].blocks()[0].end, Scene::at(sacked), "{flight} {acked}");
    }
}

/// The average of segment sizes reaches that of equal segments after a short one, a request for instance,
/// whatever the size is: TCP over IPv6 has 1428 bytes in a segment.
#[test]
fn a_flight_of_five_counts_as_five_whatever_the_size_of_a_segment() {
    for size in (536..=1460).chain([8948, 8960, 8961]) {
        let mut scene = Scene::default();
        let mut sent = 0;
        let mut send = |scene: &mut Scene, bytes: u32| {
            scene.now += 1;
            let seq = Scene::at(0).wrapping_add(sent);
            let data =
                Packet { seq, payload_bytes: bytes, segment_bytes: bytes, ..scene.data_packet(0) };
            scene.watch.pass(&data, Side::Host);
            sent += bytes;
            Scene::at(0).wrapping_add(sent)
        };
        let ends: Vec<u32> = iter::once(100)
            .chain(iter::repeat_n(size, 60))
            .map(|bytes| {
                let ack = send(&mut scene, bytes);
                let all = Packet { ack, ..scene.ack_packet(0, Flags::empty()) };
                scene.watch.pass(&all, Side::Far);
                ack
            })
            .collect();
        let start = ends[ends.len() - 1];
        for _ in 0..5 {
            send(&mut scene, size);
        }
        let echo = Packet { ack: start.wrapping_add(3 * size), ..scene.ack_packet(0, Flags::ECE) };
        let (_, out) = scene.watch.pass(&echo, Side::Far);
        let one = Block { start: start.wrapping_add(size), end: start.wrapping_add(2 * size) };
        assert_eq!(out.forward[0].blocks(), [one], "{size}");
    }
}

/// The number of segments in the block that each ACK shows. The RTT is 40, the virtual loss is the
/// first segment, the segments are sent at `times`, and each is acknowledged alone.
fn sacked_by_each_ack(times: &[u32]) -> Vec<u32> {
    sacked_by_acks(1, times, &vec![1; times.len()])
}

/// The same, but each ACK covers the next `acks` segments and echoes the first of them. The virtual
/// loss is segment `lost`.
fn sacked_by_acks(lost: u32, times: &[u32], acks: &[usize]) -> Vec<u32> {
    let mut scene = Scene::default();
    for n in 0..lost {
        scene.data(n);
        scene.ack(n + 1);
    }
    let start = scene.now + 40;
    let n = |i: usize| lost + i as u32;
    for (i, time) in times.iter().enumerate() {
        scene.now = start + time - 1;
        scene.data(n(i));
    }
    let mut acknowledged = 0;
    let sacked_by = |segments: &usize| {
        let tsecr = start + times[acknowledged];
        acknowledged += segments;
        let ack = Packet { tsecr, ..scene.ack_packet(n(acknowledged), Flags::ECE) };
        let (_, out) = scene.watch.pass(&ack, Side::Far);
        let shown = &out.forward[0];
        assert_eq!(shown.ack, Scene::at(lost));
        shown.blocks().first().map_or(0, |block| (block.end - Scene::at(lost + 1)) / MSS)
    };
    acks.iter().map(sacked_by).collect()
}

#[test]
fn a_packet_with_data_has_no_clone_while_the_block_is_deferred() {
    let mut scene = Scene::default();
    scene.data(0);
    scene.ack(1);
    scene.now += 40;
    scene.all(1..5);
    let tsecr = scene.now;
    let data = Packet { payload_bytes: 500, tsecr, ..scene.ack_packet(3, Flags::ECE) };
    let (_, out) = scene.watch.pass(&data, Side::Far);
    assert_eq!((out.forward.len(), out.forward[0].ack), (1, Scene::at(1)));
    let (_, out) = scene.watch.pass(&Packet { ack: Scene::at(5), ..data }, Side::Far);
    assert_eq!(out.forward[1].blocks(), [Block { start: Scene::at(2), end: Scene::at(5) }]);
}

/// RACK's reordering window is a quarter of the minimum RTT.
#[test]
fn in_a_flight_of_three_the_block_waits_for_a_segment_sent_late_enough() {
    assert_eq!(sacked_by_each_ack(&[0, 0, 11]), [0, 0, 2]);
    assert_eq!(sacked_by_each_ack(&[0, 11, 11]), [0, 1, 2]);
    assert_eq!(sacked_by_each_ack(&[0, 0, 10]), [0, 1, 1], "none will");
    assert_eq!(sacked_by_each_ack(&[0, 0, 0]), [0, 1, 1], "none will");
}

/// The ACK echoes the time of the first segment and covers the last one too (RFC 7323 section 4.3).
#[test]
fn a_delayed_ack_of_everything_covers_a_last_segment_sent_late_enough() {
    assert_eq!(sacked_by_acks(1, &[0, 0, 11], &[1, 2]), [0, 2]);
    assert_eq!(sacked_by_acks(1, &[0, 0, 11], &[3]), [2]);
    assert_eq!(sacked_by_acks(1, &[0, 0, 10], &[1, 2]), [0, 1]);
    assert_eq!(sacked_by_acks(1, &[0, 0, 0, 11], &[1, 2, 1]), [0, 1, 3], "not of all");
}

#[test]
fn a_repeated_virtual_loss_in_a_flight_of_four_sent_together_waits_for_three_segments() {
    for (start, sacked) in [(3, [0, 0, 0, 3]), (4, [0, 1, 1, 3])] {
        assert_eq!(sacked_by_acks(start, &[0, 0, 0, 0], &[1; 4]), sacked, "{start}");
        assert_eq!(sacked_by_acks(start, &[0; 5], &[1; 5]), [0, 1, 1, 3, 4], "larger");
    }
    assert_eq!(sacked_by_each_ack(&[0, 1, 1, 2]), [0, 0, 0, 3]);
}

/// Only a repeated virtual loss defers the block in a flight of four.
#[test]
fn a_repeated_virtual_loss_in_a_flight_of_four_waits_for_a_segment_sent_late_enough() {
    let each = [1, 1, 1, 1];
    for (start, sacked) in [(3, [0, 0, 2, 3]), (4, [0, 1, 2, 3])] {
        assert_eq!(sacked_by_acks(start, &[0, 0, 11, 11], &each), sacked, "{start}");
    }
    assert_eq!(sacked_by_acks(1, &[0, 0, 0, 20], &each), [0, 0, 1, 3], "two are enough");
    assert_eq!(sacked_by_acks(1, &[0, 0, 0, 11], &[1, 1, 2]), [0, 0, 3]);
    assert_eq!(sacked_by_acks(1, &[0, 0, 0, 11, 11], &[1; 5]), [0, 1, 1, 3, 4], "a larger window");
}
