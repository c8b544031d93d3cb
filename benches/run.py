#!/usr/bin/env python3
"""Runs the two cases of the bench in Windlass and in ns-2, in turn, and compares their CPU time.

CPU seconds are user and system time of the whole process, its start included. Both simulators
are run one after the other within each round, so that what else the machine does meets both.
Only the standard library is used. Cases and their settings: benches/README.md.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = ("small", "big")


def windlass_command(binary: str, case: str) -> list[str]:
    return [binary, "sim", "run", str(ROOT / f"experiments/bench/{case}.toml"), "--json"]


def ns2_command(binary: str, case: str) -> list[str]:
    return [binary, str(ROOT / f"benches/ns2/{case}.tcl")]


COMMANDS = {"windlass": windlass_command, "ns-2": ns2_command}


@dataclass
class Run:
    """What one process cost and delivered."""

    cpu_s: float
    peak_rss_kib: int
    delivered_segments: int
    fairness_index: float


class BenchError(Exception):
    """A simulator that did not run, or did not print its figures."""


def measure(command: list[str]) -> Run:
    """Runs `command` to its end; its standard output is one JSON object with the figures."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as child:
        output = child.stdout.read()
        # Only wait4 tells the use of this one child.
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise BenchError(f"{' '.join(command)} ended with status {child.returncode}")
    try:
        figures = json.loads(output)
        return Run(
            cpu_s=usage.ru_utime + usage.ru_stime,
            peak_rss_kib=usage.ru_maxrss,
            delivered_segments=int(figures["delivered_segments"]),
            fairness_index=whole_run(figures["fairness_index"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{' '.join(command)} printed no figures: {error!r}") from error


def whole_run(figure: float | dict[str, float]) -> float:
    """Windlass gives some figures for several windows of time; ns-2 for the whole run alone."""
    return float(figure["whole_run"] if isinstance(figure, dict) else figure)


def measure_case(case: str, simulators: dict[str, str], rounds: int) -> dict[str, list[Run]]:
    """All runs of one case, the simulators in turn within each round."""
    runs: dict[str, list[Run]] = {name: [] for name in simulators}
    for number in range(1, rounds + 1):
        for name, binary in simulators.items():
            run = measure(COMMANDS[name](binary, case))
            runs[name].append(run)
            progress = f"{case}: {name}, round {number} of {rounds}: {run.cpu_s:.3f} CPU s"
            print(progress, file=sys.stderr, flush=True)
    return runs


def summarise(case: str, name: str, runs: list[Run]) -> dict:
    """One row of the table. Every run of a simulator must have delivered the same."""
    delivered = {run.delivered_segments for run in runs}
    if len(delivered) != 1:
        raise BenchError(f"{case}: {name} is not deterministic, it delivered {sorted(delivered)}")
    cpu = sorted(run.cpu_s for run in runs)
    median = statistics.median(cpu)
    # The kernel counts what the child was before it became the simulator: a copy of this
    # interpreter. A peak no higher than the interpreter's own says only "at most this".
    own_rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rss = max(run.peak_rss_kib for run in runs)
    return {
        "case": case,
        "simulator": name,
        "runs": len(runs),
        "cpu_s": {"median": median, "min": cpu[0], "max": cpu[-1]},
        "delivered_segments": runs[0].delivered_segments,
        "segments_per_cpu_s": runs[0].delivered_segments / median,
        "fairness_index": runs[0].fairness_index,
        "peak_rss_mib": rss / 1024,
        "peak_rss_is_upper_bound": rss <= own_rss,
    }


def add_ratios(rows: list[dict]) -> None:
    """`ratio`: segments per CPU second over those of ns-2 in the same case."""
    ns2 = {row["case"]: row["segments_per_cpu_s"] for row in rows if row["simulator"] == "ns-2"}
    for row in rows:
        if row["case"] in ns2:
            row["ratio"] = row["segments_per_cpu_s"] / ns2[row["case"]]


def table(rows: list[dict]) -> str:
    """The rows as text, right-aligned but for the names."""
    head = ("case", "simulator", "CPU s median [min..max]", "delivered", "segments/CPU s",
            "fairness", "peak MiB", "ratio")  # fmt: skip
    lines = [head] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]

    def align(line: tuple[str, ...]) -> str:
        fields = zip(line, widths, strict=True)
        padded = [f.ljust(w) if i < 2 else f.rjust(w) for i, (f, w) in enumerate(fields)]
        return "  ".join(padded).rstrip()

    return "\n".join(align(line) for line in lines)


def cells(row: dict) -> tuple[str, ...]:
    cpu = row["cpu_s"]
    at_most = "<=" if row["peak_rss_is_upper_bound"] else ""
    return (
        row["case"],
        row["simulator"],
        f"{cpu['median']:.3f} [{cpu['min']:.3f}..{cpu['max']:.3f}]",
        str(row["delivered_segments"]),
        f"{row['segments_per_cpu_s']:.0f}",
        f"{row['fairness_index']:.3f}",
        f"{at_most}{row['peak_rss_mib']:.0f}",
        f"{row['ratio']:.2f}" if "ratio" in row else "-",
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each (5)")
    parser.add_argument("--case", choices=CASES, action="append", help="only this one")
    parser.add_argument("--windlass", default=str(ROOT / "target/release/windlass"), metavar="PATH")
    parser.add_argument("--ns", default="ns", metavar="PATH", help="the binary of ns-2")
    parser.add_argument("--json", action="store_true", help="print one JSON object, not a table")
    chosen = parser.parse_args()
    if chosen.rounds < 1:
        parser.error("--rounds must be at least 1")
    return chosen


def simulators(chosen: argparse.Namespace) -> dict[str, str]:
    """The simulators that are there, each with its binary; ns-2 may be missing."""
    found = {}
    if not shutil.which(chosen.windlass):
        raise BenchError(f"no binary at {chosen.windlass}: run `make build`")
    found["windlass"] = chosen.windlass
    if shutil.which(chosen.ns):
        found["ns-2"] = chosen.ns
    else:
        print("ns-2 is missing (scripts/setup-bench): Windlass's figures only", file=sys.stderr)
    return found


def main() -> int:
    chosen = arguments()
    rows = []
    try:
        peers = simulators(chosen)
        for case in chosen.case or CASES:
            runs = measure_case(case, peers, chosen.rounds)
            rows += [summarise(case, name, runs[name]) for name in peers]
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    add_ratios(rows)
    print(json.dumps({"version": 1, "rows": rows}, indent=2) if chosen.json else table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
