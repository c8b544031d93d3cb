#!/usr/bin/env python3
"""Run a study of BBR version 3 for the tracker of draft-ietf-ccwg-bbr, and write its figures.

From the root of the repository:

    studies/bbr.py probe-rtt    # the interval of ProbeRTT: docs/results/bbr-probe-rtt.md
    studies/bbr.py drain        # how long Drain takes: docs/results/bbr-drain.md
    studies/bbr.py min-rtt      # BBR.min_rtt above the path's: docs/results/bbr-min-rtt.md

Each runs experiments/bbr/link.toml with the cases below, and writes figures to docs/results/data.
From these docs/results/tables.py fills the tables of the page, and docs/images/results.py draws its
plot. The pages define each figure.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = "experiments/bbr/link.toml"
BUILD = ("cargo", "build", "--quiet", "--release", "-p", "windlass-sim", "--example", "bbr3_watch")
# Bytes on the wire of a full packet and of an ACK.
PACKET, ACK = 1500, 52
ACCESS_MBIT = 1000
# BBR.min_rtt is above the path's from this multiple on.
ABOVE = 1.1
PROBE_RTT = 6
# A Drain is long if its last RTT sample is more than this multiple of BBR.min_rtt.
LONG = 2.1
# Figures whose sum over all runs is a row of the case "all".
TOTALS = ("short", "short_forced", "long", "long_forced")
# Figures in per cent, whose intervals end at 0 and 100.
SHARES = ("over_one", "forced", "never_empty", "above", "late_never", "in_probe_rtt", "utilisation")
# The 97.5 % quantile of Student's t, by degrees of freedom.
STUDENT = {9: 2.262, 39: 2.023}
Run = dict[str, Any]
Figures = dict[str, float]


@dataclass(frozen=True)
class Case:
    """A point: a link, and flows on it."""

    name: str
    mbit: float = 50
    rtt_ms: float = 40
    # In bandwidth-delay products.
    buffer: float = 5
    # Bulk flows of BBR from the beginning.
    flows: int = 4
    # Flows that an application limits, each to so much of a fair share.
    limited: int = 0
    limited_share: float = 0.5
    cubic: int = 0
    # A bulk flow of BBR joins then.
    late_s: float | None = None
    # The RTT of every second bulk flow; `None`: that of the others.
    far_rtt_ms: float | None = None
    # At the middle of the run the RTT of all flows becomes this.
    becomes_ms: float | None = None
    controller: dict[str, str] = field(default_factory=dict)
    duration_s: int = 100
    steady_s: int = 40

    def true_ms(self, far: bool = False) -> float:
        """The RTT of a packet and its ACK without a queue."""
        wire = 8 / 1000 * (PACKET + ACK) * (1 / self.mbit + 1 / ACCESS_MBIT)
        return (self.far_rtt_ms if far and self.far_rtt_ms else self.rtt_ms) + wire

    def settings(self) -> list[str]:
        """The keys of the scenario that differ."""
        delay = self.rtt_ms * 3 / 8
        packets = max(2, round(self.buffer * self.mbit * self.rtt_ms * 125 / PACKET))
        far = (self.far_rtt_ms or self.rtt_ms) / 2 - delay
        changes = [
            f'duration="{self.duration_s}s"',
            f'steady_from="{self.steady_s}s"',
            'interval="10s"',
            f'queues.buffer.limit="{packets} packets"',
            f'dumbbell.bottleneck.rate="{self.mbit}Mbit/s"',
            f'dumbbell.bottleneck.delay="{delay}ms"',
            f'dumbbell.access.0.delay="{self.rtt_ms / 8}ms"',
            f'dumbbell.access.1.delay="{far}ms"',
            f"flows=[{', '.join(self.groups())}]",
        ]
        if self.becomes_ms is not None:
            longer = delay + (self.becomes_ms - self.rtt_ms) / 2
            at = self.duration_s // 2
            changes.append(f'dumbbell.bottleneck.handovers=[{{at="{at}s", delay="{longer}ms"}}]')
        return changes

    def groups(self) -> Iterator[str]:
        """The flows, by kind."""
        options = ", ".join(f'{key}="{value}"' for key, value in self.controller.items())
        bbr = f'controller={{kind="bbr3"{", " + options if options else ""}}}'
        far = self.flows // 2 if self.far_rtt_ms else 0
        if self.flows > far:
            yield f'{{name="bulk", from="s1", count={self.flows - far}, {bbr}}}'
        if far:
            yield f'{{name="far", from="s2", count={far}, {bbr}}}'
        if self.limited:
            fair = self.mbit / (self.flows + self.limited + self.cubic)
            size = round(fair * self.limited_share * 1e6 / 8 * 0.25)
            app = f'app={{kind="limited", size="{size}B", interval="250ms"}}'
            yield f'{{name="limited", from="s1", count={self.limited}, {app}, {bbr}}}'
        if self.cubic:
            yield f'{{name="cubic", from="s1", count={self.cubic}, controller="cubic"}}'
        if self.late_s is not None:
            yield f'{{name="late", from="s1", start="{self.late_s}s", {bbr}}}'


def kind(name: str) -> str:
    """The kind of a flow by its name, as in groups."""
    return name.partition(".")[0]


def spans(changes: list[list[float]], start: float, end: float) -> Iterator[tuple[float, float]]:
    """Of a value that changes: for how many seconds between the times it was each."""
    for (at, value), later in zip(changes, [*changes[1:], [end, 0.0]], strict=True):
        seconds = min(later[0], end) - max(at, start)
        if seconds > 0:
            yield seconds, value


def share(changes: list[list[float]], start: float, end: float,
          counts: Callable[[float], bool]) -> float:  # fmt: skip
    """The share of the time in which the value counts."""
    found = list(spans(changes, start, end))
    total = sum(seconds for seconds, _ in found)
    return sum(seconds for seconds, value in found if counts(value)) / total if total else math.nan


def mean(values: Iterable[float]) -> float:
    """The mean, NaN without values."""
    found = list(values)
    return statistics.fmean(found) if found else math.nan


def bulk(run: Run) -> list[Run]:
    """The watched flows that have always data."""
    return [flow for flow in run["bbr"] if kind(flow["flow"]) != "limited"]


def above(case: Case, flow: Run) -> Callable[[float], bool]:
    """Whether a value of BBR.min_rtt is above the path's."""
    limit = ABOVE * case.true_ms(far=kind(flow["flow"]) == "far")
    return lambda value: value > limit


