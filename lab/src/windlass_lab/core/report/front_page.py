"""The front page of all papers: what each asked and claimed, and what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.coverage import Covered, coverage
from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.files.output import REPORT
from windlass_lab.core.report.page import environment
from windlass_lab.core.text import numbers, verdicts
from windlass_lab.core.verdicts.verdict import Comparison

INDEX = "index.html"
_TITLE = "Four papers on TCP's congestion window, repeated"
# Headline figures of a paper on the front page.
_MOST_BARS = 4


@dataclass(frozen=True, slots=True)
class Found:
    """A paper and its result; without one the reason why not."""

    paper: Paper
    results: Mapping | None
    why_not: str = ""


def refuse_foreign(folder: Path) -> None:
    """Raises `LabError` for a folder whose front page the lab did not write."""
    page = folder / INDEX
    if page.is_file() and _TITLE not in page.read_text(encoding="utf-8", errors="replace"):
        raise LabError(f"{page} is not the lab's: name another directory")


def render_front_page(papers: Sequence[Found]) -> str:
    """The page, which needs nothing else; the pages of the papers lie in folders beside it."""
    return (
        environment()
        .get_template("front-page.html.j2")
        .render(
            title=Markup(_TITLE),
            cards=[_card(found) for found in papers],
            covered=_covered(papers),
        )
    )


def _card(found: Found) -> dict:
    paper, results = found.paper, found.results
    tally = verdicts.counts(results) if results else None
    return {
        "paper": paper,
        "page": f"{paper.id}/{REPORT}",
        "why_not": found.why_not,
        "tally": tally,
        "met": verdicts.total(tally.own) if tally else None,
        "found": verdicts.verdict_line(results, paper.against) if results else "",
        "chart": _chart(results) if results else [],
        "made": f"windlass {results['windlass_version'].removeprefix('windlass ')}, "
        f"{results['finished']}"
        if results
        else "",
    }


def _chart(results: Mapping) -> list[dict]:
    """The first headline figures as bars: published, reference and measured. Those of one unit have
    one scale.
    """
    entries = (entry for e in results["experiments"] for entry in e["comparisons"])
    found = (Comparison.from_json(entry) for entry in entries)
    headlines = [c for c in found if c.headline and c.measured][:_MOST_BARS]
    most: dict[str, float] = {}
    for c in headlines:
        most[c.unit] = max(most.get(c.unit, 0.0), *_values(c).values())
    return [_bars(c, most[c.unit] or 1.0) for c in headlines]


def _values(comparison: Comparison) -> dict[str, float]:
    known = {
        "published": comparison.published,
        "reference": comparison.reference.mean if comparison.reference else None,
        "measured": comparison.measured.mean if comparison.measured else None,
    }
    return {name: max(0.0, v) for name, v in known.items() if isinstance(v, int | float)}


def _bars(comparison: Comparison, most: float) -> dict:
    published = comparison.published
    return {
        "label": comparison.quantity,
        "statement": published if isinstance(published, str) else "",
        "bars": [
            {"name": name, "value": numbers.figure(value), "percent": round(100 * value / most, 1)}
            for name, value in _values(comparison).items()
        ],
    }


def _covered(papers: Sequence[Found]) -> list[dict]:
    """A row a figure, table or sentence: where it is shown, or why it is not."""
    shown = {
        (found.paper.id, document["id"])
        for found in papers
        if found.results
        for document in found.results["experiments"]
    }
    titles = {found.paper.id: found.paper.title for found in papers}
    return [
        {
            "paper": titles[each.paper],
            "what": each.what,
            "link": _link(each) if (each.paper, each.experiment) in shown else "",
            "experiment": f"{each.paper}/{each.experiment}" if each.experiment else "",
            "reason": each.reason or "",
        }
        for each in coverage()
        if each.paper in titles
    ]


def _link(each: Covered) -> str:
    return f"{each.paper}/{REPORT}#e-{each.experiment}"
