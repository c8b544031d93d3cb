"""The effect of one change: the ratio of two means, judged by its confidence interval."""

from dataclasses import replace

from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.statistics.derive import quotient
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.statistics.interval import of_ratio
from windlass_lab.core.verdicts.verdict import (
    FAIL,
    INFORMATIVE,
    Comparison,
    Subject,
    informative,
    within,
)


def effect(
    subject: Subject,
    changed: Estimate | None,
    before: Estimate | None,
    means: Bounds | None,
    must: Bounds | None,
) -> Comparison:
    """Judges the ratio `changed` / `before`: the words by what they mean, the verdict by what the
    ratio must be. Without bounds it is shown with its interval.
    """
    ratio = quotient(changed, before)
    about = replace(subject, measured=ratio)
    shown = replace(
        informative(about),
        allowed=str(must or means or ""),
        low=must.low if must else None,
        high=must.high if must else None,
    )
    if ratio is None:
        verdict, paper = FAIL if must else INFORMATIVE, FAIL if means else INFORMATIVE
        why = "one of the two is zero, or was not reported"
        return replace(shown, verdict=verdict, paper=paper, why=why)
    span = of_ratio(ratio)
    judged = {name: within(about, b, span) for name, b in (("must", must), ("means", means)) if b}
    if not judged:
        return replace(shown, why=str(span) if span else "")
    first = next(iter(judged.values()))
    says = f"“{subject.published}” means {means}" if means and means != must else ""
    return replace(
        shown,
        verdict=judged["must"].verdict if must else INFORMATIVE,
        paper=judged["means"].verdict if means else INFORMATIVE,
        why="; ".join(filter(None, (first.why, says))),
        interval=first.interval,
        kind=first.kind,
    )
