"""Ctrl-C and SIGTERM end a run that would take hours, and keep what has ended."""

import json
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")
pytest.importorskip("gymnasium", reason="pip install 'windlass-lab[environments]'")

SCENARIO = """
schema = 1
name = "long"
duration = "2000000s"
flows = [{ name = "a", from = "s1" }]
[dumbbell]
bottleneck = { rate = "1Gbit/s", delay = "10ms", loss = 0.01 }
access = [{ delay = "1ms" }]
"""
# The first runs are short.
STUDY = """
schema = 1
scenario = "long.toml"
seeds = 2
[axes]
duration = ["10ms", "2000000s"]
"""
SEARCH = """
schema = 1
scenario = "long.toml"
[axes]
"dumbbell.bottleneck.delay" = { from = 1, to = 9, unit = "ms" }
[search.objectives]
"mean_queue_packets.steady" = "min"
"""
# One process for all calls, since the packages take longer to load than the calls to end.
PROGRAM = """
import signal, sys, threading
import gymnasium, optuna, polars
import windlass_lab as wl
from windlass_lab.cli import main

def step(env):
    env.reset(seed=1)
    env.step(env.action_space.sample())

calls = {
    "simulate": lambda: wl.simulate("long.toml"),
    "sweep": lambda: wl.sweep("study.toml").collect(),
    "search": lambda: wl.search("search.toml").collect(),
    "environment": lambda: step(wl.make_env("long.toml", flow="a", step="1000000s")),
    "environments": lambda: step(wl.make_vec_env("long.toml", flow="a", n=3, step="1000000s")),
    "command": lambda: main(["sweep", "study.toml", "--out", "out", "--jobs", "1"]),
    "command again": lambda: main(["sweep", "study.toml", "--out", "out", "--resume"]),
    "command, terminated": lambda: main(["sweep", "study.toml", "--out", "terminated"]),
    "search's command": lambda: main(["search", "search.toml", "--out", "searched"]),
}
signal.signal(signal.SIGINT, signal.default_int_handler)
for name, call in calls.items():
    # Says that the call is under way once it has been for a while.
    timer = threading.Timer(0.3, lambda: print(name, flush=True))
    timer.start()
    try:
        print("returned", call(), flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    except SystemExit as end:
        print("exit", end.code, flush=True)
"""
# The end of each call after a signal.
CALLS = {
    "simulate": (signal.SIGINT, "interrupted"),
    "sweep": (signal.SIGINT, "interrupted"),
    "search": (signal.SIGINT, "interrupted"),
    "environment": (signal.SIGINT, "interrupted"),
    "environments": (signal.SIGINT, "interrupted"),
    "command": (signal.SIGINT, "returned 130"),
    "command again": (signal.SIGINT, "returned 130"),
    "command, terminated": (signal.SIGTERM, "exit 143"),
    "search's command": (signal.SIGINT, "returned 130"),
}


def test_a_signal_ends_every_way_of_running_and_keeps_what_has_ended(tmp_path):
    (tmp_path / "long.toml").write_text(SCENARIO)
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "search.toml").write_text(SEARCH)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            for name, (number, outcome) in CALLS.items():
                assert child.stdout.readline() == f"{name}\n"
                began = time.monotonic()
                child.send_signal(number)
                assert child.stdout.readline() == f"{outcome}\n", name
                # A second, and one more on a busy machine.
                assert time.monotonic() - began < 2, name
        finally:
            child.kill()
        said = child.stderr.read()
        assert "Traceback" not in said
        assert "go on with `windlass-lab sweep study.toml --out out --resume`" in said
    for folder in ("out", "terminated"):
        lines = (tmp_path / folder / "rows.jsonl").read_text().splitlines()
        assert sorted(json.loads(line)["run"] for line in lines[1:]) == [0, 1]
        assert not (tmp_path / folder / "rows.parquet").exists()
    assert not (tmp_path / "searched").exists()
