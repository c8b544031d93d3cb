"""The stricter network: RED stands at the very bottleneck and sees every packet that waits.

The main tests have a device behind RED, as the paper's machines must have had; its size is not
published. Without one, marks come at windows of a few segments, and RED is above its upper
threshold much of the time. It then drops SYNs, which are not ECN-capable. Hosts and proxy ask for
ECN again after a lost SYN, as the paper's Linux 3.19 did and the testbed's hosts do. Otherwise the
time of a test is that of a connection without ECN which waits until all others have ended.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from windlass_lab.core.model import Experiment
from windlass_lab.core.plot_parts import Drawn, Panel
from windlass_lab.core.text import NONE, figure
from windlass_lab.core.verdict import Comparison
from windlass_lab.papers.ecn_proxy.extra import (
    NOT_JUDGED,
    Extra,
    Runs,
    Variant,
    case,
    over,
    seconds,
)
from windlass_lab.papers.ecn_proxy.judge import AS_NATIVE, AS_WITHOUT
from windlass_lab.papers.ecn_proxy.plan import (
    DIRECTIONS,
    FILES,
    LABELS,
    LOADS,
    NATIVE,
    NEITHER,
    PROXY,
    Test,
)

_COUNTS = tuple(load for load in LOADS if load != FILES)
_CONFIGURATIONS = (NEITHER, PROXY, NATIVE)
_RUNS = 10
# The router's two interfaces in the scenarios.
_NO_DEVICE = {"links.3.device_queue": "0s", "links.4.device_queue": "0s"}
# The round trip of the empty path, and the delay of each of the router's two links.
_DELAYS = {"0.2ms": "0.05ms", "2ms": "0.5ms"}
_TRAFFIC = {True: "with cross traffic", False: "without cross traffic"}


def _variant(test: Test, rtt: str) -> Variant:
    changed: dict[str, object] = {
        **_NO_DEVICE,
        "links.3.delay": _DELAYS[rtt],
        "links.4.delay": _DELAYS[rtt],
        "defaults.ecn_fallback": False,
    }
    if test.has_proxy:
        proxy = {"kind": "ecn-proxy", "node": "proxy", "served": ["client"], "fallback": False}
        changed["middleboxes"] = [proxy]
    return Variant(test, f"no-device-{rtt}", changed)


def tests() -> Sequence[Variant]:
    """Both directions by 1, 2, 3 and 5 connections, without ECN, with the proxy, and with ECN."""
    return [
        _variant(Test(direction, load, cross, name), rtt)
        for rtt in _DELAYS
        for direction in DIRECTIONS
        for load in _COUNTS
        for cross in _TRAFFIC
        for name in _CONFIGURATIONS
    ]


def judge(runs: Runs) -> list[Comparison]:
    """By the bounds of the main tests."""
    found = [
        each
        for rtt in _DELAYS
        for direction in DIRECTIONS
        for load in _COUNTS
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
        yield over(name, runs, proxy, native, AS_NATIVE)
        if not cross:
            name = f"{prefix}, {LABELS[PROXY]} over {LABELS[NEITHER]}"
            yield over(name, runs, proxy, none, AS_WITHOUT)
            name = f"{prefix}, {LABELS[NATIVE]} over {LABELS[NEITHER]}"
            yield over(name, runs, native, none, NOT_JUDGED)


def draw(runs: Runs) -> list[Drawn]:
    """The proxy's ratios to ECN at both ends: a panel a traffic, bars by connections."""
    panels, rows = [], []
    for number, (cross, traffic) in enumerate(_TRAFFIC.items()):
        bars: list[dict] = []
        for rtt in _DELAYS:
            for direction in DIRECTIONS:
                ratios = _ratios(direction, cross, rtt, runs)
                label = f"{direction}, {rtt}"
                bars.append(_bars(label, len(bars), ratios))
                cells = (figure(ratios.get(load)) for load in _COUNTS)
                rows.append((f"{label}, {traffic}", *cells))
        panels.append(Panel(f"no-device-{number}", traffic.capitalize(), _spec(bars)))
    drawn = Drawn(
        id="no-device",
        figure="",
        title="Time through the proxy over ECN at both ends, without a device behind RED",
        note="Ratios of medians, by connections.",
        panels=panels,
        headings=("", *(f"{load} conn." for load in _COUNTS)),
        rows=rows,
    )
    return [drawn] if any(NONE not in row[1:] for row in rows) else []


def _ratios(direction: str, cross: bool, rtt: str, runs: Runs) -> Mapping[str, float]:
    found = {}
    for load in _COUNTS:
        proxy, native = (
            seconds(runs, _variant(Test(direction, load, cross, name), rtt))
            for name in (PROXY, NATIVE)
        )
        if proxy and native:
            found[load] = round(median(proxy) / median(native), 4)
    return found


def _bars(name: str, colour: int, ratios: Mapping[str, float]) -> dict:
    return {
        "type": "bar",
        "name": name,
        "x": list(ratios),
        "y": list(ratios.values()),
        "meta": {"colour": colour},
        "hovertemplate": "%{y:.3f}",
    }


def _spec(bars: Sequence[dict]) -> dict:
    layout = {
        "barmode": "group",
        "xaxis": {"type": "category", "title": {"text": "connections"}},
        "yaxis": {"title": {"text": "time over both ECN"}, "rangemode": "tozero"},
        "showlegend": True,
    }
    return {"data": list(bars), "layout": layout}


def tables(runs: Runs) -> list[dict]:
    """The median times, in seconds."""
    rows = []
    for rtt in _DELAYS:
        for direction in DIRECTIONS:
            for cross, traffic in _TRAFFIC.items():
                for name in _CONFIGURATIONS:
                    variants = [_variant(Test(direction, n, cross, name), rtt) for n in _COUNTS]
                    times = [seconds(runs, variant) for variant in variants]
                    label = f"{direction}, {rtt}, {traffic}, {LABELS[name]}"
                    rows.append((label, *(figure(median(t)) if t else NONE for t in times)))
    return [
        {
            "caption": "Completion time in seconds, medians",
            "headings": ("", *(f"{load} conn." for load in _COUNTS)),
            "rows": rows,
            "open": False,
        }
    ]


AT_BOTTLENECK = Extra(
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
        seconds=90.0,
        cases=[case(test, test.name) for test in tests()],
    ),
    tests=tests,
    most_runs=_RUNS,
    judge=judge,
    tables=tables,
    draw=draw,
)
