"""Figures of a cell, seed by seed, from its runs and from those that it is held against."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from windlass_lab.core.statistics import harm
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.papers.coexistence.plan import PAYLOAD_SHARE, Cell
from windlass_lab.papers.coexistence.runs import Run

Runs = Mapping[str, Sequence[Run]]


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a cell: `values` gives one a seed. `good` is where it is best, for colours: a low
    value, a high one, or the middle of its range.
    """

    key: str
    label: str
    unit: str
    values: Callable[[Cell, Runs], list[float]]
    good: str
    most: float | None = None


def _each(figure: Callable[[Run], float | None]) -> Callable[[Cell, Runs], list[float]]:
    def values(cell: Cell, runs: Runs) -> list[float]:
        found = [figure(run) for run in runs.get(cell.name, ())]
        return [value for value in found if value is not None]

    return values


def _harm(
    place: int,
    of: Callable[[float, float], float | None],
    figure: Callable[[Run, int], float | None],
) -> Callable[[Cell, Runs], list[float]]:
    """The harm to the flow in a place by the other one: a seed's run beside its run alone."""

    def values(cell: Cell, runs: Runs) -> list[float]:
        alone = runs.get(cell.alone[place].name, ()) if cell.alone else ()
        found = []
        for solo, run in zip(alone, runs.get(cell.name, ()), strict=False):
            x, y = figure(solo, 0), figure(run, place)
            found.append(None if x is None or y is None else of(x, y))
        return [value for value in found if value is not None]

    return values


def _rate(run: Run, place: int) -> float:
    return run.mbit[place]


def _rtt(run: Run, place: int) -> float | None:
    # Round trips rather than waits: alone, some controllers do not wait at all, and whatever is
    # divided by that says nothing. An application has the path's delay in any case.
    return run.rtt_ms[place]


def _excess(cell: Cell, runs: Runs) -> list[float]:
    """The harm to the first flow beyond that by another flow of its own controller."""
    same = replace(cell, second=cell.first)
    pairs = zip(HARM_FIRST.values(cell, runs), HARM_FIRST.values(same, runs), strict=False)
    return [harm.excess(other, own) for other, own in pairs]


def _share(run: Run) -> float:
    total = sum(run.mbit)
    return run.mbit[0] / total if total else 0.5


def _jain(run: Run) -> float:
    squares = len(run.mbit) * sum(rate * rate for rate in run.mbit)
    return sum(run.mbit) ** 2 / squares if squares else 1.0


def _of_link(figure: Callable[[Run, int], float]) -> Callable[[Cell, Runs], list[float]]:
    def values(cell: Cell, runs: Runs) -> list[float]:
        return [figure(run, cell.path.rate_mbit) for run in runs.get(cell.name, ())]

    return values


def _low_latency(run: Run, rate_mbit: int) -> float:
    """The part of the sent packets that are not of the second flow, which is classic."""
    classic = run.mbit[1] / PAYLOAD_SHARE / rate_mbit
    return 1 - classic / run.used


SHARE = Measure("share", "share of the first", "", _each(_share), "middle", 1.0)
JAIN = Measure("jain", "Jain's index", "", _each(_jain), "high", 1.0)
HARM_FIRST = Measure(
    "harm_first", "harm to the first, throughput", "", _harm(0, harm.of_more, _rate), "low", 1.0
)
HARM_SECOND = Measure(
    "harm_second", "harm to the second, throughput", "", _harm(1, harm.of_more, _rate), "low", 1.0
)
DELAY_FIRST = Measure(
    "delay_first", "harm to the first, delay", "", _harm(0, harm.of_less, _rtt), "low", 1.0
)
DELAY_SECOND = Measure(
    "delay_second", "harm to the second, delay", "", _harm(1, harm.of_less, _rtt), "low", 1.0
)
QUEUE = Measure("queue_ms", "mean queueing delay", "ms", _each(lambda run: run.queue_ms), "low")
QUEUE_P99 = Measure(
    "queue_p99_ms", "p99 queueing delay", "ms", _each(lambda run: run.queue_p99_ms), "low"
)
WAIT_P99 = Measure(
    "wait_p99_ms",
    "p99 queueing delay of the first",
    "ms",
    _each(lambda run: run.wait_p99_ms[0]),
    "low",
)
WAIT_P99_SECOND = Measure(
    "wait_p99_second_ms",
    "p99 queueing delay of the second",
    "ms",
    _each(lambda run: run.wait_p99_ms[1]),
    "low",
)
LOSS = Measure(
    "loss", "packets dropped at the bottleneck", "", _each(lambda run: run.dropped), "low"
)
MARKS = Measure(
    "marks", "packets marked at the bottleneck", "", _each(lambda run: run.marked), "low"
)
USED = Measure("used", "utilisation", "", _each(lambda run: run.used), "high", 1.0)
LOW_LATENCY = Measure(
    "low_latency",
    "share of the low-latency queue",
    "",
    _of_link(_low_latency),
    "middle",
    1.0,
)
RATES = Measure(
    "rates",
    "both flows' rate over the link's",
    "",
    _of_link(lambda run, rate: sum(run.mbit) / rate),
    "high",
    1.0,
)
EXCESS = Measure("excess", "harm to the first beyond that by its own kind", "", _excess, "low", 1.0)

# Of every cell of the matrix.
SHOWN: Sequence[Measure] = (
    SHARE,
    JAIN,
    HARM_FIRST,
    HARM_SECOND,
    DELAY_FIRST,
    DELAY_SECOND,
    QUEUE_P99,
    LOSS,
    MARKS,
    USED,
)


def estimate(measure: Measure, cell: Cell, runs: Runs) -> Estimate | None:
    """The mean over the seeds with its spread; None where a run is missing."""
    found = measure.values(cell, runs)
    return Estimate.of(found, fmean) if found else None
