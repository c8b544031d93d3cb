use super::{Judge, Rack, ReorderingWindow};
use crate::RangeSet;
use crate::config::RttSampling;
use crate::recovery::Timing;
use crate::recovery::timing::Flight;
use alloc::vec::Vec;
use windlass_base::{Span, Time};

const RTT: Span = Span::from_millis(50);

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn judge(now_ms: u64, echoed_ms: Option<u64>) -> Judge {
    Judge { now: ms(now_ms), min_rtt: Some(RTT), echoed_ms }
}

/// 1..1001 was sent at 10 ms, and again at 100 ms.
fn sent_twice() -> Rack {
    let mut rack = Rack::default();
    rack.sent_again(1..1001, ms(100));
    rack
}

/// When the newest delivered segment was sent, after an ACK of everything.
fn newest_after(judge: &Judge) -> Option<Time> {
    let mut rack = sent_twice();
    rack.settle(1001, &RangeSet::new(), judge);
    assert!(rack.is_quiet(), "the copy is no longer in flight");
    rack.newest().map(|newest| newest.sent)
}

#[test]
fn an_ack_sooner_than_the_least_rtt_is_of_the_original() {
    assert_eq!(newest_after(&judge(149, None)), None);
    assert_eq!(newest_after(&judge(150, None)), Some(ms(100)));
}

#[test]
fn an_echo_from_before_the_retransmission_is_of_the_original() {
    assert_eq!(newest_after(&judge(200, Some(99))), None);
    assert_eq!(newest_after(&judge(200, Some(100))), Some(ms(100)));
}

#[test]
fn without_any_rtt_only_an_echo_shows_that_the_copy_arrived() {
    let unknown = |echoed_ms| Judge { min_rtt: None, ..judge(200, echoed_ms) };
    assert_eq!(newest_after(&unknown(None)), None);
    assert_eq!(newest_after(&unknown(Some(99))), None);
    assert_eq!(newest_after(&unknown(Some(100))), Some(ms(100)));
}

#[test]
fn a_copy_is_delivered_once_all_of_it_is_sacked() {
    let mut rack = sent_twice();
    let mut sacked = RangeSet::new();
    sacked.insert(1..1000);
    rack.settle(1, &sacked, &judge(200, None));
    assert!(rack.newest().is_none());
    sacked.insert(1000..1001);
    rack.settle(1, &sacked, &judge(200, None));
    assert!(rack.newest().is_some());
}

/// RFC 7323 §4.3: data behind a hole leaves TS.Recent as it is, so that the echo is of the segment
/// before the hole.
#[test]
fn the_echo_on_an_ack_that_sacks_a_copy_says_nothing_about_it() {
    let newest = |judge: &Judge| {
        let mut rack = sent_twice();
        let mut sacked = RangeSet::new();
        sacked.insert(1..1001);
        rack.settle(0, &sacked, judge);
        rack.newest().map(|newest| newest.sent)
    };
    assert_eq!(newest(&judge(150, Some(99))), Some(ms(100)));
    assert_eq!(newest(&judge(149, Some(100))), None);
    let unknown = Judge { min_rtt: None, ..judge(200, Some(100)) };
    assert_eq!(newest(&unknown), None, "it may be of the original");
}

/// Segments of 1000 bytes, one each 10 ms from 10 ms on.
fn timing(segments: u64) -> Timing {
    let mut timing = Timing::new(RttSampling::EverySegment);
    for n in 0..segments {
        timing.start(Flight::new(n * 1000 + 1..n * 1000 + 1001, 1000, ms(10 * (n + 1))));
    }
    timing
}

fn lost(rack: &Rack) -> Vec<(u64, u64)> {
    rack.lost.as_slice().iter().map(|range| (range.start, range.end)).collect()
}

#[test]
fn a_segment_overtaken_by_a_later_one_is_lost_after_the_reordering_window() {
    let (mut rack, mut timing, mut sacked) = (Rack::default(), timing(3), RangeSet::new());
    // The second segment arrives after 50 ms.
    rack.delivered(ms(70), 1001..2001, &timing);
    sacked.insert(1001..2001);
    let window = Span::from_millis(12);
    // The first was sent at 10 ms: lost at 10 + 50 + 12. The third was sent later.
    assert_eq!(rack.detect(ms(71), window, &mut timing, &sacked), Some(ms(72)));
    assert_eq!(lost(&rack), []);
    assert_eq!(rack.detect(ms(72), window, &mut timing, &sacked), None);
    assert_eq!((lost(&rack), rack.lost_bytes()), (alloc::vec![(1, 1001)], 1000));
    assert_eq!(rack.first_lost(), Some(1..1001));
}

