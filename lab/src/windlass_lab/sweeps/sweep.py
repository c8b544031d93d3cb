"""Runs a study, on the cores of this machine or on a cluster."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.runs.simulate import load_native
from windlass_lab.sweeps.cluster import run_on_cluster
from windlass_lab.sweeps.rows import RowFile, Runner
from windlass_lab.sweeps.study import Point, Study, read

ROWS = "rows.jsonl"
RESULT = "rows.parquet"
# Runs of one task: enough that handing it over costs little, few enough that little is lost.
_CHUNK = 8

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

        With an output directory rows are written as they come, and `rows.parquet` at the end.
        Raises `LabError`; the rows so far stay.
        """
        load_native()
        file = RowFile(self.out / ROWS, self.study, self.resume) if self.out else None
        rows = list(file.rows) if file else []
        done = {row["run"] for row in rows}
        points = (point for point in self.study.points() if point.run not in done)
        left = len(self.study) - len(rows)
        try:
            for new in self._rows(points, left):
                rows += new
                if file:
                    file.append(new)
                if progress:
                    progress(len(rows), len(self.study))
        finally:
            if file:
                file.close()
        frame = frame_of(rows)
        if self.out:
            write_parquet(frame, self.out / RESULT)
        return frame

    def _rows(self, points: Iterator[Point], left: int) -> Iterator[list[dict]]:
        runner = Runner.of(self.study)
        if self.scheduler:
            return run_on_cluster(runner, points, left, self.scheduler)
        return run_points(runner, points, self.jobs)


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
    return Sweep(read(path), Path(out) if out else None, jobs or cores(), resume, scheduler)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def run_points(runner: Runner, points: Iterator[Point], jobs: int) -> Iterator[list[dict]]:
    """Rows in the order in which they come. Of several failures the first in the study's order is
    raised, whichever came first.
    """
    chunks = _chunks(points)
    with ThreadPoolExecutor(jobs) as pool:
        waiting: dict[Future[list[dict]], int] = {}
        failed: dict[int, BaseException] = {}
        try:
            while waiting or not failed:
                while len(waiting) < 2 * jobs and not failed and (chunk := next(chunks, None)):
                    waiting[pool.submit(_run_all, runner, chunk)] = chunk[0].run
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    run = waiting.pop(future)
                    if error := future.exception():
                        failed[run] = error
                    else:
                        yield future.result()
                if failed:
                    # What has not begun is later in the order than what failed.
                    waiting = {f: run for f, run in waiting.items() if not f.cancel()}
            raise failed[min(failed)]
        finally:
            pool.shutdown(cancel_futures=True)


def _chunks(points: Iterator[Point]) -> Iterator[tuple[Point, ...]]:
    while chunk := tuple(islice(points, _CHUNK)):
        yield chunk


def _run_all(runner: Runner, points: Sequence[Point]) -> list[dict]:
    return [runner.run(point) for point in points]


def frame_of(rows: Sequence[dict]) -> pl.DataFrame:
    """The rows in the study's order. A column with a fraction is one of fractions."""
    if not rows:
        raise LabError("the study has no runs")
    ordered = sorted(rows, key=lambda row: row["run"])
    return pl.DataFrame(ordered, infer_schema_length=None, strict=False)


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Writes the file whole, or leaves the one that was there."""
    part = path.with_name(f".{path.name}.part")
    try:
        frame.write_parquet(part)
        part.replace(path)
    except OSError as error:
        raise LabError(f"{path}: cannot write: {error.strerror}") from None
