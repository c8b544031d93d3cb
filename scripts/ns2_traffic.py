#!/usr/bin/env python3
"""Compare Windlass with ns-2 where transfers come and go, on scenarios of
draft-irtf-iccrg-tcpeval-01 (sections 4.1 and 4.4). scripts/verify-ns2 runs it:

    ns2_traffic.py run --windlass PATH --ns PATH out/ns2     # keeps what is there already
    ns2_traffic.py judge out/ns2 [--write --commit HASH]     # --write: docs/results/data/ns2.json
    ns2_traffic.py single --windlass PATH --ns PATH out/ns2-single      # one transfer at a time

One file of arrivals for each pair and direction is drawn for a scenario, load and seed, and both
simulators get it. scripts/ns2/traffic.tcl is the ns-2 side.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs/results/data/ns2.json"
LOADS = (60, 85, 110)
"""Offered by the transfers from right to left, in percent of the link, IP and TCP headers
included; those from left to right offer half of that share."""
SEEDS = 10
SHAPE = 1.2
"""Of the bounded Pareto distribution of sizes."""
MSS, PACKET = 1460, 1500
EDGE_RATE = 100_000_000
LEFT = {"n1": 0, "n2": 12, "n3": 25}
RIGHT = {"n4": 2, "n5": 37, "n6": 75}
"""The nodes, and the delays of their edge links in ms (section 4.1)."""


@dataclass(frozen=True)
class Place:
    """A scenario of section 4.4: rates in bit/s, times in s, buffers of the central link in bytes,
    and the least and the largest size of a transfer in packets. Down is from right to left.
    """

    down_rate: int
    up_rate: int
    delay: float
    down_bytes: int
    up_bytes: int
    least: int
    largest: int
    steady_from: float
    end: float

    def mean_packets(self) -> float:
        """The mean size, before it is rounded."""
        ends = self.least / self.largest
        shape = SHAPE / (SHAPE - 1) * self.least
        return shape * (1 - ends ** (SHAPE - 1)) / (1 - ends**SHAPE)

    def size(self, uniform: float) -> int:
        """The size in packets for a uniform draw from 0 to 1."""
        reach = 1 - (self.least / self.largest) ** SHAPE
        return round(self.least * (1 - uniform * reach) ** (-1 / SHAPE))


PLACES = {
    # 4.4.2; buffers of 100 ms.
    "access": Place(10**8, 10**8, 0.002, 1_250_000, 1_250_000, 10, 2000, 6, 36),
    # 4.4.4; 100 ms down, 1000 ms up.
    "satellite": Place(40 * 10**6, 4 * 10**6, 0.3, 500_000, 500_000, 10, 2000, 20, 100),
    # 4.4.6; 1250 ms.
    "dial-up": Place(64_000, 64_000, 0.005, 10_000, 10_000, 2, 100, 500, 5500),
}

# The bounds that issue 52 names, written on 30 November 2026 before the first comparison. A figure
# is that of the central link from right to left, for which the draft states loads, and of the
# transfers in that direction. "points" of utilisation are percent of the link; "percent" are of
# ns-2's mean. The difference is that of the same arrivals, seed by seed. Its mean has a 95 %
# interval (Student's t): "pass" if the interval lies within the bound, "fail" if it lies outside
# of it, else "undecided". Where drops are 0 in both simulators, they are equal.
CRITERIA = {
    "utilisation": ("points", 2.0, LOADS),
    "drops": ("percent", 20.0, LOADS),
    "queue_delay_ms": ("percent", 10.0, (60, 85)),
    "completion_ms": ("percent", 10.0, (60, 85)),
}
T_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093),
)
"""Student's t for a two-sided 95 % interval, for 1 to 19 degrees of freedom: 2 to 20 seeds."""

SINGLE_PAIRS = (("n4", "n1"), ("n5", "n2"), ("n6", "n3"))

Arrival = tuple[float, str, str, int]


def pairs() -> Iterator[tuple[str, str]]:
    """From and to: the nine pairs down, then up."""
    yield from ((right, left) for right in RIGHT for left in LEFT)
    yield from ((left, right) for left in LEFT for right in RIGHT)


