"""Takes away what a run made: its processes, its namespaces with the devices in them, its scratch
directory.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from windlass_lab.testbed import names

NETNS = Path("/run/netns")
# In the environment of every program that a testbed starts.
RUN_VARIABLE = "WINDLASS_TESTBED"
_MNT_DETACH = 2
_GONE_S = 2.0


def sweep() -> list[str]:
    """Removes what runs left behind whose process is gone; the namespaces that it removed."""
    return _remove(names.is_stale)


def remove(run: str) -> None:
    """Removes all of one run."""
    _remove(lambda name: name == run or name.startswith(f"{run}-"))


def scratch(run: str) -> Path:
    """A directory for the time of a run."""
    return Path(tempfile.gettempdir(), run)


def _remove(ours: Callable[[str], bool]) -> list[str]:
    found = sorted(path for path in _listed(NETNS) if ours(path.name))
    _kill(_processes(ours, {_identity(path) for path in found}))
    for path in found:
        _remove_namespace(path)
    for path in _listed(Path(tempfile.gettempdir())):
        if ours(path.name) and _is_own(path):
            shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in found]


def _is_own(path: Path) -> bool:
    """Whether this user made it: anyone may make something in /tmp, and name it as they like."""
    try:
        return path.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _remove_namespace(path: Path) -> None:
    # Another lab may be sweeping as well, and a builder may have been stopped before it mounted.
    ctypes.CDLL(None).umount2(os.fsencode(path), _MNT_DETACH)
    path.unlink(missing_ok=True)


def _identity(path: Path) -> tuple[int, int] | None:
    """The identity of a namespace: its device and inode."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _processes(ours: Callable[[str], bool], namespaces: set) -> Iterator[int]:
    """Those in one of the namespaces, or started for a run wherever they are."""
    # The network of this process is no testbed's, whatever was (not) mounted at a name.
    namespaces = namespaces - {_identity(Path("/proc/self/ns/net")), None}
    for path in _listed(Path("/proc")):
        if not path.name.isdigit() or int(path.name) == os.getpid():
            continue
        run = _run_of(path)
        if _identity(path / "ns/net") in namespaces or (run and ours(run)):
            yield int(path.name)


def _run_of(process: Path) -> str:
    try:
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    mark = f"{RUN_VARIABLE}=".encode()
    return next((os.fsdecode(v[len(mark) :]) for v in variables if v.startswith(mark)), "")


def _kill(processes: Iterator[int]) -> None:
    killed = list(processes)
    for process in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    until = time.monotonic() + _GONE_S
    while time.monotonic() < until and any(names.is_running(process) for process in killed):
        time.sleep(0.01)
