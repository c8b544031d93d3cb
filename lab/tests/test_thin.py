from windlass_lab.core.statistics.thin import thin


def test_a_short_series_is_left_alone():
    assert thin([0.0, 1.0], [3.0, 4.0], 100) == ([0.0, 1.0], [3.0, 4.0])


def test_rows_without_a_value_are_left_out():
    assert thin([0.0, 1.0, 2.0], [None, 4.0, None], 100) == ([1.0], [4.0])


def test_a_long_series_keeps_its_ends_and_every_peak():
    times = [step / 100 for step in range(10_000)]
    values = [1.0] * 10_000
    values[1234], values[8765] = 99.0, -99.0
    thin_times, thin_values = thin(times, values, 400)
    assert len(thin_times) <= 400
    assert (thin_times[0], thin_times[-1]) == (times[0], times[-1])
    assert thin_times == sorted(thin_times)
    assert (thin_times[thin_values.index(99.0)], max(thin_values)) == (12.34, 99.0)
    assert min(thin_values) == -99.0


def test_points_at_one_instant_are_kept_in_order():
    times, values = thin([5.0] * 1000, [float(step) for step in range(1000)], 40)
    assert set(times) == {5.0}
    assert (values[0], values[-1]) == (0.0, 999.0)
