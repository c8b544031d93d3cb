"""The figures of several worlds as text."""

from collections.abc import Iterator, Sequence

from windlass_lab.core.text import numbers
from windlass_lab.core.text.numbers import figure
from windlass_lab.worlds.figures import PERCENTILES, QueueFigures
from windlass_lab.worlds.judge import Verdict, verdicts
from windlass_lab.worlds.names import SIM, TITLES
from windlass_lab.worlds.outline import Outline
from windlass_lab.worlds.run import World, by_name

FLOW_HEADINGS = (
    *("Flow", "World", "Controller", "RTT (ms)", "Rate (Mbit/s)", "Mean window (packets)"),
    *("Mean SRTT (ms)", "Retransmitted"),
)
QUEUE_HEADINGS = (
    *("World", "Mean (ms)", *(f"p{p} (ms)" for p in PERCENTILES), "Max (ms)"),
    *("Mean queue (packets)", "Marks", "Drops", "Utilisation"),
)
VERDICT_HEADINGS = ("Figure", "World", "Found", "Simulator", "Difference", "Allowed", "Verdict")


def flow_rows(outline: Outline, worlds: Sequence[World]) -> list[list[str]]:
    """A row for each flow in each world."""
    rows = []
    for number, flow in enumerate(outline.flows):
        for world in worlds:
            found = world.figures.flows[number]
            rows.append(
                [
                    flow.name,
                    TITLES[world.name],
                    flow.controller,
                    figure(outline.rtt_min_ms(flow)),
                    figure(found.rate_mbit_per_s),
                    figure(found.cwnd_packets),
                    figure(found.srtt_ms),
                    figure(found.retransmitted),
                ]
            )
    return rows


def queue_rows(worlds: Sequence[World]) -> list[list[str]]:
    """A row for the bottleneck's queue in each world."""
    return [
        [TITLES[world.name], *_queue_cells(world.figures.queue)]
        for world in worlds
        if world.figures.queue
    ]


def _queue_cells(queue: QueueFigures) -> list[str]:
    delays = [queue.delay_ms[f"p{percentile}"] for percentile in PERCENTILES]
    times = [queue.delay_ms["mean"], *delays, queue.delay_ms["max"], queue.packets]
    counts = [f"{count:,.0f}" for count in (queue.marks, queue.drops)]
    return [*map(figure, times), *counts, f"{queue.utilisation:.0%}"]


def judged(outline: Outline, worlds: Sequence[World]) -> Iterator[tuple[World, Verdict]]:
    """The figures of each other world beside the simulator's; none without the simulator."""
    simulated = by_name(worlds).get(SIM)
    for world in worlds:
        if simulated and world.name != SIM:
            for verdict in verdicts(outline, simulated.figures, world.figures):
                yield world, verdict


def verdict_rows(outline: Outline, worlds: Sequence[World]) -> list[list[str]]:
    """A row for each figure that is judged."""
    return [
        [
            f"{verdict.what} ({verdict.unit})",
            TITLES[world.name],
            figure(verdict.found),
            figure(verdict.simulated),
            f"{verdict.apart:+.1%}",
            f"±{verdict.allowed:.0%}",
            "ok" if verdict.holds else "apart",
        ]
        for world, verdict in judged(outline, worlds)
    ]


def as_text(outline: Outline, worlds: Sequence[World]) -> str:
    """The tables, and the keys that each world leaves out."""
    flows = [FLOW_HEADINGS, *flow_rows(outline, worlds)]
    parts = [numbers.table(flows, range(3, len(FLOW_HEADINGS)))]
    if queues := queue_rows(worlds):
        table = numbers.table([QUEUE_HEADINGS, *queues], range(1, len(QUEUE_HEADINGS)))
        parts.append(f"Queueing delay at the bottleneck\n{table}")
    if found := verdict_rows(outline, worlds):
        parts.append(numbers.table([VERDICT_HEADINGS, *found], range(2, 6)))
    if notes := [f"{world.name}: {note}" for world in worlds for note in world.notes]:
        parts.append("\n".join(notes))
    return "\n\n".join(parts)
