"""Names that no two runs share. A name has the process of its run in it, so that the lab can
remove what a dead process left.
"""

import os
import re
import secrets
from pathlib import Path

PREFIX = "wlab"
_RUN = re.compile(rf"{PREFIX}-(\d+)-(\d+)-[0-9a-f]{{6}}(?:-.+)?")
_START_TIME_FIELD = 22


def new_run() -> str:
    """A name for a run of this process."""
    pid = os.getpid()
    return f"{PREFIX}-{pid}-{_start_ticks(pid)}-{secrets.token_hex(3)}"


def namespace(run: str, node: str) -> str:
    """The namespace of a node."""
    return f"{run}-{node}"


def is_stale(name: str) -> bool:
    """Whether a name is of a run whose process is gone. Other programs' names never are."""
    match = _RUN.fullmatch(name)
    return match is not None and _start_ticks(int(match[1])) != int(match[2])


def is_running(pid: int) -> bool:
    """Whether there is a process of this id that has not ended."""
    return _start_ticks(pid) is not None


def _start_ticks(pid: int) -> int | None:
    """When a process was started, in ticks since boot: with its id, what it alone has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name may hold spaces and parentheses; the state is the third field, after it.
    state, *_ = fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[_START_TIME_FIELD - 3])