def figures_of_link(run: Run) -> Figures:
    """The figures of all studies."""
    summary = run["summary"]
    delays = summary["queues"][0]["queue_delay_ms"]
    rates = [f["mbit_per_s"]["steady"] for f in summary["flows"] if kind(f["name"]) != "limited"]
    squares = sum(rate**2 for rate in rates)
    return {
        "utilisation": 100 * summary["utilisation"]["steady"],
        "delay_ms": delays["mean"],
        "delay_p99_ms": delays["p99"],
        "loss": 100 * summary["drops"] / summary["bottleneck_packets"],
        "fairness": sum(rates) ** 2 / len(rates) / squares if squares else math.nan,
    }


def figures_of_min_rtt(case: Case, run: Run) -> Figures:
    """How far BBR.min_rtt is above the path's, in the steady window."""
    window = (case.steady_s, case.duration_s)
    flows = bulk(run)
    ratios = []
    for flow in flows:
        true = case.true_ms(far=kind(flow["flow"]) == "far")
        found = list(spans(flow["min_rtt"], *window))
        total = sum(seconds for seconds, _ in found)
        ratios.append(sum(seconds * value for seconds, value in found) / total / true)
    return {
        "above": 100 * mean(share(f["min_rtt"], *window, above(case, f)) for f in flows),
        "ratio": mean(ratios),
        "worst_ratio": max(ratios),
    }


def figures_of_probes(case: Case, run: Run) -> Figures:
    """The time that ProbeRTT takes, in the steady window."""
    window = (case.steady_s, case.duration_s)
    flows = bulk(run)
    minutes = (window[1] - window[0]) / 60
    probes = sum(
        state == PROBE_RTT and at >= window[0] for flow in flows for at, state in flow["states"]
    )
    in_probe = [share(f["states"], *window, lambda state: state == PROBE_RTT) for f in flows]
    return {
        "in_probe_rtt": 100 * mean(in_probe),
        "probes_per_minute": probes / len(flows) / minutes,
    }


