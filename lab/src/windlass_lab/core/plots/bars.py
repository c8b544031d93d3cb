"""Plots of figures: bars of published, reference and measured ones; lines over a parameter that
varies.
"""

import textwrap
from collections.abc import Sequence

from windlass_lab.core.experiments.judge import Evidence, flow_label, flow_pairs
from windlass_lab.core.experiments.model import BarPlot, KernelCase, Line, SweepPlot, columns
from windlass_lab.core.experiments.reference import Published
from windlass_lab.core.experiments.servers import ServerCase
from windlass_lab.core.plots.parts import (
    FEW_FLOWS,
    Cases,
    Drawn,
    Panel,
    axis_title,
    dotted,
    line,
    mean_of,
    value_of,
    with_spread,
)
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.text.numbers import figure

# Characters in a line below a group of bars.
_LABEL_WIDTH = 18
_MEDIANS = "medians of the kernel's runs and "
_OF_SERVERS = "medians of the runs, whiskers one standard deviation."
_WHISKERS = "means over the replicates, whiskers one standard deviation."


def draw_case_bars(plot: BarPlot, cases: Cases, evidence: Evidence) -> Drawn:
    """A group of bars a case."""
    key = plot.quantity.key
    # The server that one stands for, and what it is.
    labels = [_wrapped(cases[name].label) for name in plot.cases]
    published = [
        evidence.published[name].figure(key) if name in evidence.published else None
        for name in plot.cases
    ]
    reference = [value_of(evidence.reference.get(name), key) for name in plot.cases]
    measured = [value_of(evidence.measured.get(name), key) for name in plot.cases]
    group = ("", labels, _numbers(published), reference, measured)
    return _bars(plot, cases, [group])


def _wrapped(label: str) -> str:
    parts = label.split(": ", 1)
    return "<br>".join(line for part in parts for line in textwrap.wrap(part, _LABEL_WIDTH))


def draw_flow_bars(plot: BarPlot, cases: Cases, evidence: Evidence) -> Drawn:
    """A panel a case, a group of bars a flow."""
    key = plot.quantity.key
    groups = []
    for name in plot.cases:
        measured, reference = evidence.measured.get(name), evidence.reference.get(name)
        if measured is None:
            continue
        pairs = flow_pairs(measured, reference)
        table = evidence.published.get(name, Published({}))
        printed = [table.figure(key, partner or flow) for flow, partner in pairs]
        # A few names stand in two lines, so that a phone need not turn them.
        parting = "<br>" if len(measured.flows) <= FEW_FLOWS else ", "
        labels = [flow_label(flow).replace(", ", parting) for flow in measured.flows]
        theirs = [partner.values.get(key) if partner else None for _, partner in pairs]
        ours = [flow.values.get(key) for flow in measured.flows]
        groups.append((cases[name].label, labels, _numbers(printed), theirs, ours))
    return _bars(plot, cases, groups)


def _bars(plot: BarPlot, cases: Cases, groups: Sequence[tuple]) -> Drawn:
    of_servers = any(isinstance(cases[name], ServerCase) for name in plot.cases)
    chosen = (cases[name] for name in plot.cases)
    stacks = [case.stack for case in chosen if isinstance(case, KernelCase)]
    names_of = columns(stacks[0] if stacks else "")
    panels, rows = [], []
    highest = 0.0
    for number, (label, names, published, reference, measured) in enumerate(groups):
        data = [
            _bar(
                "published",
                "published",
                names,
                [Estimate(v) if v is not None else None for v in published],
            ),
            _bar("reference", names_of[0], names, reference),
            _bar("measured", names_of[1], names, measured),
        ]
        data = [trace for trace in data if any(y is not None for y in trace["y"])]
        highest = max([highest, *(y for trace in data for y in trace["y"] if y is not None)])
        panels.append(Panel(f"{plot.id}-{number}", label, _bar_spec(data, plot)))
        lines = zip(names, published, reference, measured, strict=True)
        rows += [
            (_row_name(label, name), figure(p), mean_of(r), mean_of(m)) for name, p, r, m in lines
        ]
    for panel in panels:
        panel.spec["layout"]["yaxis"]["range"] = [0, highest * 1.12]
    return Drawn(
        id=plot.id,
        figure=plot.figure,
        title=plot.title,
        note=f"Bars are {_OF_SERVERS if of_servers else _bars_of(bool(stacks))}",
        panels=panels,
        headings=("", "published", *names_of),
        rows=rows,
    )


