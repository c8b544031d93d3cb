"""Figures as text, and the summary for a terminal."""

import math
from collections.abc import Container, Mapping, Sequence

from windlass_lab.core.estimate import Estimate
from windlass_lab.core.model import Paper
from windlass_lab.core.verdict import FAIL, INFORMATIVE, PASS, Comparison

NONE = "–"
_MOST_DECIMALS = 3
# Comparisons that fit in a line.
_FEW = 2
VERDICTS = {PASS: "agrees", FAIL: "DIFFERS", "informative": NONE}


def figure(value: float | str | None) -> str:
    """A plain figure with as many digits as it deserves; words as they are."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return value
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    return f"{value:,.{digits}f}"


def published(value: float | str | None) -> str:
    """A published figure, with the digits it was published with."""
    return f"{value:,}" if isinstance(value, int | float) else figure(value)


def estimate(value: Estimate | None) -> str:
    """Mean ± standard deviation, with as many decimals as show the smaller of the two."""
    if value is None:
        return NONE
    mean = figure(value.mean)
    if value.sd == 0:
        return mean
    of_spread = math.ceil(-math.log10(value.sd)) if value.sd > 0 else 0
    decimals = max(len(mean.partition(".")[2]), min(of_spread, _MOST_DECIMALS))
    return f"{value.mean:,.{decimals}f} ± {value.sd:,.{decimals}f}"


def deviation(comparison: Comparison) -> str:
    """Measured less target: in percent, or in its own unit when the rule is in that unit."""
    gap = comparison.deviation
    if gap is None or comparison.target is None:
        return NONE
    if "%" in comparison.allowed or comparison.verdict == "informative":
        return f"{gap / comparison.target * 100:+z.1f} %" if comparison.target else NONE
    return f"{gap:+z.3f}"


def target(comparison: Comparison) -> str:
    """The rule a verdict follows, with the target when it is not the reference's mean."""
    if comparison.target is None or not comparison.allowed.startswith("±"):
        return comparison.allowed or NONE
    if comparison.reference and comparison.target == comparison.reference.mean:
        return comparison.allowed
    return f"{comparison.target:g} {comparison.allowed}"


def name(comparison: Comparison) -> str:
    """Quantity, flow and unit in one line."""
    flow = f", {comparison.flow}" if comparison.flow else ""
    unit = f" ({comparison.unit})" if comparison.unit else ""
    return f"{comparison.quantity}{flow}{unit}"


def figure_verdict(about: Sequence[Comparison]) -> str:
    """One line: does a figure of the paper come out again, by the comparisons about it?"""
    judged = [c for c in about if c.verdict != INFORMATIVE]
    if len(about) <= _FEW:
        return "; ".join(_in_line(c) for c in about)
    return section_verdict(judged) if judged else ""


def _in_line(c: Comparison) -> str:
    known = [f"published {published(c.published)}"] if c.published is not None else []
    known += [f"reference {estimate(c.reference)}"] if c.reference else []
    known += [f"deviation {deviation(c)} of {c.allowed}"] if c.low is not None and c.high else []
    printed = f": {VERDICTS[c.verdict]}" if c.verdict == FAIL else ""
    beside = f" ({', '.join(known)})" if known else ""
    return f"{name(c)} {estimate(c.measured)}{beside}{printed}"


def section_verdict(comparisons: Sequence[Comparison]) -> str:
    """One line for many comparisons: how many agree, and which is the furthest out."""
    judged = [c for c in comparisons if c.verdict != INFORMATIVE]
    if not judged:
        return _answers([c for c in comparisons if c.headline and c.why])
    wrong = [c for c in judged if c.verdict == FAIL]
    if wrong:
        which = ", ".join(name(c) for c in wrong[:_FEW])
        return f"{len(wrong)} of {len(judged)} differ: {which}{', …' if len(wrong) > _FEW else ''}"
    furthest = max(judged, key=lambda c: c.strain)
    if not furthest.strain:
        return f"All {len(judged)} agree"
    how_far = f"{deviation(furthest)} ({furthest.strain:.0%} of what is allowed)"
    return f"All {len(judged)} agree; the furthest out: {name(furthest)}, {how_far}"


def _answers(answered: Sequence[Comparison]) -> str:
    """What was answered in words, by answer: `survives: A (0.98 after 0.99), B (...)`."""
    by_answer: dict[str, list[str]] = {}
    for c in answered:
        answer, _, figures = c.why.partition(": ")
        case = c.quantity.partition(": ")[0]
        by_answer.setdefault(answer, []).append(f"{case} ({figures.partition(', ')[0]})")
    return "; ".join(f"{answer}: {', '.join(cases)}" for answer, cases in by_answer.items())


def headings(columns: Sequence[str]) -> tuple[str, ...]:
    """Above the cells of a comparison; `columns` are the names of reference and measured."""
    return ("", "published", *columns, "deviation", "allowed", "verdict")


_FIGURES = range(1, 6)


def cells(comparison: Comparison) -> tuple[str, ...]:
    """A comparison as the cells under `headings`."""
    verdict = VERDICTS[comparison.verdict]
    return (
        name(comparison),
        published(comparison.published),
        estimate(comparison.reference),
        estimate(comparison.measured),
        deviation(comparison),
        target(comparison),
        f"{verdict} ({comparison.why})" if comparison.why else verdict,
    )


def table(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> str:
    """Rows in columns; those whose numbers are in `right` (figures) end flush."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        padded = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def summary(paper: Paper, results: Mapping) -> str:
    """The whole result for a terminal."""
    titles = {experiment.id: experiment for experiment in paper.experiments}
    parts = [f"{paper.title}\n{paper.citation}\n"]
    for document in results["experiments"]:
        experiment = titles[document["id"]]
        comparisons = [Comparison.from_json(entry) for entry in document["comparisons"]]
        rows = [headings(experiment.columns), *(cells(comparison) for comparison in comparisons)]
        parts.append(f"{experiment.section}: {experiment.title}\n{table(rows, _FIGURES)}\n")
    parts.append(verdict_line(results, paper.against))
    return "\n".join(parts) + "\n"


def counts(results: Mapping) -> tuple[int, int]:
    """How many judged figures agree, and how many there are."""
    verdicts = [c["verdict"] for e in results["experiments"] for c in e["comparisons"]]
    return verdicts.count(PASS), verdicts.count(PASS) + verdicts.count(FAIL)


def verdict_line(results: Mapping, against: str) -> str:
    """One sentence for the whole; `against` is what figures are held against."""
    agreeing, judged = counts(results)
    if not judged:
        return "These figures are shown for information; none has a pass criterion."
    if agreeing == judged:
        return f"All {judged} figures agree with {against}."
    return f"{judged - agreeing} of {judged} figures differ from {against}."
