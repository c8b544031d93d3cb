"""Runs points on the cores of this machine."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from windlass_lab.runs.simulate import load_native
from windlass_lab.sweeps.rows import Runner
from windlass_lab.sweeps.study import Point

# Runs of one task: enough that handing it over costs little.
_CHUNK = 8
# Polars has a handler of SIGINT after which a wait without a timeout goes on, so that Python would
# handle Ctrl-C at the end of a task only.
_LOOK_S = 0.1
Take = Callable[[list[dict]], None]
"""Called with new rows."""
Tell = Callable[[float], None]
"""Called with how many of the runs whose rows are not taken yet are simulated: each by its part."""


@dataclass(frozen=True)
class _Part:
    """The result of a task: its rows, and the error that ended them, if it failed."""

    rows: list[dict]
    error: Exception | None = None


@dataclass
class _Pool:
    """The tasks of a sweep that are under way, and what they gave."""

    executor: ThreadPoolExecutor
    take: Take
    tell: Tell | None
    parts: dict[int, float] = field(default_factory=dict)
    """How much of each run whose row is not taken yet is simulated, written by the threads."""
    waiting: dict[Future[_Part], int] = field(default_factory=dict)
    """The first run of each task."""
    failed: dict[int, Exception] = field(default_factory=dict)

    def take_next(self) -> None:
        """Waits for a task, and takes the rows of all that have ended."""
        while not (done := wait(self.waiting, _LOOK_S, return_when=FIRST_COMPLETED).done):
            if self.tell:
                self.tell(sum(list(self.parts.values())))
        for future in done:
            self._take(future)

    def take_rest(self) -> None:
        """Takes the rows of the tasks that have begun, as they come to their ends."""
        for future in list(self.waiting):
            if future.cancel():
                del self.waiting[future]
        while self.waiting:
            self.take_next()

    def _take(self, future: Future[_Part]) -> None:
        part = future.result()
        run = self.waiting.pop(future)
        if part.error:
            self.failed[run] = part.error
        for row in part.rows:
            self.parts.pop(row["run"], None)
        if part.rows:
            self.take(part.rows)

    def submit(self, runner: Runner, points: Sequence[Point], stop: object) -> None:
        """Hands a task over."""
        future = self.executor.submit(_run_all, runner, points, stop, self.parts)
        self.waiting[future] = points[0].run


def run_points(
    runner: Runner, points: Iterator[Point], jobs: int, take: Take, tell: Tell | None = None
) -> None:
    """Calls `take` with the rows in the order in which they come, and `tell` meanwhile. Of several
    failures the first in the study's order is raised, whichever came first. An exception of this
    thread, such as `KeyboardInterrupt`, ends the runs that are under way; the rows before it are
    taken.
    """
    stop = load_native().Stop()
    chunks = _chunks(points)
    with ThreadPoolExecutor(jobs) as executor:
        pool = _Pool(executor, take, tell)
        try:
            while not pool.failed:
                while len(pool.waiting) < 2 * jobs and (chunk := next(chunks, None)):
                    pool.submit(runner, chunk, stop)
                if not pool.waiting:
                    return
                pool.take_next()
            # Tasks that have not begun are later in the order than the one that failed.
            pool.take_rest()
        except BaseException:
            stop.set()
            pool.take_rest()
            raise
        raise pool.failed[min(pool.failed)]


def _chunks(points: Iterator[Point]) -> Iterator[tuple[Point, ...]]:
    while chunk := tuple(islice(points, _CHUNK)):
        yield chunk


def _run_all(
    runner: Runner, points: Sequence[Point], stop: object, parts: dict[int, float]
) -> _Part:
    rows: list[dict] = []
    try:
        for point in points:
            rows.append(runner.run(point, stop, partial(parts.__setitem__, point.run)))
            parts[point.run] = 1.0
    except load_native().Stopped:
        return _Part(rows)
    except Exception as error:
        return _Part(rows, error)
    return _Part(rows)
