"""Runs the binary `windlass` and reads what it writes. All that the lab knows of its command line
and file formats stands here and in `CaseResult.from_summary`.
"""

import csv
import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass_lab.core.errors import LabError, RunError
from windlass_lab.core.files.toml_value import toml_value
from windlass_lab.core.statistics.derive import enriched
from windlass_lab.core.statistics.estimate import pool

# The columns of a flow's and of a queue's time series.
FLOW_COLUMNS = ("cwnd_packets", "ssthresh_packets", "srtt_ms", "slope", "acked_packets")
QUEUE_COLUMNS = ("queue_packets", "average_queue")
BOTTLENECK = "bottleneck"
# The kind of document that a simulated run has as its summary.
SUMMARY_KIND = "sim.run"
_STDERR_LINES = 20


@dataclass(frozen=True, slots=True)
class Series:
    """The time series of a flow, or of the bottleneck's queue (which has no RTT).

    One list a column; `None` where a row has no value.
    """

    name: str
    rtt_min_ms: float | None
    time_s: Sequence[float]
    columns: Mapping[str, Sequence[float | None]]
    controller: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario file and the keys that are replaced in it, by dotted path."""

    scenario: Path
    overrides: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replicates are drawn. With `brief`, a case on which no exit status depends has one."""

    replicates: int = 20
    jobs: int = 1
    seed: int = 1
    jitter_ms: int = 100
    brief: bool = False