def _bars_of(of_kernel: bool) -> str:
    return f"{_MEDIANS if of_kernel else ''}{_WHISKERS}"


def _row_name(label: str, name: str) -> str:
    plain = name.replace("<br>", ", ")
    return f"{label}: {plain}" if label else plain


def _bar(role: str, name: str, names: Sequence[str], values: Sequence[Estimate | None]) -> dict:
    trace = {
        "type": "bar",
        "name": name,
        "x": list(names),
        "y": [value.mean if value else None for value in values],
        "meta": {"colour": role},
        "hovertemplate": "%{y:,.4~g}",
    }
    return with_spread(trace, values)


def _bar_spec(data: list[dict], plot: BarPlot) -> dict:
    layout = {
        "barmode": "group",
        "bargap": 0.25,
        "xaxis": {"type": "category"},
        "yaxis": {"title": axis_title(plot.quantity.unit or plot.quantity.label)},
        "hovermode": "x unified",
        "showlegend": True,
    }
    return {"data": data, "layout": layout}


def _numbers(published: Sequence[float | str | None]) -> list[float | None]:
    return [value if isinstance(value, int | float) else None for value in published]


def draw_sweep(plot: SweepPlot, evidence: Evidence) -> Drawn:
    """A figure over what is varied: lines over a number, groups of bars over names."""
    data, rows = [], []
    for place, entry in enumerate(plot.lines):
        values = [
            value_of(evidence.measured.get(case), plot.quantity.key) for _, case in entry.points
        ]
        if not any(values):
            continue
        xs = [x for x, _ in entry.points]
        data.append(_swept(entry.label, place, xs, values))
        known = dict(_referred(plot, entry, evidence))
        if known:
            points = zip(*known.items(), strict=True)
            data.append(
                dotted(entry.label, place, *map(list, points))
                | {"mode": "markers", "marker": {"symbol": "diamond-open", "size": 11}}
            )
        rows += [
            (f"{entry.label}: {x}", figure(known.get(x)), mean_of(value))
            for x, value in zip(xs, values, strict=True)
        ]
    panels = [Panel(plot.id, "", {"data": data, "layout": _sweep_layout(plot)})] if data else []
    referred = any(_referred(plot, entry, evidence) for entry in plot.lines)
    return Drawn(
        id=plot.id,
        figure=plot.figure,
        title=plot.title,
        note=f"Measured: {_WHISKERS}" + (" Diamonds: the reference." if referred else ""),
        panels=panels,
        headings=("", "reference", "measured"),
        rows=rows,
    )


def _referred(
    plot: SweepPlot, entry: Line, evidence: Evidence
) -> Sequence[tuple[float | str, float]]:
    """The points of a line's reference."""
    if not plot.with_reference:
        return entry.reference
    found = (
        (x, value_of(evidence.reference.get(case), plot.quantity.key)) for x, case in entry.points
    )
    return [(x, value.mean) for x, value in found if value]


def _swept(label: str, place: int, xs: Sequence, values: Sequence[Estimate | None]) -> dict:
    trace = line(label, place, list(xs), [value.mean if value else None for value in values])
    if any(isinstance(x, str) for x in xs):
        trace["type"] = "bar"
        for key in ("mode", "line"):
            del trace[key]
    else:
        trace["mode"] = "lines+markers"
    return with_spread(trace, values)


def _sweep_layout(plot: SweepPlot) -> dict:
    xs = [x for entry in plot.lines for x, _ in entry.points]
    xaxis: dict = {"title": axis_title(plot.axis)}
    if any(isinstance(x, str) for x in xs):
        xaxis["type"] = "category"
    else:
        xaxis |= {"type": "log" if plot.log else "linear", "tickvals": sorted(set(xs))}
    return {
        "barmode": "group",
        "bargap": 0.25,
        "xaxis": xaxis,
        "yaxis": {
            "title": axis_title(plot.quantity.unit or plot.quantity.label),
            "type": "log" if plot.log_y else "linear",
        },
        "hovermode": "x unified",
        "showlegend": True,
    }
