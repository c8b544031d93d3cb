"""The spread of a time series over time."""

import math
from collections.abc import Sequence
from itertools import pairwise

from windlass_lab.core.binary.windlass import Run, Sampling, Windlass
from windlass_lab.core.statistics.estimate import pool

_CWND = "cwnd_packets"


def window_spread(windlass: Windlass, run: Run, sampling: Sampling, from_s: float) -> dict:
    """The standard deviation over time of the first flow's window, in segments, from `from_s` on:
    mean and deviation over the replicates, each with the scenario's own start times.
    """
    found = []
    for seed in range(sampling.seed, sampling.seed + sampling.replicates):
        flow = windlass.series(run, seed, [_CWND])[0]
        found.append({_CWND: standard_deviation(flow.time_s, flow.columns[_CWND], from_s)})
    return pool(found)


def standard_deviation(
    times: Sequence[float], values: Sequence[float | None], from_s: float
) -> float:
    """Of a value that holds from its time to the next, weighted by how long it holds."""
    held = [
        (after - max(time, from_s), value)
        for (time, value), (after, _) in pairwise(zip(times, values, strict=True))
        if after > from_s and value is not None
    ]
    whole = sum(span for span, _ in held)
    if not whole:
        return 0.0
    mean = sum(span * value for span, value in held) / whole
    return math.sqrt(sum(span * (value - mean) ** 2 for span, value in held) / whole)