def figures_of_change(case: Case, run: Run) -> Figures:
    """After a change of the path's RTT: how long BBR.min_rtt is wrong by a tenth or more."""
    if case.becomes_ms is None:
        return {}
    true = replace(case, rtt_ms=case.becomes_ms).true_ms()
    changed = case.duration_s / 2
    wrong = []
    for flow in bulk(run):
        last: float | None = changed
        for at, value in flow["min_rtt"]:
            if not true / ABOVE <= value <= true * ABOVE:
                last = None
            elif last is None:
                last = max(at, changed)
        wrong.append((case.duration_s if last is None else last) - changed)
    return {"wrong_s": mean(wrong)}


def figures_of_late(case: Case, run: Run) -> Figures:
    """Of the flow that joins late: the time until it knows the path's RTT, and its share."""
    if case.late_s is None:
        return {}
    late = next(flow for flow in run["bbr"] if kind(flow["flow"]) == "late")
    began = late["min_rtt"][0][0]
    high = above(case, late)
    knows = next((at for at, value in late["min_rtt"] if not high(value)), case.duration_s)
    rates = {f["name"]: f["mbit_per_s"] for f in run["summary"]["over_time"]["flows"]}
    others = [rate for name, rate in rates.items() if kind(name) in ("bulk", "far")]
    own = next(rate for name, rate in rates.items() if kind(name) == "late")
    figures = {"late_knows_s": knows - began, "late_never": 100.0 * (knows == case.duration_s)}
    for after in (20, 60):
        # The interval of ten seconds that ends so long after the start, jitter apart.
        place = round((case.late_s + after) / 10) - 1
        figures[f"late_share_{after}"] = own[place] / mean(rate[place] for rate in others)
    return figures


def drains_by_rtt(flows: list[Run]) -> Figures:
    """The first Drains by their last RTT sample, and how many of them the bound ended."""
    counts = dict.fromkeys(TOTALS, 0.0)
    for flow in flows:
        for drain in flow["drains"][:1]:
            if drain["ended_s"] is None:
                continue
            min_rtt = [value for at, value in flow["min_rtt"] if at <= drain["ended_s"]][-1]
            place = "short" if drain["rtt_ms"][1] <= LONG * min_rtt else "long"
            counts[place] += 1
            counts[f"{place}_forced"] += is_forced(drain)
    return counts


def is_forced(drain: Run) -> bool:
    """Whether the bound in round trips ended it."""
    return bool(drain["rounds"] > 3 and drain["flight"] > 1)


def figures_of_drain(case: Case, run: Run) -> Figures:
    """The first Drain of each bulk flow, or of the flow that joins late alone."""
    flows = [f for f in bulk(run) if case.late_s is None or kind(f["flow"]) == "late"]
    drains = [flow["drains"][0] for flow in flows if flow["drains"]]
    drains = [drain for drain in drains if drain["ended_s"] is not None]
    rtts = [(d["ended_s"] - d["began_s"]) * 1000 / case.true_ms() for d in drains]
    seen = [drain["empty_after"] for drain in drains if drain["empty_after"] is not None]
    figures = {
        "drains": len(drains) / len(flows),
        "forced": 100 * mean(map(is_forced, drains)),
        "over_one": 100 * mean(drain["rounds"] > 1 for drain in drains),
        "rounds": mean(drain["rounds"] for drain in drains),
        "rtts": mean(rtts),
        "flight": mean(drain["flight"] for drain in drains),
        "rtt_begin": mean(drain["rtt_ms"][0] for drain in drains) / case.true_ms(),
        "rtt_end": mean(drain["rtt_ms"][1] for drain in drains) / case.true_ms(),
        "empty_after": mean(seen),
        "never_empty": 100 * (1 - len(seen) / len(drains)) if drains else math.nan,
    }
    known = {name: value for name, value in figures.items() if not math.isnan(value)}
    return known | drains_by_rtt(flows)


@dataclass(frozen=True)
class Study:
    """Cases, seeds, and what is counted of a run."""

    cases: list[Case]
    seeds: int
    figures: Callable[[Case, Run], Figures]
    # Differences to the case of the same name with the setting before the "@" of the first.
    paired: bool = False


