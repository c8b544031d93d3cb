"""Runs the binary `windlass` and reads what it writes. All that the lab knows of its command line
and file formats stands here and in `CaseResult.from_summary`.
"""

import csv
import json
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass_lab.errors import RunError

# The columns of a flow's time series that plots ask for; any of them may be absent.
FLOW_COLUMNS = ("cwnd_packets", "ssthresh_packets", "srtt_ms", "slope", "acked_packets")
_STDERR_LINES = 20


@dataclass(frozen=True, slots=True)
class FlowSeries:
    """The time series of a flow, one list a column; `None` where a row has no value."""

    name: str
    rtt_min_ms: float
    time_s: Sequence[float]
    columns: Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replicates are drawn."""

    replicates: int = 20
    jobs: int = 1
    seed: int = 1
    jitter_ms: int = 100


@dataclass(slots=True)
class Windlass:
    """The binary; `commands` keeps every command that was run, for the report."""

    path: Path
    commands: list[str] = field(default_factory=list)

    def version(self) -> str:
        """What `windlass --version` says."""
        return self._run(["--version"], record=False).strip()

    def summary(self, scenario: Path, sampling: Sampling) -> dict:
        """The summary of a scenario over replicates with jittered starts."""
        return self._run_json(
            [
                *("sim", "run", str(scenario), "--json"),
                *("--replicates", str(sampling.replicates), "--jobs", str(sampling.jobs)),
                *("--jitter", f"{sampling.jitter_ms}ms", "--seed", str(sampling.seed)),
            ]
        )

    def series(self, scenario: Path, seed: int) -> list[FlowSeries]:
        """The flows' time series of one run with the scenario's own start times."""
        with tempfile.TemporaryDirectory(prefix="windlass-lab-") as scratch:
            out = Path(scratch) / "run"
            self._run(["sim", "run", str(scenario), "--out", str(out), "--seed", str(seed)])
            return read_series(out)

    def simple_model(self, variant: str, steps: int, seeds: int, seed: int) -> dict:
        """The summary of the paper's simple model over `seeds` runs from `seed` on."""
        return self._run_json(
            [
                *("sim", "simple-model", "--variant", variant, "--steps", str(steps)),
                *("--seeds", str(seeds), "--seed", str(seed), "--json"),
            ]
        )

    def _run_json(self, arguments: Sequence[str]) -> dict:
        text = self._run(arguments)
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise RunError(f"{_shown(arguments)}: the output is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise RunError(f"{_shown(arguments)}: the output is not a JSON object")
        return value

    def _run(self, arguments: Sequence[str], record: bool = True) -> str:
        if record:
            self.commands.append(_shown(arguments))
        try:
            process = subprocess.Popen(
                [str(self.path), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise RunError(f"cannot run {self.path}: {error.strerror}") from error
        output, complaints = _wait(process)
        if process.returncode != 0:
            raise RunError(_failure(arguments, process.returncode, complaints))
        return output


def _wait(process: subprocess.Popen) -> tuple[str, str]:
    """Both streams of a process, which does not outlive an interruption."""
    try:
        return process.communicate()
    except BaseException:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _failure(arguments: Sequence[str], status: int, complaints: str) -> str:
    lines = complaints.strip().splitlines()[-_STDERR_LINES:]
    how = f"ended with status {status}" if status > 0 else f"was killed by signal {-status}"
    return "\n  ".join([f"{_shown(arguments)} {how}", *lines])


def _shown(arguments: Sequence[str]) -> str:
    return shlex.join(["windlass", *arguments])


def read_series(folder: Path) -> list[FlowSeries]:
    """The flows' series in a directory that `windlass sim run --out` wrote, in file order."""
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        flows = summary["flows"]
        return [_read_flow(folder / f"flow-{flow['name']}.csv", flow) for flow in flows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"cannot read the time series in {folder}: {error!r}") from error


def _read_flow(path: Path, flow: Mapping) -> FlowSeries:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if not reader.fieldnames or "time_s" not in reader.fieldnames:
            raise ValueError(f"{path.name} has no column time_s")
        names = [name for name in FLOW_COLUMNS if name in reader.fieldnames]
        times: list[float] = []
        columns: dict[str, list[float | None]] = {name: [] for name in names}
        for row in reader:
            times.append(float(row["time_s"]))
            for name in names:
                columns[name].append(float(row[name]) if row[name] else None)
    rtt = flow["rtt_min_ms"]
    rtt_ms = float(rtt["mean"]) if isinstance(rtt, Mapping) else float(rtt)
    return FlowSeries(flow["name"], rtt_ms, times, columns)
