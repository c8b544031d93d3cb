"""The paper's Tables C.1 to C.10: every run, in seconds."""

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from windlass_lab.papers.ecn_proxy.plan import Test

_FILE = "ecn-proxy-published.csv"


@cache
def published() -> Mapping[Test, Sequence[float]]:
    """The runs of each test, by test."""
    data = resources.files("windlass_lab").joinpath("data", _FILE).read_text(encoding="utf-8")
    found: dict[Test, list[float]] = {}
    for row in csv.DictReader(data.splitlines()):
        cross = row["cross_traffic"] == "yes"
        test = Test(row["direction"], row["connections"], cross, row["configuration"])
        found.setdefault(test, []).append(float(row["seconds"]))
    return found
