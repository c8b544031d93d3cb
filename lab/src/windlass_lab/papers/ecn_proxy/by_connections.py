"""Tables and bars over the number of connections, which experiments beyond the tables share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Generic, TypeVar

from windlass_lab.core.pipeline.run_lines import Named
from windlass_lab.core.plots.parts import Drawn, Panel
from windlass_lab.core.text.numbers import NONE, figure
from windlass_lab.core.verdicts.verdict import Asked, Comparison
from windlass_lab.papers.ecn_proxy.plan import FILES, LABELS, LOADS, NATIVE, NEITHER, PROXY
from windlass_lab.papers.ecn_proxy.supplement import Runs, over, seconds

COUNTS = tuple(load for load in LOADS if load != FILES)
HEADINGS = ("", *(f"{load} conn." for load in COUNTS))

# The test of so many connections.
ByCount = Callable[[str], Named]
CONFIGURATIONS = (NEITHER, PROXY, NATIVE)
N = TypeVar("N", bound=Named)


@dataclass(frozen=True, slots=True)
class Series(Generic[N]):
    """Tests by connections without ECN, with the proxy, and with ECN at both ends.

    `label` names them in tables and plots, `prefix` in a quantity, with `{load}` for the number of
    connections. `pairs` are the configurations whose times are compared, and the bounds.
    """

    label: str
    prefix: str
    test: Callable[[str, str], N]
    pairs: Sequence[tuple[str, str, Asked | None]]

    def by_count(self, configuration: str) -> ByCount:
        """The tests of a configuration."""
        return lambda load: self.test(load, configuration)


def tests_of(groups: Sequence[Sequence[Series[N]]], counts: Sequence[str]) -> list[N]:
    """All tests, with the series of a group side by side."""
    return [
        series.test(load, name)
        for group in groups
        for load in counts
        for series in group
        for name in CONFIGURATIONS
    ]


def judge_all(
    groups: Sequence[Sequence[Series]], counts: Sequence[str], runs: Runs, fewest: int
) -> list[Comparison]:
    """The pairs of each series, with the series of a group side by side."""
    found = []
    for group, load in product(groups, counts):
        for series in group:
            for above, below, asked in series.pairs:
                name = f"{series.prefix.format(load=load)}, {LABELS[above]} over {LABELS[below]}"
                tests = series.test(load, above), series.test(load, below)
                found.append(over(name, runs, *tests, asked, fewest))
    return [comparison for comparison in found if comparison is not None]


def times(groups: Sequence[Sequence[Series]], runs: Runs, opened: bool = True) -> list[dict]:
    """A table of the median times of each series and configuration, in seconds."""
    rows = []
    for series, name in product((each for group in groups for each in group), CONFIGURATIONS):
        samples = [seconds(runs, series.test(load, name)) for load in COUNTS]
        rows.append(medians(f"{series.label}, {LABELS[name]}", samples))
    return [table("Completion time in seconds, medians", rows, opened)]


def ratios(runs: Runs, above: ByCount, below: ByCount) -> Mapping[str, float]:
    """Ratios of the median times by connections, where both tests were run."""
    found = {}
    for load in COUNTS:
        upper, lower = seconds(runs, above(load)), seconds(runs, below(load))
        if upper and lower:
            found[load] = round(median(upper) / median(lower), 4)
    return found


def bars(name: str, colour: int | str, values: Mapping[str, float]) -> dict:
    """A bar for each number of connections; `colour` is a place in the palette or a role."""
    return {
        "type": "bar",
        "name": name,
        "x": list(values),
        "y": list(values.values()),
        "meta": {"colour": colour},
        "hovertemplate": "%{y:.3f}",
    }


def panel(id_: str, label: str, groups: Sequence[dict], title: str = "time over both ECN") -> Panel:
    """Groups of bars over the number of connections; `title` is that of the values."""
    layout = {
        "barmode": "group",
        "xaxis": {"type": "category", "title": {"text": "connections"}},
        "yaxis": {"title": {"text": title}, "rangemode": "tozero"},
        "showlegend": True,
    }
    return Panel(id_, label, {"data": list(groups), "layout": layout})


def one_panel(id_: str, title: str, groups: Sequence[dict]) -> list[Drawn]:
    """A plot of groups of bars on one set of axes; none without a bar."""
    drawn = Drawn(
        id=id_,
        figure="",
        title=title,
        note="Ratios of medians, by connections.",
        panels=[panel(f"{id_}-0", "", groups)],
        headings=HEADINGS,
        rows=[row(group["name"], group) for group in groups],
    )
    return [drawn] if any(group["x"] for group in groups) else []


def row(name: str, group: Mapping) -> tuple[str, ...]:
    """The values of a group of bars, under `HEADINGS`."""
    values = dict(zip(group["x"], group["y"], strict=True))
    return (name, *(figure(values.get(load)) for load in COUNTS))


def medians(name: str, samples: Sequence[Sequence[float]]) -> tuple[str, ...]:
    """The median of each sample, under `HEADINGS`."""
    return (name, *(figure(median(sample)) if sample else NONE for sample in samples))


def table(caption: str, rows: Sequence[Sequence[str]], opened: bool) -> dict:
    """A table under `HEADINGS`."""
    return {"caption": caption, "headings": HEADINGS, "rows": rows, "open": opened}
