#!/usr/bin/env python3
"""Compares the goodput of quinn and noq in the simulator with real sockets behind windlass link.

Both have the same versions. Needs root. The exit status is 1 if the ratio of the means is outside
of 0.9 to 1.1 for any of them.

    scripts/stacks_link.py --windlass BINARY --stacks FOLDER [--runs 5] [--json]

FOLDER holds windlass-stacks and windlass-stacks-real.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

SCENARIO = Path(__file__).resolve().parent.parent / "stacks/cli/scenarios/link.toml"
# The path of the scenario.
LINK = ["--rate", "20M", "--delay", "20ms", "--aqm", "droptail:limit=100kB"]
SECONDS = 20
STEADY_FROM = 5
CONTENDERS = ["quinn/cubic", "quinn/newreno", "quinn/bbr", "noq/cubic", "noq/newreno", "noq/bbr3"]
LEAST, MOST = 0.9, 1.1
# Student's t for a two-sided interval of 95 %, by degrees of freedom.
T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]
PORT = 4433


def simulated(stacks: Path, contender: str, seed: int) -> float:
    """Mbit/s in the simulator."""
    kind, controller = contender.split("/")
    command = [
        str(stacks / "windlass-stacks"),
        "run",
        str(SCENARIO),
        "--json",
        "--seed",
        str(seed),
        "--set",
        f'endpoints.0.stack={{ kind = "{kind}", controller = "{controller}" }}',
        "--set",
        'jitter="100ms"',
    ]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(out)["endpoints"][0]["goodput_mbit_per_s"]["steady"])


def emulated(windlass: Path, stacks: Path, contender: str) -> float:
    """Mbit/s through the link, in a namespace that nothing else on this machine sees."""
    kind, controller = contender.split("/")
    # With the link's own priority: both ends share a machine with it, and wait most of the time.
    real = f"chrt --rr 10 {stacks / 'windlass-stacks-real'}"
    times = f"--seconds {SECONDS} --steady-from {STEADY_FROM}"
    choice = f"--stack {kind} --controller {controller} {times}"
    send = f'{real} send "$WINDLASS_OUTSIDE:{PORT}" {choice}'
    link = " ".join([f"{windlass} link", *LINK, "--"])
    script = f"{real} receive 0.0.0.0:{PORT} {choice} & {link} sh -c '{send}' >&2; wait"
    command = ["unshare", "--net", "sh", "-c", script]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=SECONDS * 6
    )
    return float(json.loads(done.stdout)["goodput_mbit_per_s"]["steady"])


def interval(samples: list[float]) -> tuple[float, float]:
    """The mean, and half the width of its interval."""
    mean = statistics.fmean(samples)
    if len(samples) < 2:
        return mean, 0.0
    error = statistics.stdev(samples) / math.sqrt(len(samples))
    return mean, T[min(len(samples) - 2, len(T) - 1)] * error


def main() -> int:
    """1 if a ratio is outside."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windlass", type=Path, required=True)
    parser.add_argument("--stacks", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("contenders", nargs="*", default=CONTENDERS)
    arguments = parser.parse_args()
    rows = []
    for contender in arguments.contenders:
        seeds = range(1, arguments.runs + 1)
        sim = [simulated(arguments.stacks, contender, seed) for seed in seeds]
        link = [emulated(arguments.windlass, arguments.stacks, contender) for _ in seeds]
        ratio = statistics.fmean(sim) / statistics.fmean(link)
        rows.append({"contender": contender, "simulator": sim, "link": link, "ratio": ratio})
        if not arguments.json:
            (a, da), (b, db) = interval(sim), interval(link)
            row = f"{contender:14} {a:7.3f} ± {da:.3f} {b:7.3f} ± {db:.3f} {ratio:7.3f}"
            row += "  " + " ".join(f"{sample:.2f}" for sample in link)
            print(row, flush=True)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    return 0 if all(LEAST <= row["ratio"] <= MOST for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
