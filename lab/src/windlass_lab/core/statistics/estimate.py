"""Measured quantities: a mean over replicates with its spread, for a case and for its flows."""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windlass_lab.core.errors import RunError


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `count` replicates and their standard deviation, in the quantity's own unit.

    Of the runs on a kernel, which are few and may have met other work, it is the median.
    """

    mean: float
    sd: float = 0.0
    count: int = 1

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        middle: Callable[[Sequence[float]], float] = statistics.median,
    ) -> "Estimate":
        """The median, or another `middle`, of single values and their standard deviation."""
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(float(middle(values)), spread, len(values))

    @property
    def standard_error(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(max(1, self.count))


@dataclass(frozen=True, slots=True)
class FlowResult:
    """One flow; `values` has dotted names such as `packets_per_s.steady`."""

    name: str
    rtt_min_ms: float
    values: Mapping[str, Estimate]
    controller: str = ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case; `values` has dotted names such as `fairness_index.whole_run`."""

    values: Mapping[str, Estimate]
    flows: Sequence[FlowResult] = field(default_factory=tuple)

    @classmethod
    def from_summary(cls, summary: Mapping, replicates: int) -> "CaseResult":
        """Reads a summary object; a figure in it is a number or `{mean, sd}`.

        A summary that says how many `replicates` it is over is believed. Raises `RunError` where a
        flow has no `rtt_min_ms` to tell it by.
        """
        replicates = summary.get("replicates", replicates)
        flows = tuple(
            _flow(f"flow {number}", flow, replicates)
            for number, flow in enumerate(summary.get("flows", ()), start=1)
        )
        case = {key: value for key, value in summary.items() if key != "flows"}
        return cls(dict(_figures(case, replicates)), flows)


def _flow(default_name: str, flow: Mapping, replicates: int) -> FlowResult:
    values = dict(_figures(flow, replicates))
    if "rtt_min_ms" not in values:
        raise RunError(f"{flow.get('name', default_name)}: the summary has no rtt_min_ms for it")
    name = flow.get("name", default_name)
    return FlowResult(name, values["rtt_min_ms"].mean, values, flow.get("controller", ""))


def _figures(node: Mapping, replicates: int, prefix: str = "") -> Iterator[tuple[str, Estimate]]:
    for key, value in node.items():
        name = f"{prefix}{key}"
        if _is_number(value):
            yield name, Estimate(float(value), 0.0, replicates)
        elif isinstance(value, Mapping) and _is_number(middle := _middle(value)):
            yield name, Estimate(float(middle), float(value.get("sd") or 0.0), replicates)
        elif isinstance(value, Mapping):
            yield from _figures(value, replicates, f"{name}.")


def _middle(value: Mapping) -> Any:
    """The mean or median over replicates; `None` for a distribution, which has other keys too."""
    over_replicates = value.keys() <= {"mean", "median", "sd"}
    return value.get("mean", value.get("median")) if over_replicates else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def pair_flows(
    left: Sequence[FlowResult], right: Sequence[FlowResult]
) -> list[tuple[FlowResult, FlowResult]]:
    """Pairs the flows of two results of one case, in the order of `left`.

    Controller and smallest RTT identify a flow; equal ones match by their order in the
    file. Raises `RunError` when the two lists cannot be of the same case.
    """
    if len(left) != len(right):
        raise RunError(f"{len(left)} flows measured where the reference has {len(right)}")
    partners = dict(zip(_order(left), _order(right), strict=True))
    pairs = [(flow, right[partners[index]]) for index, flow in enumerate(left)]
    for ours, theirs in pairs:
        # Measured minima carry serialisation times, so they may lie a little above.
        if not math.isclose(ours.rtt_min_ms, theirs.rtt_min_ms, rel_tol=0.25, abs_tol=2.5):
            raise RunError(
                f"{ours.name} has a smallest RTT of {ours.rtt_min_ms:g} ms, "
                f"the reference {theirs.rtt_min_ms:g} ms"
            )
    return pairs


def _order(flows: Sequence[FlowResult]) -> list[int]:
    key = [(flow.controller, flow.rtt_min_ms, index) for index, flow in enumerate(flows)]
    return sorted(range(len(flows)), key=key.__getitem__)


def pool(summaries: Sequence[Mapping], median: bool = False) -> dict:
    """One summary from those of single runs: each figure becomes `{mean, sd}` over them, or
    `{median, sd}`.

    The standard deviation is that of a sample. Values that are no numbers come from the first run.
    """
    name, middle = ("median", statistics.median) if median else ("mean", statistics.fmean)
    pooled = _pool(summaries, lambda values: {name: middle(values), "sd": statistics.stdev(values)})
    return pooled | {"replicates": len(summaries)}


def _pool(values: Sequence, spread: Callable[[Sequence], dict]) -> Any:
    first = values[0]
    if isinstance(first, Mapping):
        if any(value is None for value in values):
            # Such as the delays of a flow that sent nothing in one of the runs.
            return None
        common = [key for key in first if all(key in value for value in values)]
        return {key: _pool([value[key] for value in values], spread) for key in common}
    if isinstance(first, list):
        return [_pool(items, spread) for items in zip(*values, strict=False)]
    if not all(_is_number(value) for value in values):
        return first
    if len(values) == 1 or all(value == first for value in values):
        return first
    return spread(values)