#[test]
fn a_lost_retransmission_is_found_by_a_later_delivery() {
    let (mut rack, mut timing) = (sent_twice(), Timing::new(RttSampling::EverySegment));
    timing.start(Flight::new(2001..3001, 1000, ms(110)));
    let mut sacked = RangeSet::new();
    sacked.insert(2001..3001);
    rack.delivered(ms(160), 2001..3001, &timing);
    assert_eq!(rack.detect(ms(161), Span::from_millis(12), &mut timing, &sacked), Some(ms(162)));
    assert_eq!(rack.lost_bytes(), 0);
    assert_eq!(rack.detect(ms(162), Span::from_millis(12), &mut timing, &sacked), None);
    assert_eq!(lost(&rack), [(1, 1001)]);
    // It goes out once more: no longer lost, and in flight.
    rack.sent_again(1..1001, ms(165));
    assert_eq!(rack.lost_bytes(), 0);
    assert_eq!(rack.copy_sent_at(1000), Some(ms(165)));
    assert_eq!(rack.copy_sent_at(1001), None);
}

#[test]
fn of_two_sent_at_once_the_one_that_ends_later_is_newer() {
    let mut timing = Timing::new(RttSampling::EverySegment);
    timing.start(Flight::new(1..3001, 1000, ms(10)));
    let (mut rack, mut sacked) = (Rack::default(), RangeSet::new());
    rack.delivered(ms(60), 1001..2001, &timing);
    sacked.insert(1001..2001);
    assert_eq!(rack.detect(ms(60), Span::ZERO, &mut timing, &sacked), None);
    assert_eq!(lost(&rack), [(1, 1001)], "not the third, which may be on its way");
}

#[test]
fn sent_again_in_part_replaces_only_what_it_overlaps() {
    let mut rack = Rack::default();
    rack.sent_again(1..1001, ms(10));
    rack.sent_again(1001..2001, ms(20));
    rack.sent_again(2001..3001, ms(30));
    rack.sent_again(1001..2001, ms(40));
    let copies = [0, 1, 2].map(|n| rack.copy_sent_at(n * 1000 + 1));
    assert_eq!(copies, [Some(ms(10)), Some(ms(40)), Some(ms(30))]);
    assert!(rack.has_copy_below(2));
    assert!(!rack.has_copy_below(1));
}

#[test]
fn the_reordering_window_grows_by_dsacks_and_lasts_sixteen_recoveries() {
    let mut window = ReorderingWindow::default();
    let (rtt, srtt) = (Span::from_millis(100), Span::from_millis(300));
    let quarter = Span::from_millis(25);
    assert_eq!(window.span(false, rtt, srtt), quarter);
    assert_eq!(window.span(true, rtt, srtt), Span::ZERO, "a loss is evident, no reordering seen");
    window.note_dsack(10, 20);
    assert_eq!(window.span(false, rtt, srtt), quarter, "no reordering to be mistaken about");
    window.note_reordering(1000);
    assert_eq!(window.span(true, rtt, srtt), quarter);
    window.note_dsack(10, 20);
    window.note_dsack(19, 30);
    assert_eq!(window.span(true, rtt, srtt), quarter * 2, "once a round trip");
    window.note_dsack(20, 30);
    assert_eq!(window.span(true, rtt, srtt), quarter * 3);
    assert_eq!(
        window.span(true, rtt, Span::from_millis(60)),
        Span::from_millis(60),
        "at most SRTT"
    );
    for _ in 0..15 {
        window.note_recovery();
    }
    assert_eq!(window.span(true, rtt, srtt), quarter * 3);
    window.note_recovery();
    assert_eq!(window.span(true, rtt, srtt), quarter);
}

#[test]
fn only_data_that_counted_as_lost_is_reported_as_found() {
    let (mut rack, mut timing, mut sacked) = (Rack::default(), timing(3), RangeSet::new());
    assert!(!rack.delivered(ms(70), 1001..2001, &timing), "it was on its way");
    sacked.insert(1001..2001);
    assert_eq!(rack.detect(ms(72), Span::from_millis(12), &mut timing, &sacked), None);
    assert_eq!(lost(&rack), [(1, 1001)]);
    assert!(rack.delivered(ms(73), 1..1001, &timing), "its delivery was only late");
    assert_eq!(rack.lost_bytes(), 0);
}