@dataclass(slots=True)
class Windlass:
    """The binary; `commands` keeps every command that was run, for the report."""

    path: Path
    commands: list[str] = field(default_factory=list)

    def version(self) -> str:
        """The output of `windlass --version`."""
        return self._run(["--version"], record=False).strip()

    def require_name(self) -> None:
        """Raises `LabError` unless the binary calls itself windlass."""
        try:
            version = self.version()
        except RunError as error:
            raise LabError(f"{self.path} is not the binary windlass: {error}") from error
        if not re.match(r"windlass \d", version):
            shown = repr(version.splitlines()[0]) if version else "nothing"
            raise LabError(
                f"{self.path} is not the binary windlass: for --version it prints {shown}"
            )

    def summary(self, run: Run, sampling: Sampling) -> dict:
        """The summary of a scenario over replicates with jittered starts.

        They are the lines of one `sim batch`, since some figures are to be had of a single run
        only; means and deviations are those of `sim run --replicates`, which stands in `commands`.
        """
        jitter = f"{sampling.jitter_ms}ms"
        seeds = range(sampling.seed, sampling.seed + sampling.replicates)
        requests = [
            {"file": str(run.scenario), "set": dict(run.overrides), "seed": seed, "jitter": jitter}
            for seed in seeds
        ]
        self.commands.append(
            _shown(
                [
                    *("sim", "run", str(run.scenario), *_sets(run.overrides)),
                    *("--replicates", str(sampling.replicates)),
                    *("--jitter", jitter, "--seed", str(sampling.seed)),
                ]
            )
        )
        return pool([enriched(summary) for summary in self._batch(requests, sampling.jobs)])

    def _batch(self, requests: Sequence[Mapping], jobs: int) -> list[dict]:
        arguments = ["sim", "batch", "--jobs", str(jobs), "-"]
        lines = "".join(f"{json.dumps(request)}\n" for request in requests)
        summaries = self._run_lines(arguments, lines)
        if len(summaries) != len(requests):
            raise RunError(
                f"{_shown(arguments)}: {len(summaries)} results of {len(requests)} requests"
            )
        if any(summary.get("kind") != SUMMARY_KIND for summary in summaries):
            raise RunError(
                f"{self.path} is another version than this lab: its summaries are not of the kind "
                f"{SUMMARY_KIND}\n  hint: `make build` builds the binary of this tree"
            )
        return summaries

    def series(self, run: Run, seed: int, columns: Sequence[str]) -> list[Series]:
        """Time series of one run with the scenario's own start times: every flow's, and the
        bottleneck's where a column is of its queue.
        """
        with tempfile.TemporaryDirectory(prefix="windlass-lab-") as scratch:
            out = Path(scratch) / "run"
            # Series of queues are most of the output.
            some = () if set(columns) & set(QUEUE_COLUMNS) else ("--flows-only",)
            how = (*_sets(run.overrides), *some, "--out", str(out), "--seed", str(seed))
            self._run(["sim", "run", str(run.scenario), *how])
            return read_series(out, columns)

    def simple_model(self, variant: str, steps: int, seeds: int, seed: int) -> dict:
        """The summary of the paper's simple model over `seeds` runs from `seed` on, with the
        `series` of the first.
        """
        arguments = [
            *("sim", "simple-model", "--variant", variant, "--steps", str(steps)),
            *("--seeds", str(seeds), "--seed", str(seed), "--json", "--series"),
        ]
        self.commands.append(_shown(arguments))
        return self._run_lines(arguments, "", whole=True)[0]

    def cycle_model(self, arguments: Sequence[str], seed: int) -> dict:
        """The summary of the cycle model, which is one and not a mean over replicates."""
        command = ["sim", "cycle-model", *arguments, "--seed", str(seed), "--json"]
        self.commands.append(_shown(command))
        return self._run_lines(command, "", whole=True)[0] | {"replicates": 1}

    def _run_lines(self, arguments: Sequence[str], given: str, whole: bool = False) -> list[dict]:
        """The JSON objects that it prints: one a line, or one in all (`whole`)."""
        text = self._run(arguments, given, record=False)
        try:
            values = [json.loads(part) for part in ([text] if whole else text.splitlines())]
        except json.JSONDecodeError as error:
            raise RunError(f"{_shown(arguments)}: the output is not JSON: {error}") from error
        if not all(isinstance(value, dict) for value in values):
            raise RunError(f"{_shown(arguments)}: the output is not a JSON object")
        return values

    def _run(self, arguments: Sequence[str], given: str = "", record: bool = True) -> str:
        if record:
            self.commands.append(_shown(arguments))
        try:
            process = subprocess.Popen(
                [str(self.path), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise RunError(f"cannot run {self.path}: {error.strerror}") from error
        output, complaints = _wait(process, given)
        if process.returncode != 0:
            complaints += "\n".join(line for line in output.splitlines() if '"error"' in line)
            raise RunError(_failure(arguments, process.returncode, complaints))
        return output


def _wait(process: subprocess.Popen, given: str) -> tuple[str, str]:
    """Both streams of a process, which does not outlive an interruption."""
    try:
        return process.communicate(given)
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


def _sets(overrides: Mapping[str, object]) -> list[str]:
    return [word for key, value in overrides.items() for word in ("--set", f"{key}={_toml(value)}")]


def _toml(value: object) -> str:
    # A text needs no quotes there.
    return value if isinstance(value, str) else toml_value(value)


def read_series(folder: Path, columns: Sequence[str]) -> list[Series]:
    """The series in a directory that `windlass sim run --out` wrote: flows in file order, then the
    bottleneck where a column is of its queue.
    """
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        series = [_read_flow(folder, flow, columns) for flow in summary["flows"]]
        if set(columns) & set(QUEUE_COLUMNS):
            queue = summary["queues"][0]
            path = folder / f"queue-{queue['link']}-{queue['direction']}.csv"
            series.append(Series(BOTTLENECK, None, *_read_columns(path, columns)))
        return series
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise RunError(f"cannot read the time series in {folder}: {error!r}") from error


def _read_flow(folder: Path, flow: Mapping, columns: Sequence[str]) -> Series:
    rtt = flow["rtt_min_ms"]
    rtt_ms = float(rtt["mean"]) if isinstance(rtt, Mapping) else float(rtt)
    path = folder / f"flow-{flow['name']}.csv"
    controller = flow.get("controller", "")
    return Series(flow["name"], rtt_ms, *_read_columns(path, columns), controller)


def _read_columns(
    path: Path, wanted: Sequence[str]
) -> tuple[list[float], dict[str, list[float | None]]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        if "time_s" not in header:
            raise ValueError(f"{path.name} has no column time_s")
        # By column, since a run has hundreds of thousands of rows.
        table = list(zip(*rows, strict=True)) or [()] * len(header)
    times = [float(cell) for cell in table[header.index("time_s")]]
    columns = {
        name: [float(cell) if cell else None for cell in table[header.index(name)]]
        for name in wanted
        if name in header
    }
    return times, columns
