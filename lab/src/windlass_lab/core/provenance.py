"""Where a result was made: the commit of the lab and the machine."""

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

_HERE = Path(__file__).resolve()
# This file in the repository.
_IN_REPOSITORY = Path("lab/src/windlass_lab/core") / _HERE.name


def provenance() -> dict:
    """The keys of a result document that say where it was made."""
    return {"commit": commit(), "machine": machine()}


def commit() -> str | None:
    """The commit that the lab runs from, with `-dirty` if tracked files differ from it; None for an
    installed lab.
    """
    top = _git("rev-parse", "--show-toplevel")
    if top is None or Path(top) / _IN_REPOSITORY != _HERE:
        return None
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return f"{_git('rev-parse', 'HEAD')}{'-dirty' if changed else ''}"


def machine() -> dict[str, str | int]:
    """Kernel, architecture, processor and number of cores."""
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
    }


def in_words(document: Mapping) -> str:
    """Commit and machine of a result document in a line; empty for a document without them."""
    if "machine" not in document:
        return ""
    of, at = document["machine"], document["commit"]
    where = f"Linux {of['kernel']}, {of['cores']} cores of {of['processor']}"
    return f"Commit {at}; {where}." if at else f"{where}."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")


def _git(*arguments: str) -> str | None:
    command = ["git", "-C", str(_HERE.parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
