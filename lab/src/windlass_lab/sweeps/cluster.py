"""Runs a study on the workers of a Dask cluster."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from windlass_lab.core.errors import LabError
from windlass_lab.sweeps.rows import program

if TYPE_CHECKING:
    from distributed import Client, Future

# How long a task should take: a scheduler spends about a millisecond on it.
_TASK_S = 0.5
_TASK_RUNS_MAX = 2000
# Tasks for each thread, so that none waits for the client.
_AHEAD = 3
# How long to wait for the scheduler, and for its first worker.
_PATIENCE_S = 30
# How often the client asks how many threads there are.
_THREADS_S = 2.0


class Point(Protocol):
    """A run of a study, or of an experiment of the lab's."""

    @property
    def run(self) -> int:
        """Its number, from 0."""


class Runner(Protocol):
    """Simulates the points of one kind. Workers get a copy."""

    def run(self, point: Any) -> dict:
        """The row of a point, with its number as `run`."""


@dataclass(frozen=True)
class Done:
    """The result of a task: its rows, and the time that it took."""

    rows: list[dict]
    seconds: float


def run_task(runner: Runner, points: Sequence[Point], expected: str) -> Done:
    """On a worker: runs some points. Raises `LabError` if its simulator is not `expected`."""
    if program() != expected:
        raise LabError(_refusal("a worker", program(), expected))
    began = time.monotonic()
    rows = [runner.run(point) for point in points]
    return Done(rows, time.monotonic() - began)


def run_on_cluster(
    runner: Runner, points: Iterator[Point], left: int, scheduler: str
) -> Iterator[list[dict]]:
    """Rows of the `left` points in the order in which they come. The tasks of a worker that is lost
    run on another one. Of several failures the first in the study's order is raised. Raises
    `LabError` if the scheduler does not answer, has no worker, or a worker has another simulator.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        needs = "pip install 'windlass-lab[cluster]'"
        raise LabError(f"--scheduler takes the package distributed: {needs}") from None
    with _connected(Client, scheduler) as client:
        _check_workers(client)
        tasks = _Tasks(client, runner, points, left)
        completed = as_completed(tasks.more(), loop=client.loop)
        for future in completed:
            yield from tasks.rows_of(future)
            for more in tasks.more():
                completed.add(more)
        tasks.raise_failure()


def _connected(client: type[Client], scheduler: str) -> Client:
    try:
        connected = client(scheduler, timeout=_PATIENCE_S, set_as_default=False)
        connected.wait_for_workers(1, timeout=_PATIENCE_S)
    except TimeoutError as error:
        raise LabError(f"--scheduler {scheduler}: {error}") from None
    except (OSError, ValueError) as error:
        raise LabError(f"--scheduler {scheduler}: cannot connect: {error}") from None
    return connected


def _check_workers(client: Client) -> None:
    """Refuses workers whose simulator is another one: their rows would not be the same."""
    expected = program()
    for worker, found in client.run(program, on_error="return").items():
        if isinstance(found, BaseException):
            raise LabError(f"the worker {worker} cannot run the simulator: {found}")
        if found != expected:
            raise LabError(_refusal(f"the worker {worker}", found, expected))


def _refusal(worker: str, found: str, expected: str) -> str:
    return (
        f"{worker} has another build of the simulator ({found[:12]}, here {expected[:12]}): "
        "install the same wheel everywhere"
    )


@dataclass
class _Tasks:
    """The tasks of a sweep, sized by what runs have cost so far."""

    client: Client
    runner: Runner
    points: Iterator[Point]
    left: int
    """Points that are in no task yet."""
    pending: dict[str, int] = field(default_factory=dict)
    """The first run of each task that is under way, by its key."""
    failures: dict[int, BaseException] = field(default_factory=dict)
    runs: int = 0
    seconds: float = 0.0
    threads: int = 0
    asked_at: float = float("-inf")

    def __post_init__(self) -> None:
        # Another sweep on the same scheduler has tasks of its own.
        self.name = f"sweep-{uuid.uuid4().hex}"

    def more(self) -> list[Future]:
        """Submits tasks until every thread has enough."""
        submitted: list[Future] = []
        while not self.failures and len(self.pending) < _AHEAD * self._threads():
            points = tuple(islice(self.points, self._size()))
            if not points:
                break
            self.left -= len(points)
            key = f"{self.name}-{points[0].run}"
            self.pending[key] = points[0].run
            submitted.append(
                self.client.submit(run_task, self.runner, points, program(), key=key, pure=False)
            )
        return submitted

    def rows_of(self, future: Future) -> Iterator[list[dict]]:
        """The rows of a task that has ended; none if it failed."""
        run = self.pending.pop(str(future.key))
        try:
            done = future.result()
        except Exception as error:
            self.failures[run] = error
            return
        self.runs += len(done.rows)
        self.seconds += done.seconds
        yield done.rows

    def raise_failure(self) -> None:
        """Raises the first failure in the study's order, if there is one."""
        if not self.failures:
            return
        first = self.failures[min(self.failures)]
        if isinstance(first, LabError):
            raise first
        raise LabError(f"run {min(self.failures)} and after: {first}") from first

    def _size(self) -> int:
        if not self.runs:
            return 1
        # Towards the end tasks become smaller, so that all threads end at the same time.
        share = self.left // (2 * self._threads())
        return max(1, min(int(_TASK_S * self.runs / self.seconds), share, _TASK_RUNS_MAX))

    def _threads(self) -> int:
        now = time.monotonic()
        if now - self.asked_at > _THREADS_S:
            self.asked_at = now
            # None while the last worker is gone: what is under way waits for the next one.
            self.threads = max(1, sum(self.client.nthreads().values()))
        return self.threads
