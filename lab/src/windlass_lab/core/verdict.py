"""Verdicts: is a measured figure where it should be? Pure functions over plain values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

from windlass_lab.core.estimate import Estimate
from windlass_lab.core.words import rule

PASS = "pass"
FAIL = "fail"
INFORMATIVE = "informative"
# How near a measured figure must be to the published one: as a check asks, but at least a tenth,
# since papers give single runs, and at most 15 %.
_PUBLISHED_AT_LEAST = 0.10
MOST = 0.15


NOT_ENOUGH_RUNS = "not enough runs"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a measured mean may lie from its target: the largest of what is given.

    `absolute` is in the quantity's unit, `relative` a fraction of the target, `standard_errors` a
    multiple of the standard error of the difference between measured and reference mean.
    """

    absolute: float = 0.0
    relative: float = 0.0
    standard_errors: float = 0.0

    def width(self, target: float, measured: Estimate, reference: Estimate | None) -> float:
        """The allowed distance, in the quantity's unit."""
        return max(self.fixed(target), self.of_spread(measured, reference))

    def fixed(self, target: float) -> float:
        """What is allowed however few the runs are."""
        return max(self.absolute, self.relative * abs(target))

    def of_spread(self, measured: Estimate, reference: Estimate | None) -> float:
        """What is allowed for the spread of the runs."""
        error = measured.standard_error
        if reference is not None:
            error = math.hypot(error, reference.standard_error)
        return self.standard_errors * error

    def __str__(self) -> str:
        parts = []
        if self.absolute:
            parts.append(f"± {self.absolute:g}")
        if self.relative:
            parts.append(f"± {self.relative * 100:g} %")
        if self.standard_errors:
            parts.append(f"{self.standard_errors:g} standard errors")
        return " or ".join(parts)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One line of a verdict table. Figures are in `unit`; None where there is none.

    `verdict` is that against the reference, or against a bound of the lab's own; `paper` whether
    the published figure or statement is met. What was built to have a property and has it is
    `by_construction`.
    """

    quantity: str
    unit: str
    flow: str | None
    published: float | str | None
    reference: Estimate | None
    measured: Estimate | None
    target: float | None
    allowed: str
    low: float | None
    high: float | None
    verdict: str
    why: str = ""
    headline: bool = False
    case: str = ""
    key: str = ""
    modern: Estimate | None = None
    paper: str = INFORMATIVE
    by_construction: bool = False

    @property
    def strain(self) -> float:
        """The deviation as a fraction of what is allowed; zero where there is no such width."""
        if self.deviation is None or self.high is None or self.low is None:
            return 0.0
        width = (self.high - self.low) / 2
        return abs(self.deviation) / width if width else 0.0

    @property
    def deviation(self) -> float | None:
        """Measured mean less target, in the quantity's unit."""
        if self.measured is None or self.target is None:
            return None
        return self.measured.mean - self.target

    @property
    def of_figure(self) -> "Comparison":
        """The same for a figure of the paper: the verdict on the paper where there is no other."""
        return replace(self, verdict=self.paper) if self.verdict == INFORMATIVE else self

    def to_json(self) -> dict:
        """As plain data for results.json."""
        return asdict(self) | {"deviation": self.deviation}

    @classmethod
    def from_json(cls, data: Mapping) -> "Comparison":
        """The inverse of `to_json`."""
        fields = {key: value for key, value in data.items() if key != "deviation"}
        for key in ("reference", "measured", "modern"):
            fields[key] = Estimate(**fields[key]) if fields[key] else None
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a comparison is about, and what is known of it before judging.

    `case` and `key` tell which figure it is; `modern` is the same figure with a modern stack.
    """

    quantity: str
    unit: str = ""
    flow: str | None = None
    published: float | str | None = None
    reference: Estimate | None = None
    measured: Estimate | None = None
    headline: bool = False
    case: str = ""
    key: str = ""
    modern: Estimate | None = None


def near(subject: Subject, tolerance: Tolerance, target: float | None = None) -> Comparison:
    """Passes when the measured mean lies within `tolerance` of `target`.

    Without a target the mean of the reference is the target.
    """
    # Where its words have no rule, the target is the rule.
    by_target = target is not None and _has_no_rule(subject.published)
    if target is None and subject.reference is not None:
        target = subject.reference.mean
    allowed = str(tolerance)
    if target is None:
        return _missing(subject, None, allowed, "there is nothing to hold it against")
    if subject.measured is None:
        return _missing(subject, target, allowed, "the run did not report it")
    spread = tolerance.of_spread(subject.measured, subject.reference)
    if spread > max(tolerance.fixed(target), MOST * abs(target)):
        return replace(informative(subject, NOT_ENOUGH_RUNS), allowed=allowed)
    width = tolerance.width(target, subject.measured, subject.reference)
    found = _judged(subject, target, allowed, target - width, target + width)
    if by_target:
        return replace(found, paper=found.verdict)
    return replace(found, paper=meets_paper(subject, tolerance.fixed(target)))


def at_least(subject: Subject, bound: float) -> Comparison:
    """Passes when the measured mean is not below `bound`."""
    target = subject.reference.mean if subject.reference else None
    allowed = f"≥ {bound:g}"
    if subject.measured is None:
        return _missing(subject, target, allowed, "the run did not report it")
    found = _judged(subject, target, allowed, bound, None)
    return replace(found, paper=meets_paper(subject))


def within(subject: Subject, low: float | None, high: float | None) -> Comparison:
    """Passes when the measured mean lies from `low` to `high`; without both it is informative."""
    if low is None and high is None:
        return informative(subject)
    if low is not None and high is not None:
        allowed = f"{low:g} to {high:g}"
    else:
        allowed = f"≥ {low:g}" if high is None else f"≤ {high:g}"
    if subject.measured is None:
        return _missing(subject, None, allowed, "the runs did not report it")
    found = _judged(subject, None, allowed, low, high)
    if isinstance(subject.published, str):
        # The bounds are the rule by which the paper's words are tested.
        return replace(found, paper=found.verdict)
    return replace(found, paper=meets_paper(subject))


def meets_paper(subject: Subject, width: float = 0.0) -> str:
    """Whether the measured figure is the published one: a number within `width`, but a tenth at
    least and 15 % at most; words by their rule. Words without one are not judged.
    """
    published, measured = subject.published, subject.measured
    if measured is None or published is None:
        return INFORMATIVE
    if isinstance(published, str):
        bounds = rule(published)
        if bounds is None:
            return INFORMATIVE
        return PASS if bounds.hold(measured.mean) else FAIL
    allowed = min(max(width, _PUBLISHED_AT_LEAST * abs(published)), MOST * abs(published))
    return PASS if abs(measured.mean - published) <= allowed else FAIL


def _has_no_rule(published: float | str | None) -> bool:
    return isinstance(published, str) and rule(published) is None


def ascending(subject: Subject, figures: Sequence[tuple[str, Estimate | None]]) -> Comparison:
    """Passes when each named figure is above the one before it."""
    allowed = " < ".join(name for name, _ in figures)
    absent = [name for name, figure in figures if figure is None]
    if absent:
        return _missing(subject, None, allowed, f"the run did not report {', '.join(absent)}")
    means = [figure.mean for _, figure in figures if figure is not None]
    rising = all(lower < upper for lower, upper in pairwise(means))
    found = ", ".join(f"{mean:.4g}" for mean in means)
    verdict = PASS if rising else FAIL
    return _comparison(subject, None, allowed, None, None, verdict, f"found {found}")


def informative(subject: Subject, why: str = "") -> Comparison:
    """Shown beside the others, not judged."""
    target = subject.reference.mean if subject.reference else None
    return _comparison(subject, target, "", None, None, INFORMATIVE, why)


def survives(
    subject: Subject, original: Estimate | None, rivals: Sequence[Estimate | None], within: float
) -> Comparison:
    """Answers in words whether a figure held: near its `original`, and above every rival."""
    if subject.measured is None or original is None or None in rivals:
        return informative(subject, "not all of it was run")
    mean, best = subject.measured.mean, max(rival.mean for rival in rivals if rival)
    lost = original.mean - mean
    held = "survives" if lost <= within else "survives in part"
    how = held if mean > best else "is lost"
    others = f"the best of the others {best:.3f}"
    return informative(subject, f"{how}: {mean:.3f} after {original.mean:.3f}, {others}")


def failures(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Those that failed."""
    return [comparison for comparison in comparisons if comparison.verdict == FAIL]


def _missing(subject: Subject, target: float | None, allowed: str, why: str) -> Comparison:
    return _comparison(subject, target, allowed, None, None, FAIL, why)


def _judged(
    subject: Subject, target: float | None, allowed: str, low: float | None, high: float | None
) -> Comparison:
    mean = subject.measured.mean if subject.measured else math.nan
    inside = (low is None or mean >= low) and (high is None or mean <= high)
    inside = inside and not math.isnan(mean)
    return _comparison(subject, target, allowed, low, high, PASS if inside else FAIL, "")


def _comparison(
    subject: Subject,
    target: float | None,
    allowed: str,
    low: float | None,
    high: float | None,
    verdict: str,
    why: str,
) -> Comparison:
    return Comparison(
        quantity=subject.quantity,
        unit=subject.unit,
        flow=subject.flow,
        published=subject.published,
        reference=subject.reference,
        measured=subject.measured,
        target=target,
        allowed=allowed,
        low=low,
        high=high,
        verdict=verdict,
        why=why,
        headline=subject.headline,
        case=subject.case,
        key=subject.key,
        modern=subject.modern,
    )
