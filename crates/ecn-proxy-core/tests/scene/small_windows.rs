//! What a sender with a small window is told of a virtual loss, and when.

use crate::served::{MSS, Scene};
use windlass_ecn_proxy_core::{Block, Flags, Packet, Side};

/// Each segment told of lets the sender send another one, with the window that it has yet.
#[test]
fn in_a_small_flight_one_segment_tells_of_the_virtual_loss() {
    let mut scene = Scene::default();
    scene.all(0..4);
    let one = Block { start: Scene::at(1), end: Scene::at(2) };
    for _ in 0..2 {
        let (_, out) = scene.echo(3);
        assert_eq!((out.forward[0].ack, out.forward[0].blocks()), (Scene::at(0), &[one][..]));
    }
    assert_eq!(scene.data(0).1.back.expect("a reply").ack, Scene::at(3));
}

/// RACK decides at once on three segments.
#[test]
fn three_segments_and_a_flight_of_more_than_five_are_told_of_as_they_are() {
    for (flight, acked, told) in [(4, 3, 2), (4, 4, 4), (5, 4, 4), (5, 3, 2), (6, 3, 3)] {
        let mut scene = Scene::default();
        scene.all(0..flight);
        let (_, out) = scene.echo(acked);
        assert_eq!(out.forward[0].blocks()[0].end, Scene::at(told), "{flight} {acked}");
    }
}

/// What the ACKs of a flight tell of the virtual loss, which is its first segment: how many segments. The round trip takes 40,
/// the segments leave at `times`, and each has an ACK of its own.
fn told_by_each_ack(times: &[u32]) -> Vec<u32> {
    told_by_acks(1, times, &vec![1; times.len()])
}

/// The same; each ACK is for as many segments more as `acks` says, and echoes the first of them. The virtual loss is segment
/// `lost`, and nothing was told before.
fn told_by_acks(lost: u32, times: &[u32], acks: &[usize]) -> Vec<u32> {
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
    let tell = |segments: &usize| {
        let tsecr = start + times[acknowledged];
        acknowledged += segments;
        let ack = Packet { tsecr, ..scene.ack_packet(n(acknowledged), Flags::ECE) };
        let (_, out) = scene.watch.pass(&ack, Side::Far);
        let shown = &out.forward[0];
        assert_eq!(shown.ack, Scene::at(lost));
        shown.blocks().first().map_or(0, |block| (block.end - Scene::at(lost + 1)) / MSS)
    };
    acks.iter().map(tell).collect()
}

#[test]
fn a_packet_with_data_brings_no_clone_while_nothing_is_told() {
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

/// RACK's window is a quarter of the least round trip.
#[test]
fn a_virtual_loss_in_a_flight_of_three_is_told_of_by_what_left_late_enough() {
    assert_eq!(told_by_each_ack(&[0, 0, 11]), [0, 0, 2]);
    assert_eq!(told_by_each_ack(&[0, 11, 11]), [0, 1, 2]);
    assert_eq!(told_by_each_ack(&[0, 0, 10]), [0, 1, 1], "none will");
    assert_eq!(told_by_each_ack(&[0, 0, 0]), [0, 1, 1], "none will");
}

/// It echoes when the first left, and tells of the last too (RFC 7323 section 4.3).
#[test]
fn a_delayed_ack_of_all_tells_of_a_last_segment_that_left_late_enough() {
    assert_eq!(told_by_acks(1, &[0, 0, 11], &[1, 2]), [0, 2]);
    assert_eq!(told_by_acks(1, &[0, 0, 11], &[3]), [2]);
    assert_eq!(told_by_acks(1, &[0, 0, 10], &[1, 2]), [0, 1]);
    assert_eq!(told_by_acks(1, &[0, 0, 0, 11], &[1, 2, 1]), [0, 1, 3], "not of all");
}

#[test]
fn a_virtual_loss_soon_after_the_last_answer_in_a_flight_of_four_that_left_together_waits_for_three()
 {
    for (start, told) in [(3, [0, 0, 0, 3]), (4, [0, 1, 1, 3])] {
        assert_eq!(told_by_acks(start, &[0, 0, 0, 0], &[1; 4]), told, "{start}");
        assert_eq!(told_by_acks(start, &[0; 5], &[1; 5]), [0, 1, 1, 3, 4], "larger");
    }
    assert_eq!(told_by_each_ack(&[0, 1, 1, 2]), [0, 0, 0, 3]);
}

/// Who is told again and again waits for what left late, and who is told now and then does not.
#[test]
fn a_virtual_loss_in_a_flight_of_four_soon_after_the_last_answer_is_told_of_by_what_left_late_enough()
 {
    let each = [1, 1, 1, 1];
    for (start, told) in [(3, [0, 0, 2, 3]), (4, [0, 1, 2, 3])] {
        assert_eq!(told_by_acks(start, &[0, 0, 11, 11], &each), told, "{start}");
    }
    assert_eq!(told_by_acks(1, &[0, 0, 0, 20], &each), [0, 0, 1, 3], "two are enough");
    assert_eq!(told_by_acks(1, &[0, 0, 0, 11], &[1, 1, 2]), [0, 0, 3]);
    assert_eq!(told_by_acks(1, &[0, 0, 0, 11, 11], &[1; 5]), [0, 1, 1, 3, 4], "a larger window");
}
