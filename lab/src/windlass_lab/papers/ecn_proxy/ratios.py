"""Medians, and ratios of medians with their bootstrap intervals."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_RESAMPLES = 2000
_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two medians; its 95 % interval and standard deviation by the bootstrap."""

    value: float
    low: float
    high: float
    sd: float
    count: int


def ratio(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """The ratio of the medians; both samples are drawn anew, each by itself."""
    # Seeded, so that a report made again says the same.
    rng = random.Random(1)
    drawn = sorted(_drawn(above, rng) / _drawn(below, rng) for _ in range(_RESAMPLES))
    tail = round(_TAIL * _RESAMPLES)
    return Ratio(
        value=statistics.median(above) / statistics.median(below),
        low=drawn[tail],
        high=drawn[-1 - tail],
        sd=statistics.stdev(drawn),
        count=min(len(above), len(below)),
    )


def _drawn(sample: Sequence[float], rng: random.Random) -> float:
    return statistics.median(rng.choices(sample, k=len(sample)))
