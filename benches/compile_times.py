#!/usr/bin/env python3
"""Measures how long a developer waits for the compiler: wall and CPU time of builds.

    benches/compile_times.py tcp [--rounds 5]
    benches/compile_times.py new WINDLASS [--rounds 5]

`tcp` measures from a change in crates/tcp of this checkout, which is put back, to finished tests.
`new` measures a crate of `WINDLASS new controller`: from an empty target folder to its first run,
and from a change to a run. WINDLASS is the binary of the commit to measure, as it carries sources.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from process import BenchError, Cost, run

ROOT = Path(__file__).resolve().parent.parent
ENGINE = ROOT / "crates/tcp/src/conn/mod.rs"
LINE = "self.stats.segments_received += 1;"


@contextmanager
def changing(path: Path) -> Iterator[str]:
    """The text of the file, which is put back at the end."""
    text = path.read_text(encoding="utf-8")
    try:
        yield text
    finally:
        path.write_text(text, encoding="utf-8")


def change(path: Path, text: str, old: str, new: str) -> None:
    """Writes `text` with `new` in place of `old`."""
    if text.count(old) != 1:
        raise BenchError(f"{path}: {old!r} is not there once")
    path.write_text(text.replace(old, new), encoding="utf-8")


def show(what: str, costs: list[Cost]) -> None:
    """One line of medians."""
    wall = statistics.median(cost.wall_s for cost in costs)
    cpu = statistics.median(cost.cpu_s for cost in costs)
    runs = f"{len(costs)} runs, load average {os.getloadavg()[0]:.1f}"
    print(f"{what}: {wall:.1f} s, {cpu:.1f} s of CPU time ({runs})")


def quietly(command: list[str]) -> Cost:
    """The cost of a command of cargo, whose output is not shown."""
    return run([*command[:2], "--quiet", *command[2:]])[0]


def measure_tcp(rounds: int) -> None:
    """A change in the engine to the end of its tests."""
    test = ["cargo", "test", "--package", "windlass-tcp"]
    with changing(ENGINE) as text:
        quietly(test)
        costs = []
        for number in range(rounds):
            change(ENGINE, text, LINE, f"{LINE}\n        core::hint::black_box({number});")
            costs.append(quietly(test))
    show("a change in crates/tcp to finished tests", costs)


def measure_new(windlass: str, rounds: int) -> None:
    """A new crate to its first run, and changes of it to theirs."""
    with tempfile.TemporaryDirectory() as folder:
        crate = Path(folder) / "mine"
        subprocess.run([windlass, "new", "controller", "mine", "--dir", crate], check=True)
        os.environ["CARGO_TARGET_DIR"] = f"{folder}/target"
        manifest = f"--manifest-path={crate}/Cargo.toml"
        subprocess.run(["cargo", "fetch", "--quiet", manifest], check=True)
        first = [
            "cargo",
            "run",
            "--release",
            manifest,
            "--",
            "sim",
            "run",
            f"{crate}/scenario.toml",
        ]
        show("a new crate to its first run", [quietly(first)])
        source = crate / "src/lib.rs"
        text = source.read_text(encoding="utf-8")
        costs = []
        for number in range(1, rounds + 1):
            change(source, text, "increase: 1.0", f"increase: 1.{number}")
            costs.append(quietly(first))
    show("a change of it to a run", costs)


def main() -> None:
    """Measures what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("tcp", "new"))
    parser.add_argument("windlass", nargs="?", default="windlass")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.what == "tcp":
        measure_tcp(arguments.rounds)
    else:
        measure_new(arguments.windlass, arguments.rounds)


if __name__ == "__main__":
    main()
