#!/usr/bin/env python3
"""Write simulator.json beside this script from simulated runs, for docs/results/tables.py.

From the root of the repository, in some seconds:

    .venv/bin/python docs/results/data/simulate.py --windlass target/release/windlass --commit HASH

A row is a figure of the summary that `windlass sim run --json` prints; that of the key "rates" has
the rate of each flow in words.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from compact import DATA, SCHEMA, Row, packed, text

# By experiment: its scenario, and by case the keys that are replaced in it.
RUNS = {
    "bbr3-flows": (
        "experiments/examples/bbr3_flows.toml",
        {f"{count} flows": [f"flows.0.count={count}"] for count in (2, 3, 4, 5)},
    ),
}
FIGURES = (
    "fairness_index.steady",
    "utilisation.steady",
    "queues.0.queue_delay_ms.mean",
    "queues.0.queue_delay_ms.p99",
    "drops",
)


def at(summary: Any, key: str) -> Any:
    """The value at a dotted key."""
    for part in key.split("."):
        summary = summary[int(part)] if isinstance(summary, list) else summary[part]
    return summary


def rows(case: str, summary: dict) -> Iterator[Row]:
    """The rows of a run."""
    for key in FIGURES:
        yield packed({"case": case, "key": key, "measured": at(summary, key), "count": 1})
    rates = [flow["mbit_per_s"]["steady"] for flow in summary["flows"]]
    words = ", ".join(f"{rate:.1f}" for rate in rates)
    yield packed({"case": case, "key": "rates", "quantity": words, "measured": sum(rates)})


def main() -> int:
    """Run all and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windlass", type=Path, required=True, help="the command")
    parser.add_argument("--commit", required=True, help="of the command")
    arguments = parser.parse_args()
    experiments: dict[str, list[Row]] = {}
    for id_, (scenario, cases) in RUNS.items():
        for case, changes in cases.items():
            sets = [word for change in changes for word in ("--set", change)]
            command = [str(arguments.windlass), "sim", "run", scenario, *sets, "--json"]
            found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            experiments.setdefault(id_, []).extend(rows(case, json.loads(found)))
    document = {
        "schema": SCHEMA,
        "kind": "docs.result",
        "date": datetime.now(UTC).date().isoformat(),
        "commit": arguments.commit,
        "experiments": experiments,
    }
    (DATA / "simulator.json").write_text(text(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
