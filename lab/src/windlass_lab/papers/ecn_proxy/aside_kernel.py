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
    bytes_each,
    queue,
)
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS, NATIVE, PROXY

# The cell with the largest ratio of all 648 (docs/results/ecn-proxy-beyond.md), with native ECN.
WORST = Cell(50, 100, "red", 1, "upload", 0.0, native=True)
_SEED = 1
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KernelCell(Cell):
    """A cell on kernels, which the testbed asks the same as `plan.Test`."""

    suffix = "@kernel"

    @property
    def configuration(self) -> str:
        """Which hosts have ECN, and whether there is a proxy, by the paper's names."""
        return NATIVE if self.native else PROXY

    @property
    def server_ecn(self) -> bool:
        """Whether the server asks for ECN and takes it."""
        return True

    @property
    def client_ecn(self) -> bool:
        """Whether the client does."""
        return self.native

    @property
    def has_proxy(self) -> bool:
        """Whether there is a proxy on the client's side."""
        return not self.native

    @property
    def mode(self) -> str:
        """The paper's own: over IPv4, and the end that sends opens the connection."""
        return ""

    @property
    def path(self) -> Mapping[str, object]:
        """Keys of `windlass link` for each direction: half of the round trip, rate and queue."""
        return {
            "rate": f"{self.rate_mbit}Mbit/s",
            "delay": f"{self.rtt_ms / 2:g}ms",
            "queue": queue(self.queue, self.rate_mbit),
        }

    def megabytes(self, scale: float) -> float:
        """The size of each transfer, in MB."""
        return bytes_each(self, scale) / 1e6


@dataclass(frozen=True, slots=True)
class SimulatedCell(Cell):
    """The same cell in the simulator, run beside those on kernels. The cells of the experiment
    `aside` have the plain name.
    """

    suffix = "@simulated"


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
    return [*map(SimulatedCell.of, cells), *map(KernelCell.of, cells)]
