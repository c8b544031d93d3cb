"""Runs transfers through sch_red in an emulated machine, and reads what the script there prints."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from windlass_lab.core.errors import LabError, RunError
from windlass_lab.core.pipeline.request import Progress
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.papers.ecn_proxy.plan import NATIVE, NEITHER, PROXY
from windlass_lab.papers.ecn_proxy.runs import Run
from windlass_lab.papers.ecn_proxy.sch_red import MEGABYTES, ThroughSchRed

# The host's time for one direction, all configurations; some seven minutes are usual at full size.
_TIMEOUT_S = 5400
_NAMES = {"none": NEITHER, "proxy": PROXY, "both": NATIVE}
_LINE = re.compile(r"(none|proxy|both) +(\d+) +([0-9.]+) s +\d+ marked")

Wanted = tuple[ThroughSchRed, int]


def measure_emulated(
    windlass: Path,
    scenarios: Path,
    wanted: Sequence[Wanted],
    scale: float,
    store: RunLines[Run],
    progress: Progress,
) -> None:
    """Makes the runs that are wanted. A machine runs all configurations of a direction: where one
    of them is missing, all are run again.

    Raises `LabError` outside of the repository, `RunError` where a machine fails.
    """
    if not wanted:
        return
    script = scenarios / "through-sch-red"
    machine = scenarios.parents[1] / "scripts" / "with-kernel"
    if not (script.is_file() and machine.is_file()):
        raise LabError(f"the emulated machine needs {script} and {machine}: run in the repository")

    def machine_of(each: Wanted) -> tuple[int, str]:
        return each[1], each[0].direction

    for (number, direction), tests in groupby(sorted(wanted, key=machine_of), machine_of):
        missing = {test for test, _ in tests}
        progress(f"an emulated machine, {direction}s, run {number}")
        command = _command(machine, script, windlass, direction, missing, scale)
        for test, run in _lines(command, direction):
            if test in missing:
                store.add(test, number, run)
                progress(f"{test.name}: {run.seconds:.1f} s")
                missing.discard(test)
        if missing:
            names = ", ".join(sorted(test.name for test in missing))
            raise RunError(f"the emulated machine ended without {names}")


def _command(
    machine: Path,
    script: Path,
    windlass: Path,
    direction: str,
    tests: set[ThroughSchRed],
    scale: float,
) -> list[str]:
    counts = sorted({test.load for test in tests})
    megabytes = max(1, round(MEGABYTES * scale))
    return [
        *(str(machine), "--virtual-time", "--timeout", str(_TIMEOUT_S), "--", str(script)),
        *(["--up"] if direction == "upload" else []),
        *("--windlass", str(windlass), "--megabytes", str(megabytes), *counts),
    ]


def _lines(command: Sequence[str], direction: str) -> Iterator[tuple[ThroughSchRed, Run]]:
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout and process.stderr
    try:
        for line in process.stdout:
            if found := read_line(line, direction):
                yield found
        complaint = process.stderr.read().strip()
        if process.wait() != 0:
            last = complaint.splitlines()[-1] if complaint else "no message"
            raise RunError(f"{command[0]}: status {process.returncode}: {last}")
    finally:
        # The machine is a process of the script's group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        process.stdout.close()
        process.stderr.close()


def read_line(line: str, direction: str) -> tuple[ThroughSchRed, Run] | None:
    """The test and the run of a line of the script; None for another line."""
    found = _LINE.match(line)
    if not found:
        return None
    name, count, seconds = found.groups()
    return ThroughSchRed(direction, count, _NAMES[name]), Run(float(seconds))
