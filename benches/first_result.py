#!/usr/bin/env python3
"""Time to the first result of a new user: two flows written for each simulator, built, and run.

CUBIC beside Reno on 10 Mbit/s for a minute, and the goodput of each. Within each round every
contender builds and runs once; times are from the command to its last line. Needs what
scripts/setup-bench installs; a simulator that is missing is left out.
"""

import argparse
import json
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import table
from cases import ROOT
from process import BenchError, Cost, run

SOURCES = ROOT / "benches/first_result"
NS3_PYTHON = ROOT / "benches/ns3/target/venv/bin/python"
COMMENTS = {".cc": r"/\*.*?\*/|//[^\n]*", ".py": r'""".*?"""|#[^\n]*'}
COMMENT_OF_OTHERS = r"#[^\n]*"
HEAD = ("contender", "lines", "build s", "run s", "both s", "CPU s of both")


@dataclass(frozen=True)
class Contender:
    """A simulator: its source, and the commands that build and run it in a folder."""

    name: str
    source: str
    program: Path
    """It is left out where this is missing."""
    run: Callable[[Path], list[str]]
    build: Callable[[Path], list[str]] | None = None


@dataclass(frozen=True)
class Times:
    """Seconds of one round."""

    build_s: float
    run_s: float
    cpu_s: float


def lines_of(path: Path) -> int:
    """Lines that a user writes: without comments and blank lines."""
    comment = COMMENTS.get(path.suffix, COMMENT_OF_OTHERS)
    text = re.sub(comment, "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return sum(1 for line in text.splitlines() if line.strip())


def contenders(windlass: str) -> list[Contender]:
    """Those whose program is there."""
    toml, tcl, cc, py = (SOURCES / f"two_flows.{end}" for end in ("toml", "tcl", "cc", "py"))
    simulator = Path(shutil.which(windlass) or windlass)
    ns = Path(shutil.which("ns") or "ns")
    every = [
        Contender("windlass", toml.name, simulator, lambda _: [windlass, "sim", "run", str(toml)]),
        Contender("ns-2", tcl.name, ns, lambda _: ["ns", str(tcl)]),
        Contender(
            "ns-3 in C++",
            cc.name,
            NS3_PYTHON,
            lambda folder: [str(folder / "two_flows")],
            lambda folder: [str(ROOT / "scripts/compile-ns3"), str(cc), str(folder / "two_flows")],
        ),
        Contender("ns-3 in Python", py.name, NS3_PYTHON, lambda _: [str(NS3_PYTHON), str(py)]),
    ]
    return [one for one in every if one.program.exists()]


def measure(contender: Contender) -> Times:
    """Builds and runs once."""
    with tempfile.TemporaryDirectory(prefix="windlass-bench-") as name:
        folder = Path(name)
        built = run(contender.build(folder))[0] if contender.build else Cost(0, 0, 0)
        ran, output = run(contender.run(folder))
    if b"reno" not in output.lower():
        raise BenchError(f"{contender.name} printed no goodput")
    return Times(built.wall_s, ran.wall_s, built.cpu_s + ran.cpu_s)


def row(contender: Contender, rounds: list[Times]) -> dict:
    """Medians of a contender."""
    both = [times.build_s + times.run_s for times in rounds]
    medians = {
        name: statistics.median(asdict(times)[name] for times in rounds)
        for name in ("build_s", "run_s", "cpu_s")
    }
    return {
        "contender": contender.name,
        "lines": lines_of(SOURCES / contender.source),
        **medians,
        "both_s": statistics.median(both),
        "rounds": len(rounds),
    }


def report(rows: list[dict]) -> str:
    """The medians as a table."""
    cells = [
        (
            one["contender"],
            str(one["lines"]),
            *(f"{one[name]:.2f}" for name in ("build_s", "run_s", "both_s", "cpu_s")),
        )
        for one in rows
    ]
    return table.aligned(HEAD, cells, words=1)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--windlass", default=str(ROOT / "target/release/windlass"), metavar="PATH")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def main() -> int:
    """Measures, and prints medians."""
    options = arguments()
    there = contenders(options.windlass)
    try:
        rounds = [[measure(one) for one in there] for _ in range(options.rounds)]
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    by_contender = zip(there, zip(*rounds, strict=True), strict=True)
    rows = [row(one, list(times)) for one, times in by_contender]
    print(json.dumps({"rows": rows}, indent=2) if options.json else report(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
