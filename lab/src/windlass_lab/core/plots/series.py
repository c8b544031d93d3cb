"""Plots of time series: a curve a flow, and one flow's rate against another's."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from windlass_lab.core.experiments.judge import flow_label
from windlass_lab.core.experiments.model import KernelCase, SeriesPlot, TracePlot
from windlass_lab.core.plots.parts import (
    FEW_FLOWS,
    Cases,
    Drawn,
    Material,
    Panel,
    axis_title,
    dotted,
    line,
)
from windlass_lab.core.statistics.estimate import FlowResult
from windlass_lab.core.text.numbers import figure

_TABLE_TIMES = 6
_RUN = "One run with the paper's start times."
_RUN_ON_KERNEL = "One run each; of the kernel's the one whose fairness index is the median."
_RUN_AND_REFERENCE = f"{_RUN} Dotted: one run of the reference."


def draw_series(plot: SeriesPlot, cases: Cases, material: Material) -> Drawn:
    """One panel a case; dotted, what the reference has of it."""
    panels, rows, highest = [], [], 0.0
    headings: list[str] = []
    for name in plot.cases:
        flows = [flow for flow in material.curves.get(name, ()) if _points(flow, plot)]
        if not flows:
            continue
        overlay = material.reference_acks.get(name, ()) if plot.with_reference else ()
        data = _series_traces(flows, overlay, plot)
        highest = max(highest, *(max(trace["y"], default=0.0) for trace in data))
        panels.append(Panel(f"{plot.id}-{name}", cases[name].label, _line_spec(data, plot)))
        times = _sample_times(flows[0]["curves"][plot.column]["time_s"])
        headings = ["Flow", *(f"{t:g} s" for t in times)]
        rows += [_sampled_row(cases[name].label, flow, plot, times) for flow in flows]
    for panel in panels:
        panel.spec["layout"]["yaxis"]["range"] = [0, highest * 1.04]
    return Drawn(
        id=plot.id,
        figure=plot.figure,
        title=plot.title,
        note=_note(plot, cases),
        panels=panels,
        headings=headings,
        rows=rows,
        zoom_s=plot.zoom_s,
        zoom_from_s=plot.zoom_from_s,
    )


def _note(plot: SeriesPlot, cases: Cases) -> str:
    if any(isinstance(cases[name], KernelCase) for name in plot.cases):
        return _RUN_ON_KERNEL
    return _RUN_AND_REFERENCE if plot.with_reference else _RUN


def _points(flow: Mapping, plot: SeriesPlot) -> bool:
    return bool(flow["curves"].get(plot.column, {}).get("time_s"))


def _series_traces(
    flows: Sequence[Mapping], overlay: Sequence[Mapping], plot: SeriesPlot
) -> list[dict]:
    traces = []
    keys = [(flow["controller"], flow["rtt_min_ms"], i) for i, flow in enumerate(flows)]
    rank = {index: place for place, (*_, index) in enumerate(sorted(keys))} if overlay else {}
    for index, flow in enumerate(flows):
        label = _curve_label(flow)
        points = flow["curves"][plot.column]
        traces.append(line(label, index, points["time_s"], points["values"]))
        if len(overlay) == len(flows):
            partner = overlay[rank[index]]
            traces.append(dotted(label, index, partner["time_s"], partner["packets"]))
    return traces


def _line_spec(data: list[dict], plot: SeriesPlot) -> dict:
    flows = sum(1 for trace in data if trace.get("showlegend", True))
    layout = {
        "xaxis": {"title": {"text": "time (s)"}, "hoverformat": ".2f"},
        "yaxis": {"title": axis_title(plot.axis), "rangemode": "tozero"},
        "hovermode": "x unified" if flows <= FEW_FLOWS else "closest",
        "showlegend": True,
    }
    return {"data": data, "layout": layout}


def _curve_label(flow: Mapping) -> str:
    if flow["rtt_min_ms"] is None:
        return flow["name"]
    return flow_label(FlowResult(flow["name"], flow["rtt_min_ms"], {}))


def _sample_times(times: Sequence[float]) -> list[float]:
    end = round(times[-1])
    return [end * step / _TABLE_TIMES for step in range(1, _TABLE_TIMES + 1)]


def _sampled_row(
    case: str, flow: Mapping, plot: SeriesPlot, times: Sequence[float]
) -> tuple[str, ...]:
    points = flow["curves"][plot.column]
    places = (bisect_right(points["time_s"], time) - 1 for time in times)
    values = (points["values"][place] if place >= 0 else None for place in places)
    return (f"{case}: {_curve_label(flow)}", *(figure(value) for value in values))


def draw_trace(plot: TracePlot, cases: Cases, material: Material) -> Drawn:
    """A column of the first two flows of a case against each other, with the line of equality."""
    panels, rows = [], []
    for name in plot.cases:
        flows = material.curves.get(name, ())
        columns = [flow["curves"].get(plot.column, {}).get("values", ()) for flow in flows[:2]]
        if len(columns) < 2 or not all(columns):
            continue
        labels = [_curve_label(flow) for flow in flows[:2]]
        highest = max(map(max, columns))
        fair = line("equal", 1, [0, highest], [0, highest]) | {
            "line": {"width": 1.4, "dash": "dot"}
        }
        data = [line("the two rates", 0, *columns), fair]
        layout = {
            "xaxis": {"title": axis_title(f"{labels[0]} ({plot.axis})"), "rangemode": "tozero"},
            "yaxis": {
                "title": axis_title(f"{labels[1]} ({plot.axis})"),
                "range": [0, highest * 1.04],
            },
            "hovermode": "closest",
            "showlegend": True,
        }
        data[0]["hovertemplate"] = "%{x:,.4~g}, %{y:,.4~g}"
        panels.append(
            Panel(f"{plot.id}-{name}", cases[name].label, {"data": data, "layout": layout})
        )
        means = (figure(sum(column) / len(column)) for column in columns)
        rows.append((f"{cases[name].label}: mean", *means))
    return Drawn(
        id=plot.id,
        figure=plot.figure,
        title=plot.title,
        note="One run, a point a step. Dotted: equal rates.",
        panels=panels,
        headings=("", "first", "second"),
        rows=rows,
    )
