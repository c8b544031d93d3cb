"""The cells of an experiment on its page: shares behind each queue, and a table of the figures."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from windlass_lab.core.plots.parts import Drawn, Panel, axis_title
from windlass_lab.core.report.report import Content, unjudged
from windlass_lab.core.text.numbers import NONE, estimate
from windlass_lab.papers.coexistence import measure
from windlass_lab.papers.coexistence.catalogue import EFFECTS, JUDGED
from windlass_lab.papers.coexistence.judge import label
from windlass_lab.papers.coexistence.measure import SHOWN, Runs
from windlass_lab.papers.coexistence.plan import CONTENDERS, QUEUES, Cell

# Rows of a table on the page; matrix.html has all cells.
_ROWS_MAX = 150
_HEADINGS = ("cell", *(f"{m.label}{f' ({m.unit})' if m.unit else ''}" for m in SHOWN))
_LABELS = [contender.label for contender in CONTENDERS.values()]


def content(id_: str, cells: Sequence[Cell], runs: Runs) -> Content:
    """The table of an experiment's pairs that were run, and of a part of the matrix the plot."""
    pairs = [cell for cell in cells if cell.alone and runs.get(cell.name)]
    drawn = None if id_ in (JUDGED, EFFECTS) else _shares(id_, pairs, runs)
    return Content([_table(pairs, runs)] if pairs else [], unjudged([drawn] if drawn else []))


def _table(pairs: Sequence[Cell], runs: Runs) -> dict:
    rows = [(label(cell), *_figures(cell, runs)) for cell in pairs[:_ROWS_MAX]]
    left = len(pairs) - len(rows)
    more = f"; {left} more in matrix.html" if left > 0 else ""
    caption = f"{len(pairs)} pairs, means and standard deviations{more}"
    return {"caption": caption, "headings": _HEADINGS, "rows": rows, "open": False}


def _figures(cell: Cell, runs: Runs) -> Iterable[str]:
    for each in SHOWN:
        value = measure.estimate(each, cell, runs)
        yield estimate(value) if value else NONE


def _shares(id_: str, pairs: Sequence[Cell], runs: Runs) -> Drawn | None:
    """Heat maps of the share of the first flow on equal paths: the mean over the paths."""
    equal = [cell for cell in pairs if cell.path.ratio == 1 and not cell.variant]
    panels, rows = [], []
    for queue, title in QUEUES.items():
        means = _means([cell for cell in equal if cell.path.queue == queue], runs)
        if means:
            panels.append(Panel(f"shares-{id_}-{queue}", title, _heat_map(means)))
            rows += [(f"{title}: {a} beside {b}", f"{mean:.3f}") for (a, b), mean in means.items()]
    if not panels:
        return None
    return Drawn(
        id=f"shares-{id_}",
        figure="",
        title="Share of the controller at the left beside the one below",
        note="Flows with equal paths; the mean over the paths and seeds. A half is equal.",
        panels=panels,
        headings=("pair", "share of the first"),
        rows=rows,
    )


def _means(cells: Sequence[Cell], runs: Runs) -> dict[tuple[str, str], float]:
    """By the labels of the two, in both orders."""
    found: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        first, second = (CONTENDERS[name].label for name in cell.contenders)
        values = measure.SHARE.values(cell, runs)
        found.setdefault((first, second), []).extend(values)
        if first != second:
            found.setdefault((second, first), []).extend(1 - value for value in values)
    return {pair: fmean(values) for pair, values in found.items()}


def _heat_map(means: dict[tuple[str, str], float]) -> dict:
    names = [name for name in _LABELS if any(name in pair for pair in means)]
    trace = {
        "type": "heatmap",
        "name": "share of the first",
        "x": [second for _, second in means],
        "y": [first for first, _ in means],
        "z": list(means.values()),
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": "RdBu",
        "meta": {"colour": 0},
        "texttemplate": "%{z:.2f}",
        "hovertemplate": "%{y} beside %{x}: %{z:.3f}<extra></extra>",
        "showscale": False,
    }
    places = {"type": "category", "categoryorder": "array"}
    layout = {
        "xaxis": {"title": axis_title("beside"), "categoryarray": names, **places},
        "yaxis": {"title": axis_title("share of"), "categoryarray": names[::-1], **places},
        "showlegend": False,
    }
    return {"data": [trace], "layout": layout}
