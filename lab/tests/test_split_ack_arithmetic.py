"""Results of the rules of slow start, computed by hand."""

from windlass_lab.papers.split_ack import arithmetic


def test_two_acks_of_half_a_segment_add_one_segment_by_bytes_and_two_by_acks():
    halves = [arithmetic.window_after(1000, 2, 730, 1460, per_ack=p) for p in (False, True)]
    assert halves == [2460, 3920]
    # RFC 5681 section 3.1: an ACK of more than a segment adds one.
    assert arithmetic.window_after(1000, 1, 2920, 1460, per_ack=False) == 2460


def test_slow_start_sends_twice_the_threshold_less_its_first_window():
    # Counted flight by flight: 1, 2, 4 segments are acknowledged until the window is 8, and then 8
    # are in flight.
    assert arithmetic.sent_in_slow_start(1000, 1, 8000) == 1000 * (1 + 2 + 4 + 8)


def test_round_trips_to_a_large_window():
    assert arithmetic.doublings(83_000, 2) == 16
    # A segment for each ACK up to 100; then 50 a round trip, or a little more: K is rounded down.
    assert arithmetic.limited_round_trips(100, 100, 2) == arithmetic.doublings(100, 2)
    trips = arithmetic.limited_round_trips(83_000, 100, 2)
    assert (83_000 - 128) / 50 * 0.98 < trips - 6 < (83_000 - 100) / 50 + 1


def test_segments_sent_until_a_large_window_is_in_flight():
    # 2, 4, 8 in three round trips, and then a flight of 16.
    assert arithmetic.limited_segments(16, 100, 2) == 2 + 4 + 8 + 16
    # 128 is above a threshold of 100: 64 more by K = 2, and 64 by K = 3.
    assert arithmetic.limited_segments(256, 100, 2) == 2 + 4 + 8 + 16 + 32 + 64 + 128 + 192 + 256


def test_flights_of_a_transfer():
    assert [arithmetic.flights(n, 3) for n in (1, 3, 4, 9, 10, 21, 22)] == [1, 1, 2, 2, 3, 3, 4]
