"""A transfer measured by a process of its own: an order as JSON goes in, a result comes out."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from windlass_lab.core.errors import LabError, RunError


def start(module: str, order: Mapping) -> subprocess.Popen:
    """Starts a module of the lab and gives it its order."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ctrl-C is for this process, which ends the others.
        start_new_session=True,
    )
    assert process.stdin
    with process.stdin as stream:
        stream.write(json.dumps(order))
    return process


def result(name: str, process: subprocess.Popen) -> dict:
    """The result of a process that has ended. Raises `RunError` with its last error message."""
    assert process.stdout and process.stderr
    with process.stdout as out, process.stderr as complaints:
        text, printed = out.read(), complaints.read().strip()
    if process.returncode != 0:
        last = printed.splitlines()[-1] if printed else "no message"
        raise RunError(f"{name}: status {process.returncode}: {last}")
    return json.loads(text)


def obey(measure: Callable[[dict], Any]) -> int:
    """The main function of such a process: reads its order, measures, writes the result, a
    dataclass. Returns the exit status: 1, after a line on standard error, if that fails. On
    SIGTERM `measure` removes its network, as it does after an error.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        run = measure(json.load(sys.stdin))
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(asdict(run)))
    return 0
