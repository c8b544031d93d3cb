#!/usr/bin/env python3
"""Runs the cases of the bench in Windlass and in ns-2, in turn, and compares what they cost.

CPU seconds are user and system time of the whole process, its start included. Within each round
every case is run by each of its contenders, so that what else the machine does meets all alike.
Only the standard library is used. Cases and their settings: benches/README.md.
"""

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

import process
import summary
import table
from cases import ROOT, WINDLASS, Case, Contender, Programs, all_cases, before
from process import BenchError


def run_once(programs: Programs, contender: Contender) -> summary.Run:
    """One run in a folder of its own, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="windlass-bench-") as name:
        command = contender.command(programs, Path(name))
        given = process.bytes_in(Path(name))
        cost, output = process.run(command)
        written = process.bytes_in(Path(name)) - given
    try:
        return summary.Run(cost, contender.read(output), written)
    except (ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{' '.join(command)} printed no figures: {error!r}") from error


def run_all(programs: Programs, cases: list[Case], rounds: int) -> dict:
    """All runs, by case and contender."""
    runs: dict[tuple[str, str], list[summary.Run]] = {}
    for number in range(1, rounds + 1):
        for case in cases:
            # In alternating order, so that none always follows the same one.
            for contender in contenders(case, programs)[:: 1 if number % 2 else -1]:
                done = run_once(programs, contender)
                runs.setdefault((case.name, contender.name), []).append(done)
                progress = f"round {number} of {rounds}: {case.name}, {contender.name}"
                print(f"{progress}: {done.cost.cpu_s:.3f} CPU s", file=sys.stderr, flush=True)
    return runs


def contenders(case: Case, programs: Programs) -> list[Contender]:
    present = [one for one in case.contenders if programs.ns or not one.needs_ns2]
    earlier = [before(one) for one in present if programs.before and one.name == WINDLASS]
    return earlier + present


def rows_of(cases: list[Case], runs: dict) -> list[dict]:
    own_rss_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    by_name = {case.name: case for case in cases}
    rows = [
        summary.row(by_name[case], contender, done, own_rss_kib)
        for (case, contender), done in runs.items()
    ]
    summary.add_ratios(rows)
    for case in cases:
        summary.add_targets(case, rows)
        summary.add_floor(case, rows)
    return rows


def arguments() -> argparse.Namespace:
    names = list(all_cases())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each (5)")
    parser.add_argument("--case", choices=names, action="append", help="only this one; repeatable")
    parser.add_argument("--windlass", default=str(ROOT / "target/release/windlass"), metavar="PATH")
    parser.add_argument("--before", metavar="PATH", help="an earlier build to compare with")
    parser.add_argument("--ns", default="ns", metavar="PATH", help="the binary of ns-2")
    parser.add_argument("--json", action="store_true", help="print one JSON object, not a table")
    chosen = parser.parse_args()
    if chosen.rounds < 1:
        parser.error("--rounds must be at least 1")
    return chosen


def programs_of(chosen: argparse.Namespace) -> Programs:
    """The binaries that are there; ns-2 may be missing."""
    if not shutil.which(chosen.windlass):
        raise BenchError(f"no binary at {chosen.windlass}: run `make build`")
    if chosen.before and not shutil.which(chosen.before):
        raise BenchError(f"no binary at {chosen.before}")
    if not shutil.which(chosen.ns):
        print("ns-2 is missing (scripts/setup-bench): Windlass's figures only", file=sys.stderr)
        return Programs(chosen.windlass, None, chosen.before)
    return Programs(chosen.windlass, chosen.ns, chosen.before)


def report(rows: list[dict], load: dict) -> str:
    machine = (
        f"{load['cores']} cores; load average of a minute {load['start']:.2f} at the start and "
        f"{load['end']:.2f} at the end, of which the bench itself is 1 to 2"
    )
    parts = (table.figures(rows), table.targets(rows), table.floors(rows), machine)
    return "\n\n".join(part for part in parts if part)


def main() -> int:
    chosen = arguments()
    known = all_cases()
    cases = [known[name] for name in chosen.case or known]
    load = {"cores": os.cpu_count(), "start": os.getloadavg()[0]}
    try:
        rows = rows_of(cases, run_all(programs_of(chosen), cases, chosen.rounds))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    load["end"] = os.getloadavg()[0]
    if chosen.json:
        print(json.dumps({"version": 2, "load_average": load, "rows": rows}, indent=2))
    else:
        print(report(rows, load))
    return 0


if __name__ == "__main__":
    sys.exit(main())
