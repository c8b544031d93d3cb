"""Probes a kernel in the emulated machine."""

from collections.abc import Sequence
from pathlib import Path

from windlass_lab.emulated.machine import prepare, run_module

RUNS = "runs.jsonl"
# The settings are tried with the controller that most machines use.
_BASE = "cubic"
_RTT_MS = 40
# Some hundred probes of two or three seconds each, on a busy machine.
_LIMIT_S = 3600


def trace(windlass: Path, controllers: Sequence[str], *, kernel: str, out: Path) -> None:
    """Probes each controller, and CUBIC with each setting of TCP changed, and writes `RUNS`.

    Raises `LabError` outside of the repository or where `out` has other files, `RunError` where the
    machine fails.
    """
    prepare(out, kernel, resume=False)
    plan = {
        "windlass": str(windlass),
        "out": str((out / RUNS).resolve()),
        "controllers": list(controllers),
        "base": _BASE,
        "rtt_ms": _RTT_MS,
    }
    run_module("windlass_lab.kernels.guest", plan, out, kernel=kernel, limit_s=_LIMIT_S)
