"""The panels in figures of runs: a row for each quantity, a panel for each run."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.core.plots.parts import Panel, line
from windlass_lab.core.report.panel_page import Row
from windlass_lab.core.statistics.thin import thin
from windlass_lab.core.text.numbers import figure
from windlass_lab.runs.columns import FLOW_COLUMNS, QUEUE_COLUMNS
from windlass_lab.runs.rates import mbit_per_packet, mean_rates

QUANTITIES = {
    "cwnd": ("Congestion window", "packets"),
    "ssthresh": ("Slow-start threshold", "packets"),
    "srtt": ("Smoothed RTT", "ms"),
    "slope": ("Window slope of New-ECN", "packets per round trip"),
    "acked": ("Acknowledged", "packets"),
    "rate": ("Rate of payload", "Mbit/s"),
    "queue": ("Queue", "packets"),
    "average_queue": ("Average queue of RED", "packets"),
    "delay": ("Delay in the queue", "ms"),
    "completion": ("Completion times of transfers", "ms"),
    "fairness": ("Jain's index over time", "1/n to 1"),
    "harm": ("Harm over time", "share of the rate alone"),
}
"""The quantities that can be plotted, with title and unit."""
ALL_FLOWS = "all flows"
"""The name of a curve that all flows share."""
# A panel is some 700 pixels wide, so more points than that on a curve cannot be seen.
_POINTS = 2400


class RunLike(Protocol):
    """The parts of a run that a figure shows (`windlass_lab.Run`)."""

    @property
    def summary(self) -> Mapping:
        """The summary of `windlass sim run --json`."""

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The time series."""

    @property
    def flows(self) -> pl.DataFrame:
        """A row per flow."""


Runs = Sequence[tuple[str, RunLike]]
"""Runs with their labels."""


def rows_of(runs: Runs, what: Sequence[str]) -> list[Row]:
    """A row for each of `what`, which are names of `QUANTITIES`. Raises `LabError` for other names,
    and if no run has any of it.
    """
    unknown = [name for name in what if name not in QUANTITIES]
    if unknown:
        raise LabError(f"plot: no {', '.join(unknown)}: expected some of {', '.join(QUANTITIES)}")
    rows = [row for name in what if (row := _row(name, runs)).panels]
    if not rows:
        raise LabError(f"plot: no run has kept {' or '.join(what)}")
    return rows


def _row(name: str, runs: Runs) -> Row:
    title, unit = QUANTITIES[name]
    curves = [(label, _labelled(name, run)) for label, run in runs]
    curves = [(label, found) for label, found in curves if found]
    highest = max((max(y) for _, found in curves for _, _, y in found), default=1.0)
    panels = [
        Panel(f"{name}-{number}", label, spec_of(name, found, highest))
        for number, (label, found) in enumerate(curves)
    ]
    return Row(name, title, unit, panels)


def kept(runs: Runs) -> list[tuple[str, str, str]]:
    """Name, title and unit of each of `QUANTITIES` that a run has kept."""
    found = (name for name in QUANTITIES if any(curves_of(name, run) for _, run in runs))
    return [(name, *QUANTITIES[name]) for name in found]


def _labelled(name: str, run: RunLike) -> list[tuple[str, list[float], list[float]]]:
    """The curves of a run; the label of a flow has its controller."""
    curves = curves_of(name, run)
    if name in QUEUE_COLUMNS:
        return curves
    return [(_label(flow, run), x, y) for flow, x, y in curves]


def curves_of(name: str, run: RunLike) -> list[tuple[str, list[float], list[float]]]:
    """Name, times and values of each flow or queue that has any; a queue that was always empty has
    none.
    """
    if name == "harm":
        # It takes two runs: `Comparison`.
        return []
    others = {"rate": _rates, "completion": _completions, "fairness": _fairness}
    if name in others:
        return others[name](run)
    kind = "flow" if name in FLOW_COLUMNS else "queue"
    column = (FLOW_COLUMNS | QUEUE_COLUMNS)[name]
    found = []
    for table, frame in run.tables.items():
        if not table.startswith(f"{kind}-") or column not in frame.columns:
            continue
        known = frame.select("time_s", column).drop_nulls()
        if known.is_empty() or (kind == "queue" and known[column].max() == 0):
            continue
        x, y = thin(known["time_s"].to_list(), known[column].to_list(), _POINTS)
        found.append((table.removeprefix(f"{kind}-"), x, y))
    return found


