"""Verdicts: is a measured figure where it should be? Pure functions over plain values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.statistics.interval import FEWEST_SEEDS, Interval, of_mean, rises
from windlass_lab.core.verdicts.criterion import Criterion
from windlass_lab.core.verdicts.phrases import bounds_of

PASS = "pass"
FAIL = "fail"
# Judged, but the runs are too few or too different to tell.
UNDECIDED = "undecided"
# Shown, and not judged.
INFORMATIVE = "informative"
# The kind of a row: a figure near another, a bound, an order; one that is so by its nature, as a
# ratio of two configurations that do the same; or one of a mechanism that the paper used and its
# own subject replaces. The last two are counted apart.
FIGURE = "figure"
BOUND = "bound"
ORDER = "order"
TRIVIAL = "trivial"
MECHANISM = "mechanism"
APART = (TRIVIAL, MECHANISM)
KINDS = (FIGURE, BOUND, ORDER, *APART)
# How near a measured figure must be to the published one: as a check asks, but at least a tenth,
# since papers give single runs, and at most 15 %.
_PUBLISHED_AT_LEAST = 0.10
MOST = 0.15


NOT_ENOUGH_RUNS = "not enough runs"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a measured mean may lie from its target: the largest of these.

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
        """The allowed distance that does not depend on the runs."""
        return max(self.absolute, self.relative * abs(target))

    def of_spread(self, measured: Estimate, reference: Estimate | None) -> float:
        """The allowed distance for the spread of the runs."""
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
class Asked:
    """Bounds, and why they are asked."""

    bounds: Bounds
    criterion: Criterion


@dataclass(frozen=True, slots=True)
class Comparison:
    """One line of a verdict table. Figures are in `unit`; None where there is none.

    `verdict` is that against the reference, or against a bound of the lab's own; `paper` whether
    the published figure or statement is met. A test that was built to have its property is
    `by_construction`. A row that is judged says by which `criterion`; `interval` holds the ends of
    the 95 % confidence interval where a bound or an order is judged.
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
    criterion: Criterion | None = None
    interval: tuple[float, float] | None = None
    kind: str = FIGURE

    @property
    def judged(self) -> bool:
        """Whether it was asked for more than to be shown."""
        return self.verdict != INFORMATIVE or self.paper != INFORMATIVE

    @property
    def strain(self) -> float:
        """The deviation as a fraction of the tolerance; zero where there is none."""
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
        criterion = self.criterion.to_json() if self.criterion else None
        derived = {"deviation": self.deviation, "criterion": criterion}
        return asdict(replace(self, criterion=None)) | derived

    @classmethod
    def from_json(cls, data: Mapping) -> "Comparison":
        """The inverse of `to_json`."""
        fields = {key: value for key, value in data.items() if key != "deviation"}
        for key in ("reference", "measured", "modern"):
            fields[key] = Estimate(**fields[key]) if fields[key] else None
        fields["criterion"] = Criterion.from_json(c) if (c := fields["criterion"]) else None
        fields["interval"] = tuple(ends) if (ends := fields["interval"]) else None
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Subject:
    """The figure that a comparison judges, with its values.

    `case` and `key` identify the figure; `modern` is the same figure with a modern stack.
    `criterion` is what it is judged by. A bound or an order takes `fewest` runs, unless it is of a
    figure that is `exact`, the same in every run by theory.
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
    criterion: Criterion | None = None
    fewest: int = FEWEST_SEEDS
    exact: bool = False


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
        return replace(_undecided(subject, NOT_ENOUGH_RUNS), allowed=allowed)
    width = tolerance.width(target, subject.measured, subject.reference)
    found = _judged(subject, target, allowed, target - width, target + width)
    if by_target:
        return replace(found, paper=found.verdict)
    return replace(found, paper=meets_paper(subject, tolerance.fixed(target)))


def at_least(subject: Subject, bound: float) -> Comparison:
    """Met when no part of the measured mean's interval is below `bound`, not met when all is."""
    found = within(replace(subject, published=None), Bounds(low=bound))
    target = subject.reference.mean if subject.reference else None
    return replace(found, target=target, published=subject.published, paper=meets_paper(subject))


