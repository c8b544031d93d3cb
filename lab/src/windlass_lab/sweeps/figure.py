"""Figures of studies: one figure of the runs against the values of an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.core.plots.saved_figure import SavedFigure
from windlass_lab.sweeps.cells import panels_of
from windlass_lab.sweeps.columns import Axis, Columns
from windlass_lab.sweeps.shown import KINDS, Kind, Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Figures that are plotted where none is named, the first that the table has.
_USUAL = ("fairness_index.steady", "total_packets_per_s.steady")


@dataclass(frozen=True)
class StudyFigure(Shown, SavedFigure):
    """A figure of a study. A notebook shows it; `save` writes it."""

    def html(self) -> str:
        """The page, which needs no network."""
        from windlass_lab.sweeps.page import render

        return render(self)

    def drawing(self) -> Drawing:
        """The figure of matplotlib, to be changed before it is saved."""
        from windlass_lab.sweeps.picture import draw

        return draw(self)


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
