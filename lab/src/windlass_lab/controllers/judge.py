"""Verdicts of the probe on traces: a confusion matrix, and the samples of a library."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.errors import LabError, RunError
from windlass_lab.emulated.machine import kernel_of

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """The verdict of the probe on a run: the controllers that it may be; none: unknown."""

    kernel: str
    path: str
    controller: str
    found: tuple[str, ...]
    confidence: float
    why: str | None
    rtt_ms: float
    parts: list[dict]

    @property
    def is_right(self) -> bool:
        """The controller is among those found."""
        return self.controller in self.found


def read_verdicts(windlass: Path, folders: Sequence[Path], library: Path | None) -> list[Verdict]:
    """The verdicts on the runs of folders. Raises `LabError` where there is none."""
    files = sorted(file for folder in folders for file in folder.glob("[!.]*-*.json"))
    if not files:
        raise LabError(f"{folders[0]}: no runs of `windlass-lab controllers trace`")
    kernels = {folder: kernel_of(folder) for folder in folders}
    command = [str(windlass), "probe", "judge", "--json"]
    if library is not None:
        command += ["--library", str(library)]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RunError(f"windlass probe judge: {done.stderr.strip()}")
    lines = map(json.loads, done.stdout.splitlines())
    return [_verdict(line, kernels[Path(line["file"]).parent]) for line in lines]


def _verdict(line: dict, kernel: str) -> Verdict:
    path, controller = Path(line["file"]).stem.split("-", 1)
    found = line["controller"]
    return Verdict(
        kernel=kernel,
        path=path,
        controller=controller,
        found=tuple(found["controllers"]),
        confidence=found["confidence"],
        why=found["why"],
        rtt_ms=found["rtt_ms"],
        parts=found["signature"]["parts"],
    )


def samples(verdicts: Sequence[Verdict]) -> Iterator[dict]:
    """The samples of a library: the signatures that were seen whole."""
    for verdict in verdicts:
        if verdict.parts:
            yield {
                "controller": verdict.controller,
                "rtt_ms": verdict.rtt_ms,
                "source": f"Linux {verdict.kernel}, path {verdict.path}",
                "parts": [
                    {"show": part["show"], "logs": [log and round(log, 4) for log in part["logs"]]}
                    for part in verdict.parts
                ],
            }


def summary(verdicts: Sequence[Verdict]) -> dict:
    """Counts for each controller, and over all: right, wrong, unknown, and the macro average."""
    names = sorted({verdict.controller for verdict in verdicts})
    rows = {name: _row([v for v in verdicts if v.controller == name]) for name in names}
    wrong = sum(1 for v in verdicts if v.found and not v.is_right)
    return {
        "schema": 1,
        "kind": "lab.controllers",
        "runs": len(verdicts),
        "macro_average": sum(row["right"] / row["runs"] for row in rows.values()) / len(rows),
        "least": min(row["right"] / row["runs"] for row in rows.values()),
        "wrong": wrong / len(verdicts),
        "controllers": rows,
    }


def _row(verdicts: Sequence[Verdict]) -> dict:
    found = Counter(" or ".join(v.found) or UNKNOWN for v in verdicts)
    return {
        "runs": len(verdicts),
        "right": sum(v.is_right for v in verdicts),
        "alone": sum(v.is_right and len(v.found) == 1 for v in verdicts),
        "unknown": sum(not v.found for v in verdicts),
        "found": dict(found.most_common()),
        "why_unknown": dict(Counter(v.why for v in verdicts if not v.found).most_common()),
    }


def table(found: dict) -> str:
    """The summary for people: a row for each controller with what it was taken for."""
    lines = [f"{'controller':12} {'right':>9}  taken for"]
    for name, row in found["controllers"].items():
        taken = ", ".join(f"{count} {label}" for label, count in row["found"].items())
        lines.append(f"{name:12} {row['right']:>4} of {row['runs']:<2}  {taken}")
    lines.append(
        f"macro average {found['macro_average']:.3f}, least {found['least']:.2f}, "
        f"wrong {found['wrong']:.3f}, of {found['runs']} runs"
    )
    return "\n".join(lines)
