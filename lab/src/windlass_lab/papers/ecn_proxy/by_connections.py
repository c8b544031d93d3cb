"""Tables and bars over the number of connections, which experiments beyond the tables share."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from windlass_lab.core.pipeline.run_lines import Named
from windlass_lab.core.plots.parts import Drawn, Panel
from windlass_lab.core.text.numbers import NONE, figure
from windlass_lab.papers.ecn_proxy.plan import FILES, LOADS
from windlass_lab.papers.ecn_proxy.supplement import Runs, seconds

COUNTS = tuple(load for load in LOADS if load != FILES)
HEADINGS = ("", *(f"{load} conn." for load in COUNTS))

# The test of so many connections.
ByCount = Callable[[str], Named]


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
