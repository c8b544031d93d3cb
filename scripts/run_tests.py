#!/usr/bin/env python3
"""Runs the tests of `cargo test ARGUMENT...`, two of its programs at a time: cargo starts one after
the other, and many only wait for packets. Each program's output is shown whole when it ends.

  scripts/run_tests.py test --locked --workspace
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

AT_A_TIME = 2
# Those that take longest start first, so that none of them is left alone at the end.
LONGEST = (
    *("datapath", "traversal", "new", "controllers_namespaces", "tou", "namespaces"),
    *("c_programs", "ecn_proxy", "daemon", "split_ack"),
)


@dataclass(frozen=True)
class Program:
    """A test program, and the folder of its crate, in which cargo starts it."""

    name: str
    path: str
    crate: Path


def main(arguments: list[str]) -> int:
    built = subprocess.run(
        ["cargo", *arguments, "--no-run", "--message-format", "json-render-diagnostics"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if built.returncode:
        return built.returncode
    programs = sorted(_programs(built.stdout), key=_place)
    shown = Lock()

    def run(program: Program) -> bool:
        print(f"    Starting {program.crate.name} {program.name}", flush=True)
        environment = os.environ | {"CARGO_MANIFEST_DIR": str(program.crate)}
        # Not a pipe: a process that a test leaves behind would hold its other end for ever.
        with tempfile.TemporaryFile() as output:
            ended = subprocess.run(
                [program.path, "--quiet"],
                cwd=program.crate,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
            output.seek(0)
            said = output.read().decode(errors="replace")
        with shown:
            print(f"     Running {program.crate.name} {program.name}\n{said}", flush=True)
            if ended.returncode:
                print(f"{program.name} ended with {ended.returncode}", flush=True)
        return ended.returncode == 0

    pool = ThreadPoolExecutor(AT_A_TIME)
    try:
        passed = all(list(pool.map(run, programs)))
    finally:
        # After Ctrl-C no further program starts.
        pool.shutdown(cancel_futures=True)
    documented = subprocess.run(
        ["cargo", *arguments, "--quiet", "--no-fail-fast", "--doc"], check=False
    )
    return 0 if passed and documented.returncode == 0 else 1


def _programs(messages: str) -> Iterator[Program]:
    for line in messages.splitlines():
        message = json.loads(line)
        if (
            message["reason"] == "compiler-artifact"
            and message["profile"]["test"]
            and message["executable"]
        ):
            crate = Path(message["manifest_path"]).parent
            yield Program(message["target"]["name"], message["executable"], crate)


def _place(program: Program) -> tuple[int, str]:
    known = program.name in LONGEST
    return LONGEST.index(program.name) if known else len(LONGEST), program.path


if __name__ == "__main__":
    # A shell ignores SIGINT for what it starts in the background, and tests interrupt programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
