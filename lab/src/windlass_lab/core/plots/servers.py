"""Plots of servers: what each test brought, and how many servers brought how much."""

from collections.abc import Mapping

from windlass_lab.core.experiments.judge import Evidence
from windlass_lab.core.experiments.model import HistogramPlot, TestsPlot
from windlass_lab.core.experiments.reference import Published
from windlass_lab.core.experiments.servers import SPLITS
from windlass_lab.core.plots.parts import (
    Cases,
    Drawn,
    Panel,
    axis_title,
    line,
    mean_of,
    value_of,
    with_spread,
)
from windlass_lab.core.statistics.estimate import CaseResult
from windlass_lab.core.text.numbers import figure

# Key, name, colour's place; the last has an axis of its own.
_LINES = (
    ("data_packets", "data packets"),
    ("retransmissions", "retransmits"),
    ("total", "total"),
)
_SIZE = ("kilobytes", "size, kB")


def draw_tests(plot: TestsPlot, cases: Cases, evidence: Evidence) -> Drawn:
    """A panel a server: lines over the tests, and the paper's figures where it has some."""
    panels, rows = [], []
    for number, name in enumerate(plot.cases):
        measured = evidence.measured.get(name)
        if measured is None:
            continue
        published = evidence.published.get(name, Published({}))
        tests = [test for test in SPLITS if f"{test.lower()}.data_packets" in measured.values]
        label = cases[name].label
        data = [
            trace
            for place, entry in enumerate((*_LINES, _SIZE))
            for trace in _traces(measured, published, tests, place, *entry)
        ]
        panels.append(Panel(f"{plot.id}-{number}", label, {"data": data, "layout": _layout()}))
        rows += [_row(label, measured, published, test) for test in tests]
    return Drawn(
        id=plot.id,
        figure=plot.figure,
        title=plot.title,
        note="Medians of the runs, whiskers one standard deviation; A is without splitting, B to E "
        "split each ACK in 2, 4, 8, 12. Diamonds: the paper's figures, which it has for A.",
        panels=panels,
        headings=("", "data packets", "published", "retransmits", "published", "kB", "published"),
        rows=rows,
    )


def _traces(
    measured: CaseResult, published: Published, tests: list, place: int, key: str, name: str
) -> list[dict]:
    axis = {"yaxis": "y2"} if key == _SIZE[0] else {}
    values = [value_of(measured, f"{test.lower()}.{key}") for test in tests]
    ours = line(name, place, tests, [value.mean if value else None for value in values])
    traces = [with_spread(ours | {"mode": "lines+markers"} | axis, values)]
    theirs = {test: published.figure(f"{test.lower()}.{key}") for test in tests}
    theirs = {test: value for test, value in theirs.items() if isinstance(value, int | float)}
    if theirs:
        points = line(f"{name}, published", place, list(theirs), list(theirs.values()))
        marker = {"symbol": "diamond-open", "size": 11}
        traces.append(points | {"mode": "markers", "marker": marker, "showlegend": False} | axis)
    return traces


def _layout() -> dict:
    return {
        "xaxis": {"type": "category", "title": {"text": "test"}},
        "yaxis": {"title": {"text": "packets"}, "rangemode": "tozero"},
        "yaxis2": {
            "title": {"text": "kB"},
            "overlaying": "y",
            "side": "right",
            "rangemode": "tozero",
            "showgrid": False,
            "automargin": True,
        },
        "hovermode": "x unified",
        "showlegend": True,
    }


def _row(label: str, measured: CaseResult, published: Published, test: str) -> tuple[str, ...]:
    cells = []
    for key in ("data_packets", "retransmissions", "kilobytes"):
        place = f"{test.lower()}.{key}"
        cells += [mean_of(value_of(measured, place)), figure(published.figure(place))]
    return (f"{label}: {test}", *cells)


def draw_histogram(plot: HistogramPlot, evidence: Evidence) -> Drawn:
    """A bar for each value."""
    measured = evidence.measured.get(plot.case)
    prefix = f"{plot.key}."
    values = measured.values if measured else {}
    counts = {
        int(key.removeprefix(prefix)): value.mean
        for key, value in values.items()
        if key.startswith(prefix)
    }
    return Drawn(
        id=plot.id,
        figure=plot.figure,
        title=plot.title,
        note="Each server by the mean of its runs, rounded.",
        panels=[Panel(plot.id, "", histogram(counts, plot.axis, "servers"))] if counts else [],
        headings=(plot.axis, "servers"),
        rows=[(str(value), f"{count:g}") for value, count in counts.items()],
    )


def histogram(counts: Mapping[int, float], axis: str, unit: str) -> dict:
    """A bar for each value; `unit` is what the bars count."""
    bars = {
        "type": "bar",
        "name": unit,
        "x": list(counts),
        "y": list(counts.values()),
        "meta": {"colour": "measured"},
        "hovertemplate": "%{y:.4~g}",
    }
    layout = {
        "bargap": 0.1,
        "xaxis": {"title": axis_title(axis)},
        "yaxis": {"title": axis_title(unit)},
        "hovermode": "x unified",
        "showlegend": False,
    }
    return {"data": [bars], "layout": layout}
