"""The figure of a search: all trials, and the front of the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import polars as pl

from windlass_lab.core.plots.parts import Panel
from windlass_lab.core.plots.saved_figure import SavedFigure
from windlass_lab.core.report.panel_page import Row, Table, render_panels
from windlass_lab.core.text.numbers import figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Places in the palette.
_TRIALS, _FRONT = 7, 1
Step = Literal["pre", "post"]
"""Where a step has its value: up to a point or from it on."""
_SHAPES = {"pre": "vh", "post": "hv"}


@dataclass(frozen=True)
class FrontFigure(SavedFigure):
    """Each pair of objectives against each other; of a single objective, its values trial by
    trial.
    """

    trials: pl.DataFrame
    """As `SearchResult.trials`."""
    objectives: Mapping[str, str]

    def html(self) -> str:
        """The page, which needs no network."""
        rows = [self._row(number, pair) for number, pair in enumerate(self._pairs())]
        return render_panels("Search", [self.facts()], rows, self.table())

    def facts(self) -> str:
        """The number of trials and the objectives, in words."""
        goals = ", ".join(f"{key} ({goal})" for key, goal in self.objectives.items())
        refused, best = self.trials["refused"].count(), self.trials["best"].sum()
        return (
            f"{len(self.trials)} trials, {best} of them best, {refused} that do not count "
            f"(refused by the scenario, or without a figure). Objectives: {goals}"
        )

    def table(self) -> Table:
        """The best trials, by the first objective."""
        front = self.trials.filter("best").sort(next(iter(self.objectives)), "trial")
        columns = [column for column in front.columns if column not in ("best", "refused")]
        cells = [[_cell(row[column]) for column in columns] for row in front.to_dicts()]
        return Table("The best trials", columns, cells)

    def drawing(self) -> Drawing:
        """The figure of matplotlib, to be changed before it is saved."""
        from windlass_lab.searches.picture import draw

        return draw([(x, y, self._points(x, y), self._step(x)) for x, y in self._pairs()])

    def _step(self, x: str) -> Step:
        """Between two of the best trials the worse one's value of y holds: it can be had with any
        x that asks for no more.
        """
        return "pre" if self.objectives.get(x) == "max" else "post"

    def _pairs(self) -> list[tuple[str, str]]:
        names = list(self.objectives)
        return list(combinations(names, 2)) or [("trial", names[0])]

    def _points(self, x: str, y: str) -> dict[str, tuple[list, list]]:
        best = self.trials.filter("best").sort(x, "trial")
        others = self.trials.filter(~pl.col("best") & pl.col("refused").is_null())
        return {
            "other trials": (others[x].to_list(), others[y].to_list()),
            "best": (best[x].to_list(), best[y].to_list()),
        }

    def _row(self, number: int, pair: tuple[str, str]) -> Row:
        x, y = pair
        points = self._points(x, y)
        data = [
            _trace("other trials", *points["other trials"], "markers", _TRIALS),
            _trace("best", *points["best"], "lines+markers", _FRONT, self._step(x)),
        ]
        layout = {
            "xaxis": {"title": {"text": x}},
            "yaxis": {"title": {"text": y}},
            "hovermode": "closest",
            "showlegend": True,
        }
        panel = Panel(f"front-{number}", "trials", {"data": data, "layout": layout})
        return Row(f"front-{number}", f"{y} against {x}", "", [panel])


def _trace(
    name: str, x: Sequence, y: Sequence, mode: str, colour: int, step: Step = "post"
) -> dict:
    return {
        "type": "scatter",
        "mode": mode,
        "name": name,
        "x": x,
        "y": y,
        "line": {"width": 1.2, "dash": "dot", "shape": _SHAPES[step]},
        "meta": {"colour": colour},
        "hovertemplate": "%{x:,.4~g}, %{y:,.4~g}",
    }


def _cell(value: object) -> str:
    if isinstance(value, float):
        return figure(value)
    return str(value)
