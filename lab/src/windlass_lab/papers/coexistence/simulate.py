"""Runs cells in the simulator: by the binary on this machine, or on the workers of a cluster."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.core.binary import batch
from windlass_lab.core.errors import LabError, RunError
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.papers.coexistence import runs, scenario
from windlass_lab.papers.coexistence.plan import CONTENDERS, Cell, Path
from windlass_lab.papers.coexistence.runs import Run
from windlass_lab.runs.simulate import load_native
from windlass_lab.sweeps.cluster import run_on_cluster
from windlass_lab.sweeps.keep import kept

Wanted = Sequence[tuple[Cell, int]]
# Lines of progress of a long matrix.
_LINES = 200
_SHORTEST = Path("fifo1", 4, 5)


def unknown_controllers(request: Request) -> dict[str, str]:
    """The controllers that this simulator lacks, and what it says of each."""
    if request.scheduler:
        return _unknown_to_the_native_half()
    cells = [Cell(_SHORTEST, name, "") for name in CONTENDERS]
    requests = [document(cell, 1) | {"duration": "1us", "steady_from": "0s"} for cell in cells]
    found = batch.summaries(request.windlass.path, requests, len(requests), request.jobs)
    pairs = zip(CONTENDERS, found, strict=True)
    return {name: str(summary["error"]) for name, summary in pairs if "error" in summary}


def _unknown_to_the_native_half() -> dict[str, str]:
    found = {}
    for name in CONTENDERS:
        text = scenario.text(Cell(_SHORTEST, name, ""))
        try:
            load_native().check(name, text, [], None)
        except ValueError as error:
            found[name] = str(error)
    return found


def document(cell: Cell, seed: int) -> dict:
    """The scenario of a cell as the simulator takes it, with a seed."""
    return tomllib.loads(scenario.text(cell)) | {"seed": seed}


def simulate(wanted: Wanted, request: Request, store: RunLines[Run]) -> None:
    """Runs each cell with each seed that is wanted. Raises `RunError` where one fails."""
    for done, (cell, seed, figures) in enumerate(_figures(wanted, request), start=1):
        store.add(cell, seed, runs.read(cell.name, figures, len(cell.contenders)))
        if done == len(wanted) or done % max(1, len(wanted) // _LINES) == 0:
            request.progress(f"[{done}/{len(wanted)}] {cell.name}, seed {seed}")


def _figures(wanted: Wanted, request: Request) -> Iterator[tuple[Cell, int, Mapping]]:
    """The figures of each run, as they come."""
    if request.scheduler:
        yield from on_cluster(wanted, request.scheduler)
        return
    requests = (document(cell, seed) for cell, seed in wanted)
    found = batch.summaries(request.windlass.path, requests, len(wanted), request.jobs)
    for (cell, seed), summary in zip(wanted, found, strict=True):
        if "error" in summary:
            raise RunError(f"{cell.name}: {summary['error']}")
        yield cell, seed, kept(summary, runs.keys(len(cell.contenders)))


@dataclass(frozen=True)
class Point:
    """A run for a worker of the cluster: its place among those wanted, the scenario, and what is
    kept of its summary.
    """

    run: int
    seed: int
    text: str
    keep: Sequence[str]


@dataclass(frozen=True)
class Runner:
    """Simulates points on a worker."""

    def run(self, point: Point) -> dict:
        """The figures of a run, and its place."""
        native = load_native()
        try:
            summary, _ = native.simulate(
                "scenario", point.text, [], point.seed, None, "none", None, None
            )
        except ValueError as error:
            raise LabError(f"run {point.run}: {error}") from error
        return {"run": point.run} | kept(json.loads(summary), point.keep)


def on_cluster(wanted: Wanted, scheduler: str) -> Iterator[tuple[Cell, int, Mapping]]:
    """The figures of each run on the workers of a Dask scheduler, in the order in which they come.
    Raises `LabError` as `run_on_cluster` does.
    """
    points = (
        Point(number, seed, scenario.text(cell), runs.keys(len(cell.contenders)))
        for number, (cell, seed) in enumerate(wanted)
    )
    for rows in run_on_cluster(Runner(), points, len(wanted), scheduler):
        for row in rows:
            yield (*wanted[row["run"]], row)
