"""The figures to compare with: the published ones and those of the reference."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.text_file import read_text
from windlass_lab.core.statistics.estimate import CaseResult, FlowResult


@dataclass(frozen=True, slots=True)
class Reference:
    """Figures of ns-2 with the paper's modifications, 20 replicates with jittered starts."""

    source: str
    cases: Mapping[str, CaseResult]


@cache
def load_reference(paper: str) -> Reference:
    """The reference figures of a paper, from the package's data; none where it has no reference."""
    if not _has(f"{paper}-reference.json"):
        return Reference("", {})
    data = _package_json(f"{paper}-reference.json")
    replicates = data["replicates"]
    cases = {
        name: CaseResult.from_summary(case["jitter"], replicates)
        for name, case in data["cases"].items()
    }
    return Reference(data["source"], cases)


@cache
def load_reference_acks(paper: str) -> dict[str, list[dict]]:
    """Acknowledged packets over time in the reference, by case: flows in order of controller
    and RTT.

    Each flow is `{rtt_min_ms, controller, time_s, packets}`.
    """
    if not _has(f"{paper}-reference-series.json"):
        return {}
    data = _package_json(f"{paper}-reference-series.json")
    return {name: _flows_of(case) for name, case in data["cases"].items()}


def _flows_of(case: Mapping) -> list[dict]:
    times = [row[0] for row in case["rows"]]
    flows = [
        {
            "rtt_min_ms": rtt,
            "controller": controller,
            "time_s": times,
            "packets": [row[column] for row in case["rows"]],
        }
        for column, (rtt, controller) in enumerate(
            zip(case["rtt_min_ms"], case["controllers"], strict=True), start=1
        )
    ]
    return sorted(flows, key=lambda flow: (flow["controller"], flow["rtt_min_ms"]))


def _has(name: str) -> bool:
    return resources.files("windlass_lab").joinpath("data", name).is_file()


def _package_json(name: str) -> dict:
    text = resources.files("windlass_lab").joinpath("data", name).read_text(encoding="utf-8")
    return json.loads(text)


_FAIRNESS: Mapping[object, str] = {True: "fair", False: "not fair"}


@dataclass(frozen=True, slots=True)
class Published:
    """The `[published]` table of a scenario: figures under the summary's key names."""

    table: Mapping

    def figure(self, key: str, flow: FlowResult | None = None) -> float | str | None:
        """The published figure for a dotted key, of one flow when given; None: there is none.

        A plain number is that of the whole run, or the mean of the trace entries: so the paper
        took its figures. Where it only says whether sharing was fair, that is the fairness index
        in words.
        """
        table = self.table if flow is None else self._flow_table(flow)
        value = _lookup(table, key)
        if value is None and key.startswith("fairness_index."):
            value = _FAIRNESS.get(table.get("fair"))
        if value is None and key.startswith("new_ecn_share."):
            value = table.get("new_ecn_share")
        if value is None and key.startswith("total_packets_per_s."):
            value = self._only_rate(key)
        return value if isinstance(value, int | float | str) else None

    def _only_rate(self, key: str) -> object:
        """The rate of a flow alone is the total rate too."""
        flows = self.table.get("flows", ())
        return _lookup(flows[0], key.removeprefix("total_")) if len(flows) == 1 else None

    def _flow_table(self, flow: FlowResult) -> Mapping:
        for entry in self.table.get("flows", ()):
            if abs(entry.get("rtt_min_ms", -1.0) - flow.rtt_min_ms) < 0.5:
                return entry
        return {}


def _lookup(table: Mapping, key: str) -> object:
    value: object = table
    for part in key.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif part not in ("whole_run", "trace_mean"):
            return None
    return value


def load_published(scenario: Path) -> Published:
    """The published figures of a scenario file. Raises `LabError` when it cannot be read."""
    try:
        table = tomllib.loads(read_text(scenario))
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{scenario}: {error}") from error
    published = table.get("published", {})
    return Published(published if isinstance(published, dict) else {})
