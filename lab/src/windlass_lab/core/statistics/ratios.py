"""Medians, and ratios of medians with their bootstrap intervals."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.statistics.interval import Interval

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

    @property
    def estimate(self) -> Estimate:
        """The ratio as a measured quantity."""
        return Estimate(self.value, self.sd, self.count)

    @property
    def interval(self) -> Interval:
        """The 95 % interval."""
        return Interval(self.low, self.high)


def ratio(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """The ratio of the medians; both samples are drawn anew, each by itself."""
    return median_ratio([(above, below)])


def median_ratio(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Ratio:
    """The median of several ratios of medians; the runs of each are drawn anew, the pairs are not.

    `count` is that of the sample with the fewest runs.
    """
    # Seeded, so that a report made again says the same.
    rng = random.Random(1)
    drawn = sorted(
        statistics.median(_drawn(above, rng) / _drawn(below, rng) for above, below in pairs)
        for _ in range(_RESAMPLES)
    )
    tail = round(_TAIL * _RESAMPLES)
    medians = [statistics.median(above) / statistics.median(below) for above, below in pairs]
    return Ratio(
        value=statistics.median(medians),
        low=drawn[tail],
        high=drawn[-1 - tail],
        sd=statistics.stdev(drawn),
        count=min(len(sample) for pair in pairs for sample in pair),
    )


def _drawn(sample: Sequence[float], rng: random.Random) -> float:
    return statistics.median(rng.choices(sample, k=len(sample)))
