"""The figures that all worlds have, in the same units and from the same definitions."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from windlass_lab.runs.run import Run
from windlass_lab.worlds.outline import Flow, Outline

PERCENTILES = (50, 90, 95, 99)
_RATE_STEPS = 60
_RATE_STEP_S_MIN = 0.5


@dataclass(frozen=True, slots=True)
class FlowFigures:
    """A flow: rate of acknowledged payload and mean window of the steady time, mean SRTT."""

    rate_mbit_per_s: float
    cwnd_packets: float | None
    srtt_ms: float | None
    retransmitted: float | None


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The bottleneck's queue: what waits in the steady time, in packets and as the time that it
    takes to send (ms). `delay_ms` has the mean, the percentiles and `max`. Marks and drops are of
    the whole run.
    """

    packets: float
    delay_ms: Mapping[str, float]
    marks: float
    drops: float
    utilisation: float


@dataclass(frozen=True, slots=True)
class Figures:
    """The flows in the order of the scenario, and the bottleneck if it has a rate."""

    flows: Sequence[FlowFigures]
    queue: QueueFigures | None


def of_run(run: Run, outline: Outline, queue: str, packet_bytes: Sequence[int]) -> Figures:
    """The figures of a run. `queue` is the name of the bottleneck's table, `packet_bytes` the
    payload of each flow's packets.
    """
    flows = [
        FlowFigures(
            flow["packets_per_s"]["steady"] * size * 8 / 1e6,
            flow["cwnd_packets"]["time_mean_steady"],
            flow["srtt_ms"]["time_mean"],
            flow["retransmitted_segments"],
        )
        for flow, size in zip(run.summary["flows"], packet_bytes, strict=True)
    ]
    return Figures(flows, _queue(run, outline, queue))


def mean(found: Sequence[Figures]) -> Figures:
    """The means over several runs."""
    flows = [_mean_flow(same) for same in zip(*(f.flows for f in found), strict=True)]
    queues = [figures.queue for figures in found if figures.queue]
    return Figures(flows, _mean_queue(queues) if len(queues) == len(found) else None)


def rates(table: pl.DataFrame, packet_bytes: int, duration_s: float) -> tuple[list, list]:
    """Times and rates (Mbit/s) of a flow, each the mean over the step that ends there."""
    step_s = max(duration_s / _RATE_STEPS, _RATE_STEP_S_MIN)
    times, acked = table["time_s"].to_list(), table["acked_packets"].to_list()
    ends = [step_s * number for number in range(1, int(duration_s / step_s) + 1)]
    found, before, at, latest = [], 0.0, 0, 0.0
    for end in ends:
        while at < len(times) and times[at] <= end:
            latest = acked[at] if acked[at] is not None else latest
            at += 1
        found.append((latest - before) * packet_bytes * 8 / step_s / 1e6)
        before = latest
    return ends, found


def delay_of_packet_ms(run: Run, outline: Outline) -> float | None:
    """How long the bottleneck takes to send a packet of the mean size that it sent; `None` where it
    has no rate.
    """
    rate_bps = outline.bottleneck_rate_bps()
    sent = run.summary["queues"][0]
    if rate_bps is None or not sent["sent"]:
        return None
    return sent["sent_bytes"] / sent["sent"] * 8 / rate_bps * 1e3


def _queue(run: Run, outline: Outline, queue: str) -> QueueFigures | None:
    packet_ms = delay_of_packet_ms(run, outline)
    rate_bps = outline.bottleneck_rate_bps()
    if packet_ms is None or rate_bps is None:
        return None
    found = run.summary["queues"][0]
    waits = _weighted(run.tables[queue], outline)
    seconds = math.fsum(span for _, span in waits)
    packets = math.fsum(packets * span for packets, span in waits) / seconds
    delays = {"mean": packets * packet_ms, "max": max(p for p, _ in waits) * packet_ms}
    for percentile, value in zip(PERCENTILES, _percentiles(waits, seconds), strict=True):
        delays[f"p{percentile}"] = value * packet_ms
    utilisation = found["sent_bytes"] * 8 / rate_bps / outline.duration_s
    return QueueFigures(packets, delays, found["marks"], found["drops"], utilisation)


def _weighted(table: pl.DataFrame, outline: Outline) -> list[tuple[float, float]]:
    """How many packets wait, and for how long, in the steady time."""
    times = [*table["time_s"].to_list(), outline.duration_s]
    packets = table["queue_packets"].to_list()
    first_s = outline.steady_from_s
    found = [(0.0, max(0.0, times[0] - first_s))] if times else []
    for (begin, end), waiting in zip(itertools.pairwise(times), packets, strict=True):
        span_s = min(end, outline.duration_s) - max(begin, first_s)
        if span_s > 0:
            found.append((waiting, span_s))
    return found


def _percentiles(waits: Sequence[tuple[float, float]], seconds: float) -> list[float]:
    ascending = sorted(waits)
    sums = list(itertools.accumulate(span for _, span in ascending))
    found = []
    for percentile in PERCENTILES:
        wanted = seconds * percentile / 100
        index = next((i for i, total in enumerate(sums) if total >= wanted), len(sums) - 1)
        found.append(ascending[index][0])
    return found


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _mean_flow(flows: Sequence[FlowFigures]) -> FlowFigures:
    return FlowFigures(
        fmean(flow.rate_mbit_per_s for flow in flows),
        _mean_of([flow.cwnd_packets for flow in flows]),
        _mean_of([flow.srtt_ms for flow in flows]),
        _mean_of([flow.retransmitted for flow in flows]),
    )


def _mean_queue(queues: Sequence[QueueFigures]) -> QueueFigures:
    delays = {key: fmean(queue.delay_ms[key] for queue in queues) for key in queues[0].delay_ms}
    plain = (
        fmean(getattr(queue, name) for queue in queues)
        for name in ("packets", "marks", "drops", "utilisation")
    )
    packets, marks, drops, utilisation = plain
    return QueueFigures(packets, delays, marks, drops, utilisation)


def packet_bytes_of(run: Run, flows: Sequence[Flow]) -> list[int]:
    """The payload of each flow's packets: as the run says, or as it follows from the scenario."""
    return [
        found.get("packet_bytes") or flow.packet_bytes
        for found, flow in zip(run.summary["flows"], flows, strict=True)
    ]
