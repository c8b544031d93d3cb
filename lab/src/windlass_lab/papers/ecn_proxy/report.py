"""The report of the ECN proxy's tests, from their result."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.files import output
from windlass_lab.core.pipeline.document import experiment_document
from windlass_lab.core.plots.parts import Drawn, as_csv
from windlass_lab.core.report.page import judged_tiles, render, verdict_tables
from windlass_lab.core.statistics.interval import FEWEST_RUNS, FEWEST_SEEDS
from windlass_lab.core.text import verdicts
from windlass_lab.core.verdicts.verdict import INFORMATIVE, Comparison
from windlass_lab.papers.ecn_proxy import criteria, figures
from windlass_lab.papers.ecn_proxy.extras import EXTRAS
from windlass_lab.papers.ecn_proxy.judge import judge
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS, LOADS, Test
from windlass_lab.papers.ecn_proxy.runs import Run

Runs = Mapping[str, Sequence[Run]]


def experiments(runs: Runs, real: bool, judged: bool = True) -> list[dict]:
    """The documents of the experiments that were run, on kernels (`real`) or simulated. Without
    `judged` the figures of tables are for information.
    """
    fewest = FEWEST_RUNS if real else FEWEST_SEEDS
    found = []
    for direction in DIRECTIONS:
        for load in LOADS:
            comparisons = judge(direction, load, runs, fewest)
            if not judged:
                comparisons = [
                    replace(each, verdict=INFORMATIVE, paper=INFORMATIVE) for each in comparisons
                ]
            if not comparisons:
                continue
            table = Test(direction, load, True, "").table
            found.append(experiment_document(table, criteria.FIRST_RESULT, comparisons))
    for name, extra in EXTRAS.items():
        if comparisons := extra.judge(runs):
            first = extra.experiment.first_result
            found.append(experiment_document(name, first, comparisons))
    return found


def files(paper: Paper, results: Mapping, _series: Mapping) -> dict[str, str]:
    """Every file that is made from a result, by its path in the directory."""
    runs = {
        name: [Run(**run) for run in summary["runs"]]
        for name, summary in results["summaries"].items()
    }
    sections = [_section(paper, document, runs, results) for document in results["experiments"]]
    data = {f"{output.DATA}/{d.id}.csv": as_csv(d) for s in sections for d in s["drawn"]}
    for document in results["experiments"]:
        extra = EXTRAS.get(document["id"])
        further = extra.files(runs) if extra else {}
        data |= {f"{output.DATA}/{name}.csv": content for name, content in further.items()}
    return {
        output.REPORT: render(paper, results, sections),
        output.SUMMARY: verdicts.summary(paper, results),
        **data,
    }


def _section(paper: Paper, document: Mapping, runs: Runs, results: Mapping) -> dict:
    experiment = next(each for each in paper.experiments if each.id == document["id"])
    comparisons = [Comparison.from_json(entry) for entry in document["comparisons"]]
    extra = EXTRAS.get(experiment.id)
    columns = ["reference"] if any(each.reference for each in comparisons) else []
    if extra:
        tables, drawn = extra.tables(runs), extra.draw(runs)
    else:
        tables, drawn = _boxes(paper, experiment, runs, results["scale"])
    return {
        "experiment": experiment,
        "tally": verdicts.tally(comparisons),
        "verdict": verdicts.section_verdict(comparisons),
        "tiles": judged_tiles(comparisons),
        "tables": verdict_tables(comparisons, [*columns, "measured"]),
        "powers": tables,
        "plots": [
            {"drawn": each, "says": "", "verdict": "", "passed": True, "judged": False}
            for each in drawn
        ],
        "drawn": drawn,
    }


def _boxes(
    paper: Paper, experiment: Experiment, runs: Runs, scale: float
) -> tuple[list[dict], list[Drawn]]:
    """A table of the paper, and its box plots."""
    number = paper.experiments.index(experiment)
    direction, load = DIRECTIONS[number // len(LOADS)], LOADS[number % len(LOADS)]
    found = figures.rows(direction, load, runs, scale)
    title = figures.title(direction, load, scale)
    drawn = figures.draw(experiment.id, title, found, scale)
    return [figures.table(experiment.id, found)], [drawn]
