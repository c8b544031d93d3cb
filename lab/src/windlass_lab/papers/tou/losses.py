"""Which segments are lost: lists that are drawn once, so that all contenders meet the same."""

import random
from dataclasses import dataclass

from windlass_lab.papers.tou.plan import Cell

# The smallest payload that a full segment has here.
_SEGMENT_BYTES = 1400
# The first one of ToU's carries the words of `windlass tou perf`, and its control connection, which
# is a flow of its own, has two.
_SPARED = 4
# More than any transfer sends again.
_RETRANSMISSIONS = 5000


@dataclass(frozen=True, slots=True)
class Losses:
    """Ordinals, from 1, of a flow's first transmissions and of its retransmissions."""

    first: tuple[int, ...]
    retransmissions: tuple[int, ...]

    def to_toml(self) -> str:
        """As the link's file has it; none where nothing is lost."""
        if not self.first:
            return "0.0"
        return f"{{ first = {[*self.first]}, retransmissions = {[*self.retransmissions]} }}"


def draw(cell: Cell, seed: int, scale: float = 1.0) -> Losses:
    """Those of a seed: each segment is lost with the cell's probability."""
    # A text as a seed gives the same draws in every version of Python.
    rng = random.Random(f"tou {cell.name} {seed}")
    segments = round(cell.megabytes * scale * 1e6 / _SEGMENT_BYTES)
    first = tuple(n for n in range(_SPARED + 1, segments + 1) if rng.random() < cell.loss)
    again = tuple(n for n in range(1, _RETRANSMISSIONS + 1) if rng.random() < cell.loss)
    return Losses(first, again)
