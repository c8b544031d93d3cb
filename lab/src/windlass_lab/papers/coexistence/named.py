"""Cells that are judged: statements of documents and papers on pairs, as bounds.

All of them were committed before the first run of any cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.criterion import Basis, Criterion
from windlass_lab.papers.coexistence import measure
from windlass_lab.papers.coexistence.measure import Measure
from windlass_lab.papers.coexistence.plan import Cell, Path

_SET_ON = date(2026, 11, 30)
FIRST_RESULT = date(2026, 11, 30)


@dataclass(frozen=True, slots=True)
class Named:
    """A cell, the figure of it that is judged, and what is asked of it."""

    title: str
    cell: Cell
    measure: Measure
    bounds: Bounds
    criterion: Criterion


def named(
    title: str,
    cell: Cell,
    measure_: Measure,
    bounds: Bounds,
    why: str,
    source: str,
) -> Named:
    """A row whose bounds are older than its result."""
    return Named(title, cell, measure_, bounds, Criterion(why, source, _SET_ON, Basis.BEFORE))


_DSL = Path("fifo1", 25, 20)
_FAIR = Bounds(low=0.95)
_OF_ITSELF = "RFC 9743 section 5.1.4; fair as everywhere in the lab: an index of 0.95"

NAMED: Sequence[Named] = (
    named(
        "Reno shares with itself",
        Cell(_DSL, "reno", "reno"),
        measure.JAIN,
        _FAIR,
        "flows of one controller on equal paths share equally",
        _OF_ITSELF,
    ),
    named(
        "CUBIC shares with itself",
        Cell(Path("fifo1", 25, 80), "cubic", "cubic"),
        measure.JAIN,
        _FAIR,
        "flows of one controller on equal paths share equally",
        _OF_ITSELF,
    ),
    named(
        "CUBIC spares Reno on short paths",
        Cell(_DSL, "reno", "cubic"),
        measure.EXCESS,
        Bounds(high=0.10),
        "where Reno is faster than the cubic, CUBIC grows as Reno does: it harms Reno no more than "
        "Reno does, and a tenth is left for the window before that region",
        "RFC 9438 section 4.3; the threshold of Ware et al. 2019",
    ),
    named(
        "BBRv1 in a deep buffer",
        Cell(Path("fifo4", 25, 80), "cubic", "bbr"),
        measure.SHARE,
        Bounds(0.22, 0.52),
        "beside one BBR flow the loss-based flows have 1/2 - 1/(2X) - 4/q of the link, with a "
        "buffer of X BDP (4) or q packets (667): 0.37; 0.15 each way, as their model has no phases "
        "between the steady states",
        "Ware, Mukerjee, Seshan, Sherry, Modeling BBR's interactions, IMC 2019",
    ),
    named(
        "BBRv1 in a shallow buffer",
        Cell(Path("fifo0.5", 25, 80), "cubic", "bbr"),
        measure.SHARE,
        Bounds(high=0.40),
        "BBR does not answer losses, and a flow that does gets the smaller part of a small buffer",
        "Hock, Bless, Zitterbart, Experimental evaluation of BBR, ICNP 2017",
    ),
    named(
        "Vegas gives way to Reno",
        Cell(_DSL, "reno", "vegas"),
        measure.SHARE,
        Bounds(low=0.50),
        "Vegas keeps a few packets in the queue, Reno fills it",
        "Mo, La, Anantharam, Walrand, Analysis and comparison of TCP Reno and Vegas, INFOCOM 1999",
    ),
    named(
        "FQ-CoDel protects Reno from BBRv1",
        Cell(Path("fq-codel", 25, 20), "reno", "bbr"),
        measure.SHARE,
        Bounds(0.45, 0.55),
        "each flow has a queue of its own and the same quantum",
        "RFC 8290 sections 1 and 4.1; a tenth for the sawtooth of a flow alone in its queue",
    ),
    named(
        "PIE holds its target",
        Cell(Path("pie", 25, 20), "cubic", "cubic"),
        measure.QUEUE,
        Bounds(10.0, 20.0),
        "PIE steers the delay to 15 ms; a third each way for the sawtooth of two flows",
        "RFC 8033 sections 4.2 and 5.1",
    ),
    named(
        "New-ECN on unequal paths",
        Cell(Path("red", 25, 160, 16), "new-ecn", "new-ecn"),
        measure.JAIN,
        _FAIR,
        "the rate of a New-ECN flow does not depend on its round trip",
        "Hamann 1999 section 4.2.2, on another path than its own",
    ),
    named(
        "DCTCP starves CUBIC behind RED",
        Cell(Path("red", 25, 20), "cubic", "dctcp"),
        measure.SHARE,
        Bounds(high=0.35),
        "DCTCP reduces by the marked share, CUBIC by 0.3 for any mark: a window of 2/p against one "
        "of the order of 1/sqrt(p)",
        "RFC 8257 section 5 (for networks under one administration only)",
    ),
    named(
        "Prague and CUBIC behind DualPI2",
        Cell(Path("dualpi2", 160, 20), "cubic", "prague"),
        measure.SHARE,
        Bounds(0.444, 0.556),
        "the coupling is there to make their rates alike: one is 0.8 to 1.25 of the other",
        "RFC 9332 section 2.1; the bounds are the project's for DualPI2",
    ),
    named(
        "Prague's delay behind DualPI2",
        Cell(Path("dualpi2", 160, 20), "prague", "cubic"),
        measure.WAIT_P99,
        Bounds(high=2.0),
        "the queue of low latency marks from 1 ms on; 99 packets in 100 wait less than twice that",
        "RFC 9332 section 2.1; the bounds are the project's for DualPI2",
    ),
)
