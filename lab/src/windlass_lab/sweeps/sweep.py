"""Runs a study, on the cores of this machine or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from windlass_lab.core.files.scalars import whole
from windlass_lab.core.files.toml_value import toml_value
from windlass_lab.core.report.notebook_form import notebook_form
from windlass_lab.core.report.panel_page import Table
from windlass_lab.sweeps.check import check
from windlass_lab.sweeps.cluster import run_on_cluster
from windlass_lab.sweeps.figure import StudyFigure
from windlass_lab.sweeps.pool import Take, Tell, run_points
from windlass_lab.sweeps.results import RESULT, ROWS, StudyResults
from windlass_lab.sweeps.rows import RowFile, Runner
from windlass_lab.sweeps.shown import Kind
from windlass_lab.sweeps.study import Study, read
from windlass_lab.sweeps.table import frame_of, write_parquet

if TYPE_CHECKING:
    import pandas as pd

# Values of an axis that a notebook shows.
_BRIEF = 6

Progress = Callable[[float, int], None]
"""Called with how many runs are simulated, those under way by their part, and of how many."""


@dataclass
class Sweep:
    """A study: ready to run, and with its results once it has run. A notebook shows it."""

    study: Study
    out: Path | None
    """The directory of `rows.jsonl` and `rows.parquet`; None: rows are kept in memory alone."""
    jobs: int
    resume: bool
    scheduler: str | None = None
    """The address of a Dask scheduler whose workers run it; None: the cores of this machine."""
    _results: StudyResults | None = field(default=None, init=False, repr=False, compare=False)

    def collect(self, progress: Progress | None = None) -> pl.DataFrame:
        """Runs what is missing, and returns a row per run, in the study's order: `run`, `seed`, a
        column per axis, and what is kept. The same study gives the same rows, whatever ran them.

        With an output directory rows are written as they come, and `rows.parquet` at the end. A
        study that cannot be run is refused before the first run, and leaves nothing behind. Raises
        `LabError`, and `KeyboardInterrupt` after Ctrl-C; the rows so far stay.
        """
        runner = Runner.of(self.study)
        check(self.study, runner)
        file = RowFile(self.out / ROWS, self.study, self.resume) if self.out else None
        rows = list(file.rows) if file else []

        def take(new: list[dict]) -> None:
            if file:
                file.append(new)
            rows.extend(new)
            if progress:
                progress(len(rows), len(self.study))

        def tell(part: float) -> None:
            if progress:
                progress(len(rows) + part, len(self.study))

        try:
            self._run(runner, {row["run"] for row in rows}, take, tell)
        finally:
            if file:
                file.close()
        axes = list(self.study.axes)
        self._results = StudyResults(self.study.path.stem, frame_of(rows, axes=axes), axes)
        if self.out:
            write_parquet(self._results.frame, self.out / RESULT)
        return self._results.frame

    @property
    def results(self) -> StudyResults:
        """The results, which `plot` and `to_pandas` have, too. Runs the study if `collect` has not.
        Raises as `collect` does.
        """
        if self._results is None:
            self.collect()
        assert self._results is not None
        return self._results

    def plot(
        self,
        x: str | None = None,
        y: str | Sequence[str] | None = None,
        *,
        by: str | Sequence[str] | None = None,
        over: str | Sequence[str] = (),
        kind: Kind | None = None,
    ) -> StudyFigure:
        """A figure of the results, as `StudyResults.plot` makes it."""
        return self.results.plot(x, y, by=by, over=over, kind=kind)

    def to_pandas(self) -> pd.DataFrame:
        """The table for pandas. Raises `LabError` without the packages of the extra `pandas`."""
        return self.results.to_pandas()

    def _repr_html_(self) -> str:
        if self._results is not None:
            return self._results._repr_html_()
        axes = [[key, str(len(values)), _brief(values)] for key, values in self.study.axes.items()]
        table = Table("Axes", ["Axis", "Values", ""], axes)
        facts = [f"{len(self.study):,} runs of {self.study.scenario.name}, which collect() makes."]
        return notebook_form(self.study.path.stem, facts, table)

    def _run(self, runner: Runner, done: Container[int], take: Take, tell: Tell) -> None:
        points = (point for point in self.study.points() if point.run not in done)
        if not self.scheduler:
            run_points(runner, points, self.jobs, take, tell)
            return
        left = sum(run not in done for run in range(len(self.study)))
        for rows in run_on_cluster(runner, points, left, self.scheduler):
            take(rows)


def _brief(values: Sequence[object]) -> str:
    """Some of an axis's values."""
    texts = [value if isinstance(value, str) else toml_value(value) for value in values]
    return ", ".join(texts if len(texts) <= _BRIEF else [*texts[: _BRIEF - 1], "…", texts[-1]])


def sweep(
    path: str | Path,
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
    resume: bool = False,
    scheduler: str | None = None,
) -> Sweep:
    """The sweep of a study file (docs/reference/studies.md). `jobs` are runs at the same time; the
    default is the number of cores. With `resume`, the rows that `out` holds are not run again. With
    the address of a Dask `scheduler`, such as "tcp://host:8786", its workers run the study. Raises
    `LabError` for one that cannot be run.
    """
    return Sweep(read(path), Path(out) if out else None, jobs_of(jobs), resume, scheduler)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def jobs_of(jobs: int | None) -> int:
    """The number of runs at the same time; by default the number of cores. Raises `LabError`."""
    return cores() if jobs is None else whole("jobs", jobs, 1)