def within(subject: Subject, bounds: Bounds, span: Interval | None = None) -> Comparison:
    """Met when the interval of the measured figure lies within the bounds, not met when it lies
    outside; `span` is that interval where it is not the one of a mean.
    """
    allowed = str(bounds)
    measured = subject.measured
    if measured is None:
        return _missing(subject, None, allowed, "the runs did not report it")
    span = span or of_mean(measured)
    verdict, why = _by_interval(subject, measured, bounds, span)
    found = _comparison(subject, None, allowed, bounds.low, bounds.high, verdict, why)
    found = replace(found, interval=_ends(subject, span), kind=BOUND)
    # Bounds are the rule by which words are tested.
    paper = verdict if isinstance(subject.published, str) else meets_paper(subject)
    return replace(found, paper=paper)


def _by_interval(
    subject: Subject, measured: Estimate, bounds: Bounds, span: Interval | None
) -> tuple[str, str]:
    if subject.exact or math.isnan(measured.mean):
        return PASS if bounds.hold(measured.mean) else FAIL, ""
    if measured.count < subject.fewest:
        return UNDECIDED, f"{NOT_ENOUGH_RUNS}: {measured.count} of {subject.fewest}"
    lies = span.lies(bounds) if span else None
    if lies is None:
        return UNDECIDED, f"{NOT_ENOUGH_RUNS}: {span}"
    return PASS if lies else FAIL, str(span)


def _ends(subject: Subject, span: Interval | None) -> tuple[float, float] | None:
    return None if span is None or subject.exact else (span.low, span.high)


def meets_paper(subject: Subject, width: float = 0.0) -> str:
    """Whether the measured figure is the published one: a number within `width`, but a tenth at
    least and 15 % at most; words by their rule. Words without one are not judged.
    """
    published, measured = subject.published, subject.measured
    if measured is None or published is None:
        return INFORMATIVE
    if isinstance(published, str):
        bounds = bounds_of(published)
        if bounds is None:
            return INFORMATIVE
        return _by_interval(subject, measured, bounds, of_mean(measured))[0]
    allowed = min(max(width, _PUBLISHED_AT_LEAST * abs(published)), MOST * abs(published))
    return PASS if abs(measured.mean - published) <= allowed else FAIL


def _has_no_rule(published: float | str | None) -> bool:
    return isinstance(published, str) and bounds_of(published) is None


def ascending(subject: Subject, figures: Sequence[tuple[str, Estimate | None]]) -> Comparison:
    """Met when each named figure is above the one before it, by the 95 % interval of each step. An
    order that the paper claims is a verdict on the paper alone.
    """
    allowed = " < ".join(name for name, _ in figures)
    absent = [name for name, figure in figures if figure is None]
    if absent:
        return _missing(subject, None, allowed, f"the run did not report {', '.join(absent)}")
    known = [figure for _, figure in figures if figure is not None]
    found = f"found {', '.join(f'{figure.mean:.4g}' for figure in known)}"
    fewest = min(figure.count for figure in known)
    if fewest < subject.fewest:
        verdict, found = UNDECIDED, f"{NOT_ENOUGH_RUNS}: {fewest} of {subject.fewest}; {found}"
    else:
        rising = rises(known)
        verdict = UNDECIDED if rising is None else PASS if rising else FAIL
    compared = replace(_comparison(subject, None, allowed, None, None, verdict, found), kind=ORDER)
    return replace(compared, verdict=INFORMATIVE, paper=verdict) if subject.published else compared


def informative(subject: Subject, why: str = "") -> Comparison:
    """Shown beside the others, not judged."""
    target = subject.reference.mean if subject.reference else None
    return _comparison(subject, target, "", None, None, INFORMATIVE, why)


def _undecided(subject: Subject, why: str) -> Comparison:
    return replace(informative(subject, why), verdict=UNDECIDED)


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
        criterion=subject.criterion,
    )
