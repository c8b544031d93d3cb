"""Figures of a window over time for the paper's statements, from a sender's samples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

# Time (s), window and threshold (segments; infinite: none yet), bytes acknowledged, segments sent
# again and, of a kernel, timeouts.
Row = Sequence[float]

# The window that limits the paper's transfers, in segments (its Figure 16).
LIMIT_SEGMENTS = 2200
# RFC 2581 section 3.2 inflates the window by three segments at once, so a spike is no smaller.
_SPIKE_SEGMENTS = 3
_TIME, _CWND, _SSTHRESH, _TIMEOUTS = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class WindowFigures:
    """A transfer's window over time, in a few figures.

    `first_loss` is the window in segments before its first reduction, None without one; `limit_s`
    when it first had the segments that limit the paper's transfers, in seconds. `spikes` counts the
    reductions after which the window rose by three segments and fell again while ssthresh stayed;
    `dips` those after which a kernel's window fell below ssthresh and came back without a timeout.
    """

    first_loss: float | None
    limit_s: float | None
    spikes: int
    dips: int


def window_figures(rows: Sequence[Row]) -> WindowFigures:
    """That of a sender's samples."""
    reduced = next((n for n, row in enumerate(rows) if isfinite(row[_SSTHRESH])), 0)
    return WindowFigures(
        first_loss=rows[reduced - 1][_CWND] if reduced else None,
        limit_s=next((row[_TIME] for row in rows if row[_CWND] >= LIMIT_SEGMENTS), None),
        spikes=sum(_has_spike([row[_CWND] for row in epoch]) for epoch in _epochs(rows)),
        dips=sum(_has_dip(epoch) for epoch in _epochs(rows)),
    )


def _epochs(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The samples after each reduction, until the next."""
    for ssthresh, epoch in groupby(rows, key=lambda row: row[_SSTHRESH]):
        if isfinite(ssthresh):
            yield list(epoch)


def _has_spike(windows: Sequence[float]) -> bool:
    low = high = windows[0]
    for cwnd in windows:
        high = max(high, cwnd)
        if min(high - low, high - cwnd) >= _SPIKE_SEGMENTS:
            return True
    return False


def _has_dip(epoch: Sequence[Row]) -> bool:
    if len(epoch[0]) <= _TIMEOUTS:
        return False
    before = [row for row in epoch if row[_TIMEOUTS] == 0]
    below = [n for n, row in enumerate(before) if row[_CWND] <= row[_SSTHRESH] - 1]
    return bool(below) and any(row[_CWND] >= row[_SSTHRESH] for row in before[below[0] :])
