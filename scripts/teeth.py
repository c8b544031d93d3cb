#!/usr/bin/env python3
"""Says which deliberate faults each case of the judge finds.

    scripts/teeth.py FAULTS.json            # prints the list
    scripts/teeth.py FAULTS.json --write    # into crates/judge/src/teeth.toml
    scripts/teeth.py FAULTS.json --check    # exit status 1 if that file differs

`scripts/mutants.py --list tests/mutants/judge.toml --json FAULTS.json` writes FAULTS.json. The list
has each case with the names of the faults that fail it. `windlass judge --list` marks a case that
no fault fails.
"""

import argparse
import json
import pathlib
import re
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "crates" / "judge" / "src" / "teeth.toml"
HEADER = """\
# The deliberate faults of tests/mutants/judge.toml that fail each case. `make verify-judge
# JUDGE=--write` (scripts/teeth.py) generates it; do not edit.
"""
# The test of a case: `suites::rfc5681::each::initial_window`.
CASE = re.compile(r"suites::(\w+)::each::(\w+)")


def case_of(test: str) -> tuple[str, str] | None:
    """The suite and the case of a test; `None` if it is another test."""
    found = CASE.fullmatch(test)
    return (name(found[1]), name(found[2])) if found else None


def name(identifier: str) -> str:
    return identifier.replace("_", "-")


def teeth(report: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    """For each case the faults that fail it."""
    found: dict[tuple[str, str], list[str]] = {}
    for test in report["tests"]:
        if case := case_of(test):
            found[case] = []
    for fault in report["mutants"]:
        for test in fault["failed"]:
            if case := case_of(test):
                found.setdefault(case, []).append(fault["name"])
    return found


def text(found: dict[tuple[str, str], list[str]]) -> str:
    lines = [HEADER]
    suite = ""
    for (of, case), faults in sorted(found.items()):
        if of != suite:
            suite = of
            lines.append(f"\n[{suite}]\n")
        lines.append(f"{case} = {json.dumps(sorted(faults))}\n")
    return "".join(lines)


def main() -> int:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("faults", type=pathlib.Path, help="what scripts/mutants.py --json wrote")
    parser.add_argument("--write", action="store_true", help="replace the committed list")
    parser.add_argument("--check", action="store_true", help="compare with the committed list")
    options = parser.parse_args()
    found = teeth(json.loads(options.faults.read_text()))
    toothless = [f"{suite} {case}" for (suite, case), faults in found.items() if not faults]
    print(f"teeth: {len(found)} cases, {len(toothless)} that no fault fails", file=sys.stderr)
    if options.write:
        LIST.write_text(text(found))
    elif options.check and LIST.read_text() != text(found):
        print(f"{LIST.relative_to(ROOT)} differs: scripts/teeth.py --write", file=sys.stderr)
        return 1
    elif not options.check:
        print(text(found), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
