"""The front page of all papers: what each asked and claimed, and what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.coverage import Covered, coverage
from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.files.output import REPORT
from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.report.bar_rows import BarRow
from windlass_lab.core.report.page import environment, packed_json, plotting_library
from windlass_lab.core.text import numbers, verdicts

INDEX = "index.html"
_TITLE = "Four papers on TCP's congestion window, repeated"


@dataclass(frozen=True, slots=True)
class Found:
    """A paper and its result; without one the reason why not. `claim` and `finding` are a line
    each, the paper's main claim and the figures for it, `rows` the bars that show them, and `plot`
    the plot that its page begins with.
    """

    paper: Paper
    results: Mapping | None
    why_not: str = ""
    claim: str = ""
    finding: str = ""
    rows: Sequence[BarRow] = ()
    plot: Drawn | None = None


def playground_near(folder: Path) -> str:
    """The address of the playground from a page in `folder`, if `make playground` or `make site`
    has built it beside that; else empty.
    """
    for place in ("playground", "site/playground"):
        if (folder.parent / place / INDEX).is_file():
            return f"../{place}/{INDEX}"
    return ""


def refuse_foreign(folder: Path) -> None:
    """Raises `LabError` for a folder whose front page the lab did not write."""
    page = folder / INDEX
    if page.is_file() and _TITLE not in page.read_text(encoding="utf-8", errors="replace"):
        raise LabError(f"{page} is not the lab's: name another directory")


def render_front_page(papers: Sequence[Found], playground: str = "") -> str:
    """The page, which needs nothing else; the pages of the papers lie in folders beside it, and the
    playground at a relative address, if it was built.
    """
    plots = [found.plot for found in papers if found.plot]
    return (
        environment()
        .get_template("front-page.html.j2")
        .render(
            title=Markup(_TITLE),
            cards=[_card(found) for found in papers],
            covered=_covered(papers),
            playground=playground,
            specs=packed_json({panel.id: panel.spec for plot in plots for panel in plot.panels}),
            library=plotting_library(),
        )
    )


def _card(found: Found) -> dict:
    paper, results = found.paper, found.results
    tally = verdicts.counts(results) if results else None
    met = verdicts.total(tally.own) if tally else None
    return {
        "paper": paper,
        "page": f"{paper.id}/{REPORT}",
        "why_not": found.why_not,
        "tally": tally,
        "met": met,
        "decided": met is not None and met.judged > met.undecided,
        "finding": found.finding,
        "verdicts": verdicts.verdict_line(results, paper.against) if results else "",
        "chart": _chart(found.rows),
        "plot": found.plot,
        "made": f"windlass {results['windlass_version'].removeprefix('windlass ')}, "
        f"{results['finished']}"
        if results
        else "",
    }


def _chart(rows: Sequence[BarRow]) -> list[dict]:
    """Bars with their lengths; those of one unit have one scale."""
    most: dict[str, float] = {}
    for row in rows:
        most[row.unit] = max(most.get(row.unit, 0.0), *(bar.value for bar in row.bars))
    return [_drawn(row, most[row.unit] or 1.0) for row in rows]


def _drawn(row: BarRow, most: float) -> dict:
    unit = f" ({row.unit})" if row.unit else ""
    return {
        "label": f"{row.label}{unit}",
        "statement": row.statement,
        "bars": [
            {
                "name": bar.name,
                "role": bar.role,
                "value": numbers.figure(bar.value),
                "percent": round(100 * max(0.0, bar.value) / most, 1),
            }
            for bar in row.bars
        ],
    }


def _covered(papers: Sequence[Found]) -> list[dict]:
    """The figures, tables and sentences of the papers: those that are shown, those that were not
    run, and those of which there is nothing to run.
    """
    shown = {
        (found.paper.id, document["id"])
        for found in papers
        if found.results
        for document in found.results["experiments"]
    }
    titles = {found.paper.id: found.paper.title for found in papers}
    parts = (
        ("coverage", "Figures, tables and statements of the papers shown here", "Where"),
        ("not-run", "Not run here", "Experiment: windlass-lab reproduce"),
        ("nothing", "Not repeated", "Why not"),
    )
    rows: dict[str, list[dict]] = {id_: [] for id_, _, _ in parts}
    for each in coverage():
        if each.paper in titles:
            is_shown = (each.paper, each.experiment) in shown
            part = "coverage" if is_shown else "not-run" if each.experiment else "nothing"
            rows[part].append(_row(each, titles[each.paper], is_shown))
    return [
        {"id": id_, "title": title, "column": column, "rows": rows[id_]}
        for id_, title, column in parts
        if rows[id_]
    ]


def _row(each: Covered, paper: str, is_shown: bool) -> dict:
    experiment = f"{each.paper}/{each.experiment}" if each.experiment else ""
    return {
        "paper": paper,
        "what": each.what,
        "link": f"{each.paper}/{REPORT}#e-{each.experiment}" if is_shown else "",
        "where": experiment or each.reason or "",
    }
