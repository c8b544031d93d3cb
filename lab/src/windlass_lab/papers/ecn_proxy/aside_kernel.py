"""A sample of the cells kept aside, on kernels, and the same cells simulated to compare with.

The sample is drawn by a rule that knows no result. The worst cell of the simulator is measured too;
it was chosen by its result, and is no part of the sample.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

from windlass_lab.papers.ecn_proxy.aside import (
    CONNECTIONS,
    CROSS,
    QUEUES,
    RATES_MBIT,
    RTTS_MS,
    Cell,
    Udp,
    bytes_each,
    queue,
)
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS, NATIVE, PROXY

# The cell with the largest ratio of all 648 (docs/results/ecn-proxy-beyond.md), with native ECN.
WORST = Cell(50, 100, "red", 1, "upload", 0.0, native=True)
_SEED = 1
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KernelCell:
    """A cell on kernels: what the testbed asks of a test, as `plan.Test` answers it."""

    cell: Cell

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"{self.cell.name}@kernel"

    @property
    def direction(self) -> str:
        """Download or upload."""
        return self.cell.direction

    @property
    def connections(self) -> int:
        """Connections at a time."""
        return self.cell.connections

    @property
    def configuration(self) -> str:
        """Which hosts have ECN, and whether there is a proxy, by the paper's names."""
        return NATIVE if self.cell.native else PROXY

    @property
    def server_ecn(self) -> bool:
        """Whether the server asks for ECN and takes it."""
        return True

    @property
    def client_ecn(self) -> bool:
        """Whether the client does."""
        return self.cell.native

    @property
    def has_proxy(self) -> bool:
        """Whether there is a proxy on the client's side."""
        return not self.cell.native

    @property
    def mode(self) -> str:
        """The paper's own: over IPv4, and the end that sends opens the connection."""
        return ""

    @property
    def path(self) -> Mapping[str, object]:
        """Keys of `windlass link` for each direction: half of the round trip, rate and queue."""
        return {
            "rate": f"{self.cell.rate_mbit}Mbit/s",
            "delay": f"{self.cell.rtt_ms / 2:g}ms",
            "queue": queue(self.cell.queue, self.cell.rate_mbit),
        }

    @property
    def udp(self) -> Udp | None:
        """The cross traffic, if there is any."""
        return self.cell.udp

    def megabytes(self, scale: float) -> float:
        """The size of each transfer, in MB."""
        return bytes_each(self.cell, scale) / 1e6

    def transfers(self, scale: float) -> int:
        """How many connections one after the other."""
        return self.cell.transfers(scale)


@dataclass(frozen=True, slots=True)
class SimulatedCell:
    """The same cell in the simulator, run beside those on kernels."""

    cell: Cell

    @property
    def name(self) -> str:
        """Its name in results, where the cells of the experiment `aside` have the plain one."""
        return f"{self.cell.name}@simulated"

    @property
    def scenario(self) -> str:
        """The stem of its scenario file."""
        return self.cell.scenario

    @property
    def connections(self) -> int:
        """Connections at a time."""
        return self.cell.connections

    def keys(self, scale: float) -> Mapping[str, object]:
        """The keys of the scenario that make it this cell."""
        return self.cell.keys(scale)

    def transfers(self, scale: float) -> int:
        """One for each connection."""
        return self.cell.transfers(scale)


def sample() -> Sequence[Cell]:
    """Twelve cells a direction, with native ECN: each queue with each number of connections, and
    each rate, round trip and load of UDP in four of them, dealt out by a fixed seed.
    """
    rng = random.Random(_SEED)
    return [cell for direction in DIRECTIONS for cell in _of_direction(direction, rng)]


def _of_direction(direction: str, rng: random.Random) -> Sequence[Cell]:
    crossed = list(product(QUEUES, CONNECTIONS))
    rates, rtts = (_dealt(levels, len(crossed), rng) for levels in (RATES_MBIT, RTTS_MS))
    loads = _dealt(CROSS, len(crossed), rng)
    return [
        Cell(rate, rtt, kind, connections, direction, cross, native=True)
        for rate, rtt, (kind, connections), cross in zip(rates, rtts, crossed, loads, strict=True)
    ]


def _dealt(levels: Sequence[T], number: int, rng: random.Random) -> Sequence[T]:
    evenly = [*levels] * (number // len(levels))
    rng.shuffle(evenly)
    return evenly


def both(cell: Cell) -> tuple[Cell, Cell]:
    """A cell with native ECN, and with the proxy."""
    return replace(cell, native=True), replace(cell, native=False)


def tests() -> Sequence[KernelCell | SimulatedCell]:
    """All runs of the sample and of the worst cell: on kernels, and simulated."""
    cells = [each for cell in (*sample(), WORST) for each in both(cell)]
    return [*map(SimulatedCell, cells), *map(KernelCell, cells)]
