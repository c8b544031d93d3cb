"""The pairs in the lab's catalogue: the cells that are judged, the disturbances, the matrix."""

from collections.abc import Callable, Mapping, Sequence

from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.papers.coexistence import plan, unresponsive
from windlass_lab.papers.coexistence.effects import effects
from windlass_lab.papers.coexistence.named import FIRST_RESULT, NAMED
from windlass_lab.papers.coexistence.plan import PAPER, Cell

JUDGED, EFFECTS, QUICK = "named", "effects", "quick"
_OF_MATRIX = {f"matrix-{rate}": rate for rate in plan.RATES_MBIT}
# On two cores, by the packets of the runs.
_SECONDS = {4: 300.0, 25: 900.0, 160: 5400.0, 1000: 20000.0}


def _judged() -> list[Cell]:
    """The named cells, and those that excess harm is measured against."""
    own = [Cell(n.cell.path, n.cell.first, n.cell.first) for n in NAMED]
    return plan.with_alone([*(named.cell for named in NAMED), *own])


def _disturbed() -> list[Cell]:
    rows = (*effects(), *unresponsive.shown())
    return list(dict.fromkeys(cell for each in rows for cell in (each.cell, each.plain)))


def _matrix(rate: int) -> Callable[[], list[Cell]]:
    return lambda: plan.with_alone(list(plan.matrix([rate])))


CELLS: Mapping[str, Callable[[], Sequence[Cell]]] = {
    JUDGED: _judged,
    EFFECTS: _disturbed,
    QUICK: lambda: plan.with_alone(list(plan.quick())),
    **{id_: _matrix(rate) for id_, rate in _OF_MATRIX.items()},
}


def _of_matrix(id_: str, rate: int) -> Experiment:
    return Experiment(
        id=id_,
        chapter="The matrix",
        section=f"{rate} Mbit/s",
        title=f"All pairs at {rate} Mbit/s",
        shows=f"Every pair of controllers behind every queue at {rate} Mbit/s, with round trips of "
        f"{', '.join(map(str, plan.RTTS_MS))} ms and ratios of "
        f"{', '.join(map(str, plan.RATIOS))}. matrix.html has each cell.",
        quick=False,
        seconds=_SECONDS[rate],
        first_result=FIRST_RESULT,
    )


COEXISTENCE = Paper(
    id=PAPER,
    citation="Windlass, by the measures of R. Ware, M. Mukerjee, S. Seshan and J. Sherry, Beyond "
    "Jain's Fairness Index, HotNets 2019",
    title="Coexistence of congestion controllers",
    question="Which congestion controllers share a bottleneck, behind which queues, and what do "
    "they do to each other's rate and delay?",
    experiments=[
        Experiment(
            id=JUDGED,
            chapter="Statements of documents",
            section="Twelve cells with bounds",
            title="Twelve cells that are judged",
            shows="Statements of RFCs and papers on a pair, as bounds that were committed before "
            "the first run of any cell.",
            quick=True,
            seconds=45.0,
            first_result=FIRST_RESULT,
        ),
        Experiment(
            id=EFFECTS,
            chapter="Disturbances",
            section="Bursts, lost ACKs, unequal paths, unresponsive traffic",
            title="Shares under disturbances",
            shows="The share of the first flow where something is different from the cell of the "
            "matrix, beside its share there. Traffic with ECT(1) that does not slow down has "
            "bounds that were committed before its first run.",
            quick=True,
            seconds=170.0,
            first_result=FIRST_RESULT,
        ),
        Experiment(
            id=QUICK,
            chapter="The matrix",
            section="25 Mbit/s and 20 ms",
            title="All pairs on one path",
            shows="Every pair behind every queue on one path: the part of the matrix that takes a "
            "minute. matrix.html has each cell.",
            quick=True,
            seconds=60.0,
            first_result=FIRST_RESULT,
            short=True,
        ),
        *(_of_matrix(id_, rate) for id_, rate in _OF_MATRIX.items()),
    ],
    against="what documents say",
)
