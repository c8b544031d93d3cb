"""The stricter network: RED stands at the very bottleneck and sees every packet that waits.

The main tests have a device behind RED, as the paper's machines must have had; its size is not
published. Without one, marks come at windows of a few segments, and RED is above its upper
threshold much of the time. It then drops SYNs, which are not ECN-capable. Hosts and proxy ask for
ECN again after a lost SYN, as the paper's Linux 3.19 did and the testbed's hosts do. Otherwise the
time of a test is that of a connection without ECN which waits until all others have ended.
"""

from collections.abc import Sequence
from itertools import product

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.statistics.interval import FEWEST_SEEDS
from windlass_lab.core.verdicts.verdict import Comparison
from windlass_lab.papers.ecn_proxy import criteria
from windlass_lab.papers.ecn_proxy.by_connections import (
    COUNTS,
    HEADINGS,
    Series,
    bars,
    judge_all,
    panel,
    ratios,
    row,
    tests_of,
    times,
)
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS, NATIVE, NEITHER, PROXY, Test, proxy
from windlass_lab.papers.ecn_proxy.supplement import Runs, Supplement, Variant, case

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


def _series(rtt: str, direction: str, cross: bool) -> Series[Variant]:
    traffic = _TRAFFIC[cross]
    idle = ((PROXY, NEITHER, criteria.AT_BOTTLENECK_WITHOUT), (NATIVE, NEITHER, None))
    return Series(
        f"{direction}, {rtt}, {traffic}",
        f"{direction.capitalize()}, {{load}} conn., {rtt}, {traffic}: Time",
        lambda load, name: _variant(Test(direction, load, cross, name), rtt),
        ((PROXY, NATIVE, criteria.AT_BOTTLENECK), *(() if cross else idle)),
    )


_GROUPS = [
    [_series(rtt, direction, cross) for cross in _TRAFFIC]
    for rtt, direction in product(_DELAYS, DIRECTIONS)
]


def tests() -> Sequence[Variant]:
    """Both directions by 1, 2, 3 and 5 connections, without ECN, with the proxy, and with ECN."""
    return tests_of(_GROUPS, COUNTS)


def judge(runs: Runs) -> list[Comparison]:
    """By the bounds of the main tests."""
    return judge_all(_GROUPS, COUNTS, runs, FEWEST_SEEDS)


def draw(runs: Runs) -> list[Drawn]:
    """The proxy's ratios to ECN at both ends: a panel a traffic, bars by connections."""
    panels, rows = [], []
    for number, traffic in enumerate(_TRAFFIC.values()):
        groups: list[dict] = []
        for each in (group[number] for group in _GROUPS):
            values = ratios(runs, each.by_count(PROXY), each.by_count(NATIVE))
            groups.append(bars(each.label.removesuffix(f", {traffic}"), len(groups), values))
            rows.append(row(each.label, groups[-1]))
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


def tables(runs: Runs) -> list[dict]:
    """The median times, in seconds."""
    return times(_GROUPS, runs, opened=False)


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
