#!/usr/bin/env python3
"""Lets connections of ToU live on bad paths, kills their programs and takes the link away, and
looks whether every byte arrived or somebody was printed. As root; benches/README.md has the rest.

Exit status: 0 all of them did; 1 some did not, or the soak could not run; 130 interrupted, 143
terminated.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from process import BenchError
from soak_bed import DAMAGES, Bed, hosts
from soak_plan import draw
from soak_round import Round
from table import aligned

ROOT = Path(__file__).resolve().parent.parent
# An end may die in silence until this long before the end: a sender that retransmits gives up
# after a quarter of an hour or more.
SILENCE_S = 1000.0
INTERRUPTED = 130
TICK_S = 0.5
OUTCOMES = ("intact", "reset", "timed out", "refused", "ended first", "other", "fault")
HEAD = ("disturbance", "rounds", *OUTCOMES, "MB", "longest s", "survivor s")


class Lane(threading.Thread):
    """Rounds one after the other on hosts of its own, and those that outlast their turn."""

    def __init__(
        self, arguments: argparse.Namespace, number: int, hosts: dict[str, str], until: float
    ) -> None:
        super().__init__(name=f"lane {number}")
        self.arguments = arguments
        self.number = number
        self.hosts = hosts
        self.until = until
        self.folder = arguments.folder / f"lane{number}"
        self.results: list[dict] = []
        self.waiting: list[Round] = []
        self.unjudged = 0
        self.failure: str | None = None
        self.damage: dict[str, int] = {}
        self.stopped = False
        # Thread.join() takes a thread for ended when a signal has interrupted it (CPython 90882).
        self.ended = threading.Event()

    def run(self) -> None:
        self.folder.mkdir()
        try:
            own = Bed(self.arguments.windlass, self.hosts, self.folder)
            try:
                self._play(own)
                self._wait()
            finally:
                for one in self.waiting:
                    one.kill()
                own.unplug()
                self.damage = {**own.damage, "checksum_errors": own.checksum_errors()}
        except (BenchError, OSError, TimeoutError, ValueError) as error:
            self.failure = f"{self.name}: {error}"
        finally:
            self.ended.set()

    def stop(self) -> None:
        """Ends it before its time; its hosts go, and what was under way is judged no more."""
        self.stopped = True
        while not self.ended.wait(0.1):
            # A round may have been about to start a program.
            for one in list(self.waiting):
                one.kill()

    def _play(self, own: Bed) -> None:
        number = 0
        # One at the least, however busy the machine.
        while not self.stopped and (number == 0 or time.monotonic() < self.until):
            number += 1
            silence = time.monotonic() + SILENCE_S < self.until
            seed = self.arguments.seed
            plan = draw(seed, self.number, number, silence, self.arguments.scale)
            one = Round(own, plan, f"{seed}/{self.number}/{number}/run")
            self.waiting.append(one)
            one.play()
            self._look()

    def _look(self) -> None:
        over = [one for one in self.waiting if one.over() or one.hangs()]
        self.waiting = [one for one in self.waiting if one not in over]
        for one in over:
            self._end(one)

    def _wait(self) -> None:
        while self.waiting:
            time.sleep(0.2)
            self._look()

    def _end(self, one: Round) -> None:
        if self.stopped:
            self.unjudged += 1
            return
        result = {"lane": self.number, "round": one.plan.number, **one.end()}
        self.results.append(result)
        if result["faults"]:
            print(f"error: {json.dumps(result)}\n  {one.plan}", file=sys.stderr, flush=True)


def rows(results: list[dict]) -> list[dict]:
    """The table: a row for each disturbance, and one for all."""
    kinds = sorted({result["disturbance"] for result in results})
    made = [(kind, [one for one in results if one["disturbance"] == kind]) for kind in kinds]
    return [_row(kind, chosen) for kind, chosen in [*made, ("all", results)] if chosen]


def _row(kind: str, chosen: list[dict]) -> dict:
    survivors = [one["survivor_s"] for one in chosen if one["survivor_s"] is not None]
    return {
        "disturbance": kind,
        "rounds": len(chosen),
        "outcomes": dict(Counter(one["outcome"] for one in chosen)),
        "bytes": sum(one["bytes"] for one in chosen),
        "longest_s": max(one["seconds"] for one in chosen),
        "longest_survivor_s": max(survivors, default=None),
    }


def report(summary: dict) -> str:
    """The table as text, and what the links did."""
    lines = []
    for row in summary["rows"]:
        counts = [str(row["outcomes"].get(outcome, 0)) for outcome in OUTCOMES]
        survivor = row["longest_survivor_s"]
        waited = "-" if survivor is None else f"{survivor:.1f}"
        figures = (f"{row['bytes'] / 1e6:.1f}", f"{row['longest_s']:.1f}", waited)
        lines.append((row["disturbance"], str(row["rounds"]), *counts, *figures))
    damage = ", ".join(f"{count} {name}" for name, count in summary["packets"].items())
    return f"{aligned(HEAD, lines, words=1)}\n\npackets: {damage}\nseed {summary['seed']}"


def play(arguments: argparse.Namespace) -> tuple[list[Lane], int]:
    """The lanes, ended, and the exit status if that was before their time; else 0."""
    with hosts(arguments.lanes) as namespaces:
        until = time.monotonic() + arguments.seconds
        lanes = [Lane(arguments, number, of, until) for number, of in enumerate(namespaces)]
        for lane in lanes:
            lane.start()
        return lanes, _ended(lanes)


def _ended(lanes: list[Lane]) -> int:
    """Waits for the lanes. The exit status, if a signal ended them before their time; else 0."""
    try:
        for lane in lanes:
            # Not for ever: the kernel may deliver a signal to another thread. Python handles it in
            # the main thread, when that runs again.
            while not lane.ended.wait(TICK_S):
                pass
    except (KeyboardInterrupt, SystemExit) as end:
        # A second one would leave hosts and programs; this takes a moment.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for lane in lanes:
            lane.stop()
        code = end.code if isinstance(end, SystemExit) else None
        return code if isinstance(code, int) else INTERRUPTED
    return 0


def summed(arguments: argparse.Namespace, lanes: list[Lane], is_whole: bool) -> dict:
    """The figures of the rounds that have ended."""
    results = [result for lane in lanes for result in lane.results]
    packets = {
        name: sum(lane.damage.get(name, 0) for lane in lanes)
        for name in (*DAMAGES, "checksum_errors")
    }
    return {
        "schema": 1,
        "kind": "tou-soak",
        "seed": arguments.seed,
        "seconds": arguments.seconds,
        "whole": is_whole,
        "unjudged": sum(lane.unjudged for lane in lanes),
        "rows": rows(results),
        "packets": packets,
        "faults": [result for result in results if result["faults"]],
        "errors": [result for result in results if result["outcome"] != "intact"],
    }


def parse() -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0, help="begin rounds for so long")
    parser.add_argument("--seed", type=int, help="draws the same rounds again [default: random]")
    parser.add_argument("--lanes", type=int, default=3, help="connections at once")
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes of the files")
    parser.add_argument("--windlass", type=Path, default=ROOT / "target/release/windlass")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = secrets.randbits(32)
    if not 1 <= arguments.lanes <= 26:
        parser.error("--lanes: expected 1 to 26")
    return arguments


def missing(windlass: Path) -> str | None:
    """Why it cannot run here; None if it can."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    if not shutil.which("ip"):
        return "needs ip, of iproute2"
    return None if windlass.exists() else f"needs {windlass} (make build)"


def main() -> int:
    arguments = parse()
    if why := missing(arguments.windlass):
        print(f"error: {why}", file=sys.stderr)
        return 1
    print(f"seed {arguments.seed}", file=sys.stderr, flush=True)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    arguments.folder = Path(tempfile.mkdtemp(prefix="windlass-soak-"))
    lanes, status = play(arguments)
    summary = summed(arguments, lanes, is_whole=status == 0)
    print(json.dumps(summary) if arguments.json else report(summary))
    if status:
        print(f"error: interrupted; {summary['unjudged']} rounds had not ended", file=sys.stderr)
    # Of a lane that was stopped it says only that its programs were killed.
    failures = [lane.failure for lane in lanes if lane.failure and not lane.stopped]
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    if summary["faults"] or failures:
        print(f"what was sent and came: {arguments.folder}", file=sys.stderr)
        return status or 1
    shutil.rmtree(arguments.folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
