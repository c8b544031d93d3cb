"""Made-up runs of the coexistence of controllers, for its tests."""

from windlass_lab.papers.coexistence import plan
from windlass_lab.papers.coexistence.plan import Cell, Path
from windlass_lab.papers.coexistence.runs import Run

DSL = Path("fifo1", 25, 20)


def run(*mbit, rtt_ms=40.0, queue_p99_ms=20.0):
    """A run whose flows have these rates."""
    rtts = [rtt_ms] * len(mbit)
    return Run(mbit, rtts, [queue_p99_ms] * len(mbit), 10.0, queue_p99_ms, 0.01, 0.02, 0.95)


def pair(first="reno", second="cubic", path=DSL, seeds=3):
    """The runs of a pair: the first has a quarter of the link, and each all of it alone."""
    cell = Cell(path, first, second)
    found = {each.name: [run(24.0, rtt_ms=30.0)] * seeds for each in cell.alone}
    return cell, found | {cell.name: [run(6.0, 18.0)] * seeds}


def matrix():
    """Runs of all pairs on one path."""
    found = {}
    for first, second in plan.pairs(1):
        found |= pair(first, second)[1]
    return found
