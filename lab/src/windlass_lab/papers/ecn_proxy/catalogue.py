"""The paper in the lab's catalogue: an experiment a table, and those beyond it."""

from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.papers.ecn_proxy import criteria
from windlass_lab.papers.ecn_proxy.aside_figures import ASIDE
from windlass_lab.papers.ecn_proxy.aside_kernel_figures import ASIDE_KERNEL
from windlass_lab.papers.ecn_proxy.at_bottleneck import AT_BOTTLENECK
from windlass_lab.papers.ecn_proxy.connection_modes import CONNECTION_MODES
from windlass_lab.papers.ecn_proxy.figures import title
from windlass_lab.papers.ecn_proxy.mechanisms import MECHANISMS
from windlass_lab.papers.ecn_proxy.plan import (
    DEMO,
    DEMO_SCALE,
    DIRECTIONS,
    LABELS,
    LOADS,
    PAPER,
    all_tests,
)
from windlass_lab.papers.ecn_proxy.sch_red import SCH_RED
from windlass_lab.papers.ecn_proxy.supplement import Supplement, case

# The experiments beyond the paper's tables, by their ids.
SUPPLEMENTS: dict[str, Supplement] = {
    each.experiment.id: each
    for each in (MECHANISMS, AT_BOTTLENECK, ASIDE, ASIDE_KERNEL, CONNECTION_MODES, SCH_RED)
}
_CHAPTERS = {"download": "4.3.1 Downloads", "upload": "4.3.2 Uploads"}
_SHOWS = {
    "download": "The proxy gives a client without ECN what ECN gives: through it a download from "
    "an ECN server takes as long as with ECN at both ends.",
    "upload": "Virtual loss tells a sender without ECN of marks: an upload takes as long as with "
    "ECN at both ends, where the paper's proxy took 1.3 to 1.9 times as long.",
}
_READING = {
    "download": "",
    "upload": "Ratios are compared, not seconds: without cross traffic the thesis's uploads take "
    "1.8 (five connections) to 6 times (one) what their bytes take at 10 Mbit/s, its downloads 1.1 "
    "times. Something else than the link was their limit, and the thesis does not say what. Here "
    "both take 1.05 times that.",
}
# Of twenty runs of each test on two cores.
_SECONDS = {"1": 40.0, "2": 70.0, "3": 100.0, "5": 180.0, "files": 220.0}


def _experiment(direction: str, load: str) -> Experiment:
    chosen = [test for test in all_tests() if (test.direction, test.load) == (direction, load)]
    table = chosen[0].table
    return Experiment(
        id=table,
        chapter=_CHAPTERS[direction],
        section=f"4.2.1, Table {table}",
        title=title(direction, load, 1.0),
        shows=_SHOWS[direction],
        reading=_READING[direction],
        quick=False,
        seconds=_SECONDS[load],
        first_result=criteria.FIRST_RESULT,
        cases=[case(test, f"{LABELS[test.configuration]}, {test.traffic}") for test in chosen],
        kind="simulated, or a testbed with --real",
    )


_DEMO = Experiment(
    id=DEMO,
    chapter="Demonstration",
    section="4.2.1, Tables C.1 and C.6 in short",
    title=f"{20 * DEMO_SCALE:g} MB each way through a marking bottleneck, on this kernel",
    shows="A real download and upload beside cross traffic: without ECN, with the proxy, with ECN "
    "at both ends.",
    quick=True,
    seconds=60.0,
    first_result=criteria.FIRST_RESULT,
    kind="testbed",
    needs_root=True,
)


ECN_PROXY = Paper(
    id=PAPER,
    citation="P. Sprenger, Design and Implementation of an ECN Proxy for Performance Improvements "
    "in the Internet, semester thesis, ETH Zurich, 2016",
    title="The ECN proxy",
    question="Does a proxy on the router give hosts without ECN what ECN would give them, in both "
    "directions?",
    experiments=[
        *(_experiment(direction, load) for direction in DIRECTIONS for load in LOADS),
        *(each.experiment for each in SUPPLEMENTS.values()),
        _DEMO,
    ],
    against="what they must show",
    claim="with cross traffic a download through the proxy takes 1.00 to 1.05 of the time with ECN "
    "at both ends, where without ECN it takes 1.4 to 2.0; an upload gains little.",
)
