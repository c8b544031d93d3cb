"""The report of ToU beside the kernel, from its result."""

from collections.abc import Sequence
from dataclasses import replace

from windlass_lab.core.pipeline.document import experiment_document
from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.report.page import verdict_tables
from windlass_lab.core.report.report import Content, unjudged
from windlass_lab.core.verdicts.verdict import Comparison
from windlass_lab.papers.tou import criteria, figures
from windlass_lab.papers.tou.catalogue import FIGURES, SHORT, cells_of
from windlass_lab.papers.tou.judge import Runs, judge
from windlass_lab.papers.tou.plan import TOU_NONE, Cell, Test
from windlass_lab.papers.tou.statements import KEY, judge_statements


def experiments(ids: Sequence[str], runs: Runs, scale: float) -> list[dict]:
    """The documents of the experiments that were run."""
    found = []
    for id_ in ids:
        whole = scale == 1
        cells = _cells(id_, scale)
        comparisons = judge(cells, runs, whole) + judge_statements(id_, runs, whole)
        found.append(experiment_document(id_, criteria.FIRST_RESULT, comparisons))
    return found


def _cells(id_: str, scale: float) -> list[Cell]:
    """The cells of an experiment with the bytes that were sent."""
    return [replace(cell, megabytes=cell.megabytes * scale) for cell in cells_of(id_)]


def content(id_: str, runs: Runs, scale: float) -> Content:
    """The tables and plots of an experiment."""
    cells = _cells(id_, scale)
    tables = (figures.throughputs, figures.times, figures.windows, figures.timeouts)
    return Content([each(cells, runs) for each in tables], unjudged(_drawn(id_, cells, runs)))


def tables(comparisons: Sequence[Comparison]) -> list[dict]:
    """Tables of the cells: the paper's statements, the lab's bounds, figures for information."""
    said = [each for each in comparisons if each.key.startswith(KEY)]
    own = verdict_tables([each for each in comparisons if each not in said], ["measured"])
    of_paper = [
        table | {"caption": _SAID, "folded": False, "words": True}
        for table in verdict_tables(said, ["measured"])
    ]
    asked = [table for table in own if not table["folded"]]
    return [*of_paper, *asked, *(table for table in own if table["folded"])]


def _drawn(id_: str, cells: Sequence[Cell], runs: Runs) -> list[Drawn]:
    number = str(FIGURES.get(id_, FIGURES["bad"] if id_ == SHORT else _EMULATED_IN))
    all_ = [figures.draw(number, cells, runs, axis) for axis in _AXES]
    if id_ == "nice" and any(runs.get(Test(cell, TOU_NONE).name) for cell in cells):
        all_.append(figures.draw("19", cells, runs, figures.SEQUENCE, figures.WITHOUT_CONTROL))
    return [drawn for drawn in all_ if drawn.panels]


_EMULATED_IN = 15
_AXES = (figures.TIME, figures.SEQUENCE)
_SAID = "The paper's statements, and whether they hold"
