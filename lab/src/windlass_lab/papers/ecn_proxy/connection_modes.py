"""Tests on kernels in ways that the paper has not: downloads that the client opens, and IPv6."""

from collections.abc import Callable, Iterator, Sequence

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.statistics.interval import FEWEST_RUNS
from windlass_lab.core.verdicts.verdict import Comparison
from windlass_lab.papers.ecn_proxy import criteria
from windlass_lab.papers.ecn_proxy.by_connections import (
    COUNTS,
    bars,
    medians,
    one_panel,
    ratios,
    table,
)
from windlass_lab.papers.ecn_proxy.plan import (
    CLIENT_OPENS,
    IPV6,
    LABELS,
    NATIVE,
    NEITHER,
    PROXY,
    Test,
)
from windlass_lab.papers.ecn_proxy.supplement import Runs, Supplement, over, seconds

_RUNS = 10
_CONFIGURATIONS = (NEITHER, PROXY, NATIVE)
# In the paper the end that sends opens the connection, so uploads are opened by the client already.
_MODES = {
    ("download", CLIENT_OPENS): "opened by the client",
    ("download", IPV6): "IPv6",
    ("upload", IPV6): "IPv6",
}


def tests() -> Sequence[Test]:
    """With cross traffic by 1, 2, 3 and 5 connections: no ECN, the proxy, ECN at both ends."""
    return [
        _by_count(direction, mode, name)(load)
        for direction, mode in _MODES
        for load in COUNTS
        for name in _CONFIGURATIONS
    ]


def _by_count(direction: str, mode: str, name: str) -> Callable[[str], Test]:
    return lambda load: Test(direction, load, True, name, mode)


def judge(runs: Runs) -> list[Comparison]:
    """By the bound of the main tests."""
    found = [each for direction, mode in _MODES for each in _of_mode(direction, mode, runs)]
    return [comparison for comparison in found if comparison is not None]


def _of_mode(direction: str, mode: str, runs: Runs) -> Iterator[Comparison | None]:
    for load in COUNTS:
        none, proxy, native = (_by_count(direction, mode, c)(load) for c in _CONFIGURATIONS)
        prefix = f"{direction.capitalize()}, {_MODES[direction, mode]}, {load} conn.: Time"
        name = f"{prefix}, {LABELS[PROXY]} over {LABELS[NATIVE]}"
        yield over(name, runs, proxy, native, criteria.OTHER_MODES, FEWEST_RUNS)
        name = f"{prefix}, {LABELS[NEITHER]} over {LABELS[NATIVE]}"
        yield over(name, runs, none, native, None, FEWEST_RUNS)


def draw(runs: Runs) -> list[Drawn]:
    """The proxy's ratios to ECN at both ends: bars by connections."""
    groups: list[dict] = []
    for (direction, mode), label in _MODES.items():
        proxy, native = (_by_count(direction, mode, name) for name in (PROXY, NATIVE))
        values = ratios(runs, proxy, native)
        groups.append(bars(f"{direction}, {label}", len(groups), values))
    title = "Time through the proxy over ECN at both ends, with cross traffic"
    return one_panel("ways", title, groups)


def tables(runs: Runs) -> list[dict]:
    """The median times, in seconds."""
    rows = []
    for (direction, mode), label in _MODES.items():
        for name in _CONFIGURATIONS:
            test = _by_count(direction, mode, name)
            samples = [seconds(runs, test(load)) for load in COUNTS]
            rows.append(medians(f"{direction}, {label}, {LABELS[name]}", samples))
    return [table("Completion time in seconds, medians", rows, opened=True)]


CONNECTION_MODES = Supplement(
    experiment=Experiment(
        id="ways",
        chapter="Beyond the paper",
        section="The paper's tests on kernels in other ways",
        title="Downloads that the client opens, and IPv6",
        shows="In the paper's downloads the server opens the connection. Here the client does, as "
        "clients do; and both directions run over IPv6. The bound is that of the main tests.",
        quick=False,
        seconds=7200.0,
        first_result=criteria.FIRST_BEYOND,
        kind="testbed",
        needs_root=True,
    ),
    tests=tests,
    most_runs=_RUNS,
    judge=judge,
    tables=tables,
    draw=draw,
    real=True,
)
