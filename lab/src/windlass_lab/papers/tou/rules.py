"""The rules by which the paper's statements are tested: pure functions over runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean, median

from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.statistics.interval import Interval, of_median
from windlass_lab.core.text.numbers import figure
from windlass_lab.papers.tou.judge import Runs, paired
from windlass_lab.papers.tou.plan import Cell, Contender, Test
from windlass_lab.papers.tou.runs import Run

# "Similar" and "close" mean what the lab's own criterion for windows means.
CLOSE = (0.85, 1.15)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a rule: a figure where there is one, whether the rule holds, and how many seeds
    the contender with the fewest has; `found` are other figures in words. `met` is None
    where the figure's interval has a part on either side of the rule's bounds.
    """

    met: bool | None
    seeds: int
    measured: Estimate | None = None
    found: str = ""
    span: Interval | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """The text of a rule, and its test, which answers None where a contender has no runs. A rule
    `orders` tests, or bounds a figure.
    """

    text: str
    test: Callable[[Runs], Answer | None]
    orders: bool = False


Of = Callable[[Run], float]


def ratio(
    cell: Cell, above: Contender, below: Contender, of: Of, bounds: tuple[float, float], text: str
) -> Rule:
    """The median ratio of the pairs lies from the first of `bounds` to below the second."""

    def test(runs: Runs) -> Answer | None:
        found = paired(Test(cell, above), Test(cell, below), of, runs)
        return _within(found, median, bounds) if found else None

    return Rule(text, test)


def level(
    tests: Sequence[Test],
    of: Of,
    bounds: tuple[float, float],
    text: str,
    middle: Callable[[Sequence[float]], float] = median,
) -> Rule:
    """The middle of a figure over all runs of the tests lies from the first of `bounds` to below
    the second.
    """

    def test(runs: Runs) -> Answer | None:
        found = [[of(run) for run in _runs(each, runs)] for each in tests]
        if not all(found):
            return None
        answer = _within([value for each in found for value in each], middle, bounds)
        return replace(answer, seeds=min(map(len, found)))

    return Rule(text, test)


def covers(single: Test, of: Callable[[Run], float | None], published: float) -> Rule:
    """The published figure of a single run lies among those of the seeds."""

    def test(runs: Runs) -> Answer | None:
        all_ = _runs(single, runs)
        found = [value for value in map(of, all_) if value is not None]
        if not found:
            return None
        low, high = min(found), max(found)
        answer = f"{figure(low)} to {figure(high)}"
        return Answer(low <= published <= high, len(all_), Estimate.of(found), answer)

    return Rule("a single run: between the least and the most of the seeds", test)


def in_order(tests: Sequence[Test], of: Callable[[Run], float | None]) -> Rule:
    """The median of a figure rises from one test to the next."""

    def test(runs: Runs) -> Answer | None:
        all_ = [_runs(each, runs) for each in tests]
        found = [[value for value in map(of, each) if value is not None] for each in all_]
        if not all(found):
            return None
        return _rising([median(each) for each in found], min(map(len, all_)))

    return Rule("the median grows with the delay", test, orders=True)


def narrowing(cells: Sequence[Cell], above: Contender, below: Contender, of: Of) -> Rule:
    """The difference of the medians, above less below, falls from one cell to the next."""

    def test(runs: Runs) -> Answer | None:
        found = [(_runs(Test(cell, above), runs), _runs(Test(cell, below), runs)) for cell in cells]
        if not all(ours and theirs for ours, theirs in found):
            return None
        gaps = [median(map(of, ours)) - median(map(of, theirs)) for ours, theirs in found]
        seeds = min(len(each) for pair in found for each in pair)
        answer = _rising([-gap for gap in gaps], seeds)
        return Answer(answer.met, seeds, found=", ".join(map(figure, gaps)))

    return Rule("the difference of the medians falls with the delay", test, orders=True)


def share(
    tests: Sequence[Test],
    has: Callable[[Run], bool],
    bounds: tuple[float, float],
    text: str,
) -> Rule:
    """The share of all runs of the tests that have something lies from the first of `bounds` to the
    second.
    """

    def test(runs: Runs) -> Answer | None:
        found = [[has(run) for run in _runs(each, runs)] for each in tests]
        if not all(found):
            return None
        all_ = [answer for each in found for answer in each]
        part = Estimate(mean(all_), 0.0, len(all_))
        low, high = bounds
        answer = f"{sum(all_)} of {len(all_)} runs"
        return Answer(low <= part.mean <= high, min(map(len, found)), part, answer)

    return Rule(text, test)


def _runs(test: Test, runs: Runs) -> list[Run]:
    return list(runs.get(test.name, {}).values())


def _within(
    found: Sequence[float],
    middle: Callable[[Sequence[float]], float],
    bounds: tuple[float, float],
) -> Answer:
    measured = Estimate.of(found, middle)
    low, high = bounds
    inside = low <= measured.mean < high
    if middle is not median:
        return Answer(inside, len(found), measured)
    span = of_median(found)
    least, most = span.low, span.high
    decided = low <= least and most < high if inside else most < low or high <= least
    interval = f"95 % interval {figure(least)} to {figure(most)}"
    return Answer(inside if decided else None, len(found), measured, interval, span)


def _rising(medians: Sequence[float], seeds: int) -> Answer:
    met = all(lower < upper for lower, upper in pairwise(medians))
    return Answer(met, seeds, found=", ".join(map(figure, medians)))
