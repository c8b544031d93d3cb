"""Runs a module of the lab in the emulated machine."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from windlass_lab.core.errors import LabError, RunError

# The file with the settings that all runs of a folder share.
ABOUT = "about.json"
# For the boot, on a busy machine.
_BOOT_S = 300


def prepare(out: Path, kernel: str, *, tcp_ecn: int = 2, resume: bool) -> None:
    """Makes the folder for runs of one kernel and `net.ipv4.tcp_ecn`, which `ABOUT` keeps there.

    Raises `LabError` where `out` has other runs.
    """
    if out.exists() and any(out.iterdir()) and not resume:
        raise LabError(f"--out: {out} is not empty; --resume goes on in it")
    out.mkdir(parents=True, exist_ok=True)
    about = {"kernel": kernel, "tcp_ecn": tcp_ecn}
    if (out / ABOUT).exists():
        # Folders from before this setting had its default.
        stored = {"tcp_ecn": 2} | _about(out)
        if stored != about:
            raise LabError(
                f"--out: {out} has runs of Linux {stored['kernel']} with tcp_ecn "
                f"{stored['tcp_ecn']}"
            )
    (out / ABOUT).write_text(json.dumps(about) + "\n")


def kernel_of(folder: Path) -> str:
    """The kernel that the runs of a folder were made on. Raises `LabError` where none is named."""
    return str(_about(folder)["kernel"])


def _about(folder: Path) -> dict:
    try:
        about = json.loads((folder / ABOUT).read_text())
        return {**about, "kernel": about["kernel"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LabError(f"{folder / ABOUT}: not a folder of runs: {error}") from error


def run_module(module: str, plan: dict, out: Path, *, kernel: str, limit_s: int) -> None:
    """Runs `python -m MODULE PLAN` in the machine, as root and with `out` to write to.

    The machine has one processor and a clock of its own, on which idle time passes at once. Raises
    `LabError` outside of the repository, `RunError` where the machine fails or takes longer than
    `limit_s` beyond its boot.
    """
    machine = _sources().parents[1] / "scripts" / "with-kernel"
    if not machine.is_file():
        raise LabError(f"the emulated machine needs {machine}: run in the repository")
    # The machine has a /tmp of its own, so the plan stands in the folder that it shares.
    with tempfile.NamedTemporaryFile("w", dir=out, prefix=".plan-", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        command = [
            *(str(machine), "--kernel", kernel, "--virtual-time"),
            *("--timeout", str(_BOOT_S + limit_s), "--keep", str(out.resolve()), "--"),
            *("env", f"PYTHONPATH={_sources()}", sys.executable, "-B"),
            *("-m", module, str(Path(file.name).resolve())),
        ]
        if subprocess.run(command, check=False).returncode != 0:
            raise RunError("the emulated machine failed")


def _sources() -> Path:
    return Path(__file__).resolve().parents[2]
