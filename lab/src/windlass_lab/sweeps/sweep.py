"""Runs a study, on the cores of this machine or on a cluster."""

import os
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from windlass_lab.core.files.scalars import whole
from windlass_lab.sweeps.check import check
from windlass_lab.sweeps.cluster import run_on_cluster
from windlass_lab.sweeps.pool import Take, run_points
from windlass_lab.sweeps.rows import RowFile, Runner
from windlass_lab.sweeps.study import Study, read
from windlass_lab.sweeps.table import frame_of, write_parquet

ROWS = "rows.jsonl"
RESULT = "rows.parquet"

Progress = Callable[[int, int], None]
"""Called with the number of rows that are there, and of all."""


@dataclass(frozen=True)
class Sweep:
    """A study, ready to run."""

    study: Study
    out: Path | None
    """The directory of `rows.jsonl` and `rows.parquet`; None: rows are kept in memory alone."""
    jobs: int
    resume: bool
    scheduler: str | None = None
    """The address of a Dask scheduler whose workers run it; None: the cores of this machine."""

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

        try:
            self._run(runner, {row["run"] for row in rows}, take)
        finally:
            if file:
                file.close()
        frame = frame_of(rows)
        if self.out:
            write_parquet(frame, self.out / RESULT)
        return frame

    def _run(self, runner: Runner, done: Container[int], take: Take) -> None:
        points = (point for point in self.study.points() if point.run not in done)
        if not self.scheduler:
            run_points(runner, points, self.jobs, take)
            return
        left = sum(run not in done for run in range(len(self.study)))
        for rows in run_on_cluster(runner, points, left, self.scheduler):
            take(rows)


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
