"""The runs of the tests: what is kept of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windlass_lab.papers.tou.window import WindowFigures


@dataclass(frozen=True, slots=True)
class Curve:
    """A window in segments over time, and what was acknowledged by then."""

    time_s: Sequence[float]
    cwnd: Sequence[float]
    megabytes: Sequence[float]


@dataclass(frozen=True, slots=True)
class Run:
    """One transfer.

    `seconds` is from the first byte until the receiver has them all and the sender knows. `cwnd` is
    the window's mean over time, in segments, bounded by the receiver's window; `cwnd_told` is the
    mean that the sender reports. `lost` is what the list took of the sender's packets, `dropped`
    what the queue did; `load` the machine's load average at the end. `mss` is the payload of a
    sender's full segment in bytes.
    """

    seconds: float
    megabytes: float
    cwnd: float
    cwnd_told: float
    retransmitted: int
    timeouts: int
    lost: int
    dropped: int
    load: float
    mss: int
    course: WindowFigures
    curve: Curve | None = None

    @property
    def megabits_per_s(self) -> float:
        """The transfer's rate, of payload."""
        return self.megabytes * 8 / self.seconds


def read_run(course: Mapping, curve: Mapping | None = None, **fields: Any) -> Run:
    """A run from the fields of its line. Raises `TypeError` where some are missing."""
    return Run(**fields, course=WindowFigures(**course), curve=Curve(**curve) if curve else None)
