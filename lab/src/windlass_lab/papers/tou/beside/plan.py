"""The cells in which ToU shares a link with the kernel's TCP, and who takes part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

# Bytes of an IP packet with a full segment.
PACKET_BYTES = 1500
# The shares are of all runs but their first seconds, in which flows begin.
OMIT_S, LASTS_S = 4, 10
# One side begins that much before the other, in every second run the other one.
LEAD_S = 0.1
# Runs of a cell, of which the median is judged.
RUNS = 10
# A run in which the link delivered one packet in a hundred later than that is repeated.
LATE_MS_MAX = 1.0

# Queues by name, FIFOs with their size in products of bandwidth and delay.
FIFOS = {"fifo0.5": 0.5, "fifo1": 1.0, "fifo2": 2.0}
CODEL, RED = "codel", "red"
QUEUES = (*FIFOS, CODEL, RED)
FLOWS = (2, 4, 8)
RED_MIN_S, RED_MAX_S = 0.005, 0.015


@dataclass(frozen=True, slots=True)
class Cell:
    """A link, and the number of flows on it: half are the kernel's CUBIC, the neighbours, which
    pace or do not.
    """

    rate_mbit: int
    rtt_ms: int
    queue: str
    flows: int
    neighbours_pace: bool

    @property
    def name(self) -> str:
        """Its name in results."""
        paced = "paced" if self.neighbours_pace else "unpaced"
        path = f"{self.rate_mbit}M-{self.rtt_ms}ms"
        return f"{path}-{self.queue}-{self.flows}flows-beside-{paced}"

    @property
    def label(self) -> str:
        """Its name in tables."""
        queue = {CODEL: "CoDel", RED: "RED"}.get(self.queue)
        if queue is None:
            queue = f"FIFO of {FIFOS[self.queue]:g} BDP"
        paced = "paced" if self.neighbours_pace else "unpaced"
        return f"{queue}, {self.flows} flows, beside {paced} kernel"

    @property
    def bdp_packets(self) -> float:
        """Full packets in flight on the empty link at its full rate."""
        return self.rate_mbit * 1e6 * self.rtt_ms / 1e3 / 8 / PACKET_BYTES


@dataclass(frozen=True, slots=True)
class Side:
    """The flows of one side, all CUBIC. `pace` is None for ToU as it is, which does not pace, as a
    kernel without the queue discipline fq.
    """

    name: str
    label: str
    is_tou: bool
    pace: bool | None = None


KERNEL = Side("kernel", "kernel, not paced", is_tou=False, pace=False)
PACED_KERNEL = Side("kernel-paced", "kernel, paced", is_tou=False, pace=True)
TOU = Side("tou", "ToU as it is", is_tou=True)
PACED_TOU = Side("tou-paced", "ToU, paced", is_tou=True, pace=True)
SIDES = (KERNEL, PACED_KERNEL, TOU, PACED_TOU)


@dataclass(frozen=True, slots=True)
class Test:
    """A side beside the neighbours of a cell."""

    # pytest takes it for a class of tests otherwise.
    __test__ = False

    cell: Cell
    side: Side

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"{self.cell.name}-{self.side.name}"


def neighbours(cell: Cell) -> Side:
    """The kernel's side of a cell, which is also what ToU's side is held against."""
    return PACED_KERNEL if cell.neighbours_pace else KERNEL


# The cells by which the default is judged, and others, by which it is chosen.
JUDGED_PATHS = ((20, 40),)
PILOT_PATHS = ((10, 20), (30, 60))
PILOT_FLOWS = (2,)


def judged_cells() -> Sequence[Cell]:
    """Every queue with every number of flows, beside either kernel."""
    return list(_cells(JUDGED_PATHS, FLOWS))


def pilot_cells() -> Sequence[Cell]:
    """Other rates and round trips."""
    return list(_cells(PILOT_PATHS, PILOT_FLOWS))


def _cells(paths: Sequence[tuple[int, int]], flows: Sequence[int]) -> Iterator[Cell]:
    for (rate, rtt), queue, number, paced in product(paths, QUEUES, flows, (False, True)):
        yield Cell(rate, rtt, queue, number, paced)


def tests(cells: Sequence[Cell]) -> list[Test]:
    """ToU as it is in each cell and what it is held against, then every other side."""
    first = [Test(cell, side) for cell in cells for side in (TOU, neighbours(cell))]
    rest = [Test(cell, side) for side in SIDES for cell in cells]
    return [*first, *(test for test in rest if test not in first)]
