"""Rates over time, from counts of acknowledged packets."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

_SPANS = 200
# Shorter spans show single windows and not rates.
_SPAN_S_MIN = 0.1


def mbit_per_packet(flow: Mapping) -> float | None:
    """Payload of a packet in Mbit, from the summary's rates; `None` if it has none."""
    packets, mbit = flow.get("packets_per_s", {}), flow.get("mbit_per_s", {})
    for window in ("whole_run", "steady"):
        if packets.get(window) and mbit.get(window) is not None:
            return mbit[window] / packets[window]
    return None


def mean_rates(
    times: Sequence[float], counts: Sequence[float], end: float
) -> tuple[list[float], list[float]]:
    """The growth of a count per second, as means over equal spans of time: the beginnings of the
    spans, and the means. A count holds until the next row.
    """
    span = max(end / _SPANS, _SPAN_S_MIN)
    begins = [span * number for number in range(max(int(end / span), 1))]
    at = [_count_at(times, counts, time) for time in [*begins, begins[-1] + span]]
    return begins, [(after - before) / span for before, after in pairwise(at)]


def _count_at(times: Sequence[float], counts: Sequence[float], time: float) -> float:
    position = bisect_right(times, time)
    return counts[position - 1] if position else 0.0
