"""The report of the ECN proxy's tests, from their result."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.pipeline.document import experiment_document
from windlass_lab.core.report.report import Content, unjudged
from windlass_lab.core.statistics.interval import FEWEST_RUNS, FEWEST_SEEDS
from windlass_lab.core.verdicts.verdict import FIGURE, INFORMATIVE, Comparison
from windlass_lab.papers.ecn_proxy import criteria, figures
from windlass_lab.papers.ecn_proxy.catalogue import SUPPLEMENTS
from windlass_lab.papers.ecn_proxy.judge import SEEDS_ALIKE, judge
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS, LOADS, Test, all_tests
from windlass_lab.papers.ecn_proxy.runs import Run

Runs = Mapping[str, Sequence[Run]]


def experiments(runs: Runs, real: bool, judged: bool = True) -> list[dict]:
    """The documents of the experiments that were run, on kernels (`real`) or simulated. Without
    `judged` the figures of tables are for information, and their bounds are left out.
    """
    fewest, of_alike = (FEWEST_RUNS, FEWEST_RUNS) if real else (FEWEST_SEEDS, SEEDS_ALIKE)
    found = []
    for direction in DIRECTIONS:
        for load in LOADS:
            comparisons = judge(direction, load, runs, fewest, of_alike)
            if not judged:
                comparisons = [_shown(each) for each in comparisons]
            if not comparisons:
                continue
            table = Test(direction, load, True, "").table
            found.append(experiment_document(table, criteria.FIRST_RESULT, comparisons))
    for name, beyond in SUPPLEMENTS.items():
        if comparisons := beyond.judge(runs):
            first = beyond.experiment.first_result
            found.append(experiment_document(name, first, comparisons))
    return found


def _shown(comparison: Comparison) -> Comparison:
    """The same without bounds and verdict: beside a figure that is not judged they would read as
    one that misses them.
    """
    return replace(
        comparison,
        verdict=INFORMATIVE,
        paper=INFORMATIVE,
        kind=FIGURE,
        allowed="",
        low=None,
        high=None,
        interval=None,
        criterion=None,
        why="",
    )


def content(experiment: Experiment, runs: Runs, scale: float) -> Content:
    """The tables and plots of an experiment; box plots of a table of the paper."""
    if beyond := SUPPLEMENTS.get(experiment.id):
        return Content(beyond.tables(runs), unjudged(beyond.draw(runs)), beyond.files(runs))
    direction, load = next(
        (test.direction, test.load) for test in all_tests() if test.table == experiment.id
    )
    found = figures.rows(direction, load, runs, scale)
    title = figures.title(direction, load, scale)
    drawn = figures.draw(experiment.id, title, found, scale)
    return Content([figures.table(experiment.id, found)], unjudged([drawn]))
