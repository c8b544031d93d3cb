"""A transfer measured by a process of its own: an order as JSON goes in, a result comes out."""

import json
import subprocess
import sys
from collections.abc import Mapping

from windlass_lab.errors import RunError


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
    with process.stdin as stream:
        stream.write(json.dumps(order))
    return process


def result(name: str, process: subprocess.Popen) -> dict:
    """What a process that has ended wrote. Raises `RunError`, with its last complaint."""
    with process.stdout as out, process.stderr as complaints:
        text, told = out.read(), complaints.read().strip()
    if process.returncode != 0:
        last = told.splitlines()[-1] if told else "no message"
        raise RunError(f"{name}: status {process.returncode}: {last}")
    return json.loads(text)
