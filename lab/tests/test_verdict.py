import math
from dataclasses import replace
from datetime import date

import pytest

from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.verdicts.criterion import Basis, Criterion
from windlass_lab.core.verdicts.verdict import (
    FAIL,
    INFORMATIVE,
    PASS,
    UNDECIDED,
    Comparison,
    Subject,
    Tolerance,
    ascending,
    at_least,
    failures,
    informative,
    near,
    within,
)


def subject(measured, reference=None, count=20):
    as_estimate = {
        "measured": Estimate(measured, 2.0, count) if measured is not None else None,
        "reference": Estimate(reference, 2.0, count) if reference is not None else None,
    }
    return Subject("rate", "packets/s", **as_estimate)


@pytest.mark.parametrize(
    ("measured", "verdict"), [(110.0, PASS), (90.0, PASS), (110.1, FAIL), (89.9, FAIL)]
)
def test_relative_tolerance_is_a_fraction_of_the_reference_mean(measured, verdict):
    assert near(subject(measured, 100.0), Tolerance(relative=0.10)).verdict == verdict


@pytest.mark.parametrize(("measured", "verdict"), [(0.5, PASS), (0.4, FAIL), (0.6, FAIL)])
def test_a_named_target_stands_in_for_the_reference(measured, verdict):
    comparison = near(subject(measured, 0.9), Tolerance(absolute=0.04), target=0.482)
    assert comparison.verdict == verdict
    assert (comparison.low, comparison.high) == pytest.approx((0.442, 0.522))


def test_standard_errors_widen_a_tolerance_that_is_narrower():
    # Both means have a standard error of 2 / sqrt(4) = 1, their difference one of sqrt(2).
    comparison = near(subject(44.0, 40.0, count=4), Tolerance(relative=0.05, standard_errors=3))
    assert comparison.verdict == PASS
    assert comparison.high == pytest.approx(40 + 3 * math.sqrt(2))
    beyond = near(subject(44.5, 40.0, count=4), Tolerance(relative=0.05, standard_errors=3))
    assert beyond.verdict == FAIL


def test_few_runs_do_not_widen_a_tolerance_beyond_15_percent():
    # 3 * sqrt(2) is 42 % of 10.
    few = near(subject(14.0, 10.0, count=4), Tolerance(relative=0.1, standard_errors=3))
    assert (few.verdict, few.why) == (UNDECIDED, "not enough runs")


@pytest.mark.parametrize(
    ("published", "measured", "paper"),
    [
        (100.0, 109.0, PASS),
        (100.0, 111.0, FAIL),
        (None, 100.0, INFORMATIVE),
        ("fair", 0.97, PASS),
        ("fair", 0.93, FAIL),
        ("not fair", 0.8, PASS),
        ("roughly half", 0.57, PASS),
        ("roughly half", 0.65, FAIL),
        ("somewhat", 0.8, INFORMATIVE),
    ],
)
def test_the_published_figure_has_a_verdict_of_its_own(published, measured, paper):
    about = replace(subject(measured, measured), published=published, exact=True)
    comparison = near(about, Tolerance(relative=0.05))
    assert (comparison.verdict, comparison.paper) == (PASS, paper)


def test_a_published_figure_is_met_within_15_percent_at_most():
    about = replace(subject(120.0, 120.0), published=100.0)
    assert near(about, Tolerance(relative=0.5)).paper == FAIL


def test_words_are_tested_by_the_rule_of_their_check():
    half = replace(subject(0.52), published="no more than half as long again", exact=True)
    assert within(half, Bounds(0.4, 0.6)).paper == PASS
    assert within(replace(half, measured=Estimate(0.7)), Bounds(0.4, 0.6)).paper == FAIL
    assert near(half, Tolerance(relative=0.15), target=0.5).paper == PASS


def test_standard_errors_do_not_narrow_a_tolerance_that_is_wider():
    comparison = near(subject(109.0, 100.0, count=10_000), Tolerance(0, 0.1, 3))
    assert comparison.verdict == PASS


def test_what_the_run_did_not_report_fails_and_says_so():
    comparison = near(subject(None, 100.0), Tolerance(relative=0.1))
    assert comparison.verdict == FAIL
    assert "did not report" in comparison.why


