"""A figure of a search as a picture, by matplotlib."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure as Drawing

_PANEL_IN = (6.0, 4.0)
_STYLES: Mapping[str, Mapping[str, Any]] = {
    "other trials": {"ls": "", "marker": ".", "color": "#94a3b8"},
    "best": {"ls": ":", "marker": "o", "color": "#c2410c", "ms": 5},
}


def draw(panels: Sequence[tuple[str, str, Mapping[str, tuple[list, list]], str]]) -> Drawing:
    """A panel for each pair of objectives: their names, the points of `other trials` and `best`,
    and where the steps of the latter are ("pre" or "post").
    """
    size = (_PANEL_IN[0] * len(panels), _PANEL_IN[1])
    drawing = Drawing(figsize=size, layout="constrained")
    places = drawing.subplots(1, len(panels), squeeze=False)[0]
    for place, (x, y, points, step) in zip(places, panels, strict=True):
        for name, (xs, ys) in points.items():
            drawstyle = f"steps-{step}" if name == "best" else "default"
            place.plot(xs, ys, label=name, drawstyle=drawstyle, **_STYLES[name])
        place.set_xlabel(x)
        place.set_ylabel(y)
        place.grid(alpha=0.3, lw=0.5)
        place.spines[["top", "right"]].set_visible(False)
    places[0].legend(frameon=False, fontsize="small")
    return drawing
