"""The figures of surveys, a panel for each survey with the same axes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from windlass_lab.core.plots.parts import Drawn, Panel
from windlass_lab.core.plots.servers import histogram
from windlass_lab.core.text.numbers import NONE, figure
from windlass_lab.papers.split_ack.survey import HISTOGRAMS, STATEMENTS, Histogram
from windlass_lab.surveys import labels

Counts = Mapping[Any, int]
# The statements that are about a table of the thesis belong to this figure, its test.
_WITH_TABLE = {"4.15": ("4.15", "Table 4.12")}
# Up to this height of the bars a tick for each server has room.
_FEW_SERVERS = 8
_MEANS = "Each server by the mean of its runs, rounded."


def published(surveys: Sequence[Mapping]) -> list[tuple[Histogram, Drawn]]:
    """Figures 4.14 to 4.17 of Normann 2011 from these surveys; those without a server that has the
    test are left out.
    """
    drawn = [(of, _published(of, surveys)) for of in HISTOGRAMS]
    return [(of, made) for of, made in drawn if made.rows]


def _published(of: Histogram, surveys: Sequence[Mapping]) -> Drawn:
    def counts(survey: Mapping) -> Counts:
        by = survey["figures"][of.test].get(f"hosts_by_{of.key}", {})
        return {int(packets): hosts for packets, hosts in by.items()}

    return _draw(
        f"{of.test}-{of.key}".replace("_", "-"),
        surveys,
        counts,
        figure_=of.figure,
        title=of.title,
        note=_MEANS,
        axis=of.axis,
    )


def statements(number: str, surveys: Sequence[Mapping]) -> list[tuple[str, ...]]:
    """The thesis's statements on a figure, with the surveys' values: rows of text."""
    rows = []
    for about in _WITH_TABLE.get(number, (number,)):
        for statement in STATEMENTS[about]:
            values = (_at(survey["figures"], statement.quantity.key) for survey in surveys)
            rows.append(
                (
                    statement.quantity.label,
                    f"{statement.says} ({statement.means})",
                    *(NONE if value is None else figure(float(value)) for value in values),
                )
            )
    return rows


def _at(tree: Mapping, dotted: str) -> float | None:
    value: Any = tree
    for key in dotted.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def initial_windows(surveys: Sequence[Mapping]) -> Drawn:
    """Hosts by their exact initial window."""
    return _draw(
        "initial-windows",
        surveys,
        lambda survey: {int(size): hosts for size, hosts in survey["initial_windows"].items()},
        title="Initial windows",
        note="Exact ones; a lower bound is not counted.",
        axis="packets",
    )


def verdicts(surveys: Sequence[Mapping]) -> Drawn:
    """Hosts by verdict."""
    return _draw(
        "verdicts",
        surveys,
        lambda survey: {
            labels.verdict(name): survey["verdicts"][name]
            for name in labels.verdicts(survey["verdicts"])
        },
        title="Reactions to split ACKs, or congestion controllers",
        note="Of the servers that were measured, or measured and undecided.",
        axis="",
    )


def ecn(surveys: Sequence[Mapping]) -> Drawn:
    """Hosts by the ECN that they agree on."""
    return _draw(
        "ecn",
        surveys,
        lambda survey: {
            label: survey["ecn"][name]
            for name, label in labels.ECN.items()
            if name in survey["ecn"]
        },
        title="ECN",
        note="Of the servers that were asked for AccECN (RFC 9768), and else for classic ECN.",
        axis="",
    )


def _draw(
    id_: str,
    surveys: Sequence[Mapping],
    counts_of: Callable[[Mapping], Counts],
    *,
    title: str,
    note: str,
    axis: str,
    figure_: str = "",
) -> Drawn:
    """A panel for each survey that has any. Several have shares, as they differ in size. A single
    value that all servers share is no distribution: it has a row and no panel.
    """
    alone = len(surveys) == 1
    found = [(survey["label"], counts_of(survey)) for survey in surveys]
    values = list(dict.fromkeys(value for _, counts in found for value in counts))
    if all(isinstance(value, int) for value in values):
        values.sort()
    bars = [(label, {v: _bar(counts, v, alone) for v in counts}) for label, counts in found]
    highest = max((bar for _, each in bars for bar in each.values()), default=0.0)
    panels = []
    for number, (label, each) in enumerate(bars):
        if not each or len(values) == 1:
            continue
        spec = histogram(each, axis, "servers" if alone else "% of servers")
        spec["layout"]["yaxis"] |= _height(highest, alone)
        spec["layout"]["xaxis"] |= _extent(values)
        panels.append(Panel(f"{id_}-{number}", "" if alone else label, spec))
    return Drawn(
        id=id_,
        figure=figure_,
        title=title,
        note=note if alone else f"{note} In percent of the servers of each survey.",
        panels=panels,
        headings=(axis, *(label for label, _ in found)),
        rows=[(str(value), *(_cell(counts, value) for _, counts in found)) for value in values],
    )


def _height(highest: float, alone: bool) -> dict:
    """Settings of the axis of counts, or of shares. Few servers have whole numbers only."""
    whole = {"dtick": 1} if alone and highest <= _FEW_SERVERS else {}
    return {"range": [0, highest * 1.05]} | whole


def _extent(values: Sequence) -> dict:
    """Settings of an axis for the same values in each panel: numbers in order, or names."""
    if isinstance(values[0], int):
        return {"range": [values[0] - 0.7, values[-1] + 0.7]}
    order = {"categoryorder": "array", "categoryarray": values}
    return {"type": "category", "range": [-0.5, len(values) - 0.5]} | order


def _bar(counts: Counts, value: Any, alone: bool) -> float:
    return counts[value] if alone else round(100 * counts[value] / sum(counts.values()), 3)


def _cell(counts: Counts, value: Any) -> str:
    if value not in counts:
        return "0"
    return f"{counts[value]} ({counts[value] / sum(counts.values()):.1%})"
