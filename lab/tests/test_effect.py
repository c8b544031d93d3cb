"""Ratios of two means with their intervals, and the words of Table 2.1 of Normann 2011."""

from dataclasses import replace

import pytest

from windlass_lab.core.experiments.judge import Evidence, judge
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.statistics.estimate import CaseResult, Estimate
from windlass_lab.core.statistics.interval import of_median, of_ratio, student
from windlass_lab.core.verdicts.effect import effect
from windlass_lab.core.verdicts.verdict import FAIL, INFORMATIVE, PASS, UNDECIDED, Subject
from windlass_lab.papers.registry import find

OK = Bounds(0.8, 1.2)
MORE = Bounds(low=1.2)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (19, 2.093), (1000, 1.962)],
)
def test_quantiles_of_students_t_are_those_of_the_tables(freedom, quantile):
    assert student(0.975, freedom) == pytest.approx(quantile, rel=0.002)
    assert student(0.025, freedom) == pytest.approx(-quantile, rel=0.002)


@pytest.mark.parametrize(
    ("count", "interval"), [(1, (1, 1)), (5, (1, 5)), (8, (1, 8)), (11, (2, 10)), (20, (6, 15))]
)
def test_the_interval_of_a_median_lies_between_order_statistics(count, interval):
    # As in the tables of the sign test.
    found = of_median(range(count, 0, -1))
    assert (found.low, found.high) == interval


def test_four_times_the_runs_halve_the_interval_and_what_they_would_show():
    few, many = (of_ratio(Estimate(1.0, 0.2, count)) for count in (100, 400))
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(2, rel=0.02)
    assert few.detectable / many.detectable == pytest.approx(2, rel=0.05)
    # 1.984 + 0.845 standard errors of 0.02, in the logarithm.
    assert few.detectable == pytest.approx(0.0582, abs=0.0003)


def judged(changed, before=10.0, sd=2.0, count=20, means=OK, must=MORE):
    subject = Subject("timeouts", published="OK")
    pair = (Estimate(changed, sd, count), Estimate(before, sd, count))
    return effect(subject, *pair, means, must)


@pytest.mark.parametrize(
    ("changed", "paper", "verdict"),
    [
        (10.0, PASS, FAIL),
        (20.0, FAIL, PASS),
        (5.0, FAIL, FAIL),
        # Within one standard error of the bound.
        (11.5, UNDECIDED, UNDECIDED),
    ],
)
def test_a_word_is_judged_by_the_whole_interval(changed, paper, verdict):
    found = judged(changed)
    assert (found.paper, found.verdict) == (paper, verdict)
    assert found.why.startswith("not enough runs") == (verdict == UNDECIDED)


def test_the_power_and_the_words_meaning_are_reported():
    assert "95 % interval 1.8" in judged(20.0).why
    assert "would show" in judged(20.0).why
    assert "“OK” means 0.8 to 1.2" in judged(20.0).why


def test_one_run_judges_nothing():
    found = judged(20.0, sd=0.0, count=1)
    assert (found.paper, found.verdict) == (UNDECIDED, UNDECIDED)
    assert found.why.startswith("not enough runs: 1 of 20")


def test_what_was_not_reported_meets_no_bounds():
    found = effect(Subject("timeouts", published="OK"), None, Estimate(3.0), OK, MORE)
    assert (found.paper, found.verdict) == (FAIL, FAIL)
    shown = effect(Subject("timeouts"), None, Estimate(3.0), None, None)
    assert (shown.paper, shown.verdict) == (INFORMATIVE, INFORMATIVE)


def large_files(timeouts):
    """Table 2.1's row of 1.5 MB by phase, for these timeouts of a flow."""
    _, [experiment] = find("split-ack/2.1", quick=False)
    checks = [check for check in experiment.checks if check.quantity.key == "timeouts_per_flow"]
    rows = replace(experiment, checks=[check for check in checks if hasattr(check, "says")])
    measured = {
        f"study-1.5MB-{phases}": CaseResult({"timeouts_per_flow": Estimate(value, 0.6, 20)})
        for phases, value in timeouts.items()
    }
    found = judge(rows, Evidence(measured, {}, {}))
    judged = [c for c in found if c.measured and c.key == "timeouts_per_flow"]
    papers = {c.case: c.paper for c in judged if c.published}
    # The theory has a row of its own.
    theory = {c.case: c.verdict for c in judged if not c.published}
    return {case.rpartition("-")[2]: (paper, theory[case]) for case, paper in papers.items()}


def test_timeouts_tell_a_degraded_file_from_one_that_is_not():
    assert large_files({"off": 3.6, "SS": 6.0, "CA": 3.6, "SS+CA": 8.0}) == {
        "SS": (PASS, PASS),
        "CA": (PASS, FAIL),
        "SS+CA": (PASS, PASS),
    }


def test_more_timeouts_contradict_the_papers_ok_and_meet_the_theory():
    found = large_files({"off": 3.6, "SS": 3.6, "CA": 7.0, "SS+CA": 3.6})
    assert found == {"SS": (FAIL, FAIL), "CA": (FAIL, PASS), "SS+CA": (FAIL, FAIL)}
