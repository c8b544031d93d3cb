"""The kernel's own RED between the hosts. Debian's kernel has sch_red, which many kernels lack.

It runs in an emulated machine whose clock counts instructions, so the load of the host does not
matter.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS, LABELS, NATIVE, NEITHER, PROXY
from windlass_lab.papers.ecn_proxy.supplement import Runs, Supplement, over, seconds

# Five connections keep RED above its upper threshold, where a run depends on which SYN it drops.
_COUNTS = ("1", "2", "3")
CONFIGURATIONS = (NEITHER, PROXY, NATIVE)
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


def tests() -> Sequence[ThroughSchRed]:
    """Both directions by 1, 2 and 3 connections: no ECN, the proxy, ECN at both ends."""
    return [
        ThroughSchRed(direction, load, name)
        for direction in DIRECTIONS
        for load in _COUNTS
        for name in CONFIGURATIONS
    ]


def judge(runs: Runs) -> list[Comparison]:
    """By the bounds of the main tests."""
    found = [each for d in DIRECTIONS for load in _COUNTS for each in _of_load(d, load, runs)]
    return [comparison for comparison in found if comparison is not None]


def _of_load(direction: str, load: str, runs: Runs) -> Iterator[Comparison | None]:
    none, proxy, native = (ThroughSchRed(direction, load, name) for name in CONFIGURATIONS)
    prefix = f"{direction.capitalize()}, {load} conn., sch_red: Time, {LABELS[PROXY]} over"
    yield over(f"{prefix} {LABELS[NATIVE]}", runs, proxy, native, criteria.SCH_RED, FEWEST_RUNS)
    yield over(
        f"{prefix} {LABELS[NEITHER]}", runs, proxy, none, criteria.SCH_RED_WITHOUT, FEWEST_RUNS
    )


def _by_count(direction: str, name: str) -> Callable[[str], ThroughSchRed]:
    return lambda load: ThroughSchRed(direction, load, name)


def draw(runs: Runs) -> list[Drawn]:
    """The times over those with ECN at both ends: bars by connections."""
    groups: list[dict] = []
    for direction in DIRECTIONS:
        native = _by_count(direction, NATIVE)
        for name in (NEITHER, PROXY):
            values = ratios(runs, _by_count(direction, name), native)
            groups.append(bars(f"{direction}, {LABELS[name]}", len(groups), values))
    title = "Time over ECN at both ends, through the kernel's RED"
    return one_panel("sch-red", title, groups)


def tables(runs: Runs) -> list[dict]:
    """The median times, in seconds."""
    rows = []
    for direction in DIRECTIONS:
        for name in CONFIGURATIONS:
            test = _by_count(direction, name)
            samples = [seconds(runs, test(load)) for load in COUNTS]
            rows.append(medians(f"{direction}, {LABELS[name]}", samples))
    return [table("Completion time in seconds, medians", rows, opened=True)]


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
