"""New-ECN in this machine's kernel for as long as a run of the lab needs it.

The name holds for all network namespaces, and for every process of this machine: what was loaded
before is used as it is. The lab unloads only what it loaded, once none of its runs uses it.
"""

import contextlib
import fcntl
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from windlass_lab.core.errors import LabError
from windlass_lab.testbed import check

NAME = "new_ecn"
# Shared by those who use it; who unloads it holds it alone.
_LOCK = Path("/run/windlass-lab-new_ecn.lock")
# Those of Hamann 1999, section 3.1, which the simulator has too.
_PARAMETERS = {"alpha_wnd": 0.9, "alpha_slp": 0.9, "beta": 16.0}

Progress = Callable[[str], None]


@contextlib.contextmanager
def in_kernel(windlass: Path, progress: Progress) -> Iterator[None]:
    """Loads New-ECN unless it is there, and unloads what it loaded.

    Raises `LabError` where it cannot be loaded, or is there with other parameters.
    """
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        loaded = _load(windlass, progress)
        try:
            yield
        finally:
            if loaded:
                _unload(windlass, lock, progress)


def _load(windlass: Path, progress: Progress) -> bool:
    """Whether it was not there before."""
    if NAME not in check.controllers():
        progress(f"kernel: {_output_of(windlass, 'load', 'new-ecn')}")
        return True
    loaded = json.loads(_output_of(windlass, "status", "--json"))
    found = next(
        (entry["parameters"] for entry in loaded["controllers"] if entry["name"] == NAME), None
    )
    if found != _PARAMETERS:
        raise LabError(
            f"kernel: {NAME} is there already, but not with the parameters of the paper: "
            "windlass cc status"
        )
    progress(f"kernel: {NAME} is loaded already, and stays")
    return False


def _unload(windlass: Path, lock: IO[str], progress: Progress) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        progress(f"kernel: {NAME} stays, another run uses it: windlass cc unload new-ecn")
        return
    try:
        progress(f"kernel: {_output_of(windlass, 'unload', 'new-ecn')}")
    except LabError as error:
        progress(str(error))


def _output_of(windlass: Path, *arguments: str) -> str:
    """The output of `windlass cc`. Its own process group keeps Ctrl-C from ending it halfway."""
    done = subprocess.run(
        [str(windlass), "cc", *arguments],
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise LabError(f"kernel: windlass cc {arguments[0]}: {lines[0]}")
    return done.stdout.strip()
