"""Figures that follow from others: shares, ratios of means, the bound of TCP-friendliness."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from windlass_lab.core.statistics.estimate import CaseResult, Estimate, FlowResult

# Equation 4.4, after Floyd and Fall (1999): rate <= 1.5 sqrt(2/3) B / (R sqrt(p)).
_FRIENDLY = 1.5 * math.sqrt(2 / 3)
# The scenario of several congested gateways.
_GATEWAYS = "gateways"
# Flows of the setups of section 4.2.1.
_FOUR = 4
# Flows of a kind in the mixtures of section 4.3.
_THREE = 3


def enriched(summary: Mapping) -> dict:
    """The summary of a single run with what follows from it.

    `new_ecn_share`: the rates of the New-ECN flows over the total, where other flows share the
    link. `friendly_packets_per_s`: the bound of equation 4.4 for a flow alone, from its packets
    and drops at the bottleneck. `timeouts_per_flow`: their mean.
    `flows_without_marks`: how many were dropped at most, never marked. `marked_share`,
    `dropped_share`: of the packets at the bottleneck. `fairness_of_four`: the index of the first
    four flows. `last_three_packets_per_s`: the rate of the second half of six flows.
    `longest_over_shortest`: the rate of the flow with the longest round trip over that of the
    shortest one. `completion_s`: the mean of all transfers, where there are some.
    `red_average_packets`: the mean of RED's average at the bottleneck. Of several gateways also
    what `_of_gateways` returns.
    """
    flows = summary.get("flows", ())
    added: dict = _red_average(summary)
    if flows:
        added["timeouts_per_flow"] = sum(flow.get("timeouts", 0) for flow in flows) / len(flows)
        if summary.get("bottleneck_packets") and "marks" in summary:
            added["marked_share"] = summary["marks"] / summary["bottleneck_packets"]
            added["dropped_share"] = summary["drops"] / summary["bottleneck_packets"]
        added["flows_without_marks"] = sum(not flow.get("marks", 0) for flow in flows)
    if times_s := [time for flow in flows for time in _completions(flow)]:
        added["completion_s"] = sum(times_s) / len(times_s)
    if len({flow.get("controller") for flow in flows}) > 1:
        added["new_ecn_share"] = {span: _share(flows, span) for span in ("whole_run", "steady")}
    if len(flows) == 1 and summary.get("drops"):
        # Hamann 1999, equation 4.4, in packets: 1.5 sqrt(2/3) / (R sqrt(p)).
        drop_rate = summary["drops"] / summary["bottleneck_packets"]
        rtt_s = flows[0]["rtt_min_ms"] / 1000
        added["friendly_packets_per_s"] = _FRIENDLY / (rtt_s * math.sqrt(drop_rate))
    if len(flows) == 2 * _THREE:
        last = flows[_THREE:]
        added["last_three_packets_per_s"] = sum(flow["packets_per_s"]["steady"] for flow in last)
    if len(flows) >= _FOUR:
        by_rtt = sorted(flows, key=lambda flow: flow.get("rtt_min_ms", 0))
        rates = [flow["packets_per_s"]["steady"] for flow in by_rtt]
        added["longest_over_shortest"] = rates[-1] / rates[0] if rates[0] else 0.0
        added["fairness_of_four"] = _index([flow["packets_per_s"]["steady"] for flow in flows][:4])
    if summary.get("name") == _GATEWAYS:
        added |= _of_gateways([flow["packets_per_s"]["steady"] for flow in flows])
    return dict(summary) | added


def _red_average(summary: Mapping) -> dict:
    queues = summary.get("queues") or [{}]
    averages = queues[0].get("mean_average_packets") or {}
    return {"red_average_packets": averages} if averages.get("steady") is not None else {}


def _index(rates: Sequence[float]) -> float:
    """Jain's index."""
    # (sum x)^2 / (n sum x^2); Hamann 1999, equation 2.6.
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


