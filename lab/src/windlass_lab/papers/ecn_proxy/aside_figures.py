"""Results of the cells kept aside: verdicts, the worst cells, and what these have in common."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.plots.parts import Drawn, Panel, line
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.text.numbers import figure
from windlass_lab.core.verdicts.verdict import INFORMATIVE, Comparison, Subject, within
from windlass_lab.papers.ecn_proxy import criteria
from windlass_lab.papers.ecn_proxy.aside import CROSS, QUEUES, Cell, cells
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS
from windlass_lab.papers.ecn_proxy.supplement import Runs, Supplement, case, seconds

# The bounds that the paper's own tests have.
LOW, HIGH = 0.90, 1.05
_MOST_RUNS = 5
_WORST = 20
QUEUE_NAMES = {"red": "RED", "codel": "CoDel", "pie": "PIE"}
CELL_COLUMNS = ("direction", "rate_mbit", "rtt_ms", "queue", "connections", "cross")
CELL_HEADINGS = ("direction", "Mbit/s", "RTT (ms)", "queue", "connections", "UDP over rate")
_PERCENTILES = (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class Place:
    """A cell with both configurations run: its median times in seconds, the proxy's over those of
    native ECN, and the ratio of the slowest run to the fastest of the two configurations.
    """

    cell: Cell
    native_s: float
    proxy_s: float
    spread: float

    @property
    def ratio(self) -> float:
        """The proxy's median time over native ECN's."""
        return self.proxy_s / self.native_s

    @property
    def is_inside(self) -> bool:
        """Whether the ratio lies within the bounds."""
        return LOW <= self.ratio <= HIGH


def places(runs: Runs) -> list[Place]:
    """Every place of which both configurations were run."""
    found = []
    for cell in cells():
        native = seconds(runs, cell) if cell.native else []
        proxy = seconds(runs, replace(cell, native=False))
        if native and proxy:
            spread = max(max(times) / min(times) for times in (native, proxy))
            found.append(Place(cell, median(native), median(proxy), spread))
    return found


def judge(runs: Runs) -> list[Comparison]:
    """The median of the cells, by direction and queue; how many lie within the bounds."""
    every = places(runs)
    found: list[Comparison] = []
    for direction in DIRECTIONS:
        chosen = [place for place in every if place.cell.direction == direction]
        found += _judged(direction.capitalize(), chosen, direction, headline=True)
        for queue in QUEUES:
            some = [place for place in chosen if place.cell.queue == queue]
            label = f"{direction.capitalize()}, {QUEUE_NAMES[queue]}"
            found += _judged(label, some, f"{direction}-{queue}")
    return found


def _judged(
    label: str, chosen: Sequence[Place], case_name: str, headline: bool = False
) -> Iterator[Comparison]:
    if not chosen:
        return
    ratios = [place.ratio for place in chosen]
    low, high = (percentile(ratios, part) for part in _PERCENTILES)
    inside = sum(place.is_inside for place in chosen)
    above = sum(place.ratio > HIGH for place in chosen)
    counted = f"{len(chosen)} cells, {above} above and {len(chosen) - inside - above} below"
    spread = f"nine in ten cells {low:.3f} to {high:.3f}"
    figures = (
        ("median of the cells", median(ratios), criteria.ASIDE, spread),
        ("the worst cell", max(ratios), criteria.ASIDE_WORST, counted),
        ("share of cells inside", inside / len(chosen), criteria.ASIDE_SHARE, counted),
    )
    for what, value, asked, why in figures:
        # The cells are all that there are, and no sample of them.
        subject = Subject(
            f"{label}: time through the proxy over native ECN, {what}",
            measured=Estimate(value, 0.0, len(chosen)),
            headline=headline,
            case=f"aside-{case_name}",
            exact=True,
            criterion=asked.criterion,
        )
        # A finding on cells by which nothing was chosen, and no regression.
        found = within(subject, asked.bounds)
        yield replace(found, why=why, paper=found.verdict, verdict=INFORMATIVE)


def percentile(values: Sequence[float], part: float) -> float:
    """The nearest of the sorted values."""
    return sorted(values)[round(part * (len(values) - 1))]


def tables(runs: Runs) -> list[dict]:
    """The worst cells, and the cells by each factor."""
    every = places(runs)
    worst = sorted(every, key=lambda place: place.ratio, reverse=True)
    fastest = worst[::-1][:_WORST]
    times = ("native ECN (s)", "proxy (s)", "ratio", "slowest over fastest run")
    return [
        {
            "caption": f"The {_WORST} cells with the slowest proxy, medians",
            "headings": (*CELL_HEADINGS, *times),
            "rows": [_row(place) for place in worst[:_WORST]],
            "open": True,
        },
        {
            "caption": f"The {_WORST} cells with the fastest proxy, medians",
            "headings": (*CELL_HEADINGS, *times),
            "rows": [_row(place) for place in fastest],
            "open": False,
        },
        {
            "caption": "Cells by each factor: the ratio, and how many lie outside",
            "headings": ("", "cells", "median", "5 to 95 %", "above", "below"),
            "rows": [_group(*group) for group in _groups(every)],
            "open": True,
        },
    ]


def _row(place: Place) -> tuple[str, ...]:
    return (
        *cell_cells(place.cell),
        figure(place.native_s),
        figure(place.proxy_s),
        f"{place.ratio:.3f}",
        f"{place.spread:.2f}",
    )


_FACTORS: Mapping[str, Callable[[Cell], str]] = {
    "direction": lambda cell: cell.direction,
    "queue": lambda cell: QUEUE_NAMES[cell.queue],
    "Mbit/s": lambda cell: f"{cell.rate_mbit}",
    "RTT in ms": lambda cell: f"{cell.rtt_ms}",
    "connections": lambda cell: f"{cell.connections}",
    "UDP over rate": lambda cell: f"{cell.cross:g}",
    "direction and share of the path": lambda cell: f"{cell.direction}, {_share(cell)}",
}
# Upper ends of the classes of a connection's share of the path, in segments.
_SHARES = (10, 30, 100)


def _share(cell: Cell) -> str:
    classes = [f"under {end} segments" for end in _SHARES if cell.window < end]
    return classes[0] if classes else f"{_SHARES[-1]} segments or more"


def _groups(every: Sequence[Place]) -> Iterator[tuple[str, Sequence[Place]]]:
    for factor, value_of in _FACTORS.items():
        for value in dict.fromkeys(value_of(place.cell) for place in every):
            chosen = [place for place in every if value_of(place.cell) == value]
            yield f"{factor}: {value}", chosen


def _group(label: str, chosen: Sequence[Place]) -> tuple[str, ...]:
    ratios = [place.ratio for place in chosen]
    low, high = (percentile(ratios, part) for part in _PERCENTILES)
    above = sum(ratio > HIGH for ratio in ratios)
    below = sum(ratio < LOW for ratio in ratios)
    spread = f"{low:.3f} to {high:.3f}"
    return (label, str(len(ratios)), f"{median(ratios):.3f}", spread, str(above), str(below))


def draw(runs: Runs) -> list[Drawn]:
    """The cells' distribution: a panel for each load of cross traffic, a curve for each queue and
    direction.
    """
    every = places(runs)
    panels = [
        Panel(f"aside-{number}", _load(cross), _spec([p for p in every if p.cell.cross == cross]))
        for number, cross in enumerate(CROSS)
    ]
    rows = [
        (_load(cross), *_group(_curve(direction, queue), chosen))
        for cross in CROSS
        for direction in DIRECTIONS
        for queue in QUEUES
        if (chosen := _chosen(every, direction, queue, cross))
    ]
    drawn = Drawn(
        id="aside-ratios",
        figure="",
        title="Time through the proxy over native ECN: share of the cells up to a ratio",
        note=f"A point is a cell. The bounds are {LOW:.2f} and {HIGH:.2f}.",
        panels=panels,
        headings=("cross traffic", "cells", "number", "median", "5 to 95 %", "above", "below"),
        rows=rows,
    )
    return [drawn] if every else []


def _load(cross: float) -> str:
    return f"UDP at {cross:g} of the link's rate" if cross else "Without cross traffic"


def _curve(direction: str, queue: str) -> str:
    return f"{direction}, {QUEUE_NAMES[queue]}"


def _chosen(every: Sequence[Place], direction: str, queue: str, cross: float) -> list[Place]:
    wanted = (direction, queue, cross)
    return [p for p in every if (p.cell.direction, p.cell.queue, p.cell.cross) == wanted]


def _spec(chosen: Sequence[Place]) -> dict:
    traces: list[dict] = []
    for direction in DIRECTIONS:
        for queue in QUEUES:
            ratios = sorted(
                place.ratio
                for place in chosen
                if (place.cell.direction, place.cell.queue) == (direction, queue)
            )
            shares = [round(number / len(ratios), 4) for number in range(1, len(ratios) + 1)]
            x = [round(ratio, 4) for ratio in ratios]
            trace = line(_curve(direction, queue), len(traces), x, shares)
            trace["line"] = {"width": 1.6, "shape": "hv"}
            traces.append(trace | {"hovertemplate": "%{x:.3f}"})
    bounds = [
        {"type": "line", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
        | {"line": {"width": 1, "dash": "dot", "color": "gray"}}
        for x in (LOW, HIGH)
    ]
    layout = {
        "xaxis": {"title": {"text": "time over native ECN's"}},
        "yaxis": {"title": {"text": "share of the cells"}, "range": [0, 1.02]},
        "shapes": bounds,
        "hovermode": "closest",
        "showlegend": True,
    }
    return {"data": [trace for trace in traces if trace["x"]], "layout": layout}


def files(runs: Runs) -> Mapping[str, str]:
    """Every cell, worst first, as CSV."""
    found = sorted(places(runs), key=lambda place: place.ratio, reverse=True)
    columns = ("native_s", "proxy_s", "ratio", "spread")
    rows = [
        (*cell_key(place.cell), *(f"{getattr(place, column):.4f}" for column in columns))
        for place in found
    ]
    return {"aside-cells": as_csv([(*CELL_COLUMNS, *columns), *rows])}


def cell_key(cell: Cell) -> tuple[object, ...]:
    """A cell under `CELL_COLUMNS`."""
    return tuple(getattr(cell, column) for column in CELL_COLUMNS)


def cell_cells(cell: Cell) -> tuple[str, ...]:
    """A cell in a table, under `CELL_HEADINGS`."""
    return (
        cell.direction,
        f"{cell.rate_mbit}",
        f"{cell.rtt_ms}",
        QUEUE_NAMES[cell.queue],
        f"{cell.connections}",
        f"{cell.cross:g}",
    )


def as_csv(rows: Sequence[Sequence[object]]) -> str:
    """Rows as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


ASIDE = Supplement(
    experiment=Experiment(
        id="aside",
        chapter="Beyond the paper",
        section="Cells by which nothing was chosen",
        title="The proxy on other rates, round trips and queues",
        shows="The rules of the proxy were chosen by its times on the paper's own tests. These "
        "cells are others: 5, 20 and 50 Mbit/s; 10, 40 and 100 ms; RED, CoDel and PIE; 1, 2, 4 and "
        "8 connections; without UDP beside them, with half and with all of the link's rate; both "
        "directions. The median of the cells and the worst are judged by the bound of the "
        "paper's tests, and the share of cells inside by nineteen in twenty. Each cell has at most "
        f"{_MOST_RUNS} runs.",
        quick=False,
        seconds=130.0,
        first_result=criteria.FIRST_BEYOND,
        cases=[case(cell, cell.place) for cell in cells()],
    ),
    tests=cells,
    most_runs=_MOST_RUNS,
    judge=judge,
    tables=tables,
    draw=draw,
    files=files,
)
