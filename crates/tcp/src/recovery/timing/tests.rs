use super::{Flight, RttSampling, Timed, Timing};
use windlass_base::{Span, Time};

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Segments of 1000 bytes: 1..3501 sent at 10 ms, 3501..5501 at 20 ms.
fn two_flights() -> Timing {
    let mut timing = Timing::new(RttSampling::EverySegment);
    timing.start(Flight::new(1..3501, 1000, ms(10)));
    timing.start(Flight::new(3501..5501, 1000, ms(20)));
    timing
}

#[test]
fn an_ack_within_a_flight_times_the_segments_that_it_covers() {
    let mut timing = two_flights();
    assert_eq!(timing.acknowledge(1000), Timed::Pending, "a part of the first segment");
    assert_eq!(timing.acknowledge(1001), Timed::Sent(ms(10)), "the first of four");
    assert_eq!(timing.acknowledge(2000), Timed::Pending, "a part of the second segment");
    assert_eq!(timing.acknowledge(4501), Timed::Sent(ms(20)), "the newest that it covers");
    assert_eq!(timing.acknowledge(5501), Timed::Sent(ms(20)));
    assert_eq!(timing.acknowledge(6000), Timed::Nothing);
}

#[test]
fn an_ack_of_whole_flights_and_part_of_a_segment_times_the_whole_ones() {
    let mut timing = two_flights();
    assert_eq!(timing.acknowledge(4000), Timed::Sent(ms(10)));
    assert_eq!(timing.acknowledge(4500), Timed::Pending);
    assert_eq!(timing.acknowledge(4501), Timed::Sent(ms(20)));
}

#[test]
fn once_per_round_trip_only_the_first_segment_is_timed() {
    let mut timing = Timing::new(RttSampling::OncePerRoundTrip);
    timing.start(Flight::new(1..3501, 1000, ms(10)));
    timing.start(Flight::new(3501..5501, 1000, ms(20)));
    assert_eq!(timing.acknowledge(1001), Timed::Sent(ms(10)));
    assert_eq!(timing.acknowledge(5501), Timed::Nothing);
}

#[test]
fn the_last_segment_begins_at_a_multiple_of_the_segment_size() {
    let timing = two_flights();
    assert_eq!(timing.last_start(5501), Some(4501), "a full segment");
    assert_eq!(timing.last_start(5502), Some(5501), "one byte more is a segment of its own");
    assert_eq!(timing.last_start(5001), Some(4501), "less than a segment");
    assert_eq!(timing.last_start(4501), Some(3501));
    assert_eq!(timing.last_start(3501), Some(3501), "a FIN alone");
}

#[test]
fn without_anything_timed_the_last_segment_is_unknown() {
    assert_eq!(Timing::new(RttSampling::EverySegment).last_start(1), None);
}

#[test]
fn the_last_sent_part_of_a_range_has_a_time() {
    let timing = two_flights();
    assert_eq!(timing.last_sent_within(1..3501), Some(ms(10)));
    assert_eq!(timing.last_sent_within(3500..3502), Some(ms(20)));
    assert_eq!(timing.last_sent_within(5500..5600), Some(ms(20)));
    assert_eq!(timing.last_sent_within(5501..5600), None);
    assert_eq!(timing.last_sent_within(0..1), None);
}

#[test]
fn dropped_segments_are_not_timed_any_more() {
    let mut timing = two_flights();
    timing.drop_below(2000);
    timing.drop_from(4000);
    let ranges: alloc::vec::Vec<_> = timing.iter().map(Flight::range).collect();
    assert_eq!(ranges, [2000..3501, 3501..4000]);
    assert_eq!(timing.acknowledge(2999), Timed::Pending);
    assert_eq!(timing.acknowledge(3000), Timed::Sent(ms(10)));
    timing.drop_from(3501);
    assert_eq!(timing.acknowledge(3501), Timed::Sent(ms(10)));
    assert_eq!(timing.acknowledge(4000), Timed::Nothing);
}

#[test]
fn dropping_whole_flights_leaves_the_next_as_the_first() {
    let mut timing = two_flights();
    timing.drop_below(3501);
    assert_eq!(timing.acknowledge(4500), Timed::Pending);
    assert_eq!(timing.acknowledge(4501), Timed::Sent(ms(20)));
}

#[test]
fn flights_taken_away_are_timed_again_before_later_ones() {
    let mut timing = two_flights();
    let mut taken = timing.take();
    assert_eq!(timing.acknowledge(5501), Timed::Nothing);
    timing.start(Flight::new(5501..6501, 1000, ms(30)));
    taken.append(timing);
    assert_eq!(taken.acknowledge(1001), Timed::Sent(ms(10)));
    assert_eq!(taken.acknowledge(6501), Timed::Sent(ms(30)));
}
