"""Confidence intervals, and what they say of a bound or an order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.statistics.estimate import Estimate

# Two-sided, and the chance to find an effect of the size that is called detectable.
CONFIDENCE, _POWER = 0.95, 0.80
# Fewer seeds of the simulator, or runs on a kernel, decide neither a bound nor an order.
FEWEST_SEEDS, FEWEST_RUNS = 20, 10
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % confidence interval; of a ratio also the smallest rise, as a fraction, that so many
    replicates of this spread show in four cases of five.
    """

    low: float
    high: float
    detectable: float | None = None

    def lies(self, bounds: Bounds) -> bool | None:
        """True inside of the bounds, False outside; None where it has a part on either side."""
        low = -math.inf if bounds.low is None else bounds.low
        high = math.inf if bounds.high is None else bounds.high
        if low <= self.low and self.high <= high:
            return True
        return False if self.high < low or high < self.low else None

    def __str__(self) -> str:
        """For the report."""
        ends = f"95 % interval {self.low:.4g} to {self.high:.4g}"
        if self.detectable is None:
            return ends
        return f"{ends}; a rise of {self.detectable * 100:.2g} % would show"


def of_mean(value: Estimate) -> Interval | None:
    """The interval of a mean by Student's t; `None` for a single run."""
    if value.count < _FEWEST:
        return None
    # mean ± t s / sqrt(n), with n - 1 degrees of freedom.
    reach = student((1 + CONFIDENCE) / 2, value.count - 1) * value.standard_error
    return Interval(value.mean - reach, value.mean + reach)


def of_ratio(ratio: Estimate) -> Interval | None:
    """The interval of a ratio of means, in its logarithm; `None` for a single run.

    Degrees of freedom are those of one of the two samples, which is the cautious choice.
    """
    if ratio.count < _FEWEST:
        return None
    error, freedom = ratio.standard_error / ratio.mean, ratio.count - 1
    # The error of ln(ratio) is the relative error of the ratio. To show with this power, an effect
    # must exceed the interval by the power's quantile.
    sure = student((1 + CONFIDENCE) / 2, freedom)
    wide = math.exp(sure * error)
    reach = (sure + student(_POWER, freedom)) * error
    return Interval(ratio.mean / wide, ratio.mean * wide, math.expm1(reach))


def of_median(values: Sequence[float]) -> Interval:
    """The interval of a median, whatever the distribution: between two of the values, by the
    binomial distribution. Of too few values it is all of them.
    """
    ordered, count = sorted(values), len(values)
    place, below = 0, 1
    # `below` of 2^count orders have at most `place` values under the median.
    while 2 * below <= (1 - CONFIDENCE) * 2**count:
        place += 1
        below += math.comb(count, place)
    place = max(place - 1, 0)
    return Interval(ordered[place], ordered[-1 - place])


def of_difference(above: Estimate, below: Estimate) -> Interval | None:
    """The interval of `above` less `below`, as if the two were independent, with the degrees of
    freedom of the smaller sample; `None` for a single run.
    """
    count = min(above.count, below.count)
    if count < _FEWEST:
        return None
    error = math.hypot(above.standard_error, below.standard_error)
    reach = student((1 + CONFIDENCE) / 2, count - 1) * error
    gap = above.mean - below.mean
    return Interval(gap - reach, gap + reach)


def rises(figures: Sequence[Estimate]) -> bool | None:
    """Whether each figure is above the one before it: True if each step's interval is, False if
    that of one is below, None otherwise.
    """
    steps = [of_difference(after, before) for before, after in pairwise(figures)]
    if any(step is not None and step.high <= 0 for step in steps):
        return False
    return True if all(step is not None and step.low > 0 for step in steps) else None


def student(probability: float, freedom: int) -> float:
    """The quantile of Student's t: exact for one and two degrees of freedom, else by the expansion
    of Cornish and Fisher (Abramowitz and Stegun 26.7.5), which is within 1 % from three on.
    """
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        return (2 * probability - 1) / math.sqrt(2 * probability * (1 - probability))
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))
