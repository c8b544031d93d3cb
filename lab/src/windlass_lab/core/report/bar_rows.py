"""The bars of a paper on the front page: a row for a quantity, a bar for each of its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.verdicts.verdict import Comparison

PUBLISHED, REFERENCE, MEASURED = "published", "reference", "measured"
# Headline figures of a paper on the front page.
_MOST_ROWS = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """One figure. Its `role` is one of the three above, and gives the colour."""

    name: str
    role: str
    value: float


@dataclass(frozen=True, slots=True)
class BarRow:
    """A quantity in its `unit`. The `statement` is what was published in words."""

    label: str
    unit: str
    bars: Sequence[Bar]
    statement: str = ""


def headlines(paper: Paper, results: Mapping) -> list[BarRow]:
    """The first headline figures: published, reference and measured, by the names that the
    experiment gives its columns.
    """
    columns = {experiment.id: experiment.columns for experiment in paper.experiments}
    found = (
        _row(comparison, *columns[document["id"]])
        for document in results["experiments"]
        for comparison in map(Comparison.from_json, document["comparisons"])
        if comparison.headline and comparison.measured
    )
    return [row for row, _ in zip(found, range(_MOST_ROWS), strict=False)]


def _row(comparison: Comparison, reference: str, measured: str) -> BarRow:
    published = comparison.published
    known = (
        (PUBLISHED, PUBLISHED, published),
        (reference, REFERENCE, comparison.reference.mean if comparison.reference else None),
        (measured, MEASURED, comparison.measured.mean if comparison.measured else None),
    )
    return BarRow(
        comparison.quantity,
        comparison.unit,
        [Bar(name, role, value) for name, role, value in known if isinstance(value, int | float)],
        published if isinstance(published, str) else "",
    )
