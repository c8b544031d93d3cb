#!/usr/bin/env python3
"""Environments: resets and steps per second of CPU time, of one and of a thousand, beside ns-3.

An episode is two flows on 10 Mbit/s for 5 s, in steps of 10 ms. ns-3 is the package `ns3` of PyPI,
which scripts/setup-bench installs; without it ns-3 is left out. Each contender runs once a round.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import table
import windlass_lab as wl

HERE = Path(__file__).parent
NS3 = HERE / "ns3" / "target" / "venv" / "bin" / "python"
SCENARIO = """
schema = 1
name = "two-flows"
duration = "5s"
flows = [{ name = "long", from = "s1" }, { name = "other", from = "s2", start = "1s" }]
[dumbbell]
access = [{ rate = "1Gbit/s", delay = "1ms", count = 2 }]
bottleneck = { rate = "10Mbit/s", delay = "10ms", queue = "droptail" }
"""
STEP = "10ms"
EPISODES = 20
MANY = 1000


def resets(path: Path, count: int) -> tuple[float, int]:
    """CPU time of a reset in µs, and by how many KiB memory grew after the first hundred."""
    env = wl.make_env(path, flow="long", step=STEP)
    for _ in range(100):
        env.reset()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    for _ in range(count):
        env.reset()
    spent = time.process_time() - began
    return spent / count * 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def one(path: Path) -> float:
    """Steps per second of one environment."""
    env, action = wl.make_env(path, flow="long", step=STEP), np.zeros(1, dtype=np.float32)
    steps, began = 0, time.process_time()
    for _ in range(EPISODES):
        env.reset()
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
            steps += 1
    return steps / (time.process_time() - began)


def many(path: Path) -> float:
    """Steps per second of a thousand environments, all together."""
    env = wl.make_vec_env(path, flow="long", n=MANY, step=STEP)
    env.reset(seed=1)
    actions = np.zeros((MANY, 1), dtype=np.float32)
    began = time.process_time()
    for _ in range(500):
        env.step(actions)
    return 500 * MANY / (time.process_time() - began)


def ns3() -> dict | None:
    """The figures that `ns3/steps.py` prints; None without ns-3."""
    if not NS3.exists():
        return None
    command = [str(NS3), str(HERE / "ns3" / "steps.py"), "5"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--resets", type=int, default=100_000, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def main() -> int:
    """Measures, and prints medians."""
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "two.toml"
        path.write_text(SCENARIO, encoding="utf-8")
        rounds = [(one(path), many(path), ns3()) for _ in range(options.rounds)]
        reset_us, growth = resets(path, options.resets)
    peers = [peer for _, _, peer in rounds if peer]
    result = {
        "one_steps_per_s": statistics.median(figures[0] for figures in rounds),
        "many_steps_per_s": statistics.median(figures[1] for figures in rounds),
        "reset_us": reset_us,
        "resets": options.resets,
        "reset_growth_kib": growth,
        "ns3_steps_per_s": statistics.median(p["steps_per_s"] for p in peers) if peers else None,
        "ns3_reset_us": statistics.median(p["reset_us"] for p in peers) if peers else None,
    }
    print(json.dumps(result) if options.json else report(result))
    return 0


def report(result: dict) -> str:
    """The figures as a table."""
    peer = result["ns3_steps_per_s"]
    lines = [
        ("one environment", result["one_steps_per_s"], result["reset_us"]),
        (f"{MANY:,} environments", result["many_steps_per_s"], None),
        ("ns-3", peer, result["ns3_reset_us"]),
    ]
    cells = [
        (
            name,
            f"{steps:,.0f}",
            f"{reset:,.1f}" if reset else "",
            f"{steps / peer:.1f}" if peer else "",
        )
        for name, steps, reset in lines
        if steps
    ]
    head = ("contender", "steps per CPU s", "CPU µs a reset", "times ns-3")
    grown = f"{result['resets']:,} resets: memory grew by {result['reset_growth_kib']} KiB"
    return f"{table.aligned(head, cells, words=1)}\n{grown}"


if __name__ == "__main__":
    sys.exit(main())
