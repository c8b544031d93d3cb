"""Time series of all flows of a run together, on an even grid."""

from bisect import bisect_right
from collections.abc import Sequence

from windlass_lab.core.binary.windlass import Series

ALL_FLOWS = "all flows"
CWND = "cwnd_packets"
TOTAL_CWND = "total_cwnd_packets"
AT_ONE_SEGMENT = "flows_at_one_segment"
COLUMNS = (TOTAL_CWND, AT_ONE_SEGMENT)
_STEP_S = 0.05


def together(flows: Sequence[Series]) -> Series:
    """The sum of the congestion windows, and how many flows have one of a single segment, which
    is where a timeout leaves them.
    """
    end = max((flow.time_s[-1] for flow in flows if flow.time_s), default=0.0)
    grid = [step * _STEP_S for step in range(int(end / _STEP_S) + 1)]
    windows = [[_at(flow, time) for time in grid] for flow in flows]
    by_time = list(zip(*windows, strict=True))
    columns = {
        TOTAL_CWND: [sum(values) for values in by_time],
        AT_ONE_SEGMENT: [sum(0 < value < 2 for value in values) for values in by_time],
    }
    return Series(ALL_FLOWS, None, grid, columns)


def _at(flow: Series, time: float) -> float:
    """The window at a time; zero before the flow starts."""
    place = bisect_right(flow.time_s, time) - 1
    return (flow.columns[CWND][place] or 0.0) if place >= 0 else 0.0
