"""Plots as plain data for Plotly: what is drawn, not in which colours (the page's theme says that).

A trace's `meta.colour` is a place in the page's palette, or the name of a role.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.catalogue import BarPlot, Case, Experiment, Flows, Plot, SeriesPlot, SimpleModel
from windlass_lab.estimate import CaseResult, Estimate, FlowResult, pair_by_rtt
from windlass_lab.judge import Evidence, flow_label
from windlass_lab.text import figure

PALETTE_SIZE = 8
# Beside many curves a box with every value hides the plot.
_FEW_FLOWS = 6
_TABLE_TIMES = 6
_RUN = "One run with the paper's start times."
_RUN_AND_REFERENCE = f"{_RUN} Dotted: one run of the reference."


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes."""

    id: str
    label: str
    spec: dict


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plot ready for the page; `rows` are its values for those who read rather than look."""

    id: str
    title: str
    note: str
    panels: Sequence[Panel]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    zoom_s: float | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """What plots are drawn from."""

    evidence: Evidence
    curves: Mapping[str, Sequence[Mapping]]
    reference_acks: Mapping[str, Sequence[Mapping]]


def draw(experiment: Experiment, material: Material) -> list[Drawn]:
    """Every plot of an experiment that its results have values for."""
    cases = {case.name: case for case in (*experiment.cases, *experiment.models)}
    drawn = (_draw(plot, cases, material) for plot in experiment.plots)
    return [plot for plot in drawn if plot.panels]


def _draw(plot: Plot, cases: Mapping[str, Case | SimpleModel], material: Material) -> Drawn:
    if isinstance(plot, SeriesPlot):
        return _draw_series(plot, cases, material)
    if plot.flows == Flows.EACH:
        return _draw_flow_bars(plot, cases, material.evidence)
    return _draw_case_bars(plot, cases, material.evidence)


def _draw_series(
    plot: SeriesPlot, cases: Mapping[str, Case | SimpleModel], material: Material
) -> Drawn:
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
        title=f"{plot.title} (as Figure {plot.figure})",
        note=_RUN_AND_REFERENCE if plot.with_reference else _RUN,
        panels=panels,
        headings=headings,
        rows=rows,
        zoom_s=plot.zoom_s,
    )


def _points(flow: Mapping, plot: SeriesPlot) -> bool:
    return bool(flow["curves"].get(plot.column, {}).get("time_s"))


def _series_traces(
    flows: Sequence[Mapping], overlay: Sequence[Mapping], plot: SeriesPlot
) -> list[dict]:
    traces = []
    by_rtt = sorted(range(len(flows)), key=lambda index: (flows[index]["rtt_min_ms"], index))
    rank = {index: place for place, index in enumerate(by_rtt)}
    for index, flow in enumerate(flows):
        label = _curve_label(flow)
        points = flow["curves"][plot.column]
        traces.append(_line(label, index, points["time_s"], points["values"]))
        if len(overlay) == len(flows):
            partner = overlay[rank[index]]
            traces.append(_dotted(label, index, partner["time_s"], partner["packets"]))
    return traces


def _line(label: str, index: int, x: Sequence[float], y: Sequence[float]) -> dict:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label,
        "legendgroup": label,
        "x": x,
        "y": y,
        "line": {"width": 1.6, "dash": "solid" if index < PALETTE_SIZE else "dash"},
        "meta": {"colour": index % PALETTE_SIZE},
        "hovertemplate": "%{y:,.4~g}",
    }


def _dotted(label: str, index: int, x: Sequence[float], y: Sequence[float]) -> dict:
    trace = _line(label, index, x, y)
    line = {"width": 1.4, "dash": "dot"}
    hidden = {"showlegend": False, "hoverinfo": "skip", "opacity": 0.75}
    del trace["hovertemplate"]
    return trace | hidden | {"line": line}


def _line_spec(data: list[dict], plot: SeriesPlot) -> dict:
    flows = sum(1 for trace in data if trace.get("showlegend", True))
    layout = {
        "xaxis": {"title": {"text": "time (s)"}, "hoverformat": ".2f"},
        "yaxis": {"title": {"text": plot.axis}, "rangemode": "tozero"},
        "hovermode": "x unified" if flows <= _FEW_FLOWS else "closest",
        "showlegend": True,
    }
    return {"data": data, "layout": layout}


def _curve_label(flow: Mapping) -> str:
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


def _draw_case_bars(
    plot: BarPlot, cases: Mapping[str, Case | SimpleModel], evidence: Evidence
) -> Drawn:
    key = plot.quantity.key
    labels = [cases[name].label for name in plot.cases]
    published = [
        evidence.published[name].figure(key) if name in evidence.published else None
        for name in plot.cases
    ]
    numbers = [value if isinstance(value, int | float) else None for value in published]
    reference = [_value(evidence.reference.get(name), key) for name in plot.cases]
    measured = [_value(evidence.measured.get(name), key) for name in plot.cases]
    return _bars(plot, [("", labels, numbers, reference, measured)])


def _draw_flow_bars(
    plot: BarPlot, cases: Mapping[str, Case | SimpleModel], evidence: Evidence
) -> Drawn:
    key = plot.quantity.key
    groups = []
    for name in plot.cases:
        measured, reference = evidence.measured.get(name), evidence.reference.get(name)
        if measured is None:
            continue
        partners = (
            [partner for _, partner in pair_by_rtt(measured.flows, reference.flows)]
            if reference
            else [None] * len(measured.flows)
        )
        # A few names stand in two lines, so that a phone need not turn them.
        parting = "<br>" if len(measured.flows) <= _FEW_FLOWS else ", "
        labels = [flow_label(flow).replace(", ", parting) for flow in measured.flows]
        theirs = [partner.values.get(key) if partner else None for partner in partners]
        ours = [flow.values.get(key) for flow in measured.flows]
        groups.append((cases[name].label, labels, [None] * len(labels), theirs, ours))
    return _bars(plot, groups)


def _bars(plot: BarPlot, groups: Sequence[tuple]) -> Drawn:
    panels, rows = [], []
    highest = 0.0
    for number, (label, names, published, reference, measured) in enumerate(groups):
        data = [
            _bar("published", names, [Estimate(v) if v is not None else None for v in published]),
            _bar("reference", names, reference),
            _bar("measured", names, measured),
        ]
        data = [trace for trace in data if any(y is not None for y in trace["y"])]
        highest = max([highest, *(y for trace in data for y in trace["y"] if y is not None)])
        panels.append(Panel(f"{plot.id}-{number}", label, _bar_spec(data, plot)))
        lines = zip(names, published, reference, measured, strict=True)
        rows += [(_row_name(label, name), figure(p), _mean(r), _mean(m)) for name, p, r, m in lines]
    for panel in panels:
        panel.spec["layout"]["yaxis"]["range"] = [0, highest * 1.12]
    return Drawn(
        id=plot.id,
        title=plot.title,
        note="Bars are means over the replicates, whiskers one standard deviation.",
        panels=panels,
        headings=("", "published", "reference", "measured"),
        rows=rows,
    )


def _row_name(label: str, name: str) -> str:
    plain = name.replace("<br>", ", ")
    return f"{label}: {plain}" if label else plain


def _bar(role: str, names: Sequence[str], values: Sequence[Estimate | None]) -> dict:
    trace = {
        "type": "bar",
        "name": role,
        "x": list(names),
        "y": [value.mean if value else None for value in values],
        "meta": {"colour": role},
        "hovertemplate": "%{y:,.4~g}",
    }
    spread = [value.sd if value else 0.0 for value in values]
    if any(spread):
        trace["error_y"] = {"type": "data", "array": spread, "thickness": 1.5, "width": 4}
        trace["hovertemplate"] = "%{y:,.4~g} ± %{error_y.array:,.2~g}"
    return trace


def _bar_spec(data: list[dict], plot: BarPlot) -> dict:
    layout = {
        "barmode": "group",
        "bargap": 0.25,
        "xaxis": {"type": "category"},
        "yaxis": {"title": {"text": plot.quantity.unit or "fairness index"}},
        "hovermode": "x unified",
        "showlegend": True,
    }
    return {"data": data, "layout": layout}


def _value(case: CaseResult | None, key: str) -> Estimate | None:
    return case.values.get(key) if case else None


def _mean(value: Estimate | None) -> str:
    return figure(value.mean if value else None)
