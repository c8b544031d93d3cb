"""The spread of a value over time."""

import pytest

from windlass_lab.core.binary.over_time import standard_deviation


def test_a_value_counts_for_as_long_as_it_holds():
    # 2 for a second, 6 for three: mean 5, variance (9 + 3 * 1) / 4.
    assert standard_deviation([0, 1, 4], [2, 6, 9], 0) == pytest.approx(3**0.5)


def test_only_what_comes_after_the_beginning_counts():
    assert standard_deviation([0, 10, 11, 12], [90, 2, 4, 0], 10) == pytest.approx(1)
    # A value that began before holds from there on.
    assert standard_deviation([0, 11, 12], [2, 4, 0], 10) == pytest.approx(1)


def test_without_values_there_is_no_spread():
    assert standard_deviation([], [], 0) == 0
    assert standard_deviation([0, 1, 2], [None, None, 3], 0) == 0