def probe_rtt() -> Study:
    """The interval of ProbeRTT."""
    points = [
        Case("base"),
        *(Case(f"flows {n}", flows=n) for n in (1, 2, 8, 16, 32)),
        *(Case(f"rate {rate}", mbit=rate) for rate in (5, 20, 200)),
        *(Case(f"rtt {rtt}", rtt_ms=rtt) for rtt in (10, 100, 200)),
        *(Case(f"buffer {size}", buffer=size) for size in (0.5, 1, 2, 20)),
        Case("limited 4", limited=4),
        Case("one bulk, limited 8", flows=1, limited=8),
        Case("cubic 1", cubic=1),
        Case("cubic 4", cubic=4),
        Case("longer", becomes_ms=80),
        Case("shorter", rtt_ms=80, becomes_ms=40),
        Case("longer, one flow", flows=1, becomes_ms=80),
    ]
    settings = {
        "5 s": {},
        "10 s": {"probe_rtt_interval": "10s"},
        "10 s of 20": {"probe_rtt_interval": "10s", "min_rtt_filter_len": "20s"},
    }
    cases = [
        replace(point, name=f"{point.name}@{name}", controller=options)
        for point in points
        for name, options in settings.items()
    ]

    def figures(case: Case, run: Run) -> Figures:
        found = figures_of_link(run) | figures_of_probes(case, run)
        if case.becomes_ms is None:
            return found | figures_of_min_rtt(case, run)
        return found | figures_of_change(case, run)

    return Study(cases, 10, figures, paired=True)


def drain() -> Study:
    """How long Drain takes."""
    short = Case("", flows=1, duration_s=30, steady_s=15)
    joins = replace(short, late_s=15.0)
    cases = [
        replace(short, name="alone"),
        *(replace(short, name=f"alone, rate {rate}", mbit=rate) for rate in (5, 200)),
        *(replace(short, name=f"alone, rtt {rtt}", rtt_ms=rtt) for rtt in (10, 200)),
        *(replace(short, name=f"alone, buffer {b}", buffer=b) for b in (0.5, 1, 20)),
        *(replace(short, name=f"together {n}", flows=n) for n in (2, 4, 8, 16, 32)),
        *(
            replace(short, name=f"together 8, buffer {b}", flows=8, buffer=b)
            for b in (0.5, 1, 2, 20)
        ),
        *(replace(joins, name=f"joins {n}", flows=n) for n in (1, 2, 4, 8, 16, 31)),
        *(replace(joins, name=f"joins 4, buffer {b}", flows=4, buffer=b) for b in (0.5, 1, 2, 20)),
        *(replace(joins, name=f"joins 4, rtt {rtt}", flows=4, rtt_ms=rtt) for rtt in (10, 200)),
        *(replace(joins, name=f"joins 4, rate {r}", flows=4, mbit=r) for r in (5, 200)),
        replace(joins, name="joins limited 4", flows=1, limited=4),
        *(replace(joins, name=f"joins cubic {n}", flows=0, cubic=n) for n in (1, 4)),
        replace(joins, name="joins cubic 4, buffer 20", flows=0, cubic=4, buffer=20),
    ]
    return Study(cases, 40, lambda case, run: figures_of_link(run) | figures_of_drain(case, run))


def min_rtt() -> Study:
    """BBR.min_rtt above the path's."""
    joins = Case("", duration_s=120, steady_s=60, late_s=30.0, flows=3)
    cases = [
        replace(joins, name="base"),
        *(replace(joins, name=f"flows {n + 1}", flows=n) for n in (1, 7, 15, 31)),
        *(replace(joins, name=f"buffer {b}", buffer=b) for b in (0.5, 1, 2, 10, 20)),
        *(
            replace(joins, name=f"flows {n + 1}, buffer 20", flows=n, buffer=20)
            for n in (1, 7, 15, 31)
        ),
        *(replace(joins, name=f"rate {rate}", mbit=rate) for rate in (5, 200)),
        *(replace(joins, name=f"rtt {rtt}", rtt_ms=rtt) for rtt in (10, 100, 200)),
        replace(joins, name="far", far_rtt_ms=160, flows=4),
        replace(joins, name="far, buffer 20", far_rtt_ms=160, flows=4, buffer=20),
        replace(joins, name="limited 4", limited=4),
        replace(joins, name="cubic 1", cubic=1),
        replace(joins, name="cubic 1, buffer 20", cubic=1, buffer=20),
        replace(joins, name="together 4", late_s=None, flows=4),
        replace(joins, name="together 4, buffer 20", late_s=None, flows=4, buffer=20),
    ]

    def figures(case: Case, run: Run) -> Figures:
        found = figures_of_link(run) | figures_of_min_rtt(case, run)
        return found | figures_of_probes(case, run) | figures_of_late(case, run)

    return Study(cases, 10, figures)


