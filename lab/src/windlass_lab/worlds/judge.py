"""How far another world may be from the simulator."""

from collections.abc import Iterator
from dataclasses import dataclass

from windlass_lab.worlds.figures import Figures
from windlass_lab.worlds.outline import Outline

# Relative to the simulator's figure.
RATE = 0.10
RATE_NEW_ECN = 0.15
QUEUE_DELAY = 0.15


@dataclass(frozen=True, slots=True)
class Verdict:
    """A figure of another world beside the simulator's."""

    what: str
    unit: str
    simulated: float
    found: float
    allowed: float

    @property
    def apart(self) -> float:
        """The relative difference."""
        if self.simulated == 0:
            return 0.0 if self.found == 0 else float("inf")
        return self.found / self.simulated - 1

    @property
    def holds(self) -> bool:
        """Whether it is within what is allowed."""
        return abs(self.apart) <= self.allowed


def verdicts(outline: Outline, simulated: Figures, other: Figures) -> Iterator[Verdict]:
    """The rate of each flow, and the mean queueing delay of the bottleneck."""
    for flow, one, two in zip(outline.flows, simulated.flows, other.flows, strict=True):
        allowed = RATE_NEW_ECN if flow.controller == "new-ecn" else RATE
        rates = one.rate_mbit_per_s, two.rate_mbit_per_s
        yield Verdict(f"rate of {flow.name}", "Mbit/s", *rates, allowed)
    if simulated.queue and other.queue:
        delays = simulated.queue.delay_ms["mean"], other.queue.delay_ms["mean"]
        yield Verdict("mean queueing delay", "ms", *delays, QUEUE_DELAY)
