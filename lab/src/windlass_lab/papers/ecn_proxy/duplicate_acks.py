"""The paper's own duplicate ACKs: the state machine of its section 3.1.2, as described and printed.

The paper built it, saw it break connections, and measured another mechanism (section 3.2.1). Here
the simulator runs it (`policy = "duplicate-acks"` and its two variants). Connections that are not
complete after `LIMIT_S` count as broken.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median

from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.text.numbers import NONE, figure
from windlass_lab.core.verdicts.verdict import Comparison, Subject, informative
from windlass_lab.papers.ecn_proxy.by_connections import COUNTS, HEADINGS, bars, panel, row, table
from windlass_lab.papers.ecn_proxy.plan import PROXY, Test, proxy
from windlass_lab.papers.ecn_proxy.runs import Run
from windlass_lab.papers.ecn_proxy.supplement import Runs, Variant

# The slowest published uploads of as many bytes take 606 s (median, five connections, no ECN).
LIMIT_S = 1000.0
TRAFFIC = {True: "cross traffic", False: "no cross traffic"}
# Makes a table's cell of a test's runs.
Cell = Callable[[Variant, Sequence[Run]], str]


@dataclass(frozen=True, slots=True)
class Machine:
    """A variant of the state machine, and whether its senders have SACK."""

    policy: str
    what: str
    sack: bool

    @property
    def label(self) -> str:
        """As figures and tables name it."""
        return f"{self.what}, {'SACK' if self.sack else 'no SACK'}"

    def test(self, load: str, cross: bool = True) -> Variant:
        """The upload by so many connections, with senders of Linux 3.19."""
        changed: dict[str, object] = {
            "defaults.rack": False,
            "middleboxes": [proxy(policy=self.policy)],
        }
        if not self.sack:
            changed["defaults.sack"] = False
        name = f"{self.policy}{'' if self.sack else '-no-sack'}"
        return Variant(Test("upload", load, cross, PROXY), name, changed, LIMIT_S)


MACHINES = tuple(
    Machine(policy, what, sack)
    for policy, what in (
        ("duplicate-acks", "duplicate ACKs"),
        ("duplicate-acks-with-cwr", "duplicate ACKs and CWR"),
        ("duplicate-acks-as-printed", "duplicate ACKs as printed"),
    )
    for sack in (True, False)
)


def tests() -> Sequence[Variant]:
    """Uploads by 1, 2, 3 and 5 connections, with and without cross traffic, with every variant."""
    return [
        machine.test(load, cross) for load in COUNTS for cross in TRAFFIC for machine in MACHINES
    ]


def judge(load: str, runs: Runs) -> Iterator[Comparison]:
    """The share of the connections that were complete in time. The paper has no figure of it."""
    for cross, traffic in TRAFFIC.items():
        for machine in MACHINES:
            test = machine.test(load, cross)
            shares = _complete(test, runs)
            if not shares:
                continue
            quantity = f"Connections complete after {LIMIT_S:g} s, {traffic}, {machine.label}"
            yield informative(
                Subject(
                    f"Upload, {load} conn.: {quantity}",
                    unit="%",
                    measured=Estimate.of(shares, mean),
                    case=test.name,
                )
            )


def _complete(test: Variant, runs: Runs) -> list[float]:
    """The share of complete connections in each run, in percent."""
    return [100.0 * (1.0 - run.unfinished / test.connections) for run in runs.get(test.name, ())]


def draw(runs: Runs) -> list[Drawn]:
    """Bars: the share of the connections that were complete in time."""
    panels, rows = [], []
    for number, (cross, traffic) in enumerate(TRAFFIC.items()):
        groups = [
            bars(machine.label, colour, _shares(machine, cross, runs))
            for colour, machine in enumerate(MACHINES)
        ]
        panels.append(panel(f"duplicate-acks-{number}", traffic, groups, "complete (%)"))
        rows += [row(f"{traffic}, {group['name']}", group) for group in groups if group["x"]]
    drawn = Drawn(
        id="duplicate-acks",
        figure="",
        title="The paper's duplicate ACKs: connections that were complete in time",
        note=f"In percent, after {LIMIT_S:g} s at full size; means of the runs.",
        panels=panels,
        headings=HEADINGS,
        rows=rows,
    )
    return [drawn] if rows else []


def _shares(machine: Machine, cross: bool, runs: Runs) -> dict[str, float]:
    found = {load: _complete(machine.test(load, cross), runs) for load in COUNTS}
    return {load: round(mean(shares), 1) for load, shares in found.items() if shares}


def tables(runs: Runs) -> list[dict]:
    """Times and counters of the senders, by connections: a row of each variant in each table."""
    return [
        _table("median time in seconds of the runs with all connections complete", runs, _seconds),
        _table("timeouts a connection, means", runs, _each("timeouts")),
        _table("fast retransmits a connection, means", runs, _each("fast_retransmits")),
        _table("marks a connection, means", runs, _each("marks")),
    ]


def _table(caption: str, runs: Runs, cell: Cell) -> dict:
    rows = []
    for cross, traffic in TRAFFIC.items():
        for machine in MACHINES:
            tests_ = [machine.test(load, cross) for load in COUNTS]
            cells = [cell(test, runs.get(test.name, ())) for test in tests_]
            rows.append((f"{traffic}, {machine.label}", *cells))
    return table(f"The paper's duplicate ACKs: {caption}", rows, opened=False)


def _seconds(_test: Variant, runs: Sequence[Run]) -> str:
    times = [run.seconds for run in runs if not run.unfinished]
    if not times:
        return NONE
    share = "" if len(times) == len(runs) else f" ({len(times)} of {len(runs)} runs)"
    return figure(median(times)) + share


def _each(counter: str) -> Cell:
    def cell(test: Variant, runs: Sequence[Run]) -> str:
        counts = [run.senders.get(counter, 0) / test.connections for run in runs]
        return figure(mean(counts)) if counts else NONE

    return cell