def arrivals(name: str, load: int, seed: int) -> list[Arrival]:
    """The transfers of a run in the order of time: Poisson, each pair by itself."""
    place, drawn = PLACES[name], []
    for source, target in pairs():
        random_of_pair = random.Random(f"{name} {load} {seed} {source} {target}")
        share = load / 100 if source in RIGHT else load / 200
        link = place.down_rate if source in RIGHT else place.up_rate
        rate = share * link / (8 * PACKET * place.mean_packets()) / 9
        time = random_of_pair.expovariate(rate)
        while time < place.end:
            drawn.append((round(time, 6), source, target, place.size(random_of_pair.random())))
            time += random_of_pair.expovariate(rate)
    return sorted(drawn)


def link(a: str, b: str, rate: int, delay_ms: float, queue: str) -> str:
    """A link of the scenario for Windlass."""
    return (
        f'[[links]]\na = "{a}"\nb = "{b}"\nrate = "{rate}bit/s"\n'
        f'delay = "{delay_ms:g}ms"\nqueue = {{ kind = "droptail", limit = "{queue}" }}\n'
    )


def scenario(name: str) -> str:
    """The scenario for Windlass. The TCP is that of traffic.tcl."""
    place = PLACES[name]
    nodes = ", ".join(f'"{node}"' for node in (*LEFT, *RIGHT, "r1", "r2"))
    central = link("r2", "r1", place.down_rate, place.delay * 1000, f"{place.down_bytes}B")
    central += (
        f'back = {{ rate = "{place.up_rate}bit/s", '
        f'queue = {{ kind = "droptail", limit = "{place.up_bytes}B" }} }}\n'
    )
    edges = (
        link(node, router, EDGE_RATE, delay, "1000000 packets")
        for router, side in (("r1", LEFT), ("r2", RIGHT))
        for node, delay in side.items()
    )
    flows = (
        f'[[flows]]\nname = "{a}-{b}"\nfrom = "{a}"\nto = "{b}"\n'
        f'app = {{ kind = "arrivals", arrivals = {{ file = "{a}-{b}.txt" }} }}\n'
        for a, b in pairs()
    )
    return f"""\
schema = 2
name = "ns2_{name}"
duration = "{place.end:g}s"
steady_from = "{place.steady_from:g}s"
nodes = [{nodes}]
bottleneck = "r2-r1"

[defaults]
profile = "ns2-reno"
controller = "reno"
mss = {MSS}
initial_window = "2 segments"
window_limit = "1000 segments"
initial_ssthresh = "1000 segments"
initial_rto = "3s"
min_rto = "200ms"
max_rto = "60s"
# The profile is of ns-2.1b5. Since then an ACK of new data ends the time in which another fast
# retransmit may follow (CWND_ACTION_EXITED).
repeated_fast_retransmit = false

{central}
{"".join(edges)}
{"".join(flows)}"""


