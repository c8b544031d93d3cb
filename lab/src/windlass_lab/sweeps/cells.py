"""The figures of a study's runs, by the axes of a plot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from windlass_lab.core.errors import LabError
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.sweeps.columns import Axis, Columns

# More than these cannot be read on one page, or distinguished in one panel.
_PANELS_MAX = 12
_GROUPS_MAX = 24


@dataclass(frozen=True)
class Group:
    """The runs of one curve: for each value of x their figures."""

    label: str
    cells: Sequence[tuple[object, Sequence[float]]]

    def means(self) -> list[tuple[object, Estimate]]:
        """The mean of each value of x, with the standard deviation between the runs."""
        return [(x, Estimate.of(figures, _mean)) for x, figures in self.cells]


@dataclass(frozen=True)
class Panel:
    """The groups of one set of axes; its label has the values of the axes that no other part of the
    plot shows.
    """

    label: str
    groups: Sequence[Group]


def _mean(figures: Sequence[float]) -> float:
    return sum(figures) / len(figures)


def panels_of(
    columns: Columns, y: str, x: Axis, by: Sequence[Axis], rest: Sequence[Axis]
) -> list[Panel]:
    """The figures `y` of all runs, in a panel for each combination of the values of `rest`, a group
    for each of `by` and a cell for each value of x. Raises `LabError` where these are too many.
    """
    _refuse_many(by, rest)
    cells: dict[tuple, list[float]] = {}
    shown = zip(*(axis.values for axis in (*rest, *by, x)), columns.figures(y), strict=True)
    for *place, figure in shown:
        if figure is not None:
            cells.setdefault(tuple(place), []).append(figure)
    panels = []
    for panel, panel_label in combinations_of(rest, always_named=True):
        groups = []
        for group, label in combinations_of(by):
            found = [(at, cells.get((*panel, *group, at), ())) for at in x.order]
            if filled := [(at, figures) for at, figures in found if figures]:
                groups.append(Group(label, filled))
        if groups:
            panels.append(Panel(panel_label, groups))
    return panels


def combinations_of(
    axes: Sequence[Axis], always_named: bool = False
) -> Iterator[tuple[tuple, str]]:
    """All combinations of the axes' values, each with its label. Numbers of several axes, or if
    they are `always_named`, have the axis's name before them.
    """
    is_named = always_named or len(axes) > 1
    for pairs in product(*(zip(axis.order, axis.labels, strict=True) for axis in axes)):
        named = zip(axes, pairs, strict=True)
        texts = [
            _named(axis, label) if is_named and axis.is_number else label
            for axis, (_, label) in named
        ]
        yield tuple(value for value, _ in pairs), ", ".join(texts)


def _named(axis: Axis, label: str) -> str:
    return f"{axis.title.partition(' (')[0]} {label}"


def _refuse_many(by: Sequence[Axis], rest: Sequence[Axis]) -> None:
    for axes, most, what in ((rest, _PANELS_MAX, "panels"), (by, _GROUPS_MAX, "curves")):
        number = 1
        for axis in axes:
            number *= len(axis.order)
        if number > most:
            names = ", ".join(axis.key for axis in axes)
            raise LabError(
                f"plot: {number} {what} for the values of {names}, at most {most} can be read: "
                "take means over some axes (--over NAME, over=NAME)"
            )
