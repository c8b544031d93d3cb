"""The report: one HTML page that needs nothing else, made from a result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windlass_lab.core.experiments.judge import evidence_in
from windlass_lab.core.experiments.model import Experiment, Paper, Plot, PowerTable, ServersTable
from windlass_lab.core.experiments.reference import load_reference, load_reference_acks
from windlass_lab.core.files import output
from windlass_lab.core.plots.draw import draw
from windlass_lab.core.plots.parts import Drawn, Material, as_csv
from windlass_lab.core.report import main_plot, server_tables
from windlass_lab.core.report.page import judged_tiles, render, verdict_tables
from windlass_lab.core.report.power import power_table
from windlass_lab.core.text import verdicts
from windlass_lab.core.verdicts.verdict import INFORMATIVE, Comparison, failures


@dataclass(frozen=True, slots=True)
class Content:
    """The tables and plots of a section beside its verdicts; `files` are further CSV files by name.

    A plot has the verdict on it, as `_figure` and `unjudged` have it.
    """

    tables: Sequence[Mapping]
    plots: Sequence[Mapping]
    files: Mapping[str, str] = field(default_factory=dict)


def files(paper: Paper, results: Mapping, series: Mapping) -> dict[str, str]:
    """Every file that is made from a result and its time series, by its path in the directory."""
    material = _material(paper, results, series)
    return paper_files(
        paper,
        results,
        _sections(paper, results, material),
        server_tables.as_csv(results["summaries"]),
        load_reference(paper.id).source,
        conditions(results["summaries"]),
    )


def paper_files(
    paper: Paper,
    results: Mapping,
    sections: Sequence[Mapping],
    further: Mapping[str, str],
    source: str = "",
    kernel: Mapping | None = None,
) -> dict[str, str]:
    """The page, its first plot for the front page, the summary, and the CSV files: those of the
    plots, and `further` ones by name. `source` and `kernel` are those of `render`.
    """
    data = {drawn.id: as_csv(drawn) for each in sections for drawn in each["drawn"]}
    first = main_plot.main_plot(paper, sections)
    return {
        **({output.MAIN_PLOT: main_plot.as_json(first[0])} if first else {}),
        output.REPORT: render(paper, results, sections, source, kernel),
        output.SUMMARY: verdicts.summary(paper, results),
        **{f"{output.DATA}/{name}.csv": text for name, text in {**data, **further}.items()},
    }


def section(
    experiment: Experiment,
    comparisons: Sequence[Comparison],
    tables: Sequence[Mapping],
    content: Content,
    beside: str = "",
) -> dict:
    """A section as the page has it; `tables` are those of the comparisons, and `beside` names the
    reference figure of the tiles.
    """
    return {
        "experiment": experiment,
        "tally": verdicts.tally(comparisons),
        "verdict": verdicts.section_verdict(comparisons),
        "tiles": judged_tiles(comparisons, beside),
        "tables": tables,
        "powers": content.tables,
        "plots": content.plots,
        "drawn": [plot["drawn"] for plot in content.plots],
    }


def unjudged(drawn: Sequence[Drawn]) -> list[dict]:
    """Plots of which nothing is said."""
    return [
        {"drawn": each, "says": "", "verdict": "", "passed": True, "judged": False}
        for each in drawn
    ]


def build(paper: Paper, results: Mapping, series: Mapping) -> str:
    """The page for a result and its time series."""
    return files(paper, results, series)[output.REPORT]


def _material(paper: Paper, results: Mapping, series: Mapping) -> Material:
    evidence = evidence_in(paper, results)
    return Material(evidence, series["cases"], load_reference_acks(paper.id))


def _sections(paper: Paper, results: Mapping, material: Material) -> list[dict]:
    experiments = {experiment.id: experiment for experiment in paper.experiments}
    return [
        _section(experiments[document["id"]], document, material)
        for document in results["experiments"]
    ]


def _section(experiment: Experiment, document: Mapping, material: Material) -> dict:
    comparisons = [Comparison.from_json(entry) for entry in document["comparisons"]]
    content = Content(
        [_table(table, experiment, material) for table in experiment.tables],
        [_figure(plot, drawn, comparisons) for plot, drawn in draw(experiment, material)],
    )
    tables = verdict_tables(comparisons, experiment.columns)
    return section(experiment, comparisons, tables, content, experiment.columns[0])


def _table(table: PowerTable | ServersTable, experiment: Experiment, material: Material) -> Mapping:
    if isinstance(table, PowerTable):
        return power_table(table, material.evidence)
    return server_tables.published_beside_measured(table, experiment.named, material.evidence)


def _figure(plot: Plot, drawn: Drawn, comparisons: Sequence[Comparison]) -> dict:
    """A plot with the comparisons that say whether it agrees with the paper's figure."""
    keys = plot.keys or (plot.quantity.key,) if hasattr(plot, "quantity") else plot.keys
    about = [c.of_figure for c in comparisons if c.case in plot.cases and c.key in keys]
    return {
        "drawn": drawn,
        "says": plot.says,
        "verdict": verdicts.figure_verdict(about),
        "passed": not failures(about),
        "judged": any(c.verdict != INFORMATIVE for c in about),
    }


def conditions(summaries: Mapping[str, Mapping]) -> dict | None:
    """Under which conditions the runs on a kernel were made: its release, the most runs of a case,
    the least and the highest median of the load average. `None` if there were none.
    """
    found = [s for s in summaries.values() if "testbed" in s]
    if not found:
        return None
    loads = [_number(s["testbed"].get("load_average")) for s in found]
    return {
        "release": found[0]["testbed"]["kernel"],
        "runs": max(s["replicates"] for s in found),
        "load_average": (min(loads), max(loads)),
    }


def _number(value: Any) -> float:
    return float(value["median"] if isinstance(value, Mapping) else value or 0.0)
