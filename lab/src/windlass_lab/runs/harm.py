"""The harm that flows do to another over time, from a run without them and one with them."""

from collections.abc import Mapping

from windlass_lab.runs.panels import RunLike


def over_time(alone: RunLike, together: RunLike) -> list[tuple[str, list[float], list[float]]]:
    """For each flow of both runs the ends of intervals in s, and its harm in each: the share of the
    rate alone that it lacks (Ware and others, "Beyond Jain's Fairness Index", HotNets 2019), below
    zero where it is faster. Intervals without a rate alone are left out. Empty unless both have
    the same `interval`.
    """
    first, second = (run.summary.get("over_time") for run in (alone, together))
    if not first or not second or first["interval_s"] != second["interval_s"]:
        return []
    before, after = _rates(first), _rates(second)
    found = []
    for name in (name for name in before if name in after):
        pairs = enumerate(zip(before[name], after[name], strict=False), start=1)
        points = [(n * first["interval_s"], 1 - b / a) for n, (a, b) in pairs if a > 0]
        if points:
            found.append((name, [x for x, _ in points], [y for _, y in points]))
    return found


def _rates(figures: Mapping) -> dict[str, list[float]]:
    return {flow["name"]: flow["mbit_per_s"] for flow in figures["flows"]}
