"""The effect of one change: the ratio of two means with its confidence interval, and the smallest
effect that the replicates would show. A verdict needs the whole interval on one side of its bound.
"""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

from windlass_lab.core.bounds import Bounds
from windlass_lab.core.derive import quotient
from windlass_lab.core.estimate import Estimate
from windlass_lab.core.verdict import (
    FAIL,
    INFORMATIVE,
    NOT_ENOUGH_RUNS,
    PASS,
    Comparison,
    Subject,
    informative,
)

# Two-sided, and the chance to find an effect of the size that is called detectable.
_CONFIDENCE, _POWER = 0.95, 0.80
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Interval:
    """The 95 % confidence interval of a ratio, and the smallest rise, as a fraction, that so many
    replicates of this spread show in four cases of five.
    """

    low: float
    high: float
    detectable: float

    def lies(self, bounds: Bounds) -> str:
        """Passes inside of the bounds, fails outside; else the replicates do not tell."""
        low = -math.inf if bounds.low is None else bounds.low
        high = math.inf if bounds.high is None else bounds.high
        if low <= self.low and self.high <= high:
            return PASS
        return FAIL if self.high < low or high < self.low else INFORMATIVE

    def __str__(self) -> str:
        """For the report."""
        ends = f"95 % interval {self.low:.4g} to {self.high:.4g}"
        return f"{ends}; a rise of {self.detectable * 100:.2g} % would show"


def interval(ratio: Estimate) -> Interval | None:
    """The interval of a ratio of means, in its logarithm; `None` for a single run.

    Degrees of freedom are those of one of the two samples, which is the cautious choice.
    """
    if ratio.count < _FEWEST:
        return None
    error, freedom = ratio.standard_error / ratio.mean, ratio.count - 1
    sure = student((1 + _CONFIDENCE) / 2, freedom)
    wide = math.exp(sure * error)
    reach = (sure + student(_POWER, freedom)) * error
    return Interval(ratio.mean / wide, ratio.mean * wide, math.expm1(reach))


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


def effect(
    subject: Subject,
    changed: Estimate | None,
    before: Estimate | None,
    means: Bounds | None,
    must: Bounds | None,
) -> Comparison:
    """Judges the ratio `changed` / `before`: the paper's words by what they mean, the verdict by
    what the ratio must be. Without bounds it is shown with its interval.
    """
    ratio = quotient(changed, before)
    found = replace(
        informative(replace(subject, measured=ratio)),
        allowed=str(must) if must else "",
        low=must.low if must else None,
        high=must.high if must else None,
    )
    if ratio is None:
        verdict, paper = FAIL if must else INFORMATIVE, FAIL if means else INFORMATIVE
        return replace(
            found, verdict=verdict, paper=paper, why="one of the two is zero, or was not reported"
        )
    span = interval(ratio)
    if span is None:
        return replace(found, why=NOT_ENOUGH_RUNS)
    verdict = span.lies(must) if must else INFORMATIVE
    paper = span.lies(means) if means else INFORMATIVE
    unsure = (must and verdict == INFORMATIVE) or (means and paper == INFORMATIVE)
    words = f"“{subject.published}” means {means}" if means and means != must else ""
    why = "; ".join(filter(None, (NOT_ENOUGH_RUNS if unsure else "", str(span), words)))
    return replace(found, verdict=verdict, paper=paper, why=why)
