"""Verdicts as text: counts, comparisons, and the summary for a terminal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.text.numbers import NONE, estimate, published, table
from windlass_lab.core.verdicts.verdict import (
    APART,
    BOUND,
    FAIL,
    FIGURE,
    INFORMATIVE,
    KINDS,
    MECHANISM,
    ORDER,
    PASS,
    TRIVIAL,
    UNDECIDED,
    Comparison,
)

# Comparisons that fit in a line.
_FEW = 2
VERDICTS = {PASS: "met", FAIL: "NOT MET", UNDECIDED: "not decided", INFORMATIVE: NONE}
# The noun for rows of each kind where they are counted.
KIND_NAMES = {
    FIGURE: "figures",
    BOUND: "bounds",
    ORDER: "orders",
    TRIVIAL: "figures that are 1 by their nature",
    MECHANISM: "figures of the paper's own mechanisms",
}


@dataclass(frozen=True, slots=True)
class Count:
    """Of some rows: how many are met, not met, and not decided."""

    met: int = 0
    not_met: int = 0
    undecided: int = 0

    @classmethod
    def of(cls, verdicts: Iterable[str]) -> "Count":
        """Counts verdicts; those of rows that are shown only do not count."""
        found = list(verdicts)
        return cls(found.count(PASS), found.count(FAIL), found.count(UNDECIDED))

    @property
    def judged(self) -> int:
        """All of them."""
        return self.met + self.not_met + self.undecided

    def __str__(self) -> str:
        open_ = f", {self.undecided} not decided" if self.undecided else ""
        return f"{self.met} of {self.judged} met{open_}"


@dataclass(frozen=True, slots=True)
class Tally:
    """Of some comparisons, by kind: the verdicts against the reference or a bound of the lab's own,
    and those on the paper; and the count of rows built to agree.
    """

    own: Mapping[str, Count]
    paper: Mapping[str, Count]
    built: Count

    @property
    def failed(self) -> bool:
        """Something differs from the reference, or is not as it was built to be."""
        return any(count.not_met for count in (*self.own.values(), self.built))


def tally(comparisons: Sequence[Comparison]) -> Tally:
    """Counts comparisons; those by construction are counted apart."""
    built = [c for c in comparisons if c.by_construction]
    found = [c for c in comparisons if not c.by_construction]

    def by_kind(verdict: Callable[[Comparison], str]) -> dict[str, Count]:
        counts = {kind: Count.of(verdict(c) for c in found if c.kind == kind) for kind in KINDS}
        return {kind: count for kind, count in counts.items() if count.judged}

    return Tally(
        by_kind(lambda c: c.verdict),
        by_kind(lambda c: c.paper),
        Count.of(c.of_figure.verdict for c in built),
    )


def total(counts: Mapping[str, Count]) -> Count:
    """All kinds together, but for those that are counted apart."""
    found = [count for kind, count in counts.items() if kind not in APART]
    return Count(
        sum(count.met for count in found),
        sum(count.not_met for count in found),
        sum(count.undecided for count in found),
    )


def deviation(comparison: Comparison) -> str:
    """Measured less target: in percent, or in its own unit when the rule is in that unit."""
    gap = comparison.deviation
    if gap is None or comparison.target is None:
        return NONE
    if "%" in comparison.allowed or comparison.verdict == INFORMATIVE:
        return f"{gap / comparison.target * 100:+z.1f} %" if comparison.target else NONE
    return f"{gap:+z.3f}"


def target(comparison: Comparison) -> str:
    """The rule a verdict follows, with the target when it is not the reference's mean."""
    if comparison.target is None or not comparison.allowed.startswith("±"):
        return comparison.allowed or NONE
    if comparison.reference and comparison.target == comparison.reference.mean:
        return comparison.allowed
    return f"{comparison.target:g} {comparison.allowed}"


def interval(comparison: Comparison) -> str:
    """The ends of the 95 % interval, where a bound is judged by one."""
    return " to ".join(f"{end:.4g}" for end in comparison.interval) if comparison.interval else NONE


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
    """One line for many comparisons: how many are met, which are not, which is the furthest out."""
    judged = [c for c in comparisons if c.of_figure.verdict != INFORMATIVE]
    if not judged:
        return ""
    found = [c for c in judged if not c.by_construction]
    wrong = [c for c in judged if c.of_figure.verdict == FAIL]
    if wrong:
        which = ", ".join(name(c) for c in wrong[:_FEW])
        more = ", …" if len(wrong) > _FEW else ""
        return f"{len(wrong)} of {len(judged)} not met: {which}{more}"
    if not found:
        return f"All {len(judged)} are so by construction"
    count = Count.of(c.of_figure.verdict for c in found)
    if count.undecided:
        return str(count)
    furthest = max(found, key=lambda c: c.strain)
    if not furthest.strain:
        return f"All {len(found)} met"
    how_far = f"{deviation(furthest)} ({furthest.strain:.0%} of the tolerance)"
    return f"All {len(found)} met; the furthest out: {name(furthest)}, {how_far}"


def headings(columns: Sequence[str]) -> tuple[str, ...]:
    """Above the cells of a comparison; `columns` are the names of reference and measured."""
    return ("", "published", *columns, "deviation", "allowed", "interval", "paper", "verdict")


_FIGURES = range(1, 7)


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
        interval(comparison),
        VERDICTS[comparison.paper],
        f"{verdict} ({comparison.why})" if comparison.why else verdict,
    )


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
    parts = [_of_kinds(f"Held against {against}", found.own), _of_kinds("The paper", found.paper)]
    if found.built.judged:
        parts.append(f"By construction: {found.built}.")
    parts = [part for part in parts if part]
    return " ".join(parts) or "These figures are shown for information; none has a criterion."


def _of_kinds(of_what: str, counts: Mapping[str, Count]) -> str:
    listed = ", ".join(f"{KIND_NAMES[kind]} {count}" for kind, count in counts.items())
    return f"{of_what}: {listed}." if listed else ""
