"""Several processes at a time."""

import subprocess
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

_POLL_S = 0.1
J = TypeVar("J", bound=Hashable)
# The jobs to start now, of those that wait, beside those that run.
Scheduler = Callable[[Sequence[J], Sequence[J]], Sequence[J]]


def at_most(count: int) -> Scheduler:
    """A scheduler that keeps `count` jobs running, in their order."""
    return lambda waiting, running: waiting[: count - len(running)]


def run_all(
    jobs: Sequence[J],
    schedule: Scheduler[J],
    start: Callable[[J], subprocess.Popen],
    ended: Callable[[J, subprocess.Popen, int], bool],
) -> None:
    """Runs a process for each job.

    `ended` takes a job, its process, and how many jobs have ended by then; it returns whether the
    job runs again. If it raises, or this process is interrupted, the other processes are ended.
    """
    waiting, total = list(jobs), len(jobs)
    running: dict[J, subprocess.Popen] = {}
    try:
        while waiting or running:
            for job in schedule(waiting, list(running)):
                waiting.remove(job)
                running[job] = start(job)
            time.sleep(_POLL_S)
            for job in [job for job, process in running.items() if process.poll() is not None]:
                process = running.pop(job)
                if ended(job, process, total - len(waiting) - len(running)):
                    waiting.append(job)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