def _of_gateways(rates: Sequence[float]) -> dict:
    """Fairness figures of several gateways in a row: a flow crosses them all, whose rate stands
    first, and each has a cross flow. A gateway's capacity is the sum of its flows' rates.

    `long_over_cross`: 1 is max-min fair, 1/n on n gateways proportionally fair. `max_min`: the
    smallest rate over the max-min fair one. `proportional_change`: the sum of equation 2.5 for the
    proportionally fair rates against these; 0 if they are the same, above 0 otherwise.
    """
    long, cross = rates[0], rates[1:]
    mean_cross = sum(cross) / len(cross)
    capacity = long + mean_cross
    # Of a capacity C on n gateways the long flow gets C / (n + 1), a cross flow the rest.
    fair = [capacity / (len(cross) + 1)]
    fair += [long + rate - fair[0] for rate in cross]
    if min(rates) <= 0:
        return {"long_over_cross": 0.0, "max_min": 0.0}
    return {
        "long_over_cross": long / mean_cross,
        "max_min": min(rates) / (capacity / 2),
        # Hamann 1999, equation 2.5.
        "proportional_change": sum((f - r) / r for f, r in zip(fair, rates, strict=True)),
    }


def _completions(flow: Mapping) -> Sequence[float]:
    return (flow.get("transfers") or {}).get("completion_s", ())


def of_kernel(summary: Mapping) -> dict:
    """The summary of a run on a kernel as one of the simulator, with what follows from it.

    Controllers have the simulator's names; `flows_without_ecn`: how many did not agree on it.
    """
    flows = [
        dict(flow) | {"controller": flow["controller"].replace("_", "-")}
        for flow in summary["flows"]
    ]
    added = {"flows_without_ecn": sum(not flow["ecn"] for flow in flows)}
    known = enriched(dict(summary) | {"flows": flows})
    # The kernel does not say which flow was marked.
    del known["flows_without_marks"]
    return known | added


def _share(flows: Sequence[Mapping], span: str) -> float:
    total = sum(flow["packets_per_s"][span] for flow in flows)
    new = [flow for flow in flows if flow.get("controller") == "new-ecn"]
    return sum(flow["packets_per_s"][span] for flow in new) / total if total else 0.0


def pair_names(case: CaseResult) -> list[tuple[str, FlowResult, FlowResult]]:
    """Each two flows as the paper's tables have them: TCP 1 is the one with the longest RTT.

    The slower flow stands first, and the pairs with the fastest one come first.
    """
    slowest_first = sorted(case.flows, key=lambda flow: -flow.rtt_min_ms)
    numbered = list(enumerate(slowest_first, start=1))
    pairs = [(f"{i}:{j}", left, right) for (i, left), (j, right) in combinations(numbered, 2)]
    return sorted(pairs, key=lambda pair: (-int(pair[0][-1]), int(pair[0][0])))


def ratio(left: FlowResult, right: FlowResult, key: str) -> Estimate | None:
    """The ratio of two flows' means."""
    return quotient(left.values.get(key), right.values.get(key))


def quotient(above: Estimate | None, below: Estimate | None) -> Estimate | None:
    """The ratio of two means, its spread as if the two were independent."""
    if above is None or below is None or not below.mean or not above.mean:
        return None
    value = above.mean / below.mean
    # Relative errors add in squares, to the first order.
    spread = abs(value) * math.hypot(above.sd / above.mean, below.sd / below.mean)
    return Estimate(value, spread, min(above.count, below.count))


def exponent(left: FlowResult, right: FlowResult, key: str, base: str) -> Estimate | None:
    """The power of the ratio of `base` that gives the ratio of `key`."""
    power, rtts = ratio(left, right, key), ratio(left, right, base)
    if power is None or rtts is None or power.mean <= 0 or rtts.mean <= 0 or rtts.mean == 1:
        return None
    scale = math.log(rtts.mean)
    return Estimate(math.log(power.mean) / scale, power.sd / power.mean / scale, power.count)
