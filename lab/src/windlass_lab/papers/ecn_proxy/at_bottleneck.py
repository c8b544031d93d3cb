"""The stricter network: RED stands at the very bottleneck and sees every packet that waits.

The main tests have a device behind RED, as the paper's machines must have had; its size is not
published. Without one, marks come at windows of a few segments, and RED is above its upper
threshold much of the time. It then drops SYNs, which are not ECN-capable. Hosts and proxy ask for
ECN again after a lost SYN, as the paper's Linux 3.19 did and the testbed's hosts do. Otherwise the
time of a test is that of a connection without ECN which waits until all others have ended.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.statistics.interval import FEWEST_SEEDS
from windlass_lab.core.verdicts.verdict import Comparison
from windlass_lab.papers.ecn_proxy import criteria
from windlass_lab.papers.ecn_proxy.by_connections import (
    COUNTS,
    HEADINGS,
    ByCount,
    bars,
    medians,
    panel,
    ratios,
    row,
    table,
)
from windlass_lab.papers.ecn_proxy.plan import (
    DIRECTIONS,
    LABELS,
    NATIVE,
    NEITHER,
    PROXY,
    Test,
    proxy,
)
from windlass_lab.papers.ecn_proxy.supplement import (
    Runs,
    Supplement,
    Variant,
    case,
    over,
    seconds,
)

_CONFIGURATIONS = (NEITHER, PROXY, NATIVE)
_RUNS = FEWEST_SEEDS
# The router's two interfaces in the scenarios.
_NO_DEVICE = {"links.3.device_queue": "0s", "links.4.device_queue": "0s"}
# The round trip of the empty path, and the delay of each of the router's two links.
_DELAYS = {"0.2 ms": "0.05ms", "2 ms": "0.5ms"}
_TRAFFIC = {True: "with cross traffic", False: "without cross traffic"}


def _variant(test: Test, rtt: str) -> Variant:
    changed: dict[str, object] = {
        **_NO_DEVICE,
        "links.3.delay": _DELAYS[rtt],
        "links.4.delay": _DELAYS[rtt],
        "defaults.ecn_fallback": False,
    }
    if test.has_proxy:
        changed["middleboxes"] = [proxy(fallback=False)]
    return Variant(test, f"no-device-{rtt.replace(' ', '')}", changed)


def tests() -> Sequence[Variant]:
    """Both directions by 1, 2, 3 and 5 connections, without ECN, with the proxy, and with ECN."""
    return [
        _variant(Test(direction, load, cross, name), rtt)
        for rtt in _DELAYS
        for direction in DIRECTIONS
        for load in COUNTS
        for cross in _TRAFFIC
        for name in _CONFIGURATIONS
    ]


def judge(runs: Runs) -> list[Comparison]:
    """By the bounds of the main tests."""
    found = [
        each
        for rtt in _DELAYS
        for direction in DIRECTIONS
        for load in COUNTS
        for each in _of_load(direction, load, rtt, runs)
    ]
    return [comparison for comparison in found if comparison is not None]


def _of_load(direction: str, load: str, rtt: str, runs: Runs) -> Iterator[Comparison | None]:
    for cross, traffic in _TRAFFIC.items():
        none, proxy, native = (
            _variant(Test(direction, load, cross, name), rtt) for name in _CONFIGURATIONS
        )
        prefix = f"{direction.capitalize()}, {load} conn., {rtt}, {traffic}: Time"
        name = f"{prefix}, {LABELS[PROXY]} over {LABELS[NATIVE]}"
        yield over(name, runs, proxy, native, criteria.AT_BOTTLENECK, FEWEST_SEEDS)
        if not cross:
            name = f"{prefix}, {LABELS[PROXY]} over {LABELS[NEITHER]}"
            yield over(name, runs, proxy, none, criteria.AT_BOTTLENECK_WITHOUT, FEWEST_SEEDS)
            name = f"{prefix}, {LABELS[NATIVE]} over {LABELS[NEITHER]}"
            yield over(name, runs, native, none, None, FEWEST_SEEDS)


def draw(runs: Runs) -> list[Drawn]:
    """The proxy's ratios to ECN at both ends: a panel a traffic, bars by connections."""
    panels, rows = [], []
    for number, (cross, traffic) in enumerate(_TRAFFIC.items()):
        groups: list[dict] = []
        for rtt in _DELAYS:
            for direction in DIRECTIONS:
                proxy, native = (_by_count(direction, cross, c, rtt) for c in (PROXY, NATIVE))
                label = f"{direction}, {rtt}"
                groups.append(bars(label, len(groups), ratios(runs, proxy, native)))
                rows.append(row(f"{label}, {traffic}", groups[-1]))
        panels.append(panel(f"no-device-{number}", traffic.capitalize(), groups))
    drawn = Drawn(
        id="no-device",
        figure="",
        title="Time through the proxy over ECN at both ends, without a device behind RED",
        note="Ratios of medians, by connections.",
        panels=panels,
        headings=HEADINGS,
        rows=rows,
    )
    return [drawn] if any(group["x"] for each in panels for group in each.spec["data"]) else []


def _by_count(direction: str, cross: bool, configuration: str, rtt: str) -> ByCount:
    return lambda load: _variant(Test(direction, load, cross, configuration), rtt)


def tables(runs: Runs) -> list[dict]:
    """The median times, in seconds."""
    rows = []
    for rtt, direction, cross, name in product(_DELAYS, DIRECTIONS, _TRAFFIC, _CONFIGURATIONS):
        test = _by_count(direction, cross, name, rtt)
        label = f"{direction}, {rtt}, {_TRAFFIC[cross]}, {LABELS[name]}"
        rows.append(medians(label, [seconds(runs, test(load)) for load in COUNTS]))
    return [table("Completion time in seconds, medians", rows, opened=False)]


AT_BOTTLENECK = Supplement(
    experiment=Experiment(
        id="at-bottleneck",
        chapter="Beyond the paper",
        section="The paper's tests in a stricter network",
        title="RED at the very bottleneck",
        shows="The main tests have a device behind RED that holds 30 ms, as the paper's machines "
        "limited their rates outside of RED's kernel (section 4.2.2). Here RED sees every packet "
        "that waits, at round trips of 0.2 and 2 ms. The bounds are those of the main tests. Five "
        "connections, and at 0.2 ms three, keep RED above its upper threshold: a SYN or a "
        "retransmission that finds no room waits for the others, and the last end is late or not. "
        "Where the interval of such runs is wider than the bounds, they decide nothing.",
        quick=False,
        seconds=180.0,
        first_result=criteria.FIRST_BEYOND,
        cases=[case(test, test.name) for test in tests()],
    ),
    tests=tests,
    most_runs=_RUNS,
    judge=judge,
    tables=tables,
    draw=draw,
)