def test_nothing_to_compare_with_fails():
    assert near(subject(100.0), Tolerance(relative=0.1)).verdict == FAIL


def test_not_a_number_fails():
    assert near(subject(math.nan, 100.0), Tolerance(relative=0.1)).verdict == FAIL
    assert at_least(subject(math.nan), 0.98).verdict == FAIL


def spread(mean, sd=0.01, count=20):
    return Subject("index", measured=Estimate(mean, sd, count))


# The interval of 20 values with a deviation of 0.01 reaches 0.0047 to either side.
@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(0.99, PASS), (0.985, PASS), (0.984, UNDECIDED), (0.976, UNDECIDED), (0.975, FAIL)],
)
def test_a_bound_is_met_by_the_whole_interval(measured, verdict):
    found = at_least(spread(measured), 0.98)
    assert found.verdict == verdict
    assert found.interval == pytest.approx((measured - 0.0047, measured + 0.0047), abs=1e-4)


@pytest.mark.parametrize(("count", "fewest"), [(19, 20), (9, 10), (1, 20)])
def test_a_bound_is_not_decided_by_fewer_runs_than_it_takes(count, fewest):
    found = at_least(replace(spread(0.5, count=count), fewest=fewest), 0.98)
    assert (found.verdict, found.why) == (UNDECIDED, f"not enough runs: {count} of {fewest}")


def test_a_figure_that_is_exact_needs_no_runs():
    alone = replace(spread(0.98, sd=0.0, count=1), exact=True)
    assert at_least(alone, 0.98).verdict == PASS
    assert at_least(alone, 0.981).verdict == FAIL


@pytest.mark.parametrize(
    ("low", "high", "measured", "verdict"),
    [
        (0.95, 1.05, 1.0, PASS),
        (0.95, 1.05, 1.06, FAIL),
        (0.95, 1.05, 1.05, UNDECIDED),
        (None, 0.95, 0.9, PASS),
        (None, 0.95, 0.96, FAIL),
        (1.0, None, 0.99, FAIL),
        (None, 0.95, math.nan, FAIL),
    ],
)
def test_a_figure_lies_between_two_bounds_or_on_one_side_of_one(low, high, measured, verdict):
    assert within(spread(measured), Bounds(low, high)).verdict == verdict


def test_order_needs_every_step_to_rise_by_more_than_chance():
    def verdict(*means, sd=1.0, count=20):
        figures = [(str(place), Estimate(mean, sd, count)) for place, mean in enumerate(means)]
        return ascending(Subject("rate"), figures).verdict

    assert verdict(1077, 1157, 1208) == PASS
    assert verdict(1157, 1077, 1208) == FAIL
    assert verdict(1077, 1157, 1157) == UNDECIDED
    assert verdict(1077, 1157, 1208, sd=100.0) == UNDECIDED
    assert verdict(1077, 1157, 1208, count=19) == UNDECIDED


def test_order_with_a_figure_missing_fails():
    comparison = ascending(Subject("rate"), [("Reno", Estimate(1.0)), ("New-ECN", None)])
    assert comparison.verdict == FAIL
    assert "New-ECN" in comparison.why


def test_informative_figures_are_not_judged():
    comparison = informative(subject(1.0, 100.0))
    assert comparison.verdict == INFORMATIVE
    assert failures([comparison]) == []


def test_strain_is_the_part_of_what_is_allowed():
    assert near(subject(105.0, 100.0), Tolerance(relative=0.1)).strain == pytest.approx(0.5)
    assert informative(subject(105.0, 100.0)).strain == 0


def test_deviation_is_measured_less_target():
    assert near(subject(105.0, 100.0), Tolerance(relative=0.1)).deviation == pytest.approx(5.0)


def test_a_comparison_survives_its_way_through_json():
    criterion = Criterion("why", "section 4", date(2026, 11, 29), Basis.PAPER)
    asked = replace(subject(105.0, 100.0), criterion=criterion)
    for comparison in (near(asked, Tolerance(relative=0.1)), within(asked, Bounds(high=100))):
        assert Comparison.from_json(comparison.to_json()) == comparison


def test_tolerances_read_like_rules():
    assert str(Tolerance(relative=0.1, standard_errors=3)) == "± 10 % or 3 standard errors"
    assert str(Tolerance(absolute=0.03)) == "± 0.03"
