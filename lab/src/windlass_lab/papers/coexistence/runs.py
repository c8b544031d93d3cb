"""One run of a cell, from the summary of the simulator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.core.errors import RunError

# The figures of a summary that a run keeps, by their dotted keys
# (docs/reference/simulator-output.md). On a cluster a worker sends these alone.
_OF_FLOW = ("mbit_per_s.steady", "rtt_samples_ms.mean", "queue_delay_ms.p99")
_OF_QUEUE = ("queue_delay_ms.mean", "queue_delay_ms.p99")
_OF_RUN = ("bottleneck_packets", "drops", "marks", "utilisation.steady")


@dataclass(frozen=True, slots=True)
class Run:
    """The figures of a run, those of flows in the order of the cell's controllers.

    `mbit` is the rate of acknowledged data in the steady window; `rtt_ms` the mean of the round
    trips that the sender measured there, `wait_p99_ms` the 99th percentile of the time that a
    flow's packets waited. `queue_ms` and `queue_p99_ms` are of all packets at the bottleneck, and
    `dropped` and `marked` shares of them, in the whole run; `used` is the link's utilisation.
    """

    mbit: Sequence[float]
    rtt_ms: Sequence[float | None]
    wait_p99_ms: Sequence[float | None]
    queue_ms: float
    queue_p99_ms: float
    dropped: float
    marked: float
    used: float


def keys(flows: int) -> list[str]:
    """The dotted keys of a summary with so many flows from which `read` makes a run."""
    of_flows = [f"flows.{place}.{key}" for place in range(flows) for key in _OF_FLOW]
    return [*of_flows, *(f"queues.0.{key}" for key in _OF_QUEUE), *_OF_RUN]


def read(name: str, figures: Mapping[str, object], flows: int) -> Run:
    """The run of a cell. Raises `RunError` where a figure of the whole run is missing."""

    def figure(key: str) -> float:
        value = number(key)
        if value is None:
            raise RunError(f"{name}: the summary lacks {key}")
        return value

    def number(key: str) -> float | None:
        value = figures[key]
        return float(value) if isinstance(value, int | float) else None

    def each(key: str) -> list[float | None]:
        return [number(f"flows.{place}.{key}") for place in range(flows)]

    arrived = max(1.0, figure("bottleneck_packets"))
    return Run(
        mbit=[figure(f"flows.{place}.mbit_per_s.steady") for place in range(flows)],
        rtt_ms=each("rtt_samples_ms.mean"),
        wait_p99_ms=each("queue_delay_ms.p99"),
        queue_ms=figure("queues.0.queue_delay_ms.mean"),
        queue_p99_ms=figure("queues.0.queue_delay_ms.p99"),
        dropped=figure("drops") / arrived,
        marked=figure("marks") / arrived,
        used=figure("utilisation.steady"),
    )
