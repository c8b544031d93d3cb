#!/usr/bin/env python3
"""Counts the instructions of a segment by part of Windlass, under valgrind's callgrind.

Two runs of a case, one longer than the other: what they differ in is the cost of going on, without
that of starting. Instructions are counted, not timed: the same binary gives the same figures
whatever else the machine does. Only the standard library is used.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cases import ROOT, SCENARIOS
from process import BenchError
from table import aligned

# The first that matches names the part of a line: its source file, or for what was inlined from a
# library the function that it was inlined into.
PARTS = (
    ("event queue", r"crates/sim/src/event\.rs", r"windlass_sim::event"),
    ("links and routes", r"crates/sim/src/network", r"windlass_sim::network"),
    ("queue disciplines", r"crates/aqm", r"windlass_aqm"),
    (
        "hosts and packets",
        r"crates/sim/src/(host|packet|apps)",
        r"windlass_sim::(host|packet|apps)",
    ),
    ("figures of the summary", r"crates/sim/src/(record|summary)", r"windlass_sim::record"),
    ("time series", r"crates/sim/src/(series|decimal)", r"windlass_sim::(series|decimal)"),
    ("main loop", r"crates/sim", r"windlass_sim"),
    ("engine: congestion control", r"crates/tcp/src/cc", r"windlass_tcp::cc"),
    ("engine: recovery", r"crates/tcp/src/recovery", r"windlass_tcp::recovery"),
    ("engine: receiver", r"crates/tcp/src/receiver", r"windlass_tcp::receiver"),
    ("engine: connection", r"crates/tcp", r"windlass_tcp"),
)
REST = "libraries and the rest"

LINE = re.compile(r"^ *([\d,]+) \([^)]*\) +(\S*?):(.*)$")


@dataclass(frozen=True)
class Profile:
    instructions: Counter
    segments: int
    events: int


def part_of(file: str, function: str) -> str:
    for name, in_file, _ in PARTS:
        if re.search(in_file, file):
            return name
    for name, _, in_function in PARTS:
        if re.search(in_function, function):
            return name
    return REST


def count(annotated: str) -> Counter:
    """Instructions by part, from the listing of functions that callgrind_annotate prints."""
    parts: Counter = Counter()
    for line in annotated.splitlines():
        found = LINE.match(line)
        if found and found[2]:
            parts[part_of(found[2], found[3])] += int(found[1].replace(",", ""))
    return parts


def output_of(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise BenchError(f"{command[0]} is missing (apt-get install valgrind)") from error
    except subprocess.CalledProcessError as error:
        raise BenchError(f"{' '.join(command)}: {error.stderr}") from error
    return done.stdout


def profile(windlass: str, case: str, milliseconds: int, series: bool) -> Profile:
    with tempfile.TemporaryDirectory(prefix="windlass-parts-") as name:
        counts = Path(name) / "callgrind"
        run = [windlass, "sim", "run", str(SCENARIOS / f"{case}.toml"), "--json"]
        run += ["--set", f"duration={milliseconds}ms", "--set", "steady_from=0s"]
        run += ["--out", str(Path(name) / "out")] if series else []
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}"]
        figures = json.loads(output_of([*valgrind, *run]))
        annotate = ["callgrind_annotate", "--auto=no", "--threshold=100", str(counts)]
        parts = count(output_of(annotate))
    return Profile(parts, figures["delivered_segments"], figures["events"])


def table_of(short: Profile, long: Profile) -> str:
    """Instructions of one segment more, by part."""
    segments = long.segments - short.segments
    more = {part: long.instructions[part] - short.instructions[part] for part in long.instructions}
    total = sum(more.values())
    # A part that only starting needs may differ by a few instructions either way.
    lines = [
        (part, f"{n / segments:.0f}", f"{n / total:.1%}")
        for part, n in sorted(more.items(), key=lambda item: -item[1])
    ]
    lines.append(("all", f"{total / segments:.0f}", "100.0%"))
    events = (long.events - short.events) / segments
    head = ("part", "instructions a segment", "share")
    return aligned(head, lines, words=1) + f"\n\n{events:.2f} events a segment"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="small", help="of experiments/bench (small)")
    parser.add_argument("--from-ms", type=int, default=5000, metavar="MS", help="the shorter run")
    parser.add_argument("--to-ms", type=int, default=15000, metavar="MS", help="the longer run")
    parser.add_argument("--series", action="store_true", help="write time series as well")
    parser.add_argument("--windlass", default=str(ROOT / "target/release/windlass"), metavar="PATH")
    chosen = parser.parse_args()
    spans = (chosen.from_ms, chosen.to_ms)
    try:
        short, long = (profile(chosen.windlass, chosen.case, ms, chosen.series) for ms in spans)
        print(table_of(short, long))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
