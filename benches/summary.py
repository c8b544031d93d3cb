"""From runs to rows: medians, rates, ratios, and whether the targets are met."""

import statistics
from dataclasses import dataclass

from cases import PEER, PEER_BY_DEFAULT, Case, Target, Work
from process import BenchError, Cost


@dataclass(frozen=True)
class Run:
    """One run of a contender."""

    cost: Cost
    work: Work
    written_bytes: int = 0


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def row(case: Case, contender: str, runs: list[Run], own_rss_kib: int) -> dict:
    """One row of the table. Every run of a contender must have done the same work.

    `own_rss_kib` is the peak of the process that started the runs: the kernel counts what a child
    was before it became the program, so a peak no higher than that only says "at most this".
    """
    if len({run.work for run in runs}) != 1:
        amounts = sorted({run.work.amount for run in runs})
        raise BenchError(f"{case.name}: {contender} is not deterministic, it did {amounts}")
    work = runs[0].work
    if work.amount <= 0:
        raise BenchError(f"{case.name}: {contender} got nothing done")
    cpu = spread([run.cost.cpu_s for run in runs])
    wall = spread([run.cost.wall_s for run in runs])
    rss = max(run.cost.peak_rss_kib for run in runs)
    figures = {
        "case": case.name,
        "contender": contender,
        "runs": len(runs),
        "cpu_s": cpu,
        "cpu_rounds_s": [run.cost.cpu_s for run in runs],
        "wall_s": wall,
        "unit": case.unit,
        "amount": work.amount,
        "per_s": work.amount / cpu["median"],
        "per_wall_s": work.amount / wall["median"],
        "cpu_per_unit_ns": cpu["median"] / work.amount * 1e9,
        "fairness_index": work.fairness_index,
        "peak_rss_mib": rss / 1024,
        "peak_rss_is_upper_bound": rss <= own_rss_kib,
        "written_mib": max(run.written_bytes for run in runs) / 2**20,
    }
    if work.events is not None:
        figures["events_per_segment"] = work.events / work.amount
    return figures


def find(rows: list[dict], case: str, contender: str) -> dict | None:
    matches = (row for row in rows if (row["case"], row["contender"]) == (case, contender))
    return next(matches, None)


def add_ratios(rows: list[dict]) -> None:
    """Work per CPU second over that of ns-2 in the same case: `ratio`, and over that of ns-2 with
    all packet headers `ratio_all_headers`; `ratio_rounds` are the ratios round by round."""
    for one in rows:
        for name, contender in (("ratio", PEER), ("ratio_all_headers", PEER_BY_DEFAULT)):
            peer = find(rows, one["case"], contender)
            if peer is not None:
                one[name] = one["per_s"] / peer["per_s"]
                rounds = zip(one["cpu_rounds_s"], peer["cpu_rounds_s"], strict=True)
                more_work = one["amount"] / peer["amount"]
                one[f"{name}_rounds"] = spread([more_work * his / own for own, his in rounds])


def check(case: Case, target: Target, rows: list[dict]) -> dict | None:
    """A target beside what was measured; None where what it is held against was not measured."""
    measured = find(rows, case.name, target.contender)
    if measured is None:
        return None
    value = measured[target.figure]
    if target.over or target.over_case:
        other = find(rows, target.over_case or case.name, target.over or target.contender)
        if other is None:
            return None
        value /= other[target.figure]
    least, most = target.at_least, target.at_most
    return {
        "figure": target.figure,
        "over": target.over or target.over_case,
        "value": value,
        "at_least": least,
        "at_most": most,
        "met": (least is None or value >= least) and (most is None or value <= most),
    }


def add_targets(case: Case, rows: list[dict]) -> None:
    """`targets` of each row of a case."""
    for one in rows:
        if one["case"] == case.name:
            mine = (target for target in case.targets if target.contender == one["contender"])
            checks = (check(case, target, rows) for target in mine)
            one["targets"] = [done for done in checks if done is not None]


def add_floor(case: Case, rows: list[dict]) -> None:
    """`floor_ns` of a segment: its events in a loop that does nothing else; and how many times that
    it cost."""
    floor = find(rows, "floor", f"{case.pending} pending")
    for one in rows:
        if floor and one["case"] == case.name and "events_per_segment" in one:
            one["floor_ns"] = one["events_per_segment"] * floor["cpu_per_unit_ns"]
            one["times_floor"] = one["cpu_per_unit_ns"] / one["floor_ns"]