STUDIES: dict[str, Callable[[], Study]] = {
    "probe-rtt": probe_rtt,
    "drain": drain,
    "min-rtt": min_rtt,
}


def results(study: Study, binary: str, jobs: int) -> dict[str, list[Figures]]:
    """The figures of each case, by seed."""

    def of_case(case: Case) -> list[Figures]:
        requests = [
            json.dumps({"id": case.name, "set": case.settings(), "seed": seed})
            for seed in range(1, study.seeds + 1)
        ]
        ran = subprocess.run(
            (binary, SCENARIO), input="\n".join(requests), text=True, capture_output=True, cwd=ROOT
        )
        if ran.returncode:
            sys.exit(f"{case.name}: {ran.stderr}")
        print(case.name, file=sys.stderr)
        return [study.figures(case, json.loads(line)) for line in ran.stdout.splitlines()]

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip([c.name for c in study.cases], pool.map(of_case, study.cases), strict=True))


def row(case: str, key: str, values: list[float]) -> dict[str, Any]:
    """A line of the data: the mean over the seeds and its 95 % interval."""
    measured = statistics.fmean(values)
    line: dict[str, Any] = {"case": case, "key": key, "measured": short(measured)}
    if len(values) - 1 in STUDENT:
        half = STUDENT[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
        low, high = measured - half, measured + half
        if key in SHARES:
            low, high = max(low, 0.0), min(high, 100.0)
        line |= {"low": short(low), "high": short(high)}
    return line | {"count": len(values)}


def short(value: float) -> float:
    """The digits that a table can show."""
    return float(f"{value:.5g}")


def rows(study: Study, found: dict[str, list[Figures]]) -> Iterator[dict[str, Any]]:
    """The lines of the data; a figure that some runs lack is the mean of the others."""
    for case, runs in found.items():
        keys = (key for figures in runs for key in figures if key not in TOTALS)
        for key in dict.fromkeys(keys):
            yield row(case, key, [figures[key] for figures in runs if key in figures])
        point, _, _ = case.partition("@")
        first = found.get(f"{point}@5 s", [])
        if study.paired and runs is not first:
            for key in runs[0]:
                pairs = zip(runs, first, strict=True)
                yield row(case, f"{key}.change", [ours[key] - draft[key] for ours, draft in pairs])
    runs = [run for each in found.values() for run in each]
    for key in TOTALS if TOTALS[0] in runs[0] else ():
        yield {"case": "all", "key": key, "measured": sum(run[key] for run in runs)}


def main() -> None:
    """Run the study and write its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--binary", help="a built example bbr3_watch; without, cargo builds it")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default: 1)")
    arguments = parser.parse_args()
    binary = arguments.binary
    if not binary:
        subprocess.run(BUILD, check=True, cwd=ROOT)
        binary = str(ROOT / "target/release/examples/bbr3_watch")
    study = STUDIES[arguments.study]()
    found = results(study, binary, arguments.jobs)
    head = {"schema": 1, "kind": "docs.result", "date": datetime.now(UTC).date().isoformat()}
    git = ("git", "rev-parse", "--short=8", "HEAD")
    head["commit"] = subprocess.check_output(git, text=True, cwd=ROOT).strip()
    lines = ",\n".join("   " + json.dumps(line) for line in rows(study, found))
    text = json.dumps(head, indent=1).removesuffix("\n}")
    file = ROOT / f"docs/results/data/bbr-{arguments.study}.json"
    experiments = f'{{\n  "{arguments.study}": [\n{lines}\n  ]\n }}'
    file.write_text(f'{text},\n "experiments": {experiments}\n}}\n')
    print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