def _rates(run: RunLike) -> list[tuple[str, list[float], list[float]]]:
    found = []
    for flow in run.summary["flows"]:
        frame, mbit = run.tables.get(f"flow-{flow['name']}"), mbit_per_packet(flow)
        if frame is None or mbit is None:
            continue
        known = frame.select("time_s", "acked_packets").drop_nulls()
        columns = known["time_s"].to_list(), known["acked_packets"].to_list()
        x, y = mean_rates(*columns, run.summary["duration_s"])
        found.append((flow["name"], x, [rate * mbit for rate in y]))
    return found


def _completions(run: RunLike) -> list[tuple[str, list[float], list[float]]]:
    """Times of each flow's transfers in ascending order, and the share that took no longer."""
    found = []
    for table, frame in run.tables.items():
        if table.startswith("transfers-") and not frame.is_empty():
            times_ms = sorted(((frame["time_s"] - frame["begun_s"]) * 1e3).to_list())
            shares = [(place + 1) / len(times_ms) for place in range(len(times_ms))]
            found.append((table.removeprefix("transfers-"), *thin(times_ms, shares, _POINTS)))
    return found


def _fairness(run: RunLike) -> list[tuple[str, list[float], list[float]]]:
    """Jain's index of each interval, at its end."""
    over_time = run.summary.get("over_time")
    if not over_time:
        return []
    interval_s = over_time["interval_s"]
    index = enumerate(over_time["fairness_index"], start=1)
    known = [(place * interval_s, value) for place, value in index if value is not None]
    return [(ALL_FLOWS, [x for x, _ in known], [y for _, y in known])] if known else []


def _label(flow: str, run: RunLike) -> str:
    """The name of a flow, with that of its controller."""
    entries = run.summary["flows"]
    controller = next((it.get("controller") for it in entries if it["name"] == flow), None)
    return f"{flow} ({controller})" if controller and controller not in flow else flow


def spec_of(name: str, curves: Sequence[tuple[str, list, list]], highest: float) -> dict:
    """A plot of curves: label, x and y of each. It is over time, but for distributions."""
    title, unit = QUANTITIES[name]
    axis = f"{title} ({unit})"
    if name == "completion":
        spec = curves_over_time(curves, "share of transfers", highest)
        spec["layout"]["xaxis"] = {"title": {"text": axis}, "type": "log"}
        return spec
    return curves_over_time(curves, axis, highest)


def curves_over_time(curves: Sequence[tuple[str, list, list]], axis: str, highest: float) -> dict:
    """A plot of curves over time: label, times and values of each."""
    data = []
    for index, (label, x, y) in enumerate(curves):
        trace = line(label, index, x, y)
        # A value holds until the next row.
        trace["line"] = trace["line"] | {"shape": "hv"}
        data.append(trace)
    layout = {
        "xaxis": {"title": {"text": "time (s)"}, "hoverformat": ".3f"},
        "yaxis": {"title": {"text": axis}, "range": [0, highest * 1.04]},
        "hovermode": "closest",
        "showlegend": True,
    }
    return {"data": data, "layout": layout}


def overview(runs: Runs) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a table of all flows."""
    columns = {
        "controller": "Controller",
        "rtt_min_ms": "RTT (ms)",
        "mbit_per_s.steady": "Rate (Mbit/s)",
        "packets_per_s.steady": "Rate (packets/s)",
        "cwnd_packets.time_mean_steady": "Mean window (packets)",
        "srtt_ms.time_mean": "Mean SRTT (ms)",
        "queue_delay_ms.mean": "Mean delay in queues (ms)",
        "queue_delay_ms.p99": "99 % (ms)",
        "marks": "Marks",
        "drops": "Drops",
        "retransmitted_segments": "Retransmitted",
        "timeouts": "Timeouts",
    }
    flows = [(label, run.flows.to_dicts()) for label, run in runs]
    # Packets that did not arrive, other than by the bottleneck's queue: shown where there are any.
    for key, heading in (
        ("drops_elsewhere", "Drops elsewhere"),
        ("policed", "Policed"),
        ("lost", "Lost"),
    ):
        if any(flow.get(key) for _, found in flows for flow in found):
            columns[key] = heading
    rows = []
    for label, found in flows:
        for flow in found:
            name = flow["name"] if len(runs) == 1 else f"{label}: {flow['name']}"
            rows.append([name, *(cell(flow.get(column)) for column in columns)])
    return ["Flow", *columns.values()], rows


def cell(value: float | str | None) -> str:
    """A figure in a table."""
    # Counts are whole.
    return f"{value:,.0f}" if isinstance(value, float) and value.is_integer() else figure(value)
