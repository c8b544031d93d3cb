"""The report of ToU beside the kernel, from its result."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.files import output
from windlass_lab.core.pipeline.document import experiment_document
from windlass_lab.core.plots.parts import Drawn, as_csv
from windlass_lab.core.report.page import judged_tiles, render, verdict_tables
from windlass_lab.core.text import verdicts
from windlass_lab.core.verdicts.verdict import Comparison
from windlass_lab.papers.tou import criteria, figures
from windlass_lab.papers.tou.beside import reproduce as beside
from windlass_lab.papers.tou.catalogue import FIGURES, SHORT, cells_of
from windlass_lab.papers.tou.judge import Runs, judge
from windlass_lab.papers.tou.plan import TOU_NONE, Cell, Test
from windlass_lab.papers.tou.runs import read_run
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


def files(paper: Paper, results: Mapping, _series: Mapping) -> dict[str, str]:
    """Every file that is made from a result, by its path in the directory."""
    if beside.is_asked([document["id"] for document in results["experiments"]]):
        return beside.files(paper, results)
    runs = {
        name: {int(seed): read_run(**run) for seed, run in summary["runs"].items()}
        for name, summary in results["summaries"].items()
    }
    scale = results["scale"]
    sections = [_section(paper, document, runs, scale) for document in results["experiments"]]
    data = {f"{output.DATA}/{d.id}.csv": as_csv(d) for s in sections for d in s["drawn"]}
    return {
        output.REPORT: render(paper, results, sections),
        output.SUMMARY: verdicts.summary(paper, results),
        **data,
    }


def _cells(id_: str, scale: float) -> list[Cell]:
    """The cells of an experiment with the bytes that were sent."""
    return [replace(cell, megabytes=cell.megabytes * scale) for cell in cells_of(id_)]


def _section(paper: Paper, document: Mapping, runs: Runs, scale: float) -> dict:
    experiment = next(each for each in paper.experiments if each.id == document["id"])
    comparisons = [Comparison.from_json(entry) for entry in document["comparisons"]]
    cells = _cells(experiment.id, scale)
    drawn = _drawn(experiment.id, cells, runs)
    return {
        "experiment": experiment,
        "tally": verdicts.tally(comparisons),
        "verdict": verdicts.section_verdict(comparisons),
        "tiles": judged_tiles(comparisons),
        "tables": _tables(comparisons),
        "powers": [
            figures.throughputs(cells, runs),
            figures.times(cells, runs),
            figures.windows(cells, runs),
            figures.timeouts(cells, runs),
        ],
        "plots": [
            {"drawn": each, "says": "", "verdict": "", "passed": True, "judged": False}
            for each in drawn
        ],
        "drawn": drawn,
    }


def _tables(comparisons: Sequence[Comparison]) -> list[dict]:
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
