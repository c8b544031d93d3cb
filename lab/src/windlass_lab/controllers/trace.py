"""Traces controllers in an emulated machine."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from windlass_lab.controllers.paths import draw
from windlass_lab.emulated.machine import prepare, run_module

# Those of Debian's kernels without tcp_lp, which is for the background; and New-ECN by BPF.
CONTROLLERS = (
    *("reno", "cubic", "bbr", "vegas", "westwood", "htcp", "illinois", "bic"),
    *("hybla", "scalable", "yeah", "veno", "nv", "highspeed", "dctcp", "cdg", "new-ecn"),
)
# For one run of one controller; some ten seconds are usual on an idle machine.
_RUN_S = 120


def trace(
    windlass: Path,
    *,
    seed: int,
    paths: int,
    far: bool,
    controllers: Sequence[str],
    kernel: str,
    tcp_ecn: int,
    out: Path,
    resume: bool,
) -> None:
    """Runs each controller on each path and writes what the probe prints to `out`.

    Raises `LabError` outside of the repository or where `out` has other runs, `RunError` where the
    machine fails.
    """
    prepare(out, kernel, tcp_ecn=tcp_ecn, resume=resume)
    wanted = [
        path
        for path in draw(seed, paths, far=far)
        if not all(_is_whole(out / f"{path.name}-{name}.json") for name in controllers)
    ]
    if not wanted:
        return
    plan = {
        "windlass": str(windlass),
        "out": str(out.resolve()),
        "controllers": list(controllers),
        "tcp_ecn": tcp_ecn,
        "paths": [asdict(path) for path in wanted],
    }
    limit_s = _RUN_S * len(controllers) * len(wanted)
    run_module("windlass_lab.controllers.guest", plan, out, kernel=kernel, limit_s=limit_s)


def _is_whole(file: Path) -> bool:
    try:
        json.loads(file.read_text())
    except (OSError, ValueError):
        return False
    return True
