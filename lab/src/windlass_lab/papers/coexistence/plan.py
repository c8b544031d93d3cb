"""The matrix as data: which controllers meet, behind which queues, on which paths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, product

PAPER = "coexistence"
PACKET_BYTES = 1500
# Of a full packet's bytes: without the headers of IP and TCP, timestamps included.
PAYLOAD_SHARE = 1448 / PACKET_BYTES
# Runs of each cell of the matrix, and of each cell that is judged.
SEEDS, SEEDS_JUDGED = 3, 20
# Of each cell its name, and that of each experiment with a part of the matrix.
MATRIX = "matrix"


@dataclass(frozen=True, slots=True)
class Contender:
    """A congestion controller as today's hosts would run it.

    `keys` are those of its flows in a scenario beside `controller`. ECN is on where the controller
    answers marks.
    """

    name: str
    label: str
    keys: Mapping[str, object] = field(default_factory=lambda: {"ecn": True}, hash=False)


CONTENDERS: Mapping[str, Contender] = {
    each.name: each
    for each in (
        Contender("reno", "Reno"),
        Contender("cubic", "CUBIC"),
        Contender("new-ecn", "New-ECN"),
        Contender("dctcp", "DCTCP", {"ecn": True, "receiver.echo": "dctcp"}),
        Contender("prague", "Prague", {"accecn": True}),
        Contender("bbr", "BBRv1", {"ecn": False}),
        Contender("bbr3", "BBRv3", {"ecn": False}),
        Contender("vegas", "Vegas"),
    )
}

# Queues by name. FIFOs have their size in products of bandwidth and delay.
FIFOS = {"fifo0.5": 0.5, "fifo1": 1.0, "fifo4": 4.0}
QUEUES: Mapping[str, str] = {
    "fifo0.5": "DropTail of 0.5 BDP",
    "fifo1": "DropTail of 1 BDP",
    "fifo4": "DropTail of 4 BDP",
    "red": "RED",
    "codel": "CoDel",
    "pie": "PIE",
    "fq-codel": "FQ-CoDel",
    "dualpi2": "DualPI2",
}
RATES_MBIT = (4, 25, 160, 1000)
# Of the flow with the longer path. The other one's is that over the ratio.
RTTS_MS = (5, 20, 80, 160)
RATIOS = (1, 4, 16)
# Simulated seconds by rate, of which the last two thirds count; twice as many on the longest path.
# Rates of 160 Mbit/s and more do not reach their steady state in them where windows grow by a
# segment in a round trip. A run's cost is that of its packets: some 40,000 at 4 Mbit/s and 2.5
# million at 1 Gbit/s.
_LASTS_S = {4: 120, 25: 60, 160: 60, 1000: 30}
_LONGEST_MS = 160


@dataclass(frozen=True, slots=True)
class Path:
    """A bottleneck: its queue and rate, the round trip of the first flow, and how many times that
    of the second it is.
    """

    queue: str
    rate_mbit: int
    rtt_ms: int
    ratio: int = 1

    @property
    def name(self) -> str:
        """Its part in the names of cells."""
        return f"{self.queue}-{self.rate_mbit}M-{self.rtt_ms}ms-x{self.ratio}"

    @property
    def lasts_s(self) -> int:
        """The duration of its runs."""
        return _LASTS_S[self.rate_mbit] * (2 if self.rtt_ms == _LONGEST_MS else 1)

    @property
    def bdp_packets(self) -> float:
        """Full packets in flight on the empty path of the first flow at the full rate."""
        return self.rate_mbit * 1e6 * self.rtt_ms / 1e3 / 8 / PACKET_BYTES

    def rtts_ms(self) -> tuple[float, float]:
        """Of the two flows."""
        return self.rtt_ms, self.rtt_ms / self.ratio


@dataclass(frozen=True, slots=True)
class Cell:
    """Controllers on a path: two of them, or one alone in the place of the first or the second flow
    (the other is empty). `variant` names what is different from the cell of the matrix.
    """

    path: Path
    first: str
    second: str
    variant: str = ""

    @property
    def name(self) -> str:
        """Its name in results."""
        pair = f"{self.first or 'none'}+{self.second or 'none'}"
        return f"{pair}-{self.path.name}{f'-{self.variant}' if self.variant else ''}"

    @property
    def contenders(self) -> tuple[str, ...]:
        """The controllers of its flows."""
        return tuple(name for name in (self.first, self.second) if name)

    @property
    def alone(self) -> tuple["Cell", ...]:
        """The runs of each flow alone, in its place: what its harm is measured against."""
        if not (self.first and self.second):
            return ()
        # The first flow's path, and so its solo, is the same whatever the other one's is; on equal
        # paths the places are the same.
        equal = replace(self.path, ratio=1)
        first = Cell(equal, self.first, "", self.variant)
        if self.path.ratio == 1:
            return first, Cell(equal, self.second, "", self.variant)
        return first, Cell(self.path, "", self.second, self.variant)


def pairs(ratio: int) -> Iterator[tuple[str, str]]:
    """All pairs. With unequal paths the first has the longer one, so that both orders count."""
    yield from (
        product(CONTENDERS, repeat=2) if ratio > 1 else combinations_with_replacement(CONTENDERS, 2)
    )


def matrix(rates: Sequence[int] = RATES_MBIT) -> Iterator[Cell]:
    """The pairs of the matrix at these rates."""
    for queue, rate, rtt, ratio in product(QUEUES, rates, RTTS_MS, RATIOS):
        path = Path(queue, rate, rtt, ratio)
        for first, second in pairs(ratio):
            yield Cell(path, first, second)


def quick() -> Iterator[Cell]:
    """A part of the matrix that takes a minute: one path behind each queue."""
    for queue in QUEUES:
        for first, second in pairs(1):
            yield Cell(Path(queue, 25, 20), first, second)


def with_alone(cells: Sequence[Cell]) -> list[Cell]:
    """The cells, and what each is measured against, once."""
    return list(dict.fromkeys(each for cell in cells for each in (*cell.alone, cell)))
