"""The front page of all papers: what each asked and claimed, and what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.core import text
from windlass_lab.core.coverage import Covered, coverage
from windlass_lab.core.model import Paper
from windlass_lab.core.output import REPORT
from windlass_lab.core.page import environment

INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class Found:
    """A paper and its result; without one the reason why not."""

    paper: Paper
    results: Mapping | None
    why_not: str = ""


def render_front_page(papers: Sequence[Found]) -> str:
    """The page, which needs nothing else; the pages of the papers lie in folders beside it."""
    return (
        environment()
        .get_template("front-page.html.j2")
        .render(
            cards=[_card(found) for found in papers],
            covered=_covered(papers),
        )
    )


def _card(found: Found) -> dict:
    paper, results = found.paper, found.results
    return {
        "paper": paper,
        "page": f"{paper.id}/{REPORT}",
        "why_not": found.why_not,
        "tally": text.counts(results) if results else None,
        "found": text.verdict_line(results, paper.against) if results else "",
        "made": f"windlass {results['windlass_version'].removeprefix('windlass ')}, "
        f"{results['finished']}"
        if results
        else "",
    }


def _covered(papers: Sequence[Found]) -> list[dict]:
    """A row a figure or table: where it is shown, or why it is not."""
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
            "what": f"{each.kind} {each.number}",
            "link": _link(each) if (each.paper, each.experiment) in shown else "",
            "experiment": f"{each.paper}/{each.experiment}" if each.experiment else "",
            "reason": each.reason or "",
        }
        for each in coverage()
        if each.paper in titles
    ]


def _link(each: Covered) -> str:
    return f"{each.paper}/{REPORT}#e-{each.experiment}"
