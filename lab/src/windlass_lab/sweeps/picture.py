"""A figure of a study as a picture, by matplotlib."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from windlass_lab.runs.picture import COLOURS
from windlass_lab.sweeps.cells import Panel
from windlass_lab.sweeps.columns import figure_title
from windlass_lab.sweeps.shown import Shown

_PANEL_IN = (5.2, 3.4)
_COLUMNS_MAX = 3
_STYLES = ("-", "--", ":")
_MARKERS = "osD^vPX*"
# Characters in a line of a title.
_TITLE_WIDTH = 34
# Values of x that are all written at the axis, and cells whose figures are written in them.
_TICKS_MAX = 10
_WRITTEN_MAX = 150
# Characters of all labels of x that have room side by side.
_LABELS_MAX = 50


def draw(study: Shown) -> Drawing:
    """The panels of each figure, and beside them the names of the groups."""
    number = max(len(panels) for _, panels in study.rows)
    columns = min(number, _COLUMNS_MAX)
    lines = -(-number // columns)
    size = (_PANEL_IN[0] * columns + 1.2, _PANEL_IN[1] * lines * len(study.rows))
    drawing = Drawing(figsize=size, layout="constrained")
    places = drawing.subplots(lines * len(study.rows), columns, squeeze=False)
    for row, (y, panels) in enumerate(study.rows):
        _draw_row(study, y, panels, places[row * lines : (row + 1) * lines].flat, drawing)
    if study.kind != "heat" and study.by:
        drawing.legend(
            handles=[_handle(study, place) for place in range(len(study.group_labels))],
            title=study.group_title,
            loc="outside right upper",
            frameon=False,
            fontsize="small",
        )
    return drawing


def _draw_row(study: Shown, y: str, panels: Sequence[Panel], places: Any, drawing: Drawing) -> None:
    make = {"lines": _lines, "heat": _heat, "box": _box}[study.kind]
    image, first = None, None
    for number, place in enumerate(places):
        if number >= len(panels):
            place.set_visible(False)
            continue
        image = make(study, y, panels[number], place)
        if first is not None and study.kind != "heat":
            place.sharey(first)
        first = first or place
        place.set_title(panels[number].label, fontsize="medium")
        place.set_xlabel(study.x.title)
        vertical = study.group_title if study.kind == "heat" else figure_title(y)
        place.set_ylabel(textwrap.fill(vertical, _TITLE_WIDTH))
        place.spines[["top", "right"]].set_visible(False)
        if image is not None:
            title = textwrap.fill(figure_title(y), _TITLE_WIDTH)
            drawing.colorbar(image, ax=place, label=title)


def _look(place: int) -> dict[str, Any]:
    """The colour, dashes and marker of a group."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "ls": _STYLES[place // len(COLOURS) % len(_STYLES)],
        "marker": _MARKERS[place % len(_MARKERS)],
        "ms": 4,
        "lw": 1.3,
    }


def _handle(study: Shown, place: int) -> Line2D:
    """A group in the legend; boxes have no marker."""
    look = _look(place) | ({"marker": "", "ls": "-"} if study.kind == "box" else {})
    return Line2D([], [], label=study.group_labels[place], **look)


def _lines(study: Shown, y: str, panel: Panel, place: Axes) -> None:
    at = {
        x: x if isinstance(x, float) and study.x.is_number else number
        for number, x in enumerate(study.x.order)
    }
    for group in panel.groups:
        means = group.means()
        spread = [mean.sd for _, mean in means]
        place.errorbar(
            [at[x] for x, _ in means],
            [mean.mean for _, mean in means],
            yerr=spread if any(spread) else None,
            capsize=2.5,
            elinewidth=0.8,
            **_look(study.group_labels.index(group.label)),
        )
    if not study.x.is_number:
        _name_places(study, place)
    elif study.has_log_axis:
        place.set_xscale("log")
    if study.x.is_number and len(study.x.order) <= _TICKS_MAX and study.has_log_axis:
        place.xaxis.set_major_locator(FixedLocator([at[x] for x in study.x.order]))
        place.xaxis.set_minor_locator(NullLocator())
        place.xaxis.set_major_formatter(lambda x, _: f"{x:.4g}")
    place.grid(alpha=0.3, lw=0.5)


def _name_places(study: Shown, place: Axes) -> None:
    labels = [f"{x:.4g}" if isinstance(x, float) else str(x) for x in study.x.order]
    place.set_xticks(range(len(labels)), labels)
    if sum(map(len, labels)) > _LABELS_MAX:
        place.tick_params(axis="x", rotation=30)


def _box(study: Shown, y: str, panel: Panel, place: Axes) -> None:
    width = 0.8 / max(len(study.group_labels), 1)
    for group in panel.groups:
        number = study.group_labels.index(group.label)
        colour = COLOURS[number % len(COLOURS)]
        aside = (number - (len(study.group_labels) - 1) / 2) * width
        place.bxp(
            [_five(figures) for _, figures in group.cells],
            positions=[study.x.order.index(x) + aside for x, _ in group.cells],
            widths=width * 0.85,
            boxprops={"color": colour},
            medianprops={"color": colour, "lw": 2},
            whiskerprops={"color": colour},
            capprops={"color": colour},
            flierprops={"marker": ".", "markeredgecolor": colour, "ms": 4},
        )
    _name_places(study, place)
    place.set_xlim(-0.6, len(study.x.order) - 0.4)
    place.grid(alpha=0.3, lw=0.5, axis="y")


def _five(figures: Sequence[float]) -> dict[str, Any]:
    """The numbers of a box, as the page has them: whiskers reach the last figure within 1.5 times
    the distance of the quartiles (Tukey).
    """
    q1, median, q3 = np.quantile(figures, (0.25, 0.5, 0.75), method="hazen")
    reach = 1.5 * (q3 - q1)
    inside = [value for value in figures if q1 - reach <= value <= q3 + reach]
    beyond = [value for value in figures if value not in inside]
    ends = {"whislo": min(inside), "whishi": max(inside)}
    return {"q1": q1, "med": median, "q3": q3, "fliers": beyond} | ends


def _heat(study: Shown, y: str, panel: Panel, place: Axes) -> Any:
    """The means as colours; the returned image gives the scale."""
    grid = np.full((len(study.group_labels), len(study.x.order)), np.nan)
    for group in panel.groups:
        for x, mean in group.means():
            grid[study.group_labels.index(group.label), study.x.order.index(x)] = mean.mean
    low, high = study.bounds(y)
    image = place.imshow(grid, origin="lower", aspect="auto", cmap="cividis", vmin=low, vmax=high)
    _name_places(study, place)
    place.set_yticks(range(len(study.group_labels)), study.group_labels)
    if grid.size <= _WRITTEN_MAX:
        for (row, column), value in np.ndenumerate(grid):
            # Light figures on the dark half of the scale.
            colour = "white" if value < (low + high) / 2 else "black"
            text = "" if np.isnan(value) else f"{value:.3g}"
            place.text(column, row, text, color=colour, ha="center", va="center", fontsize=8)
    return image
