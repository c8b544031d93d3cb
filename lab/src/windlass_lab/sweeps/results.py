"""The results of a study: its table, plotted and shown in a notebook."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.pandas_frame import to_pandas
from windlass_lab.core.report.notebook_form import notebook_form
from windlass_lab.sweeps.figure import StudyFigure, study_figure
from windlass_lab.sweeps.shown import Kind
from windlass_lab.sweeps.table import frame_of

if TYPE_CHECKING:
    import pandas as pd

ROWS = "rows.jsonl"
RESULT = "rows.parquet"
KIND = "lab.sweep"


@dataclass(frozen=True)
class StudyResults:
    """The table of a study, and which of its columns are axes."""

    name: str
    frame: pl.DataFrame
    """A row per run (docs/reference/studies.md)."""
    axes: Sequence[str]
    """The columns of the axes, by their dotted keys of the scenario."""

    def plot(
        self,
        x: str | None = None,
        y: str | Sequence[str] | None = None,
        *,
        by: str | Sequence[str] | None = None,
        over: str | Sequence[str] = (),
        kind: Kind | None = None,
    ) -> StudyFigure:
        """A figure of the runs: `y` (figures of the summary) against the axis `x`, in groups by
        the values of the axes `by`. A name may be the end of a column's name or words in it:
        "rate", "fairness". Axes that are not named make panels, unless `over` names them: then
        means are taken over them, as they are over the seeds.

        `kind` is "lines" (means with their standard deviations, where x is a number), "box" (all
        runs, where it is a text) or "heat" (means as colours, with `by` upwards). Raises
        `LabError` for names that do not fit, and for more than can be read.
        """
        return study_figure(self.frame, self.axes, x, y, by=by, over=over, kind=kind)

    def to_pandas(self) -> pd.DataFrame:
        """The table for pandas. Raises `LabError` without the packages of the extra `pandas`."""
        return to_pandas(self.frame)

    def _repr_html_(self) -> str:
        from windlass_lab.sweeps.page import table_of

        axes = ", ".join(f"{axis} ({self.frame[axis].n_unique()})" for axis in self.axes)
        facts = [f"{len(self.frame):,} runs. Axes: {axes or 'none'}."]
        try:
            figure = self.plot()
        except LabError:
            # Without an axis, or with more than can be plotted at once, the table is shown.
            return notebook_form(self.name, facts) + self.frame._repr_html_()
        facts.append(figure.facts())
        return notebook_form(self.name, facts, table_of(figure), figure.drawing())


def read_study(folder: str | Path) -> StudyResults:
    """The results that `windlass-lab sweep` has written to `folder` so far. Raises `LabError` if it
    holds none.
    """
    folder = Path(folder)
    axes, rows = _lines(folder / ROWS)
    return StudyResults(folder.resolve().name, frame_of(rows, axes=axes), axes)


def holds_study(folder: Path) -> bool:
    """Whether a folder has results of a sweep."""
    return (folder / ROWS).exists()


def _lines(path: Path) -> tuple[list[str], list[dict]]:
    """The axes of the first line, and the rows without one that is half written."""
    try:
        text = path.read_text(encoding="utf-8")
        head, *rows = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    except OSError as error:
        raise LabError(f"{path}: cannot read: {error.strerror}") from None
    except ValueError:
        raise LabError(f"{path}: not the rows of a sweep") from None
    if not isinstance(head, dict) or head.get("kind") != KIND:
        raise LabError(f"{path}: not the rows of a sweep")
    if not rows:
        raise LabError(f"{path}: no run has ended yet")
    if "axes" not in head:
        raise LabError(f"{path}: written by an older version: remove the file and sweep again")
    return head["axes"], rows
