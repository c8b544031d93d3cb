"""A figure of runs as a picture, by matplotlib."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from windlass_lab.core.plots.parts import PALETTE_SIZE
from windlass_lab.core.report.panel_page import Row

# The palette of pages on paper (report.css).
COLOURS = (
    *("#0b5cad", "#c2410c", "#15803d", "#7e22ce"),
    *("#0e7490", "#be185d", "#806000", "#475569"),
)
_PANEL_IN = (7.0, 2.7)
# More names than that in a legend hide the plot.
_NAMES_MAX = 12
# The width of a legend's character and of its line and gaps, in inches.
_CHARACTER_IN, _LINE_IN = 0.08, 0.6


def draw(rows: Sequence[Row]) -> Drawing:
    """A grid of panels: a row for each quantity, a column for each run."""
    columns = max(len(row.panels) for row in rows)
    width = min(_PANEL_IN[0] * columns, 16.0)
    drawing = Drawing(figsize=(width, _PANEL_IN[1] * len(rows)), layout="constrained")
    axes = drawing.subplots(len(rows), columns, squeeze=False)
    named: set[tuple[str, ...]] = set()
    for row, places in zip(rows, axes, strict=True):
        for place in places[len(row.panels) :]:
            place.set_visible(False)
        for panel, place in zip(row.panels, places, strict=False):
            _draw_panel(panel.spec, place)
            _add_names(panel.spec, place, named, width / columns)
            if columns > 1:
                place.set_title(panel.label, fontsize="medium", loc="right")
        if row.panels and _is_over_time(row.panels[0].spec):
            places[0].set_ylabel(f"{row.title}\n({row.unit})")
    for number, column in enumerate(axes.T):
        shown = [
            (row, place)
            for row, place in zip(rows, column, strict=True)
            if len(row.panels) > number
        ]
        _share_time([place for row, place in shown if _is_over_time(row.panels[number].spec)])
    return drawing


def _is_over_time(spec: dict) -> bool:
    return spec["layout"]["xaxis"].get("type") != "log"


def _share_time(places: Sequence[Axes]) -> None:
    """Panels over time, one above the other, have one axis of it, below the lowest."""
    for place in places[:-1]:
        place.sharex(places[-1])
        place.tick_params(labelbottom=False)
        place.set_xlabel("")


def _draw_panel(spec: dict, place: Axes) -> None:
    for trace in spec["data"]:
        colour = COLOURS[trace["meta"]["colour"] % PALETTE_SIZE]
        style = "--" if trace["line"]["dash"] == "dash" else "-"
        place.step(
            trace["x"], trace["y"], style, where="post", color=colour, lw=0.9, label=trace["name"]
        )
    place.set_ylim(*spec["layout"]["yaxis"]["range"])
    place.set_xlabel(spec["layout"]["xaxis"]["title"]["text"])
    if not _is_over_time(spec):
        place.set_xscale("log")
        place.set_ylabel(spec["layout"]["yaxis"]["title"]["text"])
    place.margins(x=0.01)
    place.grid(alpha=0.3, lw=0.5)
    place.spines[["top", "right"]].set_visible(False)


def _add_names(spec: dict, place: Axes, named: set[tuple[str, ...]], width_in: float) -> None:
    """A legend above the panel, unless one before it has the same curves."""
    names = tuple(trace["name"] for trace in spec["data"])
    if len(names) <= _NAMES_MAX and names not in named:
        longest = max(map(len, names), default=0)
        place.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            frameon=False,
            fontsize="small",
            ncols=max(1, min(6, int(width_in / (_LINE_IN + _CHARACTER_IN * longest)))),
        )
    named.add(names)
