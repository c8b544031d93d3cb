"""Figures of runs: shown by a notebook, saved as a picture or a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windlass_lab.core.plots.saved_figure import SavedFigure
from windlass_lab.core.report.panel_page import Row
from windlass_lab.runs.panels import Runs, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

DEFAULT = ("cwnd", "queue")


@dataclass(frozen=True)
class Figure(SavedFigure):
    """A figure. A notebook shows it; `save` writes it."""

    title: str
    rows: Sequence[Row]
    runs: Runs

    def html(self) -> str:
        """The page, which needs no network."""
        from windlass_lab.runs.page import render

        return render(self.title, self.rows, self.runs)

    def curves(self) -> list[dict[str, object]]:
        """The curves, a mapping for each: `what`, `unit`, `run`, `name`, and as lists `time_s`
        and `value`, which holds until the next time.
        """
        return [
            {"what": row.id, "unit": row.unit, "run": panel.label, "name": trace["name"]}
            | {"time_s": list(trace["x"]), "value": list(trace["y"])}
            for row in self.rows
            for panel in row.panels
            for trace in panel.spec["data"]
        ]

    def drawing(self) -> Drawing:
        """The figure of matplotlib, to be changed before it is saved."""
        from windlass_lab.runs.picture import draw

        return draw(self.rows)


def compare(runs: Runs, what: Sequence[str] = DEFAULT) -> Figure:
    """A figure of runs side by side, each with its label. `what` are names of
    `windlass_lab.runs.panels.QUANTITIES`. Raises `LabError` for other names, and if no run has any
    of it.
    """
    return Figure(" and ".join(label for label, _ in runs), rows_of(runs, what), runs)
