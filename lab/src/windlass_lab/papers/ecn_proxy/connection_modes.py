"""Tests on kernels in ways that the paper has not: downloads that the client opens, and IPv6."""

from collections.abc import Sequence

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.statistics.interval import FEWEST_RUNS
from windlass_lab.core.verdicts.verdict import Comparison
from windlass_lab.papers.ecn_proxy import criteria
from windlass_lab.papers.ecn_proxy.by_connections import (
    COUNTS,
    Series,
    bars,
    judge_all,
    one_panel,
    ratios,
    tests_of,
    times,
)
from windlass_lab.papers.ecn_proxy.plan import CLIENT_OPENS, IPV6, NATIVE, NEITHER, PROXY, Test
from windlass_lab.papers.ecn_proxy.supplement import Runs, Supplement

_RUNS = 10
# In the paper the end that sends opens the connection, so uploads are opened by the client already.
_MODES = (
    ("download", CLIENT_OPENS, "opened by the client"),
    ("download", IPV6, "IPv6"),
    ("upload", IPV6, "IPv6"),
)


def _series(direction: str, mode: str, label: str) -> Series[Test]:
    return Series(
        f"{direction}, {label}",
        f"{direction.capitalize()}, {label}, {{load}} conn.: Time",
        lambda load, name: Test(direction, load, True, name, mode),
        ((PROXY, NATIVE, criteria.OTHER_MODES), (NEITHER, NATIVE, None)),
    )


_GROUPS = [[_series(*each)] for each in _MODES]


def tests() -> Sequence[Test]:
    """With cross traffic by 1, 2, 3 and 5 connections: no ECN, the proxy, ECN at both ends."""
    return tests_of(_GROUPS, COUNTS)


def judge(runs: Runs) -> list[Comparison]:
    """By the bound of the main tests."""
    return judge_all(_GROUPS, COUNTS, runs, FEWEST_RUNS)


def draw(runs: Runs) -> list[Drawn]:
    """The proxy's ratios to ECN at both ends: bars by connections."""
    groups = [
        bars(each.label, number, ratios(runs, each.by_count(PROXY), each.by_count(NATIVE)))
        for number, [each] in enumerate(_GROUPS)
    ]
    title = "Time through the proxy over ECN at both ends, with cross traffic"
    return one_panel("ways", title, groups)


def tables(runs: Runs) -> list[dict]:
    """The median times, in seconds."""
    return times(_GROUPS, runs)


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
