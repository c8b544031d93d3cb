"""The page that every report is: one HTML file that needs nothing else."""

import json
from collections.abc import Mapping, Sequence

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from windlass_lab import text
from windlass_lab.catalogue import Paper
from windlass_lab.verdict import INFORMATIVE, Comparison, failures

# Rows about single flows that a table may have before they are folded away.
_UNFOLDED_FLOWS = 20


def render(paper: Paper, results: Mapping, sections: Sequence[Mapping], source: str = "") -> str:
    """The page; `source` says where the reference figures are from, of papers that have some."""
    specs = {panel.id: panel.spec for s in sections for d in s["drawn"] for panel in d.panels}
    agreeing, judged = text.counts(results)
    chapters: dict[str, list] = {s["experiment"].chapter: [] for s in sections}
    for section in sections:
        chapters[section["experiment"].chapter].append(section)
    template = _environment().get_template("report.html.j2")
    return template.render(
        paper=paper,
        results=results,
        chapters=chapters,
        tiles=[_row(c) for c in comparisons(results) if c.headline and c.verdict != INFORMATIVE],
        agreeing=agreeing,
        judged=judged,
        verdict_line=text.verdict_line(results, paper.against),
        reference_source=source,
        specs=_embedded(specs),
        plotly=Markup(get_plotlyjs()),
    )


def comparisons(results: Mapping) -> list[Comparison]:
    """All of a result."""
    entries = (entry for document in results["experiments"] for entry in document["comparisons"])
    return [Comparison.from_json(entry) for entry in entries]


def verdict_tables(comparisons: Sequence[Comparison]) -> list[dict]:
    """The comparisons as tables: what one reads first, and what can stay folded."""
    shown = [c for c in comparisons if c.verdict == INFORMATIVE]
    judged = [c for c in comparisons if c.verdict != INFORMATIVE]
    flows = [c for c in judged if c.flow is not None]
    if len(flows) <= _UNFOLDED_FLOWS:
        flows = []
    first = [c for c in judged if c not in flows]
    agreeing = len(flows) - len(failures(flows))
    groups = [
        (_measured(first), first, False),
        # A failure is never folded away.
        (f"Each flow: {agreeing} of {len(flows)} agree", flows, agreeing == len(flows)),
        ("For information, without a verdict", shown, True),
    ]
    return [
        {
            "caption": caption,
            "rows": [_row(c) for c in group],
            "folded": folded,
            "reference": any(c.reference for c in group),
            "modern": any(c.modern for c in group),
        }
        for caption, group, folded in groups
        if group
    ]


def _measured(group: Sequence[Comparison]) -> str:
    reference = any(c.reference for c in group)
    return "Published, reference and measured" if reference else "Published and measured"


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
