"""The kernel's own RED between the hosts. Debian's kernel has sch_red, which many kernels lack.

It runs in an emulated machine whose clock counts instructions, so the load of the host does not
matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.statistics.interval import FEWEST_RUNS
from windlass_lab.core.verdicts.verdict import Comparison
from windlass_lab.papers.ecn_proxy import criteria
from windlass_lab.papers.ecn_proxy.by_connections import (
    Series,
    bars,
    judge_all,
    one_panel,
    ratios,
    tests_of,
    times,
)
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS, LABELS, NATIVE, NEITHER, PROXY
from windlass_lab.papers.ecn_proxy.supplement import Runs, Supplement

# Five connections keep RED above its upper threshold, where a run depends on which SYN it drops.
_COUNTS = ("1", "2", "3")
# Of each connection: a tenth of the paper's downloads, a fifth of its uploads.
MEGABYTES = 20
_RUNS = 3


@dataclass(frozen=True, slots=True)
class ThroughSchRed:
    """Transfers without cross traffic through sch_red, which is the bottleneck itself."""

    direction: str
    load: str
    configuration: str

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"sch-red-{self.direction}-{self.load}-{self.configuration}"


def _series(direction: str) -> Series[ThroughSchRed]:
    return Series(
        direction,
        f"{direction.capitalize()}, {{load}} conn., sch_red: Time",
        lambda load, name: ThroughSchRed(direction, load, name),
        ((PROXY, NATIVE, criteria.SCH_RED), (PROXY, NEITHER, criteria.SCH_RED_WITHOUT)),
    )


_GROUPS = [[_series(direction)] for direction in DIRECTIONS]


def tests() -> Sequence[ThroughSchRed]:
    """Both directions by 1, 2 and 3 connections: no ECN, the proxy, ECN at both ends."""
    return tests_of(_GROUPS, _COUNTS)


def judge(runs: Runs) -> list[Comparison]:
    """By the bounds of the main tests."""
    return judge_all(_GROUPS, _COUNTS, runs, FEWEST_RUNS)


def draw(runs: Runs) -> list[Drawn]:
    """The times over those with ECN at both ends: bars by connections."""
    groups: list[dict] = []
    for [each] in _GROUPS:
        for name in (NEITHER, PROXY):
            values = ratios(runs, each.by_count(name), each.by_count(NATIVE))
            groups.append(bars(f"{each.label}, {LABELS[name]}", len(groups), values))
    title = "Time over ECN at both ends, through the kernel's RED"
    return one_panel("sch-red", title, groups)


def tables(runs: Runs) -> list[dict]:
    """The median times, in seconds."""
    return times(_GROUPS, runs)


SCH_RED = Supplement(
    experiment=Experiment(
        id="sch-red",
        chapter="Beyond the paper",
        section="The paper's tests through the kernel's own RED",
        title="sch_red in Linux 6.1",
        shows="Transfers without cross traffic, 20 MB a connection, through sch_red below a token "
        "bucket, in an emulated machine with a clock of its own. RED is the very bottleneck, and "
        "the empty path has a round trip of 0.03 ms. The bounds are those of the main tests.",
        quick=False,
        seconds=2500.0,
        first_result=criteria.FIRST_BEYOND,
        kind="emulated machine",
        needs_root=True,
    ),
    tests=tests,
    most_runs=_RUNS,
    judge=judge,
    tables=tables,
    draw=draw,
    real=True,
)
