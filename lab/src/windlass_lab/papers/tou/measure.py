"""The tests on this machine: testbeds side by side, each a process of its own."""

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from windlass_lab.core.errors import RunError
from windlass_lab.core.pipeline import child
from windlass_lab.papers.tou import topology
from windlass_lab.papers.tou.losses import Losses
from windlass_lab.papers.tou.plan import Test
from windlass_lab.papers.tou.runs import Run, Store, read_run
from windlass_lab.testbed import check

_POLL_S = 0.1
# Of a test's cost: above it, it is one of the fast ones.
_FAST = 0.2

Progress = Callable[[str], None]
Wanted = tuple[Test, int]


def measure(
    windlass: Path,
    wanted: Sequence[Wanted],
    scale: float,
    jobs: int,
    traced: int,
    store: Store,
    progress: Progress,
) -> None:
    """Runs each test with each seed that is wanted; of the seed `traced` the curves are kept.

    As many as `jobs` at a time of those that a link at its full rate keeps busy, and beside them
    as many of the slow ones as do not cost more. Raises `RunError` where one failed, when the
    others, which may have taken an hour, are done.
    """
    waiting, total = list(wanted), len(wanted)
    failed: list[RunError] = []
    running: dict[Wanted, subprocess.Popen] = {}
    try:
        while waiting or running:
            for each in _next(waiting, list(running), jobs):
                waiting.remove(each)
                running[each] = _start(each, scale, each[1] == traced, windlass)
            time.sleep(_POLL_S)
            for each in [e for e, process in running.items() if process.poll() is not None]:
                process, done = running.pop(each), total - len(waiting) - len(running)
                what = f"[{done}/{total}] {each[0].name}, seed {each[1]}"
                try:
                    run = _result(each[0], process)
                except RunError as error:
                    failed.append(error)
                    progress(f"{what}: {error}")
                    continue
                store.add(*each, run)
                progress(f"{what}: {run.seconds:.2f} s")
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    if failed:
        raise failed[0]


def require(tests: Sequence[Test]) -> None:
    """Raises `LabError`, in one line, where this machine lacks what the tests need."""
    for test in tests:
        found = topology.experiment(test, Losses((), ()))
        if test.contender.is_tou:
            check.require_programs(found)
        else:
            check.require(found)


def _next(waiting: Sequence[Wanted], running: Sequence[Wanted], jobs: int) -> list[Wanted]:
    """Those to start now. The fast and the slow ones have a budget each, so that neither waits
    for the other.
    """
    chosen = []
    for fast in (True, False):
        used = sum(test.cost for test, _ in running if (test.cost > _FAST) == fast)
        for each in (e for e in waiting if (e[0].cost > _FAST) == fast):
            if used and used + each[0].cost > jobs:
                break
            used += each[0].cost
            chosen.append(each)
    return chosen


def _start(each: Wanted, scale: float, traced: bool, windlass: Path) -> subprocess.Popen:
    test, seed = each
    order = {
        **asdict(test),
        "seed": seed,
        "scale": scale,
        "windlass": str(windlass),
        "traced": traced,
    }
    return child.start("windlass_lab.papers.tou.transfer", order)


def _result(test: Test, process: subprocess.Popen) -> Run:
    return read_run(**child.result(test.name, process))
