"""The log of `windlass link` as the simulator's series and summary of a queue."""

import csv
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from windlass_lab.core.errors import RunError

COLUMNS = ("time_s", "queue_packets", "average_queue")


class State(NamedTuple):
    """A path of a link at a time, in seconds since the experiment began."""

    time_s: float
    queue_packets: int
    average_queue: float | None
    arrived: int
    marks: int
    drops: int
    sent: int
    sent_bytes: int


def read(path: Path, port: str, direction: str, ended_s: float) -> list[State]:
    """The states of a path in the link's log. The link ended, and wrote its last line, at
    `ended_s`, by which its clock is known.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        states = [_state(x) for x in lines if (x["port"], x["direction"]) == (port, direction)]
        shift_s = ended_s - float(lines[-1]["time_s"]) if lines else 0.0
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"cannot read the log of the link, {path.name}: {error!r}") from error
    if not states:
        raise RunError(f"the log of the link, {path.name}, has no path {port}/{direction}")
    return [state._replace(time_s=state.time_s + shift_s) for state in states]


def _state(line: Mapping[str, str]) -> State:
    average = line["average_queue"]
    return State(
        time_s=float(line["time_s"]),
        queue_packets=int(line["queue_packets"]),
        average_queue=float(average) if average else None,
        arrived=int(line["arrived"]),
        marks=int(line["marked"]),
        drops=int(line["dropped"]),
        sent=int(line["delivered"]),
        sent_bytes=int(line["delivered_bytes"]),
    )


def as_csv(states: Sequence[State]) -> str:
    """The time series of the queue, from the start of the experiment on."""
    lines = [",".join(COLUMNS)]
    before = None
    for state in states:
        values = (state.queue_packets, state.average_queue)
        if state.time_s >= 0 and values != before:
            before = values
            average = "" if state.average_queue is None else state.average_queue
            lines.append(f"{state.time_s:.9f},{state.queue_packets},{average}")
    return "\n".join(lines) + "\n"


def summary(
    port: str, direction: str, states: Sequence[State], duration_s: float, steady_from_s: float
) -> dict:
    """The queue under the simulator's keys: what it did from the start to the end of the
    experiment.
    """
    within = [state for state in states if 0 <= state.time_s <= duration_s]
    if not within:
        raise RunError(f"the log of the link says nothing of {port}/{direction} during the run")
    first = next((s for s in reversed(states) if s.time_s < 0), within[0])
    last = within[-1]
    windows = {"whole_run": 0.0, "steady": steady_from_s}
    ends = [*within, last._replace(time_s=duration_s)]
    return {
        "link": port,
        "direction": direction,
        "arrived": last.arrived - first.arrived,
        "sent": last.sent - first.sent,
        "sent_bytes": last.sent_bytes - first.sent_bytes,
        "marks": last.marks - first.marks,
        "drops": last.drops - first.drops,
        "mean_packets": {w: _mean(ends, "queue_packets", s) for w, s in windows.items()},
        "max_packets": max(state.queue_packets for state in within),
        "mean_average_packets": {w: _mean(ends, "average_queue", s) for w, s in windows.items()},
    }


def _mean(states: Sequence[State], column: str, from_s: float) -> float | None:
    """Mean over time, of the states as they were until the next line."""
    weighted = [
        (getattr(state, column), later.time_s - max(state.time_s, from_s))
        for state, later in itertools.pairwise(states)
        if later.time_s > from_s and getattr(state, column) is not None
    ]
    total_s = math.fsum(span for _, span in weighted)
    return math.fsum(value * span for value, span in weighted) / total_s if total_s else None
