"""Runs one program to its end and measures its cost."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


class BenchError(Exception):
    """A program that did not run, or did not print its figures."""


@dataclass(frozen=True)
class Cost:
    """Time and memory of one process, its start included."""

    cpu_s: float
    """User and system time of all its threads."""
    wall_s: float
    peak_rss_kib: int


def run(command: list[str]) -> tuple[Cost, bytes]:
    """The cost of `command` and its standard output."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as child:
        assert child.stdout
        output = child.stdout.read()
        # Only wait4 tells the use of this one child.
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise BenchError(f"{' '.join(command)} ended with status {child.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss), output


def bytes_in(folder: Path) -> int:
    """The size of all files under `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
