"""Traces controllers in an emulated machine."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from windlass_lab.controllers.paths import draw
from windlass_lab.core.errors import LabError, RunError

# Those of Debian's kernels without tcp_lp, which is for the background; and New-ECN by BPF.
CONTROLLERS = (
    *("reno", "cubic", "bbr", "vegas", "westwood", "htcp", "illinois", "bic"),
    *("hybla", "scalable", "yeah", "veno", "nv", "highspeed", "dctcp", "cdg", "new-ecn"),
)
# What all runs of a folder share.
ABOUT = "about.json"
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
    machine = _machine()
    if out.exists() and any(out.iterdir()) and not resume:
        raise LabError(f"--out: {out} is not empty; --resume goes on in it")
    out.mkdir(parents=True, exist_ok=True)
    _claim(out, {"kernel": kernel, "tcp_ecn": tcp_ecn})
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
    timeout_s = 300 + _RUN_S * len(controllers) * len(wanted)
    # The machine has a /tmp of its own, so the plan stands in the folder that it shares.
    with tempfile.NamedTemporaryFile("w", dir=out, prefix=".plan-", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        command = [
            *(str(machine), "--kernel", kernel, "--virtual-time", "--timeout", str(timeout_s)),
            *("--keep", str(out.resolve()), "--"),
            *("env", f"PYTHONPATH={_sources()}", sys.executable, "-B"),
            *("-m", "windlass_lab.controllers.guest", str(Path(file.name).resolve())),
        ]
        if subprocess.run(command, check=False).returncode != 0:
            raise RunError("the emulated machine failed")


def _claim(folder: Path, about: dict) -> None:
    """Says what the runs of a folder share. Raises `LabError` where it has others."""
    if (folder / ABOUT).exists():
        # Folders from before this setting had its default.
        stored = {"tcp_ecn": 2} | _about(folder)
        if stored != about:
            raise LabError(
                f"--out: {folder} has runs of Linux {stored['kernel']} with tcp_ecn "
                f"{stored['tcp_ecn']}"
            )
    (folder / ABOUT).write_text(json.dumps(about) + "\n")


def kernel_of(folder: Path) -> str:
    """The kernel whose controllers a folder has. Raises `LabError` where none is named."""
    return str(_about(folder)["kernel"])


def _about(folder: Path) -> dict:
    try:
        about = json.loads((folder / ABOUT).read_text())
        return {**about, "kernel": about["kernel"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LabError(f"{folder / ABOUT}: not of `controllers trace`: {error}") from error


def _is_whole(file: Path) -> bool:
    try:
        json.loads(file.read_text())
    except (OSError, ValueError):
        return False
    return True


def _sources() -> Path:
    return Path(__file__).resolve().parents[2]


def _machine() -> Path:
    machine = _sources().parents[1] / "scripts" / "with-kernel"
    if not machine.is_file():
        raise LabError(f"the emulated machine needs {machine}: run in the repository")
    return machine
