"""The page that every report is: one HTML file that needs nothing else."""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache, partial

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from windlass_lab.core import provenance
from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.report.main_plot import main_plot
from windlass_lab.core.text import numbers, verdicts
from windlass_lab.core.verdicts.verdict import INFORMATIVE, Comparison, failures

# Rows about single flows that a table may have before they are folded away.
_UNFOLDED_FLOWS = 20
# Of a table of verdicts, beside what was published and measured.
_COLUMNS = ("deviation", "allowed", "interval", "paper", "verdict", "criterion")


def render(
    paper: Paper,
    results: Mapping,
    sections: Sequence[Mapping],
    source: str = "",
    kernel: Mapping | None = None,
) -> str:
    """The page; `source` says where the reference figures are from, `kernel` how it was on one, of
    papers that have some.
    """
    specs = {panel.id: panel.spec for s in sections for d in s["drawn"] for panel in d.panels}
    chapters: dict[str, list] = {s["experiment"].chapter: [] for s in sections}
    for section in sections:
        chapters[section["experiment"].chapter].append(section)
    template = environment().get_template("report.html.j2")
    return template.render(
        paper=paper,
        results=results,
        chapters=chapters,
        tiles=[tile for section in sections for tile in section["tiles"]],
        tally=verdicts.counts(results),
        total=verdicts.total,
        made=provenance.in_words(results),
        verdict_line=verdicts.verdict_line(results, paper.against),
        kernel=kernel,
        reference_source=source,
        main=main_plot(paper, sections),
        command=partial(_command, paper, results),
        specs=packed_json(specs),
        library=plotting_library(),
    )


def _command(paper: Paper, results: Mapping, experiment: Experiment) -> str:
    """The command that makes an experiment as this result has it; --real where it is simulated
    otherwise.
    """
    real = results.get("method") == "real" and not experiment.needs_root
    scale = results.get("scale", 1)
    options = f"{' --real' if real else ''}{f' --scale {scale:g}' if scale != 1 else ''}"
    return f"windlass-lab reproduce {paper.id}/{experiment.id}{options}"


@cache
def plotting_library() -> Markup:
    """Plotly as the page holds it."""
    return _packed(get_plotlyjs())


def packed_json(value: object) -> Markup:
    """JSON as the page holds it."""
    return _packed(json.dumps(value, separators=(",", ":"), allow_nan=False))


def _packed(text_: str) -> Markup:
    """Gzip in base64, without a time, so that pages are the same."""
    return Markup(base64.b64encode(gzip.compress(text_.encode(), mtime=0)).decode())


def judged_tiles(comparisons: Sequence[Comparison], beside: str = "") -> list[dict]:
    """The tiles at the top of the page; `beside` names the reference figure, if there is one."""
    judged = (c for c in comparisons if c.headline and c.verdict != INFORMATIVE)
    return [_row(c) | {"beside": beside} for c in judged]


def verdict_tables(comparisons: Sequence[Comparison], columns: Sequence[str]) -> list[dict]:
    """The comparisons as tables: what one reads first, and what can stay folded."""
    judged = [c for c in comparisons if c.of_figure.verdict != INFORMATIVE]
    shown = [c for c in comparisons if c.of_figure.verdict == INFORMATIVE]
    flows = [c for c in judged if c.flow is not None]
    if len(flows) <= _UNFOLDED_FLOWS:
        flows = []
    first = [c for c in judged if c not in flows]
    met = len(flows) - len(failures(flows))
    groups = [
        (" and ".join((", ".join(("Published", *columns[:-1])), columns[-1])), first, False),
        # A failure is never folded away.
        (f"Each flow: {met} of {len(flows)} met", flows, met == len(flows)),
        ("For information, without a verdict", shown, True),
    ]
    return [
        _table(caption, group, columns) | {"folded": folded}
        for caption, group, folded in groups
        if group
    ]


def _table(caption: str, group: Sequence[Comparison], columns: Sequence[str]) -> dict:
    """Rows, and below them the criteria, by whose numbers they are judged."""
    criteria = list(dict.fromkeys(c.criterion for c in group if c.criterion))
    rows = [
        _row(c) | {"criterion": criteria.index(c.criterion) + 1 if c.criterion else None}
        for c in group
    ]
    return {
        "caption": caption,
        "rows": rows,
        # Columns that would be empty are left out.
        "filled": [key for key in _COLUMNS if any(_says(row, key) for row in rows)],
        "criteria": [str(criterion) for criterion in criteria],
        "columns": [column.capitalize() for column in columns],
        "modern": any(c.modern for c in group),
    }


def _says(row: Mapping, key: str) -> bool:
    if key == "verdict" and row["why"]:
        return True
    return row[key] not in (None, numbers.NONE, INFORMATIVE)


def _row(comparison: Comparison) -> dict:
    cells = verdicts.cells(comparison)
    fields = ("name", "published", "reference", "measured", "deviation", "allowed", "interval")
    return dict(zip(fields, cells[: len(fields)], strict=True)) | {
        "modern": numbers.estimate(comparison.modern),
        "verdict_text": cells[-1].partition(" (")[0] if comparison.why else cells[-1],
        "paper": comparison.paper,
        "paper_text": verdicts.VERDICTS[comparison.paper],
        "why": comparison.why,
        "verdict": comparison.verdict,
        "quantity": comparison.quantity,
    }


def environment() -> jinja2.Environment:
    """Where pages have their templates from."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("windlass_lab", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
