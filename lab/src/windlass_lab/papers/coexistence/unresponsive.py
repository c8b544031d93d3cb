"""Unresponsive traffic with ECT(1) in DualPI2's queue of low latency, beside Prague and CUBIC.

The expectations follow RFC 9332 and were committed before the first run of any of these cells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.papers.coexistence import measure, scenario
from windlass_lab.papers.coexistence.effects import Effect
from windlass_lab.papers.coexistence.measure import Measure
from windlass_lab.papers.coexistence.named import Named, named
from windlass_lab.papers.coexistence.plan import Cell, Path

PLAIN = Cell(Path("dualpi2", 160, 20), "prague", "cubic")
# Those that leave room for others.
_BELOW = tuple(load for load in scenario.LOADS if load < 100)
_ABOVE = tuple(load for load in scenario.LOADS if load >= 100)
_SHOWN = (measure.LOW_LATENCY, measure.WAIT_P99, measure.WAIT_P99_SECOND)


def cell(load: int) -> Cell:
    """Prague and CUBIC beside a source of that many hundredths of the link's rate."""
    return replace(PLAIN, variant=scenario.ect1(load))


def shown() -> Iterator[Effect]:
    """Rows without bounds: the share of the low-latency queue, and the waits of both flows."""
    for load in scenario.LOADS:
        what = scenario.VARIANTS[scenario.ect1(load)]
        for each in _SHOWN:
            yield Effect(what, cell(load), PLAIN, each)


def _rest(load: int) -> Iterator[Named]:
    yield _row(
        load,
        measure.SHARE,
        Bounds(0.54, 0.74),
        "below the link's rate the others share as on a link that is as much slower: Prague has "
        "0.64 of both without the source, and a tenth is left each way",
        "RFC 9332 section 4.2.1",
    )
    yield _row(
        load,
        measure.WAIT_P99,
        Bounds(high=2.0),
        "even spacing adds no queue, and the queue of low latency goes first; the bound is that of "
        "the cell without the source",
        "RFC 9332 sections 2.1 and 4.2.1; the bounds are the project's for DualPI2",
    )


def _overload(load: int) -> Iterator[Named]:
    # Of `load` hundredths a hundred pass, and Prague's and CUBIC's packets are few.
    dropped = 1 - 100 / load
    yield _row(
        load,
        measure.LOSS,
        Bounds(dropped - 0.02, dropped + 0.02),
        "more arrives than the link sends, and the source does not slow down",
        "arithmetic",
    )
    yield _row(
        load,
        measure.QUEUE,
        Bounds(10.0, 20.0),
        "where marks are no longer enough, both queues drop with the classic probability, which is "
        "steered by the longer delay to 15 ms; a third each way, as for PIE",
        "RFC 9332 section 4.2.3",
    )
    yield _row(
        load,
        measure.RATES,
        Bounds(high=0.1),
        "both answer the drops of a sixth of all packets, and the classic queue is sure of a tenth "
        "of the link only as long as it waits",
        "RFC 9332 sections 4.2.2 and 4.2.3",
    )


def _row(load: int, of: Measure, bounds: Bounds, why: str, source: str) -> Named:
    return named(scenario.VARIANTS[scenario.ect1(load)], cell(load), of, bounds, why, source)


EXPECTED: Sequence[Named] = (
    *(row for load in _BELOW for row in _rest(load)),
    *(row for load in _ABOVE for row in _overload(load)),
)
