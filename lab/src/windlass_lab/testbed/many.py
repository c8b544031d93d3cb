"""Several testbeds at a time. Each is a process: namespaces and threads do not go together."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.errors import RunError

_POLL_S = 0.1


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
    waiting = list(jobs)
    running: dict[Job, subprocess.Popen] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                job = waiting.pop(0)
                running[job] = subprocess.Popen(
                    job.command(), start_new_session=True, stdout=subprocess.DEVNULL
                )
            time.sleep(_POLL_S)
            for job in [j for j, process in running.items() if process.poll() is not None]:
                status = running.pop(job).returncode
                if status != 0:
                    raise RunError(f"testbed: the run for {job.out} failed (status {status})")
                done(job)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
