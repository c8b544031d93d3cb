"""Runs points on the cores of this machine."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
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
    waiting: dict[Future[_Part], int] = field(default_factory=dict)
    """The first run of each task."""
    failed: dict[int, Exception] = field(default_factory=dict)

    def take_next(self) -> None:
        """Waits for a task, and takes the rows of all that have ended."""
        while not (done := wait(self.waiting, _LOOK_S, return_when=FIRST_COMPLETED).done):
            pass
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
        if part.rows:
            self.take(part.rows)


def run_points(runner: Runner, points: Iterator[Point], jobs: int, take: Take) -> None:
    """Calls `take` with the rows in the order in which they come. Of several failures the first in
    the study's order is raised, whichever came first. An exception of this thread, such as
    `KeyboardInterrupt`, ends the runs that are under way; the rows before it are taken.
    """
    stop = load_native().Stop()
    chunks = _chunks(points)
    with ThreadPoolExecutor(jobs) as executor:
        pool = _Pool(executor, take)
        try:
            while not pool.failed:
                while len(pool.waiting) < 2 * jobs and (chunk := next(chunks, None)):
                    future = executor.submit(_run_all, runner, chunk, stop)
                    pool.waiting[future] = chunk[0].run
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


def _run_all(runner: Runner, points: Sequence[Point], stop: object) -> _Part:
    rows: list[dict] = []
    try:
        for point in points:
            rows.append(runner.run(point, stop))
    except load_native().Stopped:
        return _Part(rows)
    except Exception as error:
        return _Part(rows, error)
    return _Part(rows)
