"""The paper's box plots, published beside measured, and its tables."""

from collections.abc import Mapping, Sequence
from statistics import median, quantiles

from windlass_lab.core.plots.parts import Drawn, Panel
from windlass_lab.core.text.numbers import NONE, figure
from windlass_lab.papers.ecn_proxy.plan import (
    DIRECTIONS,
    FILES,
    LABELS,
    LOADS,
    Test,
    configurations,
)
from windlass_lab.papers.ecn_proxy.published import published
from windlass_lab.papers.ecn_proxy.runs import Run

Runs = Mapping[str, Sequence[Run]]
Row = tuple[Test, Sequence[float], Sequence[float]]
_TRAFFIC = {True: "With cross traffic", False: "Without cross traffic"}
# Appendix B has 20 figures of each direction: by connections without and with cross traffic, then
# the same with an axis from zero, then the files with each axis.
_B_OF_A_DIRECTION = 20
_B_WITH_CROSS = 4
_B_FROM_ZERO = 8
_B_FILES = 17
# The figures of the text, which show three connections (sections 4.3.1 and 4.3.2).
_IN_TEXT = {
    ("download", False): "4.4",
    ("download", True): "4.5",
    ("upload", False): "4.6",
    ("upload", True): "4.7",
}
_IN_TEXT_LOAD = "3"
# The height of the axis over the highest whisker, and from how many values quartiles are.
_ROOM, _FEWEST = 1.12, 4


def numbers(direction: str, load: str, cross: bool) -> tuple[str, ...]:
    """The paper's figures that show these tests."""
    first = _B_OF_A_DIRECTION * DIRECTIONS.index(direction)
    if load == FILES:
        first += _B_FILES + 2 * cross
        return f"B.{first}", f"B.{first + 1}"
    first += 1 + LOADS.index(load) + _B_WITH_CROSS * cross
    in_text = [_IN_TEXT[direction, cross]] if load == _IN_TEXT_LOAD else []
    return (*in_text, f"B.{first}", f"B.{first + _B_FROM_ZERO}")


def rows(direction: str, load: str, runs: Runs, scale: float) -> list[Row]:
    """Test, published and measured seconds; the published ones of a whole test, times `scale`."""
    found: list[Row] = []
    for cross in (True, False):
        for name in configurations(load, cross):
            test = Test(direction, load, cross, name)
            theirs = [seconds * scale for seconds in published().get(test, ())]
            ours = [run.seconds for run in runs.get(test.name, ())]
            if ours:
                found.append((test, theirs, ours))
    return found


def draw(table: str, title: str, found: Sequence[Row], scale: float) -> Drawn:
    """A panel with and one without cross traffic; two boxes a configuration."""
    panels: list[Panel] = []
    for cross, label in _TRAFFIC.items():
        chosen = [row for row in found if row[0].cross == cross]
        if chosen:
            test = chosen[0][0]
            theirs = ", ".join(numbers(test.direction, test.load, cross))
            name = f"{table.replace('.', '-').lower()}-{len(panels)}"
            panels.append(Panel(name, f"{label} (the paper's Figures {theirs})", _spec(chosen)))
    shown = "" if scale == 1 else f" The published times are multiplied by {scale:g}, as the sizes."
    return Drawn(
        id=f"boxes-{table.replace('.', '-').lower()}",
        figure="",
        title=title,
        note="Boxes from quartile to quartile with the median; whiskers to the last run within "
        f"1.5 times that; a point is a run; ↑ names runs beyond the axis.{shown}",
        panels=panels,
        headings=("", "published, median", "measured, median", "measured, least to most"),
        rows=[_values(row) for row in found],
    )


