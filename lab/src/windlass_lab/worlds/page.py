"""The page of a scenario in several worlds, one over the other."""

from collections.abc import Callable, Sequence

from windlass_lab.core.plots.parts import FEW_FLOWS, Panel
from windlass_lab.core.report.panel_page import Row, Table, render_panels
from windlass_lab.core.statistics.thin import thin
from windlass_lab.runs.panels import curves_over_time
from windlass_lab.worlds import figures
from windlass_lab.worlds.names import TITLES
from windlass_lab.worlds.outline import Flow, Outline
from windlass_lab.worlds.report import (
    FLOW_HEADINGS,
    QUEUE_HEADINGS,
    VERDICT_HEADINGS,
    flow_rows,
    queue_rows,
    verdict_rows,
)
from windlass_lab.worlds.run import World

# As many points as a panel can show.
_POINTS = 2400

Curve = tuple[str, list[float], list[float]]
CurveOf = Callable[[World, Flow, int], tuple[Sequence[float], Sequence[float | None]]]


def render(outline: Outline, worlds: Sequence[World]) -> str:
    """The page. The plots are of the first run of each world, the figures the means of all."""
    title = f"{outline.name}: {', '.join(TITLES[world.name] for world in worlds)}"
    rows = [row for row in _rows(outline, worlds) if row.panels]
    tables = [
        Table("Flows", FLOW_HEADINGS, flow_rows(outline, worlds)),
        Table("Queueing delay at the bottleneck", QUEUE_HEADINGS, queue_rows(worlds)),
        Table("Beside the simulator", VERDICT_HEADINGS, verdict_rows(outline, worlds)),
    ]
    return render_panels(
        title, _facts(outline, worlds), rows, *(table for table in tables if table.rows)
    )


def _facts(outline: Outline, worlds: Sequence[World]) -> list[str]:
    count = len(worlds[0].runs)
    facts = [
        f"{outline.duration_s:g} s, figures from {outline.steady_from_s:g} s on; "
        + ("one run in each world." if count == 1 else f"means of {count} runs in each world.")
    ]
    facts += [f"{TITLES[world.name]}: {note}" for world in worlds for note in world.notes]
    if len(outline.flows) > FEW_FLOWS:
        facts.append(f"The plots show the first {FEW_FLOWS} of {len(outline.flows)} flows.")
    return facts


def _rows(outline: Outline, worlds: Sequence[World]) -> list[Row]:
    def rate(world: World, flow: Flow, number: int) -> tuple[Sequence, Sequence]:
        table = world.runs[0].tables[f"flow-{flow.name}"]
        return figures.rates(table, world.packet_bytes[number], outline.duration_s)

    def column(name: str) -> CurveOf:
        def of(world: World, flow: Flow, _number: int) -> tuple[Sequence, Sequence]:
            table = world.runs[0].tables[f"flow-{flow.name}"]
            return table["time_s"].to_list(), table[name].to_list()

        return of

    return [
        _flow_row(outline, worlds, "rate", "Rate", "Mbit/s", rate),
        _flow_row(outline, worlds, "cwnd", "Congestion window", "packets", column("cwnd_packets")),
        _flow_row(outline, worlds, "srtt", "Smoothed RTT", "ms", column("srtt_ms")),
        _queue_row(worlds, "queue", "Queue", "packets", lambda _: 1.0),
        _queue_row(
            worlds,
            "delay",
            "Queueing delay",
            "ms",
            lambda world: figures.delay_of_packet_ms(world.runs[0], outline),
        ),
    ]


def _flow_row(
    outline: Outline,
    worlds: Sequence[World],
    name: str,
    title: str,
    unit: str,
    curve_of: CurveOf,
) -> Row:
    """A panel for each flow with a curve for each world."""
    shown = list(enumerate(outline.flows))[:FEW_FLOWS]
    curves = {
        flow.name: [
            (TITLES[world.name], *thin(*curve_of(world, flow, number), _POINTS))
            for world in worlds
            # A flow with several connections at a time has no series of its own.
            if f"flow-{flow.name}" in world.runs[0].tables
        ]
        for number, flow in shown
    }
    return _row(name, title, unit, curves)


def _queue_row(
    worlds: Sequence[World],
    name: str,
    title: str,
    unit: str,
    scale_of: Callable[[World], float | None],
) -> Row:
    """A panel of the bottleneck's queue with a curve for each world."""
    curves: list[Curve] = []
    for world in worlds:
        table, scale = world.runs[0].tables.get(world.queue), scale_of(world)
        if table is None or scale is None:
            continue
        x, y = thin(table["time_s"].to_list(), table["queue_packets"].to_list(), _POINTS)
        curves.append((TITLES[world.name], x, [value * scale for value in y]))
    return _row(name, title, unit, {"bottleneck": curves} if curves else {})


def _row(name: str, title: str, unit: str, curves: dict[str, list[Curve]]) -> Row:
    highest = max((max(y, default=0) for found in curves.values() for _, _, y in found), default=1)
    panels = [
        Panel(f"{name}-{number}", label, curves_over_time(found, f"{title} ({unit})", highest))
        for number, (label, found) in enumerate(curves.items())
    ]
    return Row(name, title, unit, panels)
