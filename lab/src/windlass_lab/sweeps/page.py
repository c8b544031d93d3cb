"""The page of a figure of a study."""

import textwrap
from collections.abc import Sequence

from windlass_lab.core.plots.parts import PALETTE_SIZE, axis_title, with_spread
from windlass_lab.core.plots.parts import Panel as Plot
from windlass_lab.core.report.panel_page import Row, Table, render_panels
from windlass_lab.core.text.numbers import figure
from windlass_lab.sweeps.cells import Group, Panel
from windlass_lab.sweeps.columns import figure_title
from windlass_lab.sweeps.shown import Shown

_DASHES = ("solid", "dash", "dot")
# Cells whose figures can be read in them.
_WRITTEN_MAX = 150
# Characters in a line of a value's name at an axis, and values of which every one has room.
_NAME_WIDTH, _NAMES_MAX = 18, 12


def render(study: Shown) -> str:
    """The page, which needs no network."""
    rows = [
        Row(f"row-{number}", figure_title(y), "", _plots(study, number, y, panels))
        for number, (y, panels) in enumerate(study.rows)
    ]
    title = f"{' and '.join(row.title for row in rows)} against {study.x.title}"
    return render_panels(title, [study.facts()], rows, table_of(study))


def table_of(study: Shown) -> Table:
    """The means as a table."""
    points = study.points()
    several = {
        "Figure": ("y", len(study.rows) > 1),
        "Panel": ("panel", any(point["panel"] for point in points)),
        study.group_title or "Group": ("group", bool(study.by)),
        study.x.title: ("x", True),
    }
    shown = {title: key for title, (key, wanted) in several.items() if wanted}
    mean = "Mean" if len(study.rows) > 1 else figure_title(study.rows[0][0])
    headings = [*shown, mean, "Standard deviation", "Runs"]
    rows = [
        [
            *(_text(point[key]) for key in shown.values()),
            figure(point["mean"]),
            figure(point["sd"]) if point["runs"] > 1 else "–",
            str(point["runs"]),
        ]
        for point in points
    ]
    return Table("Means of the runs", headings, rows)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plots(study: Shown, row: int, y: str, panels: Sequence[Panel]) -> list[Plot]:
    make = {"lines": _lines, "heat": _heat, "box": _box}[study.kind]
    return [
        Plot(f"panel-{row}-{number}", panel.label or "all runs", make(study, y, panel))
        for number, panel in enumerate(panels)
    ]


def _layout(study: Shown, vertical: str) -> dict:
    kind = "log" if study.has_log_axis else "linear" if study.x.is_number else "category"
    return {
        "xaxis": {"title": axis_title(study.x.title), "type": kind},
        "yaxis": {"title": axis_title(vertical)},
        "hovermode": "closest",
        "showlegend": bool(study.by),
    }


def _style(index: int) -> dict:
    dash = _DASHES[index // PALETTE_SIZE % len(_DASHES)]
    return {"line": {"width": 1.6, "dash": dash}, "meta": {"colour": index % PALETTE_SIZE}}


def _lines(study: Shown, y: str, panel: Panel) -> dict:
    data = []
    for group in panel.groups:
        means = group.means()
        trace = {
            "type": "scatter",
            "mode": "lines+markers",
            "name": group.label or "mean",
            "x": [x for x, _ in means],
            "y": [mean.mean for _, mean in means],
            "hovertemplate": "%{x}: %{y:,.4~g}",
        }
        data.append(with_spread(trace, [mean for _, mean in means]) | _style(_place(study, group)))
    return {"data": data, "layout": _layout(study, figure_title(y))}


def _place(study: Shown, group: Group) -> int:
    """The place of a group's colour: the same one in all panels."""
    return study.group_labels.index(group.label)


def _box(study: Shown, y: str, panel: Panel) -> dict:
    data = []
    for group in panel.groups:
        pairs = [(x, value) for x, figures in group.cells for value in figures]
        trace = {
            "type": "box",
            "name": group.label or "runs",
            "x": [_text(x) for x, _ in pairs],
            "y": [value for _, value in pairs],
            "hovertemplate": "%{y:,.4~g}",
        }
        data.append(trace | _style(_place(study, group)))
    layout = _layout(study, figure_title(y)) | {"boxmode": "group" if study.by else "overlay"}
    layout["xaxis"] |= _categories([_text(x) for x in study.x.order])
    return {"data": data, "layout": layout}


def _categories(names: Sequence[str]) -> dict:
    """Settings of an axis of names in this order, long ones in several lines."""
    axis = {"type": "category", "categoryorder": "array", "categoryarray": names}
    if len(names) > _NAMES_MAX or all(len(name) <= _NAME_WIDTH for name in names):
        return axis
    lines = ["<br>".join(textwrap.wrap(name, _NAME_WIDTH)) for name in names]
    return axis | {"tickvals": names, "ticktext": lines}


def _heat(study: Shown, y: str, panel: Panel) -> dict:
    """One trace in column form: x, the group and the mean of each cell."""
    cells = [(x, group.label, mean) for group in panel.groups for x, mean in group.means()]
    trace: dict = {
        "type": "heatmap",
        "name": figure_title(y),
        "x": [_text(x) for x, _, _ in cells],
        "y": [label for _, label, _ in cells],
        "z": [mean.mean for _, _, mean in cells],
        "colorscale": "Cividis",
        "meta": {"colour": 0},
        "hovertemplate": "%{x}, %{y}: %{z:,.4~g}<extra></extra>",
    }
    low, high = study.bounds(y)
    trace |= {"zmin": low, "zmax": high}
    if len(cells) <= _WRITTEN_MAX:
        trace["texttemplate"] = "%{z:.3~g}"
    layout = _layout(study, study.group_title) | {"showlegend": False}
    layout["xaxis"] |= _categories([_text(x) for x in study.x.order])
    layout["yaxis"] |= _categories(study.group_labels)
    return {"data": [trace], "layout": layout}