def _spec(chosen: Sequence[Row]) -> dict:
    data = [
        _box("published", [(test, theirs) for test, theirs, _ in chosen]),
        _box("measured", [(test, ours) for test, _, ours in chosen]),
    ]
    samples = [values for _, theirs, ours in chosen for values in (theirs, ours) if values]
    top = _ROOM * max(upper_whisker(values) for values in samples)
    layout = {
        "boxmode": "group",
        "xaxis": {"type": "category"},
        "yaxis": {"title": {"text": "seconds"}, "range": [0, top]},
        "hovermode": "closest",
        "showlegend": True,
        "annotations": [_beyond(row, top) for row in chosen if _above(row, top)],
    }
    return {"data": [trace for trace in data if trace["y"]], "layout": layout}


def upper_whisker(values: Sequence[float]) -> float:
    """The last value within 1.5 times the quartiles' distance of the upper one."""
    if len(values) < _FEWEST:
        return max(values)
    low, _, high = quantiles(values, n=4, method="inclusive")
    return max(value for value in values if value <= high + 1.5 * (high - low))


def _above(row: Row, top: float) -> list[float]:
    _, theirs, ours = row
    return sorted(value for value in (*theirs, *ours) if value > top)


def _beyond(row: Row, top: float) -> dict:
    """One run far from the others would leave no height for the boxes: it is named instead."""
    above = _above(row, top)
    return {
        "x": _category(row[0]),
        "y": 1,
        "yref": "paper",
        "yanchor": "top",
        "text": "↑ " + ", ".join(f"{value:,.0f} s" for value in above),
        "showarrow": False,
    }


def _category(test: Test) -> str:
    return LABELS[test.configuration].replace(", ", ",<br>")


def _box(role: str, samples: Sequence[tuple[Test, Sequence[float]]]) -> dict:
    points = [
        (_category(test), round(seconds, 3)) for test, values in samples for seconds in values
    ]
    return {
        "type": "box",
        "name": role,
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "boxpoints": "all",
        "jitter": 0.4,
        "pointpos": 0,
        "marker": {"size": 4},
        "line": {"width": 1.4},
        "meta": {"colour": role},
        "hovertemplate": "%{y:,.1f} s",
    }


def _values(row: Row) -> tuple[str, ...]:
    test, theirs, ours = row
    name = f"{LABELS[test.configuration]}, {_TRAFFIC[test.cross].lower()}"
    published_ = figure(median(theirs)) if theirs else NONE
    return (name, published_, figure(median(ours)), f"{figure(min(ours))} to {figure(max(ours))}")


def table(number: str, found: Sequence[Row]) -> dict:
    """The paper's table: every configuration, median and spread of published and measured."""
    headings = (
        *("", "published", "least to most", "runs", "measured", "least to most", "runs"),
        "ratio",
    )
    return {
        "caption": f"Table {number}: completion time in seconds, medians",
        "headings": headings,
        "rows": [_row(row) for row in found],
        "open": True,
    }


def _row(row: Row) -> tuple[str, ...]:
    test, theirs, ours = row
    name = f"{LABELS[test.configuration]}, {_TRAFFIC[test.cross].lower()}"
    over = f"{median(ours) / median(theirs):.3f}" if theirs else NONE
    return (name, *_sample(theirs), *_sample(ours), over)


def _sample(values: Sequence[float]) -> tuple[str, str, str]:
    if not values:
        return NONE, NONE, "0"
    spread = f"{figure(min(values))} to {figure(max(values))}" if len(values) > 1 else NONE
    return figure(median(values)), spread, str(len(values))


def title(direction: str, load: str, scale: float) -> str:
    """The load, in words."""
    verb = {"download": "Downloads", "upload": "Uploads"}[direction]
    if load == FILES:
        counts = [Test(direction, load, cross, "").transfers(scale) for cross in (True, False)]
        return (
            f"{verb} of 2 MB, one after the other, {counts[0]} with and {counts[1]} without "
            "cross traffic"
        )
    cross, plain = (
        f"{Test(direction, load, with_cross, '').megabytes(scale):g} MB"
        for with_cross in (True, False)
    )
    connections = "1 connection" if load == "1" else f"{load} connections at a time"
    return f"{verb} by {connections}, {cross} each with and {plain} without cross traffic"
