"""Figures of studies: one figure of the runs against the values of an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from statistics import pstdev
from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.core.plots.saved_figure import SavedFigure
from windlass_lab.sweeps.cells import Panel, combinations_of, panels_of
from windlass_lab.sweeps.columns import Axis, Columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Kind = Literal["lines", "heat", "box"]
KINDS: Sequence[Kind] = get_args(Kind)
# Figures that are plotted where none is named, the first that the table has.
_USUAL = ("fairness_index.steady", "total_packets_per_s.steady")
# A log scale is for values that grow at least so much from the first to the last.
_LOG_SPAN = 10


@dataclass(frozen=True)
class StudyFigure(SavedFigure):
    """Figures of a study's runs: lines of means with their standard deviations, a heat map of
    means, or boxes of all runs.
    """

    kind: Kind
    x: Axis
    by: Sequence[Axis]
    means_over: Sequence[str]
    """The keys of the axes over whose values the means are taken, beside the seeds."""
    rows: Sequence[tuple[str, Sequence[Panel]]]
    """For each figure its column and its panels."""

    def html(self) -> str:
        """The page, which needs no network."""
        from windlass_lab.sweeps.page import render

        return render(self)

    def drawing(self) -> Drawing:
        """The figure of matplotlib, to be changed before it is saved."""
        from windlass_lab.sweeps.picture import draw

        return draw(self)

    @property
    def group_title(self) -> str:
        """The titles of the axes whose values are the groups."""
        return ", ".join(axis.title for axis in self.by)

    @property
    def group_labels(self) -> list[str]:
        """The labels of all groups, each once, in the order of their axes' values."""
        return [label for _, label in combinations_of(self.by)]

    def bounds(self, y: str) -> tuple[float, float]:
        """The least and the greatest mean of a figure, in all of its panels."""
        means = [point["mean"] for point in self.points() if point["y"] == y]
        return min(means), max(means)

    @property
    def has_log_axis(self) -> bool:
        """Whether the values of x grow by factors rather than by steps."""
        values = [value for value in self.x.order if isinstance(value, float)]
        if len(values) < 3 or len(values) < len(self.x.order) or values[0] <= 0:
            return False
        steps = [b - a for a, b in pairwise(values)]
        factors = [log(b / a) for a, b in pairwise(values)]
        uneven = [pstdev(found) * len(found) / sum(found) for found in (steps, factors)]
        return values[-1] >= _LOG_SPAN * values[0] and uneven[1] < uneven[0]

    def facts(self) -> str:
        """The columns, the kind of the plot and the number of runs behind each point, in words."""
        cells = [len(figures) for _, panels in self.rows for p in panels for figures in _of(p)]
        least, most = min(cells), max(cells)
        runs = f"{most} run{'s' if most > 1 else ''}"
        each = runs if least == most else f"{least} to {runs}"
        over = f", over all values of {', '.join(self.means_over)}" if self.means_over else ""
        shown = {
            "lines": "means and standard deviations",
            "heat": "means",
            "box": "medians, quartiles, and runs beyond 1.5 times their distance",
        }[self.kind]
        by = f", by {', '.join(axis.key for axis in self.by)}" if self.by else ""
        ys = " and ".join(y for y, _ in self.rows)
        return f"{ys} against {self.x.key}{by}: {shown} of {each} each{over}."

    def points(self) -> list[dict[str, Any]]:
        """The means, a mapping per point: `y` (the column), `panel`, `group`, `x`, `mean`, `sd`
        (the standard deviation between the runs) and `runs` (their number).
        """
        return [
            {"y": y, "panel": panel.label, "group": group.label, "x": x}
            | {"mean": mean.mean, "sd": mean.sd, "runs": mean.count}
            for y, panels in self.rows
            for panel in panels
            for group in panel.groups
            for x, mean in group.means()
        ]


def _of(panel: Panel) -> list[Sequence[float]]:
    return [figures for group in panel.groups for _, figures in group.cells]


def study_figure(
    frame: pl.DataFrame,
    axes: Sequence[str],
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    *,
    by: str | Sequence[str] | None = None,
    over: str | Sequence[str] = (),
    kind: Kind | None = None,
) -> StudyFigure:
    """A figure of a study's table, of which `axes` are columns. The names may be short
    (`Columns.find`), or left out. Raises `LabError` for names that do not fit, and for more panels
    or curves than can be read.
    """
    if kind is not None and kind not in KINDS:
        raise LabError(f"plot: kind={kind}: expected {', '.join(KINDS)}")
    columns = Columns(frame, axes)
    varied = [columns.axis(key) for key in axes if frame[key].n_unique() > 1]
    at = columns.axis(columns.find(x)) if x else _usual_axis(varied)
    others = [axis for axis in varied if axis.key != at.key]
    kind = kind or ("lines" if at.is_number else "box")
    groups = _groups_of(columns, by, others, kind)
    if kind == "heat" and len(groups) != 1:
        raise LabError("plot: a heat map takes one axis beside x: name it (--by, by=)")
    averaged = [columns.find(name) for name in _names(over)]
    taken = {axis.key for axis in groups} | set(averaged)
    rest = [axis for axis in others if axis.key not in taken]
    ys = [columns.find(name) for name in _names(y)] if y else [_usual(columns)]
    rows = [(key, panels_of(columns, key, at, groups, rest)) for key in ys]
    return StudyFigure(kind, at, groups, averaged, rows)


def _groups_of(
    columns: Columns, by: str | Sequence[str] | None, others: Sequence[Axis], kind: Kind
) -> Sequence[Axis]:
    """The axes that tell groups apart: those that are named, else the first one of texts, of a heat
    map any.
    """
    if by is not None:
        return [columns.axis(columns.find(name)) for name in _names(by)]
    texts = [axis for axis in others if not axis.is_number]
    return (texts or (others if kind == "heat" else []))[:1]


def _names(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


def _usual_axis(varied: Sequence[Axis]) -> Axis:
    """The axis x where none is named: the first one of numbers, else the first one."""
    choice = [axis for axis in varied if axis.is_number] or varied
    if not choice:
        raise LabError("plot: no axis of the study has several values: name x (--x, x=)")
    return choice[0]


def _usual(columns: Columns) -> str:
    """The figure that is plotted where none is named."""
    numbers = [
        name
        for name in columns.frame.columns
        if name not in ("run", "seed") and not name.startswith(tuple(columns.axes))
    ]
    found = [name for name in _USUAL if name in numbers] or numbers
    if not found:
        raise LabError("plot: the table has no figures")
    return found[0]