def write_inputs(folder: Path, name: str, drawn: list[Arrival]) -> None:
    """Writes the simulators' inputs: arrivals.txt for ns-2, all else for Windlass."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(scenario(name))
    lines = [f"{time:.6f} {a} {b} {packets}\n" for time, a, b, packets in drawn]
    (folder / "arrivals.txt").write_text("".join(lines))
    for source, target in pairs():
        lines = [
            f"{time:.6f} {packets * MSS}\n"
            for time, a, b, packets in drawn
            if (a, b) == (source, target)
        ]
        # Windlass wants a line of each file. This one comes after the end.
        lines = lines or [f"1e6 {MSS}\n"]
        (folder / f"{source}-{target}.txt").write_text("".join(lines))


def run_ns2(program: str, folder: Path, name: str) -> Any:
    """The figures of ns-2, by direction."""
    place = PLACES[name]
    rates = (EDGE_RATE, place.down_rate, place.up_rate, place.delay)
    rest = (place.down_bytes, place.up_bytes, place.steady_from, place.end)
    script = str(ROOT / "scripts/ns2/traffic.tcl")
    command = [program, script, *map(str, rates), *map(str, rest), str(folder / "arrivals.txt")]
    run = subprocess.run(command, capture_output=True, check=True)
    return json.loads(run.stdout)


def run_windlass(program: str, folder: Path, name: str) -> Any:
    """The figures of Windlass, by direction, under the names of traffic.tcl."""
    command = [program, "sim", "run", str(folder / "scenario.toml"), "--json"]
    run = subprocess.run(command, capture_output=True, check=True)
    summary = json.loads(run.stdout)
    found = {}
    for direction, of_queue, side in (("down", "forward", RIGHT), ("up", "backward", LEFT)):
        queue = next(
            each
            for each in summary["queues"]
            if each["link"] == "r2-r1" and each["direction"] == of_queue
        )
        flows = [each for each in summary["flows"] if each["name"].split("-")[0] in side]
        counts = [each["completions"] for each in flows]
        completed = sum(each["completed"] for each in counts)
        took = sum(
            each["all"]["completion_ms"]["mean"] * each["completed"]
            for each in counts
            if each["completed"]
        )
        found[direction] = {
            "utilisation": queue["utilisation"]["steady"],
            "queue_delay_ms": queue["queue_delay_ms"]["mean"],
            "drops": queue["drops"],
            "arrived": queue["arrived"],
            "completion_ms": took / max(1, completed),
            "completed": completed,
            "open": sum(each["open"] for each in counts),
        }
    return found


def run_all(out: Path, programs: dict[str, str], names: list[str], seeds: range) -> None:
    """Runs what has no result yet."""
    runs = {"ns2": run_ns2, "windlass": run_windlass}
    for seed in seeds:
        for name in names:
            for load in LOADS:
                folder = out / f"{name}-{load}-{seed}"
                for program, path in programs.items():
                    result = folder / f"{program}.json"
                    if result.exists():
                        continue
                    write_inputs(folder, name, arrivals(name, load, seed))
                    figures = runs[program](path, folder, name)
                    result.write_text(json.dumps(figures, indent=1) + "\n")
                    print(f"{folder.name} {program}", file=sys.stderr)


def run_single(out: Path, ns: str, windlass: str) -> None:
    """Compares transfers that are alone, in the direction down, and prints both."""
    for name, sizes, buffers in (
        ("satellite", (500, 2000), (100_000, 500_000)),
        ("dial-up", (50, 100), (10_000, 20_000)),
    ):
        for packets, down_bytes, (source, target) in product(sizes, buffers, SINGLE_PAIRS):
            PLACES["single"] = replace(PLACES[name], down_bytes=down_bytes, steady_from=0, end=900)
            write_inputs(out, "single", [(0.5, source, target, packets)])
            both = run_ns2(ns, out, "single")["down"], run_windlass(windlass, out, "single")["down"]
            drops = "{:.0f} {}".format(*(each["drops"] for each in both))
            times = "{:.3f} {:.3f}".format(*(each["completion_ms"] for each in both))
            print(f"{name} {packets} {source}-{target} {down_bytes}: drops {drops}, ms {times}")


def results(out: Path) -> dict[tuple[str, int], list[tuple[Any, Any]]]:
    """By scenario and load: ns-2's and Windlass's figures of each seed."""
    found = defaultdict(list)
    for file in sorted(out.glob("*/windlass.json")):
        reference = file.with_name("ns2.json")
        if reference.exists():
            name, load, _ = file.parent.name.rsplit("-", 2)
            both = json.loads(reference.read_text()), json.loads(file.read_text())
            found[name, int(load)].append(both)
    return found


def verdict(low: float, high: float, bound: float) -> str:
    """Whether an interval of a difference lies within the bound."""
    if -bound <= low <= high <= bound:
        return "pass"
    return "fail" if low > bound or high < -bound else "undecided"


def compared(runs: list[tuple[Any, Any]], direction: str, key: str, unit: str) -> dict[str, Any]:
    """Means of both, and the mean difference with its interval, in points or percent."""
    pairs_of_runs = [(ns2[direction][key], ours[direction][key]) for ns2, ours in runs]
    reference = statistics.fmean(ns2 for ns2, _ in pairs_of_runs)
    # In percent of nothing any difference is too large.
    scale = 100 if unit == "points" else 100 / max(reference, 1e-9)
    differences = [scale * (ours - ns2) for ns2, ours in pairs_of_runs]
    count = len(differences)
    half = T_95[count - 2] * statistics.stdev(differences) / count**0.5
    mean = statistics.fmean(differences)
    return {
        "quantity": direction,
        "key": key,
        "reference": reference,
        "measured": statistics.fmean(ours for _, ours in pairs_of_runs),
        "difference": mean,
        "half": half,
        "low": mean - half,
        "high": mean + half,
        "count": count,
    }


def judged(out: Path) -> Iterator[dict[str, Any]]:
    """The rows of the comparison; those of the direction up have no verdict."""
    for (name, load), runs in sorted(results(out).items()):
        if len(runs) < 2:
            continue
        for direction in ("down", "up"):
            for key, (unit, bound, loads) in CRITERIA.items():
                row = {"case": f"{name} {load}"} | compared(runs, direction, key, unit)
                if direction == "down" and load in loads:
                    row |= {"verdict": verdict(row["low"], row["high"], bound)}
                    row |= {"allowed": f"{bound:g} {unit}"}
                yield row


def write(rows: list[dict[str, Any]], experiment: str, commit: str) -> None:
    """Writes the file that docs/results/tables.py reads; other experiments of it stay."""

    def short(value: Any) -> Any:
        return float(f"{value:.6g}") if isinstance(value, float) else value

    known = json.loads(DATA.read_text())["experiments"] if DATA.exists() else {}
    known[experiment] = [{key: short(value) for key, value in row.items()} for row in rows]
    experiments = ",\n".join(
        f'  "{name}": [\n' + ",\n".join(f"   {json.dumps(row)}" for row in of_name) + "\n  ]"
        for name, of_name in known.items()
    )
    head = {"schema": 1, "kind": "docs.result", "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    text = json.dumps(head | {"commit": commit}, indent=1)[:-2]
    DATA.write_text(f'{text},\n "experiments": {{\n{experiments}\n }}\n}}\n')


def print_rows(rows: list[dict[str, Any]]) -> None:
    """A line for each: ns-2, Windlass, the difference with its interval, the verdict."""
    for row in rows:
        print(
            "{case:14} {quantity:4} {key:15} {reference:12.4f} {measured:12.4f} "
            "{difference:+8.2f} ± {half:.2f} {verdict}".format(**{"verdict": ""} | row)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="simulate what has no result yet")
    run.add_argument("--windlass", metavar="PATH", help="its binary; without it only ns-2 runs")
    run.add_argument("--ns", metavar="PATH", help="that of ns-2; without it only Windlass runs")
    run.add_argument("--seeds", type=int, default=SEEDS)
    run.add_argument("--first-seed", type=int, default=1, help="seeds from here on")
    run.add_argument("--only", choices=PLACES, action="append", help="a scenario")
    judge = commands.add_parser("judge", help="print the comparison")
    judge.add_argument("--write", action="store_true", help="also docs/results/data/ns2.json")
    judge.add_argument("--commit", default="", help="what was measured, for --write")
    judge.add_argument("--experiment", default="traffic", help="its name there")
    single = commands.add_parser("single", help="compare transfers that are alone")
    single.add_argument("--windlass", metavar="PATH", required=True)
    single.add_argument("--ns", metavar="PATH", required=True)
    for each in (run, judge, single):
        each.add_argument("out", type=Path)
    options = parser.parse_args()
    if options.command == "single":
        run_single(options.out, options.ns, options.windlass)
    elif options.command == "run":
        named = {"ns2": options.ns, "windlass": options.windlass}
        programs = {name: path for name, path in named.items() if path}
        seeds = range(options.first_seed, options.seeds + 1)
        run_all(options.out, programs, options.only or [*PLACES], seeds)
    else:
        rows = list(judged(options.out))
        print_rows(rows)
        if options.write:
            write(rows, options.experiment, options.commit)
        sys.exit(any(row.get("verdict") not in (None, "pass") for row in rows))


if __name__ == "__main__":
    main()
