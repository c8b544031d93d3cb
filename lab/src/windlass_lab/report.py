"""The report: one HTML page that needs nothing else, made from a result."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from windlass_lab import output, text
from windlass_lab.catalogue import Experiment, Paper, Plot, find
from windlass_lab.judge import evidence_in
from windlass_lab.kernel import conditions
from windlass_lab.plot_parts import Drawn, Material, as_csv
from windlass_lab.plots import draw
from windlass_lab.power import power_table
from windlass_lab.reference import load_reference, load_reference_acks
from windlass_lab.verdict import INFORMATIVE, PASS, Comparison, failures

# Rows about single flows that a table may have before they are folded away.
_UNFOLDED_FLOWS = 20


def files(paper: Paper, results: Mapping, series: Mapping) -> dict[str, str]:
    """Every file that is made from a result and its time series, by its path in the directory."""
    material = _material(paper, results, series)
    sections = _sections(paper, results, material)
    data = {f"{output.DATA}/{d.id}.csv": as_csv(d) for s in sections for d in s["drawn"]}
    return {
        output.REPORT: _page(paper, results, sections),
        output.SUMMARY: text.summary(paper, results),
        **data,
    }


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


def _page(paper: Paper, results: Mapping, sections: Sequence[Mapping]) -> str:
    specs = {panel.id: panel.spec for s in sections for d in s["drawn"] for panel in d.panels}
    agreeing, judged = text.counts(results)
    chapters = {s["experiment"].chapter: [] for s in sections}
    for section in sections:
        chapters[section["experiment"].chapter].append(section)
    template = _environment().get_template("report.html.j2")
    return template.render(
        paper=paper,
        results=results,
        chapters=chapters,
        tiles=[tile for section in sections for tile in section["tiles"]],
        agreeing=agreeing,
        judged=judged,
        verdict_line=text.verdict_line(results),
        kernel=conditions(results["summaries"]),
        reference_source=load_reference(paper.id).source,
        specs=_embedded(specs),
        plotly=Markup(get_plotlyjs()),
    )


def rebuild(folder: Path) -> None:
    """Writes the page and the text of a stored result again.

    Raises `LabError` when the folder holds no result that this lab can read.
    """
    results = output.load(folder, output.RESULTS, output.RESULT_FORMAT)
    series = output.load(folder, output.SERIES, output.SERIES_FORMAT)
    paper, _ = find(results["paper"], quick=False)
    output.write_all(folder, files(paper, results, series))


def _section(experiment: Experiment, document: Mapping, material: Material) -> dict:
    comparisons = [Comparison.from_json(entry) for entry in document["comparisons"]]
    plots = draw(experiment, material)
    return {
        "experiment": experiment,
        "agreeing": sum(c.verdict == PASS for c in comparisons),
        "judged": sum(c.verdict != INFORMATIVE for c in comparisons),
        "verdict": text.section_verdict(comparisons),
        "tiles": [
            _row(c) | {"beside": experiment.columns[0]}
            for c in comparisons
            if c.headline and c.verdict != INFORMATIVE
        ],
        "tables": _tables(comparisons, experiment.columns),
        "powers": [power_table(table, material.evidence) for table in experiment.tables],
        "plots": [_figure(plot, drawn, comparisons) for plot, drawn in plots],
        "drawn": [drawn for _, drawn in plots],
    }


def _figure(plot: Plot, drawn: Drawn, comparisons: Sequence[Comparison]) -> dict:
    """A plot with the comparisons that say whether it agrees with the paper's figure."""
    keys = plot.keys or (plot.quantity.key,) if hasattr(plot, "quantity") else plot.keys
    about = [c for c in comparisons if c.case in plot.cases and c.key in keys]
    return {
        "drawn": drawn,
        "says": plot.says,
        "verdict": text.figure_verdict(about),
        "passed": not failures(about),
        "judged": any(c.verdict != INFORMATIVE for c in about),
    }


def _tables(comparisons: Sequence[Comparison], columns: Sequence[str]) -> list[dict]:
    """The comparisons as tables: what one reads first, and what can stay folded."""
    shown = [c for c in comparisons if c.verdict == INFORMATIVE]
    judged = [c for c in comparisons if c.verdict != INFORMATIVE]
    flows = [c for c in judged if c.flow is not None]
    if len(flows) <= _UNFOLDED_FLOWS:
        flows = []
    first = [c for c in judged if c not in flows]
    agreeing = len(flows) - len(failures(flows))
    groups = [
        (f"Published, {columns[0]} and {columns[1]}", first, False),
        # A failure is never folded away.
        (f"Each flow: {agreeing} of {len(flows)} agree", flows, agreeing == len(flows)),
        ("For information, without a verdict", shown, True),
    ]
    return [
        {
            "caption": caption,
            "rows": [_row(c) for c in group],
            "folded": folded,
            "columns": [column.capitalize() for column in columns],
            "modern": any(c.modern for c in group),
        }
        for caption, group, folded in groups
        if group
    ]


def _row(comparison: Comparison) -> dict:
    cells = text.cells(comparison)
    fields = ("name", "published", "reference", "measured", "deviation", "allowed")
    return dict(zip(fields, cells[: len(fields)], strict=True)) | {
        "modern": text.estimate(comparison.modern),
        "verdict_text": text.VERDICTS[comparison.verdict],
        "why": comparison.why,
        "verdict": comparison.verdict,
        "quantity": comparison.quantity,
    }


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("windlass_lab", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _embedded(value: object) -> Markup:
    """JSON that cannot end the script element that it stands in."""
    encoded = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(encoded.replace("<", "\\u003c"))
