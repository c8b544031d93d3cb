"""Several testbeds at a time. Each is a process: namespaces and threads do not go together."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.errors import RunError
from windlass_lab.core.pipeline import pool


@dataclass(frozen=True, slots=True)
class Job:
    """A run of the testbed in `file`, with its results in `out`; `time_s` instead of the file's."""

    file: Path
    out: Path
    time_s: float | None = None
    windlass: Path | None = None

    def command(self) -> list[str]:
        """The command line of the run."""
        command = [sys.executable, "-P", "-m", "windlass_lab", "testbed", "run", str(self.file)]
        command += ["--out", str(self.out)]
        if self.time_s is not None:
            command += ["--time", f"{self.time_s:g}"]
        if self.windlass is not None:
            command += ["--windlass", str(self.windlass)]
        return command


def run_all(jobs: Sequence[Job], at_once: int, done: Callable[[Job], None]) -> None:
    """Runs all jobs, `at_once` at a time, and calls `done` with each that has ended.

    When a run fails or this process is interrupted, it ends the others and removes their testbeds.
    Raises `RunError` for a run that fails.
    """

    def start(job: Job) -> subprocess.Popen:
        return subprocess.Popen(job.command(), start_new_session=True, stdout=subprocess.DEVNULL)

    def ended(job: Job, process: subprocess.Popen, _done: int) -> bool:
        if process.returncode != 0:
            status = process.returncode
            raise RunError(f"testbed: the run for {job.out} failed (status {status})")
        done(job)
        return False

    pool.run_all(jobs, pool.at_most(at_once), start, ended)
