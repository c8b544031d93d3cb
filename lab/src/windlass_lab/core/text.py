"""Figures as text, and the summary for a terminal."""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.estimate import Estimate
from windlass_lab.core.model import Paper
from windlass_lab.core.verdict import FAIL, INFORMATIVE, NOT_ENOUGH_RUNS, PASS, Comparison

NONE = "–"
_MOST_DECIMALS = 3
# Comparisons that fit in a line.
_FEW = 2
VERDICTS = {PASS: "agrees", FAIL: "DIFFERS", "informative": NONE}


@dataclass(frozen=True, slots=True)
class Tally:
    """Of some comparisons: how many were judged and agree, against the reference or a bound of the
    lab's own, against the paper, and of what was built to agree.
    """

    agreeing: int
    judged: int
    paper_agreeing: int
    paper_judged: int
    built_agreeing: int
    built: int

    @property
    def failed(self) -> bool:
        """Something differs from the reference, or is not as it was built to be."""
        return self.agreeing < self.judged or self.built_agreeing < self.built


def tally(comparisons: Sequence[Comparison]) -> Tally:
    """Counts comparisons; those by construction are counted apart."""
    judged = [c for c in comparisons if c.verdict != INFORMATIVE]
    built = [c for c in judged if c.by_construction]
    found = [c for c in judged if not c.by_construction]
    paper = [c for c in comparisons if c.paper != INFORMATIVE and not c.by_construction]
    return Tally(
        sum(c.verdict == PASS for c in found),
        len(found),
        sum(c.paper == PASS for c in paper),
        len(paper),
        sum(c.verdict == PASS for c in built),
        len(built),
    )


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
    found = [c for c in judged if not c.by_construction]
    if not found:
        return f"All {len(judged)} are so by construction"
    furthest = max(found, key=lambda c: c.strain)
    if not furthest.strain:
        return f"All {len(found)} agree"
    how_far = f"{deviation(furthest)} ({furthest.strain:.0%} of what is allowed)"
    return f"All {len(found)} agree; the furthest out: {name(furthest)}, {how_far}"


def _answers(answered: Sequence[Comparison]) -> str:
    """What was answered in words, by answer: `survives: A (0.98 after 0.99), B (...)`; an answer
    without figures is given once.
    """
    by_answer: dict[str, list[str]] = {}
    for c in answered:
        answer, _, figures = c.why.partition(": ")
        cases = by_answer.setdefault(answer, [])
        if figures:
            case = c.quantity.partition(": ")[0]
            cases.append(f"{case} ({figures.partition(', ')[0]})")
    return "; ".join(
        f"{answer}: {', '.join(cases)}" if cases else answer for answer, cases in by_answer.items()
    )


def headings(columns: Sequence[str]) -> tuple[str, ...]:
    """Above the cells of a comparison; `columns` are the names of reference and measured."""
    return ("", "published", *columns, "deviation", "allowed", "paper", "verdict")


_FIGURES = range(1, 6)


def cells(comparison: Comparison) -> tuple[str, ...]:
    """A comparison as the cells under `headings`."""
    verdict = VERDICTS[comparison.verdict]
    if comparison.by_construction:
        verdict = f"{verdict}, by construction"
    return (
        name(comparison),
        published(comparison.published),
        estimate(comparison.reference),
        estimate(comparison.measured),
        deviation(comparison),
        target(comparison),
        VERDICTS[comparison.paper],
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


def counts(results: Mapping) -> Tally:
    """The tally of a whole result."""
    entries = (entry for e in results["experiments"] for entry in e["comparisons"])
    return tally([Comparison.from_json(entry) for entry in entries])


def verdict_line(results: Mapping, against: str) -> str:
    """The whole in a line: against the reference (`against`), the paper, and what was built."""
    found = counts(results)
    parts = [_against_reference(found, results, against)]
    if found.paper_judged:
        parts.append(f"Of {found.paper_judged} published figures {found.paper_agreeing} are met.")
    if found.built:
        parts.append(f"{found.built_agreeing} of {found.built} are so by construction.")
    return " ".join(parts)


def _against_reference(found: Tally, results: Mapping, against: str) -> str:
    if not found.judged:
        reasons = {c["why"] for e in results["experiments"] for c in e["comparisons"]}
        if any(why.startswith(NOT_ENOUGH_RUNS) for why in reasons):
            return f"Nothing was judged: {NOT_ENOUGH_RUNS}."
        return "These figures are shown for information; none has a pass criterion."
    if found.judged == found.agreeing == 1:
        return f"The one figure that is judged agrees with {against}."
    if found.agreeing == found.judged:
        return f"All {found.judged} figures agree with {against}."
    return f"{found.judged - found.agreeing} of {found.judged} figures differ from {against}."


def labels(folders: Sequence[Path]) -> list[str]:
    """The last part of each path, or the whole where that is not enough to tell them apart."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]
